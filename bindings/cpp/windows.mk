# The adapter for Windows, compiled here with MinGW against what `.ci/stage.sh --windows` has installed. It runs in Wine.

prefix := ../../.local/windows
build := build/windows
sources := $(wildcard conformance/*.cpp)

CXX := x86_64-w64-mingw32-g++
# MinGW has headers of its own: of this machine's, it gets the one that is no system's.
flags := -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -O0 -g0 -Iinclude -isystem $(prefix)/include \
    -isystem $(build)/include

.DEFAULT_GOAL := windows
windows: $(build)/conformance.exe

# The program contains g++'s own libraries; the library is a file beside it.
$(build)/conformance.exe: $(sources:%.cpp=$(build)/objects/%.o) $(prefix)/lib/libreadpast.dll.a
	@echo 'link $@'
	@$(CXX) -static -o $@ $^ -pthread

$(build)/objects/%.o: %.cpp | $(build)/include/nlohmann
	@mkdir -p $(@D)
	@echo 'c++  $< (Windows)'
	@$(CXX) $(flags) -MMD -pthread -c -o $@ $<

$(build)/include/nlohmann:
	@mkdir -p $(@D)
	@ln -s /usr/include/nlohmann $@

-include $(wildcard $(build)/objects/*/*.d)

.PHONY: windows
.DELETE_ON_ERROR:
