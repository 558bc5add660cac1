#!/usr/bin/env bash
# Looks at the sources, runs the tests on the PostgreSQL that READPAST_TEST_POSTGRES names (and on the SQL Server of
# READPAST_TEST_SQLSERVER, if that is set), and tries the package. `make check` builds everything before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
PATH=$PWD/build/venv/bin:$PATH

step() { printf -- '-- %s\n' "$*"; }

step 'ruff'
ruff check --quiet
ruff format --quiet --check || {
    ruff format --diff
    exit 1
}
step 'mypy'
mypy --no-error-summary src conformance bench examples data/src
# The packages that run the tests are too new for the oldest Python that the package supports.
mypy --no-error-summary --python-version 3.11 tests
step 'pyright'
pyright --warnings >build/pyright.log || {
    cat build/pyright.log
    exit 1
}

[ -n "${READPAST_TEST_POSTGRES:-}" ] || {
    echo 'check: set READPAST_TEST_POSTGRES to an ODBC connection string, or run "make test" at the root' >&2
    exit 2
}
step 'first queue'
../check_first_queue.sh build/first_queue
step 'tests on PostgreSQL'
READPAST_CONNECTION=$READPAST_TEST_POSTGRES python -X faulthandler -m pytest
if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
    step 'tests on SQL Server'
    (unset READPAST_PG_BIN && READPAST_CONNECTION=$READPAST_TEST_SQLSERVER python -X faulthandler -m pytest)
fi
./check_package.sh
