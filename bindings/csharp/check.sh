#!/usr/bin/env bash
# Looks at the sources, runs the tests on the PostgreSQL that READPAST_TEST_POSTGRES names (and on the SQL Server of
# READPAST_TEST_SQLSERVER, if that is set), and tries the package. `make check` builds everything before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step() { printf -- '-- %s\n' "$*"; }

step 'layout'
find . -name '*.cs' -not -path './build/*' -exec awk -f check_layout.awk {} +

[ -n "${READPAST_TEST_POSTGRES:-}" ] || {
    echo 'check: set READPAST_TEST_POSTGRES to an ODBC connection string, or run "make test" at the root' >&2
    exit 2
}
export READPAST_HEADER=$PWD/../../include/readpast.h
step 'first queue'
../check_first_queue.sh build/first_queue
run_tests() {
    dotnet test --solution Readpast.slnx --configuration Release --no-build --no-ansi --no-progress
}
step 'tests on PostgreSQL'
READPAST_CONNECTION=$READPAST_TEST_POSTGRES run_tests
if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
    step 'tests on SQL Server'
    # SqlClient opens no connection in invariant mode.
    (unset READPAST_PG_BIN DOTNET_SYSTEM_GLOBALIZATION_INVARIANT && READPAST_CONNECTION=$READPAST_TEST_SQLSERVER run_tests)
fi
./check_package.sh
