# The programs for Windows, compiled here with MinGW against what `.ci/stage.sh --windows` has installed. They run in Wine.

prefix := ../../.local/windows
build := build/windows
programs := conformance minimal_worker
of_minimal_worker := examples/minimal_worker
of_conformance := $(patsubst %.c,%,$(wildcard conformance/*.c)) cjson

CC := x86_64-w64-mingw32-gcc
flags := -std=c11 -Wall -Wextra -Wpedantic -Werror -O1 -g0 -I$(prefix)/include -I$(prefix)/cjson

.DEFAULT_GOAL := windows
windows: $(programs:%=$(build)/%.exe)

define parts
$(build)/$(1).exe: $(of_$(1):%=$(build)/objects/%.o)
endef
$(foreach program,$(programs),$(eval $(call parts,$(program))))

# The program contains gcc's own libraries; the library is a file beside it.
$(build)/%.exe: $(prefix)/lib/libreadpast.dll.a
	@echo 'link $@'
	@$(CC) -static -o $@ $(filter %.o,$^) $< -pthread

$(build)/objects/cjson.o: $(prefix)/cjson/cJSON.c
	@mkdir -p $(@D)
	@$(CC) -O1 -c -o $@ $<

$(build)/objects/%.o: %.c
	@mkdir -p $(@D)
	@echo 'cc   $< (Windows)'
	@$(CC) $(flags) -MMD -pthread -c -o $@ $<

-include $(wildcard $(build)/objects/*/*.d)

.PHONY: windows
.DELETE_ON_ERROR:
