#!/usr/bin/env bash
# Installs the library, with what C and C++ programs need to build against it, into a prefix:
#
#   stage.sh            into .local/prefix, from where the bindings build and test; nothing to do if nothing changed
#   stage.sh PREFIX     anywhere else, like /usr/local
#   stage.sh --quick    library and header alone, not optimized, into .local/quick: soon there, for the demo
#   stage.sh --windows  library and command for Windows (x86_64, MinGW), not optimized, into .local/windows: for the tests
#   stage.sh --fresh    installs nothing, and ends with 0 if .local/prefix is what the sources would make
#
# What is installed is what cargo-c would install, which is itself a quarter of an hour's work to build: a shared library with
# a soname, a static one, header and readpast.pc; and the CMake package, the C++ header and
# valgrind's suppressions.
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
readonly log=$root/.local/stage.log
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
readonly version

say() { printf '%-11s %s\n' "$1" "$2"; }

quietly() {
    "$@" >>"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        echo "stage: failed: $* (everything it printed is in $log)" >&2
        exit 1
    }
}

# What the installed files are made from, in one number.
fingerprint() {
    {
        rustc --version
        echo "$prefix"
        git ls-files -z --cached --others --exclude-standard -- src sql include Cargo.toml Cargo.lock bindings/c/cmake \
            bindings/c/valgrind.supp bindings/cpp/include tests/windows .ci/stage.sh | xargs -0 sha256sum 2>/dev/null || true
    } | sha256sum
}

# Its own files lie beside the library.
install_cmake_package() {
    local pointer_size to=$prefix/lib/cmake/readpast
    pointer_size=$(($(getconf LONG_BIT) / 8))
    mkdir -p "$to"
    cp bindings/c/cmake/readpastConfig.cmake "$to/"
    sed -e "s/@version@/$version/; s/@major@/${version%%.*}/; s/@minor@/$(cut -d. -f2 <<<"$version")/" \
        -e "s/@pointer_size@/$pointer_size/" bindings/c/cmake/readpastConfigVersion.cmake.in \
        >"$to/readpastConfigVersion.cmake"
}

# write_pkg_config FILE FIELD...: what pkg-config is to say; the fields are those that differ from one system to the other.
write_pkg_config() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "Name: readpast" "Description: Work queues in ordinary SQL Server tables" "Version: $version" "$@" >"$file"
}

# Before 1.0 each minor version is an ABI of its own: libreadpast.so.0.1.
install_whole() {
    local soname=libreadpast.so.${version%.*} built=${CARGO_TARGET_DIR:-target}/release native
    # Before minutes are spent.
    if ! { mkdir -p "$prefix"/{include,lib,share} 2>/dev/null && [ -w "$prefix/lib" ] && [ -w "$prefix/include" ]; }; then
        echo "stage: you may not write to $prefix: name another prefix, like ~/.local" >&2
        exit 1
    fi
    say library "installing into ${prefix#"$root/"}"
    quietly cargo rustc --release --locked --no-default-features --lib --crate-type cdylib,staticlib -- \
        -C "link-arg=-Wl,-soname,$soname" --print native-static-libs
    native=$(sed -n 's/^note: native-static-libs: //p' "$log" | tail -n 1)
    [ -n "$native" ] || {
        echo "stage: rustc did not say what the static library needs (see $log)" >&2
        exit 1
    }
    mkdir -p "$prefix"/{include,lib}
    rm -f "$prefix"/lib/libreadpast.so*
    install -m 755 "$built/libreadpast.so" "$prefix/lib/libreadpast.so.$version"
    ln -s "libreadpast.so.$version" "$prefix/lib/$soname"
    ln -s "$soname" "$prefix/lib/libreadpast.so"
    install -m 644 "$built/libreadpast.a" "$prefix/lib/"
    install -m 644 include/readpast.h "$prefix/include/"
    # shellcheck disable=SC2016 # pkg-config fills these in
    write_pkg_config "$prefix/lib/pkgconfig/readpast.pc" "prefix=$prefix" 'libdir=${prefix}/lib' \
        'includedir=${prefix}/include' 'Libs: -L${libdir} -lreadpast' "Libs.private: $native" 'Cflags: -I${includedir}'
    install_cmake_package
    cp -r bindings/cpp/include/. "$prefix/include/"
    install -D -m 644 bindings/c/valgrind.supp "$prefix/share/readpast/valgrind.supp"
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
    local target=x86_64-pc-windows-gnu built
    built=${CARGO_TARGET_DIR:-target}/$target/quick
    say windows "compiling library and command for Windows, into ${prefix#"$root/"}"
    cargo rustc --locked --lib --crate-type cdylib --profile quick --target "$target"
    cargo build --locked --bin readpast --profile quick --target "$target"
    mkdir -p "$prefix"/{bin,include,lib}
    cp "$built"/readpast.{dll,exe} "$prefix/bin/"
    cp "$built/libreadpast.dll.a" "$prefix/lib/"
    x86_64-w64-mingw32-gcc -O1 -o "$prefix/bin/waits.exe" tests/windows/waits.c
    cp include/readpast.h "$prefix/include/"
    cp -r bindings/cpp/include/. "$prefix/include/"
    write_pkg_config "$prefix/lib/pkgconfig/readpast.pc" "Libs: -L$prefix/lib -lreadpast" "Cflags: -I$prefix/include"
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
