#!/usr/bin/env bash
# Runs the tests and the examples, as each compiler and sanitizer has made them, on the PostgreSQL that
# READPAST_TEST_POSTGRES names, and the tests on the SQL Server of READPAST_TEST_SQLSERVER, if that is set. `make check`
# builds all of it before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ -n "${READPAST_TEST_POSTGRES:-}" ] || {
    echo 'check: set READPAST_TEST_POSTGRES to an ODBC connection string, or run "make test" at the root' >&2
    exit 2
}
export READPAST_CONNECTION=$READPAST_TEST_POSTGRES
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=suppressions=tests/threads.supp
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT

step() { printf -- '-- %s\n' "$*"; }

fail() {
    printf 'check: %s\n' "$*" >&2
    exit 1
}

for way in plain clang sanitized threads; do
    step "tests ($way)"
    "build/$way/tests" --minimal
done
if [ -n "${READPAST_TEST_SQLSERVER:-}" ]; then
    step 'tests on SQL Server'
    READPAST_CONNECTION=$READPAST_TEST_SQLSERVER build/plain/tests --minimal
fi

step 'first queue'
../check_first_queue.sh build/first_queue

step 'typed handlers'
[ "$(build/typed | sort)" = $'mail to a@example.org\nresize x.png' ] || fail 'each work goes to its handler'

step 'a race that is ours is seen (threads)'
build/plain/enqueue 2
status=0
build/threads/race >"$dir/said" 2>&1 || status=$?
if [ "$status" -ne 66 ] || ! grep --quiet 'WARNING: ThreadSanitizer: data race' "$dir/said" ||
    ! grep --quiet 'SUMMARY: ThreadSanitizer: data race .*race\.cpp' "$dir/said"; then
    fail "exit status $status, and nothing of the race: $(cat "$dir/said")"
fi

# Each request says, under "is", which status it expects; the conformance suite looks at the rest.
step 'every verb of the adapter (sanitized)'
session=../c/conformance/session.jsonl
sed "s|@connection@|$READPAST_CONNECTION|" "$session" >"$dir/requests"
build/sanitized/conformance <"$dir/requests" >"$dir/answers" || fail 'the adapter found something'
sed 's/.*"is": *"\([A-Z_]*\)"}$/\1/' "$session" >"$dir/expected"
sed 's/.*"status":"\([A-Z_]*\)".*/\1/' "$dir/answers" | diff "$dir/expected" - ||
    fail 'the adapter answers otherwise'

for way in sanitized threads; do
    step "the worker is stopped while it waits for more ($way)"
    build/plain/enqueue 20
    coproc worker { exec "build/$way/worker" -r -b 3 -o schema=readpast Notification; }
    # shellcheck disable=SC2154 # coproc sets it, and bash forgets it as soon as the worker ends
    pid=$worker_PID
    # T and S: taken, settled.
    for ((settled = 0; settled < 20;)); do
        read -r -t 600 -u "${worker[0]}" kind _ || fail 'it took too little'
        [ "$kind" != S ] || settled=$((settled + 1))
    done
    kill -TERM "$pid"
    wait "$pid" || fail "it ended with exit status $?"
done

step 'wrong usage'
status=0
build/plain/worker 2>"$dir/said" || status=$?
if [ "$status" -ne 2 ] || ! grep --quiet '^usage: ' "$dir/said"; then
    fail 'a worker without a queue does not say how to call it'
fi
! build/plain/worker -o schema=readpast NoSuchQueue 2>"$dir/said" || fail 'a worker of a queue that is not there went well'
grep --quiet READPAST_UNKNOWN_QUEUE "$dir/said" || fail "it said: $(cat "$dir/said")"
! build/plain/worker -o no.such=setting Notification 2>"$dir/said" || fail 'a setting that is none was taken'
grep --quiet READPAST_INVALID_CONFIG "$dir/said" || fail "it said: $(cat "$dir/said")"
