#!/usr/bin/env bash
# Makes the archive for Windows, unpacks it in a clean place, and uses it there in Wine on the PostgreSQL that
# READPAST_CONNECTION names: the command, and a C program that is linked with each of its import libraries.
#
#   windows.sh           of an optimized build, into target/package
#   windows.sh --quick   of what `stage.sh --windows` has built, into target/package/quick, for the tests
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly target=x86_64-pc-windows-gnu name=readpast-$version-windows-x86_64

# MSVC links with a .lib, which needs the names alone.
import_library() {
    local dll=$1 definitions=$2 library=$3
    {
        echo 'LIBRARY readpast.dll'
        echo 'EXPORTS'
        x86_64-w64-mingw32-objdump --private-headers "$dll" | sed -n 's/^\s*\[ *[0-9]*\] .*\b\(readpast_[a-z_0-9]*\)$/    \1/p'
    } >"$definitions"
    grep -q '^    readpast_abi$' "$definitions" || fail "$dll exports no readpast_abi"
    x86_64-w64-mingw32-dlltool --def "$definitions" --output-lib "$library"
}

make_archive() {
    local built=$folders/$target/${quick:+quick}
    if [ -z "$quick" ]; then
        built+=dist
        cargo rustc --locked --lib --crate-type cdylib --profile dist --target "$target"
        cargo build --locked --bin readpast --profile dist --target "$target"
    fi
    rm -rf "${into:?}/$name"
    mkdir -p "$into/$name"/{bin,include,lib}
    cp "$built"/readpast.{dll,exe} "$into/$name/bin/"
    cp include/readpast.h "$into/$name/include/"
    cp -r bindings/cpp/include/. "$into/$name/include/"
    cp "$built/libreadpast.dll.a" "$into/$name/lib/"
    import_library "$built/readpast.dll" "$into/$name/lib/readpast.def" "$into/$name/lib/readpast.lib"
    cp LICENSE README.md CHANGELOG.md "$into/$name/"
    (cd "$into" && rm -f "$name.zip" && /usr/bin/python3 -m zipfile --create "$name.zip" "$name")
    rm -r "${into:?}/$name"
    echo "package: $into/$name.zip"
}

# From where nothing of ours lies about.
try_archive() {
    local library command
    make_clean_place
    /usr/bin/python3 -m zipfile --extract "$into/$name.zip" "$clean"
    cd "$clean/$name"
    READPAST_WINDOWS_PATH=$PWD/bin
    export READPAST_WINDOWS_PATH
    command=("$root/.ci/wine.sh" --again "$PWD/bin/readpast.exe")
    says_version "${command[@]}"
    make_queue "${command[@]}"
    for library in libreadpast.dll.a readpast.lib; do
        x86_64-w64-mingw32-gcc -Iinclude -o worker.exe "$root/bindings/c/examples/minimal_worker.c" "lib/$library"
        "${command[@]}" enqueue Notification 'Recipient=Zoë' >/dev/null
        does_work "$root/.ci/wine.sh" --again "$PWD/worker.exe"
    done
    echo 'package: used from a clean place'
}

make_archive
try_archive
