#!/usr/bin/env bash
# Runs the demo on the server that READPAST_CONNECTION names; `make demo` at the root builds it, and starts a throw-away
# server when there is none. Arguments go to the demo: `demo.sh -n 1000` for fewer items.
set -euo pipefail
build=$(dirname "${BASH_SOURCE[0]}")/build

[ -n "${READPAST_CONNECTION:-}" ] || {
    echo 'demo: set READPAST_CONNECTION to an ODBC connection string, or run "make demo" at the root' >&2
    exit 2
}
[ -x "$build/demo" ] || {
    echo 'demo: it is not built: run "make demo" at the root' >&2
    exit 2
}
# In place of the shell: signals reach the program itself.
exec "$build/demo" "$@"
