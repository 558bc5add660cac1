#!/usr/bin/env bash
# Installs the library, with what C and C++ programs need to build against it, into a prefix:
#
#   stage.sh            into .local/prefix, from where the bindings build and test; nothing to do if nothing changed
#   stage.sh PREFIX     anywhere else, like /usr/local; asks for root's rights where that needs them, before it compiles
#   stage.sh --quick    library and header alone, not optimized, into .local/quick: soon there, for the demo
#   stage.sh --windows  library and command for Windows (x86_64, MinGW), not optimized, into .local/windows: for the tests
#   stage.sh --fresh    installs nothing, and ends with 0 if .local/prefix is what the sources would make
#
# What is installed is what cargo-c would install: a shared library with a soname, a static one, header and readpast.pc. cargo-c gives
# functions no version, and is itself a quarter of an hour's work to build. Besides there are the CMake package, the C++ header and
# valgrind's suppressions.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

mode=whole
case ${1:-} in
    --*) mode=${1#--} && shift ;;
esac
place=prefix
case $mode in
    quick | windows) place=$mode ;;
esac
prefix=$(realpath -m "${1:-$root/.local/$place}")
# How that is written: by this user, or by root.
by=(env)
# Packages to give away are of the profile dist.
profile=${READPAST_PROFILE:-release}
readonly profile mode prefix staged=$root/.local/staged
log=$root/.local/stage.log
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)
readonly version

# A number that changes with what the installed files are made from.
fingerprint() {
    {
        rustc --version
        echo "$prefix $profile"
        git ls-files -z --cached --others --exclude-standard -- src sql include command/src command/Cargo.toml Cargo.toml Cargo.lock bindings/c/cmake \
            bindings/c/valgrind.supp bindings/cpp/include command/tests/windows .ci/stage.sh .ci/link_versioned.sh | xargs -0 sha256sum 2>/dev/null || true
    } | sha256sum
}

# Its own files lie beside the library.
install_cmake_package() {
    local pointer_size to=$staged/lib/cmake/readpast
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

# Before 1.0 each minor version is an ABI of its own: libreadpast.so.0.1, whose functions are of the version READPAST_0.1.
install_whole() {
    local soname=libreadpast.so.${version%.*} built=${CARGO_TARGET_DIR:-target}/$profile native
    say library "installing into ${prefix#"$root/"}"
    READPAST_SYMBOLS=READPAST_${version%.*} quietly cargo rustc --package readpast --profile "$profile" --locked --lib \
        --crate-type cdylib,staticlib -- \
        -C linker="$root/.ci/link_versioned.sh" -C "link-arg=-Wl,-soname,$soname" --print native-static-libs
    native=$(sed -n 's/^note: native-static-libs: //p' "$log" | tail -n 1)
    [ -n "$native" ] || fail "rustc did not report what the static library needs (see $log)"
    rm -rf "$staged"
    mkdir -p "$staged"/{include,lib}
    install -m 755 "$built/libreadpast.so" "$staged/lib/libreadpast.so.$version"
    ln -s "libreadpast.so.$version" "$staged/lib/$soname"
    ln -s "$soname" "$staged/lib/libreadpast.so"
    install -m 644 "$built/libreadpast.a" "$staged/lib/"
    install -m 644 include/readpast.h "$staged/include/"
    # shellcheck disable=SC2016 # pkg-config fills these in
    write_pkg_config "$staged/lib/pkgconfig/readpast.pc" "prefix=$prefix" 'libdir=${prefix}/lib' \
        'includedir=${prefix}/include' 'Libs: -L"${libdir}" -lreadpast' "Libs.private: $native" 'Cflags: -I"${includedir}"'
    install_cmake_package
    cp -r bindings/cpp/include/. "$staged/include/"
    install -D -m 644 bindings/c/valgrind.supp "$staged/share/readpast/valgrind.supp"
    echo "$wanted" >"$staged/${stamp#"$prefix/"}"
    "${by[@]}" mkdir -p "$prefix/lib"
    "${by[@]}" find "$prefix/lib" -maxdepth 1 -name 'libreadpast.so*' -delete
    "${by[@]}" cp --recursive --no-dereference --preserve=mode,timestamps "$staged/." "$prefix/"
    rm -r "$staged"
    make_known
}

# Programs find the library by the linker's cache where that covers its folder.
make_known() {
    doing='linker cache'
    if /sbin/ldconfig -NXv 2>/dev/null | cut -d: -f1 | grep --line-regexp --fixed-strings "$prefix/lib" >/dev/null; then
        "${by[@]}" /sbin/ldconfig
    elif [ "$prefix" != "$root/.local/prefix" ]; then
        say library "programs find it with LD_LIBRARY_PATH=$prefix/lib, or with that folder in their rpath"
    fi
}

# The rights to write there: asked for now, not after minutes of work.
ask_for_rights() {
    doing='rights'
    local there=$prefix
    until [ -e "$there" ]; do there=$(dirname "$there"); done
    [ ! -w "$there" ] || return 0
    command -v sudo >/dev/null || fail "$(id -un) may not write to $there, and there is no sudo: choose another PREFIX"
    say library "writing to $there needs root's rights: sudo asks for them now"
    sudo --validate || fail "without root's rights nothing is installed: choose another PREFIX"
    by=(sudo)
}

# Cargo says what it compiles: for half a minute there is nothing else to look at.
install_quick() {
    say library "compiling for the demo, into ${prefix#"$root/"}"
    cargo rustc --package readpast --locked --lib --crate-type cdylib --profile quick
    mkdir -p "$prefix"/{include,lib}
    cp include/readpast.h "$prefix/include/"
    cp "${CARGO_TARGET_DIR:-target}/quick/libreadpast.so" "$prefix/lib/"
}

# The library and the command of the same build. pkg-config serves those that compile for Windows here.
install_windows() {
    local target=x86_64-pc-windows-gnu built
    built=${CARGO_TARGET_DIR:-target}/$target/quick
    say windows "compiling library and command for Windows, into ${prefix#"$root/"}"
    cargo rustc --package readpast --locked --lib --crate-type cdylib --profile quick --target "$target"
    cargo build --locked --bin readpast --profile quick --target "$target"
    mkdir -p "$prefix"/{bin,include,lib}
    cp "$built"/readpast.{dll,exe} "$prefix/bin/"
    cp "$built/libreadpast.dll.a" "$prefix/lib/"
    x86_64-w64-mingw32-gcc -O1 -o "$prefix/bin/waits.exe" command/tests/windows/waits.c
    cp include/readpast.h "$prefix/include/"
    cp -r bindings/cpp/include/. "$prefix/include/"
    write_pkg_config "$prefix/lib/pkgconfig/readpast.pc" "Libs: -L\"$prefix/lib\" -lreadpast" "Cflags: -I\"$prefix/include\""
}

[[ " whole quick windows fresh " == *" $mode "* ]] || fail "there is no option --$mode"
command -v cargo >/dev/null || fail "$(id -un) has no Rust: run this without sudo, it asks for rights itself; or run" \
    '.ci/setup.sh build'
mkdir -p "$root/.local"
stamp=$prefix/lib/cmake/readpast/stamp
[ "$place" = prefix ] || stamp=$prefix/stamp
wanted=$(fingerprint)
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    [ "$mode" = fresh ] || say library "present in ${prefix#"$root/"}"
    exit
fi
[ "$mode" != fresh ] || exit 1
: >"$log"
doing="library ($mode)"
case $mode in
    quick | windows)
        "install_$mode"
        echo "$wanted" >"$stamp"
        ;;
    whole)
        ask_for_rights
        install_whole
        ;;
esac
