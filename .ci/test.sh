#!/usr/bin/env bash
# Every check there is, one named step after the other; the first that fails ends it.
#
#   test.sh        all of them, as `make test` runs them
#   test.sh lint   only those that read the source and start no database server
#
# PostgreSQL is always tested, on a throw-away cluster. SQL Server is tested too when READPAST_TEST_SQLSERVER holds an
# ODBC connection string of a database in which the tests may create and drop what they like.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly languages=(c cpp csharp python go rust)
readonly table=.local/conformance.txt
summary=()

step() {
    local name=$1 started=$SECONDS status=0
    shift
    echo "== $name"
    "$@" || status=$?
    if [ "$status" -ne 0 ]; then
        echo "== failed: $name ($*)" >&2
        exit "$status"
    fi
    summary+=("$(printf '%4d s  %s' $((SECONDS - started)) "$name")")
}

print_summary() {
    echo '== summary'
    printf '%s\n' "${summary[@]}"
}

step 'format' cargo fmt --check
step 'clippy' cargo clippy --all-targets -- -D warnings
step 'documentation' env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps
step 'licences of dependencies' .ci/licences.py
step 'rendered SQL' .ci/lint_sql.sh
step 'rendered T-SQL' .ci/lint_tsql.sh
step 'shell scripts' .ci/lint_shell.sh
if [ "${1:-}" = lint ]; then
    print_summary
    exit
fi

# What the tests look for is not what a power cut does to the server's disk.
export READPAST_CLUSTER_FSYNC=off
# The workers, adapters and packages of all languages: the conformance suite, which is one of the tests, drives them.
step 'library' .ci/stage.sh
for language in "${languages[@]}"; do
    step "$language: build" make --no-print-directory -C "bindings/$language" build
done
READPAST_CONFORMANCE_LANGUAGES=$(IFS=, && echo "${languages[*]}")
READPAST_CONFORMANCE_TABLE=$PWD/$table
export READPAST_CONFORMANCE_LANGUAGES READPAST_CONFORMANCE_TABLE
rm -f "$table"
step 'tests' .ci/with_cluster.sh cargo test

# Each language's own suite, its linters, and its package in a clean place.
for language in "${languages[@]}"; do
    step "$language: check" .ci/with_cluster.sh make --no-print-directory -C "bindings/$language" check
done

echo '== conformance'
cat "$table"
print_summary
echo 'PostgreSQL: tested'
if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
    echo 'SQL Server: tested'
else
    echo 'SQL Server: READPAST_TEST_SQLSERVER is not set: the T-SQL was rendered and linted, not executed; the Microsoft'
    echo 'driver ran against the scripted peer'
fi
echo 'All checks passed.'
