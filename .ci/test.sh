#!/usr/bin/env bash
# Checks, one named step after the other; the first that fails ends it.
#
#   test.sh             all of them, as `make test` runs them
#   test.sh lint        only those that read the source and start no database server
#   test.sh core        Rust, C and both drivers, with a library that is not optimized: for who works on the core
#   test.sh windows     library, command, C, C++, C#, Go and Python on Windows, in Wine
#   test.sh callers     procedures called in transactions of other people's drivers: psycopg, pgx, JDBC, pyodbc
#   test.sh browser     the pages of `readpast serve` in Chromium
#   test.sh LANGUAGE... the suites of these bindings, and the conformance suite over them
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
    echo '== summary, the slowest first'
    printf '%s\n' "${summary[@]}" | sort --reverse --numeric-sort
}

lint() {
    step 'format' cargo fmt --all --check
    step 'clippy' cargo clippy --workspace --all-targets -- -D warnings
    step 'documentation' env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps
    step 'licences of dependencies' cargo test --quiet --test offline -- licences::
    step 'rendered SQL' .ci/lint_sql.sh
    step 'rendered T-SQL' .ci/lint_tsql.sh
    step 'shell scripts' .ci/lint_shell.sh
}

# The workers, adapters and packages of these languages: the conformance suite, which is one of the tests, drives them.
build() {
    local language
    for language; do
        step "$language: build" make --no-print-directory -C "bindings/$language" build
    done
    READPAST_CONFORMANCE_LANGUAGES=$(IFS=, && echo "$*")
    READPAST_CONFORMANCE_TABLE=$PWD/$table
    export READPAST_CONFORMANCE_LANGUAGES READPAST_CONFORMANCE_TABLE
    rm -f "$table"
}

# Each language's own suite, its linters, and its package in a clean place.
check() {
    local language jobs
    for language; do
        # C++ is compiled in four ways and read by linters besides: side by side.
        jobs=1
        [ "$language" != cpp ] || jobs=$(nproc)
        step "$language: check" .ci/with_cluster.sh make --no-print-directory --jobs="$jobs" --output-sync=target \
            -C "bindings/$language" check
    done
    # Two languages that make spans: one trace goes through both.
    if [[ " $* " == *' python '* && " $* " == *' go '* ]]; then
        step 'traces through two languages' .ci/with_cluster.sh tests/traces/test.sh
    fi
}

# One Windows for all of it, which ends with us.
windows() {
    # C#'s package holds the library for both systems.
    step 'windows: library for Linux' .ci/stage.sh
    step 'windows: library and command' .ci/stage.sh --windows
    step 'windows: C' make --no-print-directory -C bindings/c -f windows.mk
    step 'windows: C++' make --no-print-directory -C bindings/cpp -f windows.mk
    step 'windows: Go' make --no-print-directory -C bindings/go -f windows.mk
    step 'windows: Wine' .ci/wine.sh --make
    .ci/wine.sh --keep
    trap '.ci/wine.sh --end' EXIT
    step 'windows: Python' make --no-print-directory -C bindings/python -f windows.mk
    step 'windows: C#' .ci/with_cluster.sh make --no-print-directory -C bindings/csharp windows
    step 'windows: command' .ci/with_cluster.sh cargo test --test windows -- --ignored
    READPAST_CONFORMANCE_LANGUAGES=c@windows,cpp@windows,go@windows,python@windows READPAST_CONFORMANCE_TABLE=$PWD/.local/windows.txt \
        step 'windows: conformance' .ci/with_cluster.sh cargo test --test conformance
    step 'windows: package' .ci/with_cluster.sh .ci/package/windows.sh --quick
    .ci/wine.sh --end
    trap - EXIT
}

end() {
    if [ -e "$table" ]; then
        echo '== conformance'
        cat "$table"
    fi
    print_summary
    echo 'PostgreSQL: tested'
    if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
        echo 'SQL Server: tested'
    else
        echo 'SQL Server: READPAST_TEST_SQLSERVER is not set: the T-SQL was rendered and linted, not executed; the Microsoft'
        echo 'driver ran against the scripted peer'
    fi
}

# What the tests look for is not what a power cut does to the server's disk.
export READPAST_CLUSTER_FSYNC=off
case ${1:-all} in
    lint)
        lint
        print_summary
        ;;
    core)
        step 'format' cargo fmt --all --check
        step 'clippy' cargo clippy --workspace --all-targets -- -D warnings
        step 'library' .ci/stage.sh --quick
        export READPAST_PREFIX=$PWD/.local/quick
        build c
        READPAST_CONFORMANCE_LANGUAGES=c,rust
        step 'tests' .ci/with_cluster.sh cargo test
        end
        echo 'The checks of the core passed. All of them: make test'
        ;;
    windows)
        windows
        print_summary
        echo 'The checks on Windows passed. All of them: make test'
        ;;
    callers)
        step 'other drivers' .ci/with_cluster.sh tests/callers/test.sh
        print_summary
        ;;
    browser)
        step 'pages in a browser' tests/browser/test.sh
        print_summary
        ;;
    all)
        lint
        step 'library' .ci/stage.sh
        build "${languages[@]}"
        step 'tests' .ci/with_cluster.sh cargo test
        check "${languages[@]}"
        step 'package' .ci/with_cluster.sh .ci/package/linux.sh --quick
        windows
        step 'other drivers' .ci/with_cluster.sh tests/callers/test.sh
        step 'pages in a browser' tests/browser/test.sh
        end
        echo 'Not in here: make test-deep (the oldest Rust, miri, the address sanitizer, cargo-deny)'
        echo 'All checks passed.'
        ;;
    *)
        for language; do
            [ -d "bindings/$language" ] || {
                echo "test: no part \"$language\": lint, core, windows, or a folder of bindings/" >&2
                exit 2
            }
        done
        step 'library' .ci/stage.sh
        build "$@"
        step 'conformance' .ci/with_cluster.sh cargo test --test conformance
        check "$@"
        end
        echo "The checks of $* passed. All of them: make test"
        ;;
esac
