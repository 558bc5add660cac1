#!/usr/bin/env bash
# Runs a Windows program in Wine, with a Windows of our own:
#
#   wine.sh PROGRAM [ARGUMENT...]   READPAST_WINDOWS_PATH, .local/windows/bin by default, is on its PATH; ODBC is this machine's
#   wine.sh --again PROGRAM ...     the same without input, and shown at its end: run again if Wine did not begin it
#   wine.sh --make                  makes the Windows, if it is not there
#   wine.sh --keep                  keeps it running, with its services, until it has to
#   wine.sh --end                   end
#
# It lies in target/, the one folder that cargo does not look through: its drive Z: is the whole file system.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
path=${READPAST_WINDOWS_PATH:-$root/.local/windows/bin}
export WINEPREFIX=$root/target/wine WINEDEBUG=${WINEDEBUG:--all} WINEPATH="Z:${path//\//\\}"
# No window, nor a browser or a .NET to be offered.
export WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe=' DISPLAY=
# Arguments with more than ASCII reach a program as the locale says; a bare machine has none.
export LC_ALL=C.UTF-8
export ODBCSYSINI=${ODBCSYSINI:-$root/.local/odbc}

program() {
    local name
    for name in "$1" "/usr/lib/wine/$1"; do
        command -v "$name" && return
    done
    fail "there is no $1; run .ci/setup.sh windows"
}

# Seldom Wine ends a program with 1, without a word and before it begins. Both outputs are pipes: Python takes no file from Wine.
again() {
    local wine said status
    wine=$(program wine64)
    said=$(mktemp --directory)
    for _ in 1 2 3; do
        {
            {
                "$wine" "$@" </dev/null && status=0 || status=$?
                echo "$status" >"$said/status"
            } | cat >"$said/output"
        } 2>&1 | cat >"$said/errors"
        status=$(<"$said/status")
        if [ "$status" -ne 1 ] || [ -s "$said/output" ] || [ -s "$said/errors" ]; then break; fi
        echo "wine: $1 did not begin" >&2
    done
    cat "$said/output"
    cat "$said/errors" >&2
    rm -r "$said"
    return "$status"
}

make_windows() {
    local library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
    if [ ! -e "$WINEPREFIX/system.reg" ]; then
        mkdir -p "$WINEPREFIX"
        again wineboot --init >/dev/null 2>&1
        # On a busy machine a service may take longer to begin or to answer than the ten seconds that it has.
        again reg add 'HKLM\System\CurrentControlSet\Control' /v ServicesPipeTimeout /d 600000 /f >/dev/null 2>&1
        "$(program wineserver64)" --wait
    fi
    [ "$library" -nt "$root/command/tests/windows/bcryptprimitives.c" ] ||
        x86_64-w64-mingw32-gcc -shared -O1 -o "$library" "$root/command/tests/windows/bcryptprimitives.c" -ladvapi32
}

# The first program in an idle Windows starts its services, which keep that program's output open: who reads it to its end
# would wait for them. So one runs all the time, which has no output.
keep_windows() {
    local patience=6000 keeper=
    # Files that a killed run has left behind.
    "$(program wineserver64)" --kill || true
    "$(program wineserver64)" --persistent
    rm -f "$WINEPREFIX/begun" "$WINEPREFIX/go"
    # Under another name: tests look for those that they have started.
    cp "$path/waits.exe" "$WINEPREFIX/keeps.exe"
    until [ -e "$WINEPREFIX/begun" ]; do
        if [ -z "$keeper" ] || ! kill -0 "$keeper" 2>/dev/null; then
            (cd "$WINEPREFIX" && exec setsid "$(program wine64)" keeps.exe </dev/null >/dev/null 2>&1) &
            keeper=$!
        fi
        ((patience-- > 0)) || fail 'it does not start a program'
        sleep 0.1
    done
}

case ${1:-} in
    --make) make_windows ;;
    --keep) keep_windows ;;
    --end) "$(program wineserver64)" --kill || true ;;
    --again) again "${@:2}" || exit ;;
    *) exec "$(program wine64)" "$@" ;;
esac
