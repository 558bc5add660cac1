#!/usr/bin/env bash
# One trace through two languages: a producer in one, a worker in the other, on the PostgreSQL that READPAST_TEST_POSTGRES names.
# What `make -C bindings/python check` and `make -C bindings/go check` made has to be there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

root=$(realpath ../..)
prefix=$(realpath "${READPAST_PREFIX:-$root/.local/prefix}")
[ -n "${READPAST_TEST_POSTGRES:-}" ] || {
    echo 'traces: set READPAST_TEST_POSTGRES to an ODBC connection string, or run "make test" at the root' >&2
    exit 2
}
player=$(mktemp)
trap 'rm -f "$player"' EXIT
export PATH=$root/.local/go/bin:$PATH PKG_CONFIG_PATH=$prefix/lib/pkgconfig CGO_ENABLED=1
(
    cd "$root/bindings/go/readpastotel"
    CGO_LDFLAGS="-O2 -g '-L$prefix/lib'" go build -buildvcs=false -ldflags "-r '$prefix/lib'" -o "$player" ./internal/player
)
READPAST_CONNECTION=$READPAST_TEST_POSTGRES "$root/bindings/python/build/venv/bin/python" through.py "$player"
