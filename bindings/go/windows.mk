# The adapter for Windows, compiled here with MinGW against what `.ci/stage.sh --windows` has installed. It runs in Wine.

root := $(abspath ../..)
prefix := $(root)/.local/windows
build := build/windows

# Go from .ci/setup.sh, where the machine has none that is new enough.
export PATH := $(root)/.local/go/bin:$(PATH)
export PKG_CONFIG_PATH := $(prefix)/lib/pkgconfig
export CGO_ENABLED := 1
export GOOS := windows
export GOARCH := amd64
export CC := x86_64-w64-mingw32-gcc
# Part of what Go's cache goes by; what pkg-config says is not, and leads to another clone's library, which may be gone.
export CGO_LDFLAGS := -O2 -g "-L$(prefix)/lib"

windows: FORCE
	@echo '$(build)/conformance.exe'
	@go build -trimpath -buildvcs=false -o $(build)/conformance.exe ./conformance

FORCE:
.PHONY: windows FORCE
