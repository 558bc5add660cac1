#!/usr/bin/env bash
# Installs the header beside the library, moved to another place so that nothing finds its way back to the sources;
# builds the two example projects against that, and runs the programs on the PostgreSQL that READPAST_TEST_POSTGRES
# names. Then it takes away what the program needs, and looks at the errors.
#
#   check_package.sh PREFIX    where the library is installed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

prefix=$1
export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
unset LD_LIBRARY_PATH
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

quietly() {
    "$@" >"$dir/log" 2>&1 || {
        cat "$dir/log" >&2
        fail "failed: $*"
    }
}

works() {
    local done_lines
    build/plain/enqueue 5
    done_lines=$("$@" | grep --count '"Recipient":"customer-') || true
    [ "$done_lines" -eq 5 ] || fail "$* did $done_lines items of 5"
}

mkdir -p "$dir/prefix" "$dir/project/examples"
cp -r "$prefix/include" "$prefix/lib" "$dir/prefix/"
# As .ci/stage.sh does it; a prefix may hold the header of another day.
rm -rf "$dir/prefix/include/readpast" "$dir/prefix/include/readpast.hpp"
cp -r include/. "$dir/prefix/include/"
cp -r package "$dir/project/"
cp examples/minimal_worker.cpp "$dir/project/examples/"
# A package manager corrects the prefix in the .pc file when it moves a package.
sed -i "s|^prefix=.*|prefix=$dir/prefix|" "$dir/prefix/lib/pkgconfig/readpast.pc"

echo '-- find_package'
quietly cmake -S "$dir/project/package/find_package" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/prefix"
quietly cmake --build "$dir/cmake"
works "$dir/cmake/my_worker"

echo '-- pkg-config'
PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig quietly make --no-print-directory -C "$dir/project/package/pkg_config"
program=$dir/project/package/pkg_config/my_worker
works env LD_LIBRARY_PATH="$dir/prefix/lib" "$program"

echo '-- what is missing is named'
# says TEXT: the worker fails, and says TEXT
says() {
    local output
    ! output=$(LD_LIBRARY_PATH=$dir/prefix/lib "$program" 2>&1) || fail 'the worker went well'
    [[ $output == *"$1"* ]] || fail "the worker said: $output"
}
soname=$(readelf -d "$dir/prefix/lib/libreadpast.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
cp --remove-destination "$(realpath "$prefix/lib/$soname")" "$dir/prefix/lib/$soname"
sed -i 's/libodbc\.so\.2/libodbx.so.2/' "$dir/prefix/lib/$soname"
says 'libodbx.so.2'
# Another binary interface. Functions that the program does not call need not do anything.
{
    echo 'int readpast_abi(void) { return 99; } const char *readpast_version(void) { return "9.9.9"; }'
    nm --dynamic --defined-only --without-symbol-versions "$prefix/lib/libreadpast.so" |
        awk '$2 == "T" && $3 != "readpast_abi" && $3 != "readpast_version" { print "void " $3 "(void) {}" }'
} >"$dir/other.c"
echo "READPAST_${soname#libreadpast.so.} { *; };" >"$dir/versions"
gcc -w -shared -fPIC -Wl,-soname,"$soname" -Wl,--version-script="$dir/versions" -o "$dir/prefix/lib/$soname" "$dir/other.c"
says 'libreadpast 9.9.9 has the binary interface 99; this program was built for 1'
rm "$dir/prefix/lib/$soname"
says "$soname"
