#!/usr/bin/env bash
# Installs the library, with what C and C++ programs need to build against it, into a prefix:
#
#   stage.sh            into .local/prefix, from where the bindings build and test; nothing to do if nothing changed
#   stage.sh PREFIX     anywhere else, like /usr/local
#   stage.sh --quick    library and header alone, not optimized, into .local/quick: soon there, for the demo
#   stage.sh --windows  library and command for Windows (x86_64, MinGW), not optimized, into .local/windows: for the tests
#   stage.sh --fresh    installs nothing, and ends with 0 if .local/prefix is what the sources would make
#
# cargo-c makes shared and static library with a soname, header and readpast.pc; this script adds the CMake package and
# the C++ header. cargo-c itself goes below .local/tools: made without optimization, which it does not need, since
# building it is what takes long.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly root=$PWD
mode=whole
case ${1:-} in
    --*) mode=${1#--} && shift ;;
esac
place=prefix
case $mode in
    quick | windows) place=$mode ;;
esac
prefix=$(realpath -m "${1:-$root/.local/$place}")
readonly mode prefix
readonly tools=$root/.local/tools
readonly cargo_c=0.10.24+cargo-0.98.0
readonly log=$root/.local/stage.log

say() { printf '%-11s %s\n' "$1" "$2"; }

quietly() {
    "$@" >>"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        echo "stage: failed: $* (everything it printed is in $log)" >&2
        exit 1
    }
}

install_cargo_c() {
    if [ -x "$tools/bin/cargo-cinstall" ] && [ "$(cat "$tools/cargo-c.version" 2>/dev/null)" = "$cargo_c" ]; then
        return
    fi
    say cargo-c "building $cargo_c, once; takes some minutes"
    quietly cargo install --locked --debug --root "$tools" --target-dir "$tools/build" --version "$cargo_c" cargo-c
    rm -rf "$tools/build"
    echo "$cargo_c" >"$tools/cargo-c.version"
}

# What the installed files are made from, in one number.
fingerprint() {
    {
        rustc --version
        echo "$prefix"
        git ls-files -z --cached --others --exclude-standard -- src sql include Cargo.toml Cargo.lock bindings/c/cmake \
            bindings/cpp/include tests/windows .ci/stage.sh | xargs -0 sha256sum 2>/dev/null || true
    } | sha256sum
}

# Its version is the crate's; its own files lie beside the library.
install_cmake_package() {
    local version pointer_size to=$prefix/lib/cmake/readpast
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    pointer_size=$(($(getconf LONG_BIT) / 8))
    mkdir -p "$to"
    cp bindings/c/cmake/readpastConfig.cmake "$to/"
    sed -e "s/@version@/$version/; s/@major@/${version%%.*}/; s/@minor@/$(cut -d. -f2 <<<"$version")/" \
        -e "s/@pointer_size@/$pointer_size/" bindings/c/cmake/readpastConfigVersion.cmake.in \
        >"$to/readpastConfigVersion.cmake"
}

install_whole() {
    install_cargo_c
    say library "installing into ${prefix#"$root/"}"
    # --libdir: distributions have folders of their own; what we write below has to lie beside the library.
    PATH=$tools/bin:$PATH quietly cargo cinstall --release --locked --no-default-features --prefix "$prefix" --libdir lib
    install_cmake_package
    [ ! -d bindings/cpp/include ] || cp -r bindings/cpp/include/. "$prefix/include/"
}

# Cargo says what it compiles: for half a minute there is nothing else to look at.
install_quick() {
    say library "compiling for the demo, into ${prefix#"$root/"}"
    cargo rustc --locked --lib --crate-type cdylib --profile quick --no-default-features
    mkdir -p "$prefix"/{include,lib}
    cp include/readpast.h "$prefix/include/"
    cp "${CARGO_TARGET_DIR:-target}/quick/libreadpast.so" "$prefix/lib/"
}

# The library and the command of the same build. pkg-config serves those that compile for Windows here.
install_windows() {
    local target=x86_64-pc-windows-gnu version built
    built=${CARGO_TARGET_DIR:-target}/$target/quick
    say windows "compiling library and command for Windows, into ${prefix#"$root/"}"
    cargo build --locked --lib --bin readpast --profile quick --target "$target"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    mkdir -p "$prefix"/{bin,include,lib/pkgconfig}
    cp "$built"/readpast.{dll,exe} "$prefix/bin/"
    cp "$built/libreadpast.dll.a" "$prefix/lib/"
    x86_64-w64-mingw32-gcc -O1 -o "$prefix/bin/waits.exe" tests/windows/waits.c
    cp include/readpast.h "$prefix/include/"
    cp -r bindings/cpp/include/. "$prefix/include/"
    cat >"$prefix/lib/pkgconfig/readpast.pc" <<END
Name: readpast
Description: Work queues in ordinary SQL Server tables
Version: $version
Libs: -L$prefix/lib -lreadpast
Cflags: -I$prefix/include
END
}

mkdir -p "$root/.local"
stamp=$prefix/lib/cmake/readpast/stamp
[ "$place" = prefix ] || stamp=$prefix/stamp
wanted=$(fingerprint)
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    [ "$mode" = fresh ] || say library "present in ${prefix#"$root/"}"
    exit
fi
case $mode in
    fresh) exit 1 ;;
    quick) install_quick ;;
    windows) install_windows ;;
    whole) : >"$log" && install_whole ;;
    *)
        echo "stage: no option --$mode" >&2
        exit 2
        ;;
esac
echo "$wanted" >"$stamp"
