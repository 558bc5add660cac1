#!/usr/bin/env bash
# Makes the package of Conan from the sources, in a home of its own, and builds and runs the programs of its test with it.
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

make_clean_place
export CONAN_HOME=$clean/home
tools=$root/.local/release/bin
"$tools/conan" profile detect >"$log" 2>&1
"$tools/conan" create bindings/c/package/conan --no-remote --build=missing \
    -c "tools.cmake.cmake_layout:test_folder=$clean/test" >"$log" 2>&1 || fail "conan create: see $log"
"$tools/conan" list "readpast/$version" 2>/dev/null | sed -n 's/^ *\(readpast\/.*\)/package: for Conan: \1/p'
