#!/usr/bin/env bash
# Runs the programs as the address and the undefined behaviour sanitizer see them, on the PostgreSQL that
# READPAST_TEST_POSTGRES names. `make check` builds them before. It finds mistakes that valgrind does not see (overflows
# on the stack and in statics, undefined arithmetic), and is fast enough for many items and for the adapter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
build=build/sanitized
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'check_sanitized: %s\n' "$*" >&2
    exit 1
}

echo '-- sanitized: demo and workers'
$build/demo -n 5000 -l 3000 -t 600 -o login.timeout_ms=600000 -o query.timeout_ms=600000 -o retry.budget_ms=600000

echo '-- sanitized: minimal worker'
build/demo -s readpast -e -n 20
done_lines=$($build/minimal_worker | grep --count '"Recipient":"customer-') || true
[ "$done_lines" -eq 20 ] || fail "it did $done_lines items of 20"

echo '-- sanitized: worker on an event loop'
build/demo -s readpast -e -n 20
done_lines=$($build/event_loop | grep --count '"Recipient":"customer-') || true
[ "$done_lines" -eq 20 ] || fail "it did $done_lines items of 20"

# Each request says, under "is", which status it expects; the conformance suite looks at the rest.
echo '-- sanitized: every verb of the adapter'
sed "s|@connection@|$READPAST_CONNECTION|" conformance/session.jsonl >"$dir/requests"
$build/conformance <"$dir/requests" >"$dir/answers" || fail 'the adapter found something'
sed 's/.*"is": *"\([A-Z_]*\)"}$/\1/' conformance/session.jsonl >"$dir/expected"
sed 's/^{"status":"\([A-Z_]*\)".*/\1/' "$dir/answers" | diff "$dir/expected" - || fail 'the adapter answers otherwise'
