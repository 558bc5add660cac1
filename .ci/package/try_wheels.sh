#!/usr/bin/env bash
# Tries the wheels for Linux that wheels.sh has made, each where nothing else of ours is, on the PostgreSQL that READPAST_CONNECTION
# names:
#
#   glibc, x86_64    on a bare Debian 11, with the oldest Python that the package supports: first without unixODBC, then at work
#   glibc, aarch64   at work, in QEMU, with the Python and the drivers of Debian 12
#   musl             the library alone, since Debian has no Python for musl, in a root with musl and nothing else: a program in C
#                    reports that libodbc is missing, then what one answers that refuses
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=.ci/package/machines.sh
source .ci/package/machines.sh

readonly tools=$root/.local/release enqueue=bindings/python/package/enqueue.py example=bindings/python/examples/minimal_worker.py
zig=$(echo "$tools"/lib/python3*/site-packages/ziglang/zig)
readonly zig

# wheel KIND ARCHITECTURE
wheel() {
    local found
    found=$(echo "$into"/readpast-"$version"-py3-none-"$1"_*_"$2".whl)
    [ -e "$found" ] || fail "there is no $found"
    echo "$found"
}

# worked OUTPUT NAME: five items, as enqueue.py makes them.
worked() {
    [ "$(grep --count '"Recipient":"customer-' "$1")" -eq 5 ] || { cat "$1" >&2 && fail "$2: it did not do 5 items"; }
    echo "package: $2 does its work"
}

try_glibc() {
    local place=$clean/oldest
    bare_machine bullseye "$place" python3,python3-venv,ca-certificates
    mkdir "$place/wheels"
    cp "$(wheel manylinux x86_64)" "$place/wheels/"
    cp "$enqueue" "$example" "$place/"
    quietly "$tools/bin/python" -m pip download --disable-pip-version-check --only-binary :all: --python-version 3.9 \
        --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --dest "$place/wheels" 'cffi>=1.15'
    inside "$place" >"$clean/output" <<'MACHINE' || { cat "$clean/output" >&2 && fail 'on a bare Debian 11 it does not work'; }
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index --find-links /wheels readpast
! /venv/bin/python -c 'import readpast' 2>/error || { echo 'it needs no unixODBC?' && exit 1; }
grep 'ImportError: .*libodbc\.so\.2.* install .*libodbc' /error || { cat /error && exit 1; }
apt-get --quiet --quiet update >/log 2>&1
apt-get --quiet --quiet --yes install --no-install-recommends libodbc1 odbc-postgresql >/log 2>&1 || { cat /log && exit 1; }
/venv/bin/python /enqueue.py 5
/venv/bin/python /minimal_worker.py
MACHINE
    worked "$clean/output" 'the wheel for glibc on x86_64'
}

# QEMU runs one program, whose files it looks for in the machine's.
try_aarch64() {
    local place=$clean/aarch64 python qemu
    qemu=$(command -v qemu-aarch64-static qemu-aarch64 | sed -n 1p)
    unpacked_machine bookworm arm64 "$place" python3,python3-cffi,libodbc2,odbc-postgresql,musl
    python=("$qemu" -L "$place" -E "PYTHONPATH=$clean/aarch64.wheel" -E "ODBCSYSINI=$clean" "$place/usr/bin/python3")
    /usr/bin/python3 -m zipfile --extract "$(wheel manylinux aarch64)" "$clean/aarch64.wheel"
    printf '[PostgreSQL Unicode]\nDriver=/usr/lib/aarch64-linux-gnu/odbc/psqlodbcw.so\n' >"$clean/odbcinst.ini"
    "${python[@]}" "$enqueue" 5
    "${python[@]}" "$example" >"$clean/output"
    worked "$clean/output" 'the wheel for glibc on aarch64'
}

# try_musl ARCHITECTURE LOADER [QEMU]
try_musl() {
    local architecture=$1 place=$clean/musl.$1 bare=$clean/bare.$1 library cc
    cc=("$zig" cc -target "$architecture-linux-musl" -O1 -Wall -Wextra)
    library=$place/readpast/_native
    /usr/bin/python3 -m zipfile --extract "$(wheel musllinux "$architecture")" "$place"
    sed -n 's/^short \(SQL[A-Za-z]*\)(.*/\1/p' .ci/package/refusing_odbc.c >"$place/answered"
    nm --dynamic --undefined-only --format=posix "$library/lib_native.so" | sed -n 's/^\(SQL[A-Za-z]*\) .*/\1/p' |
        grep --invert-match --line-regexp --file="$place/answered" | sed 's/.*/REST(&)/' >"$place/odbc_functions.h"
    "${cc[@]}" -shared -Wl,-soname,libodbc.so.2 -I"$place" -o "$place/libodbc.so.2" .ci/package/refusing_odbc.c
    mkdir -p "$bare"/{bin,lib,usr/lib}
    "${cc[@]}" -dynamic -Iinclude -o "$bare/bin/worker" bindings/c/examples/minimal_worker.c -L"$library" -l:lib_native.so \
        -L"$place" -l:libodbc.so.2
    cp --dereference "$2" "$bare/lib/"
    cp "$library/lib_native.so" "$bare/usr/lib/"
    [ $# -lt 3 ] || cp "$3" "$bare/bin/qemu"
    reports "$bare" 'libodbc.so.2'
    cp "$place/libodbc.so.2" "$bare/usr/lib/"
    reports "$bare" 'no driver is here; install the ODBC driver'
    echo "package: the library for musl on $architecture runs in a root with musl alone, up to an error of ODBC"
}

# reports ROOT TEXT: the worker in there ends with an error that has the text.
reports() {
    local output command=(/bin/worker)
    [ ! -e "$1/bin/qemu" ] || command=(/bin/qemu /bin/worker)
    ! output=$(as_root env READPAST_CONNECTION="$READPAST_CONNECTION" chroot "$1" "${command[@]}" 2>&1) ||
        fail "a worker without a driver went well: $output"
    [[ $output == *"$2"* ]] || fail "the worker in ${1#"$clean/"} reports: $output"
}

make_clean_place
# The tree goes, with what root has made in it.
trap 'as_root rm -rf --one-file-system "$clean"' EXIT
try_glibc
try_aarch64
try_musl x86_64 /lib/ld-musl-x86_64.so.1
try_musl aarch64 "$clean/aarch64/lib/ld-musl-aarch64.so.1" "$(command -v qemu-aarch64-static)"
