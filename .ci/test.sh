#!/usr/bin/env bash
# Checks, in named steps; the first that fails ends it.
#
#   test.sh             all of them, as `make test` runs them: in lines side by side (.ci/steps.sh)
#   test.sh lint        only those that read the source and start no database server
#   test.sh core        Rust, C and both drivers, with a library that is not optimized: for who works on the core
#   test.sh windows     library, command, C, C++, Go and Python on Windows, in Wine
#   test.sh callers     procedures called in transactions of other people's drivers: psycopg, pgx, JDBC, pg, pyodbc
#   test.sh browser     the pages of `readpast serve` in Chromium
#   test.sh LANGUAGE... the suites of these bindings, and the conformance suite over them
#
# PostgreSQL is always tested, on throw-away clusters. SQL Server is tested too when READPAST_TEST_SQLSERVER holds an
# ODBC connection string of a database in which the tests may create and drop what they like.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
# shellcheck source=.ci/steps.sh
source .ci/steps.sh
use_pinned_rust

languages=(c cpp csharp python go rust)
# C# needs an SDK that not each system has.
has_dotnet || languages=(c cpp python go rust)
readonly languages
readonly table=.local/conformance.txt

lint() {
    step 'scripts' .ci/selftest.sh
    ! command -v rustup >/dev/null ||
        step 'oldest Rust' cargo "+$(oldest_rust)" check --locked --workspace --all-features --target-dir target/oldest
    step 'format' cargo fmt --all --check
    step 'clippy' cargo clippy --workspace --all-targets -- -D warnings
    step 'documentation' env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps
    step 'shell scripts' .ci/lint_shell.sh
    step 'workflows' .local/venv/bin/zizmor --offline --pedantic --quiet .github/workflows
    # One of them asks for the licences of dependencies; two write the SQL that is read next.
    rm -rf target/sql target/tsql
    step 'offline tests' cargo test --test offline
    step 'manual' .ci/manual.sh
    step 'rendered T-SQL' .ci/lint_tsql.sh --rendered
    step 'rendered SQL' .ci/lint_sql.sh --rendered
}

# The workers, adapters and packages of these languages: the conformance suite, which is one of the tests, drives them.
build() {
    local language how
    for language; do
        how=()
        case $language in
            c | cpp) how=(--jobs="$(nproc)" --output-sync=target) ;;
            # As the tests are built, which need the same. `make workers` builds them as they are used.
            rust) how=(profile=dev) ;;
        esac
        step "$language: build" make --no-print-directory "${how[@]}" -C "bindings/$language" build
    done
}

# The scenarios in these languages.
conformance() {
    rm -f "$table"
    step 'conformance' env READPAST_CONFORMANCE_LANGUAGES="$(IFS=, && echo "$*")" READPAST_CONFORMANCE_TABLE="$PWD/$table" \
        .ci/with_cluster.sh cargo test --test conformance
}

# Each language's own suite, its linters, and its package in a clean place.
check() {
    local language jobs
    for language; do
        # C and C++ are compiled in several ways and read by linters besides: side by side.
        jobs=1
        [[ $language != c && $language != cpp ]] || jobs=$(nproc)
        step "$language: check" .ci/with_cluster.sh make --no-print-directory --jobs="$jobs" --output-sync=target \
            -C "bindings/$language" check
    done
    # Two languages that make spans: one trace goes through both.
    if [[ " $* " == *' python '* && " $* " == *' go '* ]]; then
        step 'traces through two languages' .ci/with_cluster.sh tests/traces/test.sh
    fi
}

# Suites that mostly wait: for what is cut off, falls silent or runs out. However many processors there are, two tests of each at
# once: log-ins of a process take turns, and one that meets silence holds the others up.
readonly waiting=(faults places postgres_faults postgres_restart tds_driver)
# Those with a step of their own.
readonly elsewhere=(offline conformance windows)

# Suites that cargo knows and the functions above do not name.
other_suites() {
    cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
targets = [target for package in packages for target in package["targets"]]
print(*sorted({target["name"] for target in targets if target["kind"] == ["test"]} - set(sys.argv[1:])))
' "${waiting[@]}" "${elsewhere[@]}"
}

