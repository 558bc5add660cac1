# The library that a binding is built against, as READPAST_PREFIX names it: by default where .ci/stage.sh installs it. Make
# takes no path with a space for a target, so every path here is relative, and the prefix is a link below build/.

root := ../..
build := build
prefix := $(build)/prefix
$(shell mkdir -p $(build) && ln -sfn "$$(realpath -m "$(or $(READPAST_PREFIX),$(root)/.local/prefix)")" $(prefix))
