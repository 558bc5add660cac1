#!/usr/bin/env bash
# Builds the two example projects against an installed prefix, moved to another place so that nothing finds its way back
# to the sources, and runs what they make on the PostgreSQL that READPAST_TEST_POSTGRES names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

prefix=$1
export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
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
    build/demo -s readpast -e -n 5
    done_lines=$("$@" | grep --count '"Recipient":"customer-') || true
    [ "$done_lines" -eq 5 ] || fail "$* did $done_lines items of 5"
}

mkdir -p "$dir/prefix" "$dir/project/examples"
cp -r "$prefix/include" "$prefix/lib" "$dir/prefix/"
cp -r package "$dir/project/"
cp examples/minimal_worker.c "$dir/project/examples/"
# A package manager corrects the prefix in the .pc file when it moves a package.
sed -i "s|^prefix=.*|prefix=$dir/prefix|" "$dir/prefix/lib/pkgconfig/readpast.pc"

echo '-- what is installed'
soname=$(readelf -d "$dir/prefix/lib/libreadpast.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ -e "$dir/prefix/lib/$soname" ] || fail "the soname $soname is no file"
cmp "$dir/prefix/include/readpast.h" ../../include/readpast.h || fail 'another header is installed'
cmp "$prefix/share/readpast/valgrind.supp" valgrind.supp || fail 'other suppressions are installed'
# A declaration begins its line; a comment that names a function does not.
grep --only-matching --perl-regexp '^[a-z].*?\K\breadpast_[a-z_]+(?=\()' ../../include/readpast.h | sort -u >"$dir/declared"
# The version itself is a symbol, too, of another kind.
nm --dynamic --defined-only --format=posix "$dir/prefix/lib/libreadpast.so" | sed -n 's/ T .*//p' | sort >"$dir/exported"
version=READPAST_${soname#libreadpast.so.}
sed "s/$/@@$version/" "$dir/declared" | sort | diff - "$dir/exported" ||
    fail "the library does not export what the header declares, with the version $version, and nothing else"

echo '-- find_package'
quietly cmake -S "$dir/project/package/find_package" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/prefix"
quietly cmake --build "$dir/cmake"
works "$dir/cmake/my_worker"
works "$dir/cmake/my_static_worker"
! cmake -S "$dir/project/package/find_package" -B "$dir/none" >"$dir/log" 2>&1 || fail 'a library was found elsewhere'
sed -i 's/readpast 0.1 CONFIG/readpast 0.2 CONFIG/' "$dir/project/package/find_package/CMakeLists.txt"
! cmake -S "$dir/project/package/find_package" -B "$dir/other" -DCMAKE_PREFIX_PATH="$dir/prefix" >"$dir/log" 2>&1 ||
    fail 'another minor version was accepted'

echo '-- pkg-config'
PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig quietly make --no-print-directory -C "$dir/project/package/pkg_config"
works env LD_LIBRARY_PATH="$dir/prefix/lib" "$dir/project/package/pkg_config/my_worker"
works "$dir/project/package/pkg_config/my_static_worker"
! ldd "$dir/project/package/pkg_config/my_static_worker" | grep libreadpast >/dev/null || fail 'the library is not inside'
