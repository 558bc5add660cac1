#!/usr/bin/env bash
# Looks at the sources and the assembly, runs the tests on the PostgreSQL that READPAST_TEST_POSTGRES names (and on the SQL
# Server of READPAST_TEST_SQLSERVER, if that is set), and tries the package. `make check` builds everything before.
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
    (cd build && mono Runner.exe)
}
step 'tests on PostgreSQL'
READPAST_CONNECTION=$READPAST_TEST_POSTGRES run_tests
# .NET Core 3.1, which .ci/setup.sh has for the T-SQL parser where it is to be had.
dotnet=$(realpath -m ../../.local/tsql_parser/dotnet/dotnet)
if [ -x "$dotnet" ]; then
    step 'tests on PostgreSQL, on CoreCLR'
    version=$(basename "$(dirname "$dotnet")"/shared/Microsoft.NETCore.App/*)
    printf '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "%s"}}}\n' "$version" \
        >build/runtimeconfig.json
    # With a cluster of its own: it makes the queues that the run before has made and used.
    (cd build && DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 ../../../.ci/with_cluster.sh \
        "$dotnet" exec --runtimeconfig runtimeconfig.json Runner.exe)
else
    step 'tests on CoreCLR: left out, there is none here'
fi
if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
    step 'tests on SQL Server'
    (unset READPAST_PG_BIN && READPAST_CONNECTION=$READPAST_TEST_SQLSERVER run_tests)
fi
./check_package.sh
