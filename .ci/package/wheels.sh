#!/usr/bin/env bash
# Makes Python's wheels for Linux as PyPI takes them, into target/package: for glibc from 2.28 on and for musl, each for
# x86_64 and aarch64. zig links for all four on any machine; auditwheel reads the symbols that a wheel needs, and names the wheel
# by them.
#
#   wheels.sh             all four
#   wheels.sh TARGET...   some, by Rust's names
#
# READPAST_PROFILE=quick makes some to try soon: they are not optimized, and pass all checks the same.
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly tools=$root/.local/release
# The oldest libc of each kind that a wheel is made for: Debian 10, RHEL 8; Alpine 3.13.
readonly glibc=28 musl=musllinux_1_2
# The size of a wheel that nobody has to think about, in bytes.
readonly limit=6000000
# It stays: cargo builds everything again for another folder.
readonly names=${into%/package*}/odbc_names
zig=$(echo "$tools"/lib/python3*/site-packages/ziglang/zig)
readonly zig
[ -x "$zig" ] || fail 'there is no zig: run .ci/setup.sh release'

# The linker reads names in it and nothing else: a wheel finds the libodbc of its machine. So any machine can link for any other.
stand_in_for_libodbc() {
    local target=$1 into=$2 library
    library=$(cc -print-file-name=libodbc.so)
    nm --dynamic --defined-only --format=posix "$library" | sed -n 's/^\(SQL[A-Za-z]*\) .*/void \1(void) {}/p' >"$clean/odbc.c"
    grep --quiet SQLExecDirect "$clean/odbc.c" || fail "$library defines no SQLExecDirect"
    mkdir -p "$into"
    "$zig" cc -target "${target/-unknown/}" -shared -nostdlib -Wl,-soname,libodbc.so.2 -o "$into/libodbc.so" "$clean/odbc.c"
}

# make_wheel TARGET: without the names that a backtrace shows, which are half of it.
make_wheel() {
    local target=$1 tag=manylinux_2_$glibc flags="-L native=$names/$1" variable
    if [[ $target == *-musl ]]; then
        tag=$musl
        # Python loads it: the libc is that of the process.
        flags+=' -C target-feature=-crt-static'
    fi
    stand_in_for_libodbc "$target" "$names/$target"
    variable=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")_RUSTFLAGS
    env "$variable=$flags" CARGO_ZIGBUILD_ZIG_PATH="$zig" bindings/python/package/wheel.sh "$clean/wheels" \
        --target "$target" --zig --profile "${READPAST_PROFILE:-dist}" --strip --compatibility "$tag"
    audit "$target" "$(echo "$clean"/wheels/readpast-*-"$tag"_*.whl)"
}

# audit TARGET WHEEL: it goes where it belongs under the name of the oldest libc that has all symbols.
audit() {
    local target=$1 wheel=$2 named size oldest
    # A folder without libraries: those of this machine are of no account. musl's loader takes itself for libc.so, which auditwheel
    # looks for.
    mkdir -p "$clean/none"
    rm -rf "$clean/audited"
    "$tools/bin/auditwheel" repair --plat auto --only-plat --exclude libodbc.so.2 --exclude libc.so --ldpaths "$clean/none" \
        --patcher none --wheel-dir "$clean/audited" "$wheel" 2>"$clean/audit.log" || {
        cat "$clean/audit.log" >&2
        fail "auditwheel refuses $wheel"
    }
    named=$(basename "$(echo "$clean"/audited/*.whl)")
    case $target in
        *-gnu)
            oldest=$(sed -n 's/.*-manylinux_2_\([0-9]*\)_.*/\1/p' <<<"$named")
            [ "${oldest:-99}" -le "$glibc" ] || fail "it needs a newer glibc than 2.$glibc: $named"
            ;;
        *-musl) [[ $named == *-"$musl"_* ]] || fail "it needs another libc than $musl: $named" ;;
    esac
    size=$(stat --format=%s "$clean/audited/$named")
    [ "$size" -lt "$limit" ] || fail "$named has $size bytes, more than $limit"
    needs_libodbc_alone "$clean/audited/$named"
    cp "$clean/audited/$named" "$into/"
    echo "package: $into/$named, $size bytes"
}

# auditwheel allows every library of the policy. One of ours that is gone, or names of the linker's that get out, it does not see.
needs_libodbc_alone() {
    local library=$clean/library/readpast/_native/lib_native.so
    rm -rf "$clean/library"
    /usr/bin/python3 -m zipfile --extract "$1" "$clean/library"
    readelf --dynamic --wide "$library" | grep 'NEEDED.*\[libodbc\.so\.2\]' >/dev/null || fail "$1 does not ask for libodbc.so.2"
    ! nm --dynamic --defined-only --format=posix "$library" | grep --invert-match '^readpast_' ||
        fail "$1 exports the names above, which are not ours"
}

make_clean_place
make --no-print-directory -C bindings/python build/venv/stamp-check
[ $# -gt 0 ] || set -- {x86_64,aarch64}-unknown-linux-{gnu,musl}
for target; do
    make_wheel "$target"
done
# In pure Python: each call above has made the same.
cp "$clean"/wheels/readpast_data-*.whl "$into/"
