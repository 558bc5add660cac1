#!/usr/bin/env bash
# Runs a Windows program in Wine, with a Windows of our own:
#
#   wine.sh PROGRAM [ARGUMENT...]   READPAST_WINDOWS_PATH, .local/windows/bin by default, is on its PATH; ODBC is this machine's
#   wine.sh --make                  makes the Windows, if it is not there
#   wine.sh --keep                  keeps it running, until it is told to
#   wine.sh --end                   end
#
# It lies in target/, the one folder that cargo does not look through: its drive Z: is the whole file system.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
path=${READPAST_WINDOWS_PATH:-$root/.local/windows/bin}
export WINEPREFIX=$root/target/wine WINEDEBUG=-all WINEPATH="Z:${path//\//\\}"
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

case ${1:-} in
    --make) make_windows ;;
    --keep) "$(program wineserver64)" --persistent ;;
    --end) "$(program wineserver64)" --kill || true ;;
    *) exec "$(program wine64)" "$@" ;;
esac
