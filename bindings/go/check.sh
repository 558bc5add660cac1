#!/usr/bin/env bash
# Looks at the sources, runs the tests on the PostgreSQL that READPAST_TEST_POSTGRES names (and on the SQL Server of
# READPAST_TEST_SQLSERVER, if that is set), and tries the module from outside. `make check` builds everything before,
# and says where the library is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
prefix=${1:?the prefix where the library is installed}

readonly staticcheck=v0.8.1
step() { printf -- '-- %s\n' "$*"; }

fail() {
    printf 'check: %s\n' "$*" >&2
    exit 1
}

# A module of its own, with what only it needs.
readonly modules=(. readpastdata readpastprom readpastotel)

step 'gofmt'
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "gofmt would change: $unformatted"

step 'go vet'
for module in "${modules[@]}"; do
    (cd "$module" && go vet ./...)
done

step "staticcheck $staticcheck"
if [ "$(cat build/tools/version 2>/dev/null)" != "$staticcheck $(go version)" ]; then
    GOBIN=$PWD/build/tools go install "honnef.co/go/tools/cmd/staticcheck@$staticcheck"
    echo "$staticcheck $(go version)" >build/tools/version
fi
tools=$PWD/build/tools
for module in "${modules[@]}"; do
    (cd "$module" && "$tools/staticcheck" -checks all ./...)
done

[ -n "${READPAST_TEST_POSTGRES:-}" ] || {
    echo 'check: set READPAST_TEST_POSTGRES to an ODBC connection string, or run "make test" at the root' >&2
    exit 2
}
export READPAST_HEADER=$PWD/../../include/readpast.h
# With the race detector; and with the compiler's check of every store of a pointer, of which C must see none of Go's.
run_tests() {
    local module
    for module in "${modules[@]}"; do
        (cd "$module" && GOEXPERIMENT=cgocheck2 go test -race -count=1 -timeout 60m -ldflags "-r '$prefix/lib'" .)
    done
}
step 'first queue'
../check_first_queue.sh build/first_queue
step 'tests on PostgreSQL'
READPAST_CONNECTION=$READPAST_TEST_POSTGRES run_tests
if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
    step 'tests on SQL Server'
    (unset READPAST_PG_BIN && READPAST_CONNECTION=$READPAST_TEST_SQLSERVER run_tests)
fi
./check_package.sh "$prefix"
