#!/usr/bin/env bash
# Runs the demo on the server that READPAST_CONNECTION names; `make demo` at the root builds it, and starts a throw-away
# server when there is none. Arguments go to the demo: `demo.sh -n 1000` for fewer items, `demo.sh -a 2` for the second
# act alone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root demo=$root/bindings/c/build/demo

[ -n "${READPAST_CONNECTION:-}" ] || {
    echo 'demo: set READPAST_CONNECTION to an ODBC connection string, or run "make demo" at the root' >&2
    exit 2
}
[ -x "$demo" ] || {
    echo 'demo: it is not built: run "make demo" at the root' >&2
    exit 2
}

# The competitors of the second act: directory and label. The second is killed, the third fails now and then. A worker
# takes part if it is built from the sources as they are and starts: called without a queue, it prints its usage.
languages=('c C' 'cpp C++' 'csharp C#' 'python Python' 'go Go' 'rust Rust')
cast=()
out=()
is_fresh=
"$root/.ci/stage.sh" --fresh && is_fresh=1
for entry in "${languages[@]}"; do
    directory=${entry%% *} label=${entry#* }
    worker=$root/bindings/$directory/build/worker
    status=0
    [ -n "$is_fresh" ] && [ -x "$worker" ] || status=1
    [ "$status" -ne 0 ] || "$worker" >/dev/null 2>&1 </dev/null || status=$?
    if [ "$status" -eq 2 ]; then
        cast+=(-w "$label=$worker")
    else
        out+=("$label")
    fi
done
# Each is an option and its value; the act wants three workers.
if [ "${#cast[@]}" -lt 6 ]; then
    cast=()
    echo 'There is a second act, in which workers in six languages compete. They are not built: make workers demo'
elif [ ${#out[@]} -gt 0 ]; then
    echo "Not in the second act, since they are not built: ${out[*]}. To see them compete: make workers demo"
fi

# In place of the shell: signals reach the program itself.
exec "$demo" "${cast[@]}" "$@"
