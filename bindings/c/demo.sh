#!/usr/bin/env bash
# Runs the demo on the server that READPAST_CONNECTION names; `make demo` at the root builds it, and starts a throw-away
# server when there is none. Arguments go to the demo: `demo.sh -n 1000` for fewer items, `demo.sh -a 2` for the second
# act alone.
set -euo pipefail
bindings=$(dirname "${BASH_SOURCE[0]}")/..
build=$bindings/c/build

# Who competes in the second act: directory and label. The second is killed, the third fails now and then.
languages=('c C' 'cpp C++' 'csharp C#' 'python Python' 'go Go' 'rust Rust')

[ -n "${READPAST_CONNECTION:-}" ] || {
    echo 'demo: set READPAST_CONNECTION to an ODBC connection string, or run "make demo" at the root' >&2
    exit 2
}
[ -x "$build/demo" ] || {
    echo 'demo: it is not built: run "make demo" at the root' >&2
    exit 2
}

# Before anything starts: each worker, called without a queue, must get as far as saying how to call it. One whose
# interpreter or library is missing does not.
cast=()
missing=
for entry in "${languages[@]}"; do
    directory=${entry%% *} label=${entry#* }
    worker=$bindings/$directory/build/worker
    if [ ! -f "$bindings/$directory/Makefile" ]; then
        echo "demo: there is no bindings/$directory here, so $label does not take part" >&2
        continue
    fi
    # It comes with the library itself, and is no binding.
    if [ "$label" = Rust ] && [ ! -x "$worker" ]; then
        echo 'demo: the Rust worker is not built, so it does not take part: run "make -C bindings/rust build"' >&2
        continue
    fi
    cast+=(-w "$label=$worker")
    if [ ! -x "$worker" ]; then
        echo "demo: the $label worker is not built: run \"make -C bindings/$directory build\", or \"make demo\" at the root" >&2
        missing=1
        continue
    fi
    status=0
    said=$("$worker" 2>&1 </dev/null) || status=$?
    if [ "$status" -ne 2 ]; then
        printf 'demo: the %s worker does not start (exit status %d)%s\n' "$label" "$status" "${said:+: $said}" >&2
        missing=1
    fi
done
[ -z "$missing" ] || exit 2
# Each is an option and its value; the act wants three workers.
[ "${#cast[@]}" -ge 6 ] || cast=()

# In place of the shell: signals reach the program itself.
exec "$build/demo" "${cast[@]}" "$@"
