#!/usr/bin/env bash
# Runs a Windows program in Wine, with a Windows of our own:
#
#   wine.sh PROGRAM [ARGUMENT...]   READPAST_WINDOWS_PATH, .local/windows/bin by default, is on its PATH; ODBC is this machine's
#   wine.sh --make                  makes the Windows, if it is not there
#   wine.sh --keep                  keeps it running, with its services, until it is told to
#   wine.sh --end                   end
#
# It lies in target/, the one folder that cargo does not look through: its drive Z: is the whole file system.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
path=${READPAST_WINDOWS_PATH:-$root/.local/windows/bin}
export WINEPREFIX=$root/target/wine WINEDEBUG=${WINEDEBUG:--all} WINEPATH="Z:${path//\//\\}"
# No window, nor a browser or a .NET to be offered.
export WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe=' DISPLAY=
export ODBCSYSINI=${ODBCSYSINI:-$root/.local/odbc}

program() {
    local name
    for name in "$1" "/usr/lib/wine/$1"; do
        command -v "$name" && return
    done
    echo "wine: there is no $1; run .ci/setup.sh windows" >&2
    return 1
}

make_windows() {
    local library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
    if [ ! -e "$WINEPREFIX/system.reg" ]; then
        mkdir -p "$WINEPREFIX"
        "$(program wine64)" wineboot --init >/dev/null 2>&1
        "$(program wineserver64)" --wait
    fi
    [ "$library" -nt "$root/tests/windows/bcryptprimitives.c" ] ||
        x86_64-w64-mingw32-gcc -shared -O1 -o "$library" "$root/tests/windows/bcryptprimitives.c" -ladvapi32
}

# The first program in an idle Windows starts its services, which keep that program's output open: who reads it to its end
# would wait for them. So one runs all the time, which has no output.
keep_windows() {
    local patience=6000
    # What was left behind by a run that was killed.
    "$(program wineserver64)" --kill || true
    "$(program wineserver64)" --persistent
    rm -f "$WINEPREFIX/begun" "$WINEPREFIX/go"
    # Under another name: tests look for those that they have started.
    cp "$path/waits.exe" "$WINEPREFIX/keeps.exe"
    (cd "$WINEPREFIX" && exec setsid "$(program wine64)" keeps.exe </dev/null >/dev/null 2>&1) &
    until [ -e "$WINEPREFIX/begun" ]; do
        ((patience-- > 0)) || {
            echo 'wine: it does not start a program' >&2
            return 1
        }
        sleep 0.1
    done
}

case ${1:-} in
    --make) make_windows ;;
    --keep) keep_windows ;;
    --end) "$(program wineserver64)" --kill || true ;;
    *) exec "$(program wine64)" "$@" ;;
esac
