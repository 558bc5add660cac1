#!/usr/bin/env bash
# Makes the archive for Windows, unpacks it in a clean place, and uses it there in Wine on the PostgreSQL that
# READPAST_CONNECTION names: the command, and a C program that is linked with each of its import libraries.
#
#   package.sh           of an optimized build, into target/package
#   package.sh --quick   of what `stage.sh --windows` has built, for the tests
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly root=$PWD target=x86_64-pc-windows-gnu
readonly folders=${CARGO_TARGET_DIR:-target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
readonly version
readonly name=readpast-$version-windows-x86_64
profile=release
[ "${1:-}" != --quick ] || profile=quick

fail() {
    printf 'package: %s\n' "$*" >&2
    exit 1
}

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
    local into=$1 built=$folders/$target/$profile
    if [ "$profile" != quick ]; then
        cargo rustc --locked --lib --crate-type cdylib --release --target "$target"
        cargo build --locked --bin readpast --release --target "$target"
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
    local archive=$1 clean said
    clean=$(mktemp --directory)
    # shellcheck disable=SC2064 # $clean is local: expand it now
    trap "rm -rf '$clean'" EXIT
    /usr/bin/python3 -m zipfile --extract "$archive" "$clean"
    cd "$clean/$name"
    READPAST_WINDOWS_PATH=$PWD/bin
    export READPAST_WINDOWS_PATH
    said=$("$root/.ci/wine.sh" "$PWD/bin/readpast.exe" --version)
    [ "${said%$'\r'}" = "readpast $version" ] || fail "the command says: $said"
    echo '{"queue": "Notification", "columns": [{"name": "Recipient", "type": "text(254)"}]}' >queue.json
    "$root/.ci/wine.sh" "$PWD/bin/readpast.exe" install queue.json >/dev/null
    local library
    for library in libreadpast.dll.a readpast.lib; do
        x86_64-w64-mingw32-gcc -Iinclude -o worker.exe "$root/bindings/c/examples/minimal_worker.c" "lib/$library"
        "$root/.ci/wine.sh" "$PWD/bin/readpast.exe" enqueue Notification 'Recipient=Zoë' >/dev/null
        said=$("$root/.ci/wine.sh" "$PWD/worker.exe")
        [[ $said == *Zoë* ]] || fail "a worker linked with $library says: $said"
    done
    cd "$root"
    echo 'package: used from a clean place'
}

[ -n "${READPAST_CONNECTION:-}" ] || fail 'set READPAST_CONNECTION to an ODBC connection string, or run "make package"'
into=$folders/package
[ "$profile" = release ] || into=$folders/package/quick
make_archive "$into"
try_archive "$into/$name.zip"