suites() {
    local suite others
    others=$(other_suites)
    step 'tests: library and command' cargo test --lib --bins --examples
    step 'tests: documentation' cargo test --doc
    for suite in $others; do
        step "tests: $suite" .ci/with_cluster.sh cargo test --test "$suite"
    done
}

waiting_suites() {
    local suite
    for suite in "${waiting[@]}"; do
        step "tests: $suite" .ci/with_cluster.sh cargo test --test "$suite" -- --test-threads=2
    done
}

# One Windows for all of it, which ends with us.
windows_builds() {
    step 'windows: library and command' .ci/stage.sh --windows
    step 'windows: C' make --no-print-directory -C bindings/c -f windows.mk
    step 'windows: C++' make --no-print-directory --jobs="$(nproc)" -C bindings/cpp -f windows.mk
    step 'windows: Go' make --no-print-directory -C bindings/go -f windows.mk
    step 'windows: Wine' .ci/wine.sh --make
}

windows_tests() {
    .ci/wine.sh --keep
    step 'windows: Python' make --no-print-directory -C bindings/python -f windows.mk
    step 'windows: command' .ci/with_cluster.sh .ci/tests_ran.sh cargo test --test windows -- --ignored
    step 'windows: conformance' env READPAST_CONFORMANCE_LANGUAGES=c@windows,cpp@windows,go@windows,python@windows \
        READPAST_CONFORMANCE_TABLE="$PWD/.local/windows.txt" .ci/with_cluster.sh cargo test --test conformance
    step 'windows: package' .ci/with_cluster.sh .ci/package/windows.sh --quick
    .ci/wine.sh --end
}

# The lines of `all`. `after` names files that two of them would write to, or that one makes for the other.
line_of_sources() {
    lint
    windows_builds
    step 'other drivers' .ci/with_cluster.sh tests/callers/test.sh
    step 'pages in a browser' tests/browser/test.sh
    # It builds in the folder in which that has built.
    after 'python: check'
    windows_tests
}

line_of_languages() {
    step 'library' .ci/stage.sh
    build "${languages[@]}"
    ! has_dotnet || check csharp
    check python go
    conformance "${languages[@]}"
    check c cpp rust
    step 'package' .ci/with_cluster.sh .ci/package/linux.sh --quick
}

line_of_suites() {
    after 'clippy'
    step 'tests: build' cargo test --no-run
    suites
}

line_of_waiting() {
    after 'tests: build'
    waiting_suites
}

end() {
    if [ -e "$table" ]; then
        echo '== conformance'
        cat "$table"
    fi
    print_summary
    has_dotnet || echo "C#: left out: $no_dotnet"
    echo 'PostgreSQL: tested'
    if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
        echo 'SQL Server: tested'
    else
        echo 'SQL Server: READPAST_TEST_SQLSERVER is not set: the T-SQL was rendered and linted, not executed; the Microsoft'
        echo 'driver ran against the scripted peer'
    fi
}

# No test looks for damage that a power cut does to the server's disk.
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
        step 'offline tests' cargo test --test offline
        conformance c rust
        suites
        waiting_suites
        end
        echo 'The checks of the core passed. All of them: make test'
        ;;
    windows)
        at_end=(.ci/wine.sh --end)
        windows_builds
        windows_tests
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
        at_end=(.ci/wine.sh --end)
        line sources line_of_sources
        line languages line_of_languages
        line suites line_of_suites
        line waiting line_of_waiting
        join
        end
        echo 'Not in here: make test-deep (the newest Rust, miri, the address sanitizer, cargo-deny)'
        echo 'All checks passed.'
        ;;
    *)
        for language; do
            [ -d "bindings/$language" ] || {
                echo "test: no part \"$language\": lint, core, windows, or a folder of bindings/" >&2
                exit 2
            }
        done
        asked=()
        for language; do
            if [ "$language" != csharp ] || has_dotnet; then asked+=("$language"); fi
        done
        if [ ${#asked[@]} -gt 0 ]; then
            step 'library' .ci/stage.sh
            build "${asked[@]}"
            conformance "${asked[@]}"
            check "${asked[@]}"
        fi
        end
        echo "The checks of $* passed. All of them: make test"
        ;;
esac
