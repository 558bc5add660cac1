# The wheel for Windows, compiled here with MinGW, and a Python for Windows that has it installed. Both run in Wine.

root := ../..
runtimes := $(root)/.local/windows_runtimes
build := build
home := $(build)/windows/python
# A profile that compiles fast. The profile of an archive to give away is `dist`.
profile := $(or $(READPAST_PROFILE),quick)

.DEFAULT_GOAL := windows
windows: $(build)/windows/conformance

# Python takes no file that Wine hands it as its output or errors, only a pipe.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

$(build)/windows/conformance: windows.mk $(home)/stamp
	@printf '%s\n' '#!/usr/bin/env bash' \
	    'exec "$(CURDIR)/$(root)/.ci/wine.sh" "$(CURDIR)/$(home)/python.exe" "$(CURDIR)/conformance" "$$@" 2> >(exec cat >&2)' >$@
	@chmod +x $@

wheel: FORCE
	@$(MAKE) --no-print-directory $(build)/venv/stamp-check
	@echo 'wheel for Windows ($(profile))'
	@package/wheel.sh $(build)/windows/wheels --target x86_64-pc-windows-gnu --profile $(profile)

# As a user installs it, from files that are here.
$(home)/stamp: wheel
	@echo '$(home)'
	@rm -rf $(home)
	@cp -r $(runtimes)/python $(home)
	@$(root)/.ci/wine.sh --make
	@$(root)/.ci/wine.sh --again $(home)/python.exe -m pip install --disable-pip-version-check --no-index \
	    --find-links $(runtimes)/wheels $(build)/windows/wheels/readpast-*.whl >$(build)/windows/pip.log 2>&1 || \
	    { cat $(build)/windows/pip.log >&2; false; }
	@touch $@

FORCE:
.PHONY: windows wheel FORCE
.DELETE_ON_ERROR:
