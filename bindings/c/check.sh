#!/usr/bin/env bash
# Runs the examples under valgrind, on the PostgreSQL that READPAST_TEST_POSTGRES names. `make check` builds them before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ -n "${READPAST_TEST_POSTGRES:-}" ] || {
    echo 'check: set READPAST_TEST_POSTGRES to an ODBC connection string, or run "make test" at the root' >&2
    exit 2
}
export READPAST_CONNECTION=$READPAST_TEST_POSTGRES

# Only certain leaks count: Rust keeps hash tables and shared values by pointers into the middle of their blocks, and
# valgrind takes these blocks for possibly lost.
valgrind=(valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --suppressions="$PWD/valgrind.supp"
    --errors-for-leak-kinds=definite --trace-children=yes)

step() { printf -- '-- %s\n' "$*"; }

fail() {
    printf 'check: %s\n' "$*" >&2
    exit 1
}

# The demo starts the workers, kills one of them and stops the others, and looks at how they end. Valgrind makes all of
# it slow: fewer items, and patience. Beside other work a log-in has taken more than the 15 s that it has, and a call more than
# the 30 s.
patience=()
for setting in login.timeout query.timeout lock.timeout pool.acquire retry.budget; do
    patience+=(-o "${setting}_ms=600000")
done
slow=(-b 10 -l 5000 -t 600 "${patience[@]}")
step 'demo and workers'
"${valgrind[@]}" build/demo -n 2000 "${slow[@]}"

step 'demo, second act'
"${valgrind[@]}" build/demo -a 2 -n 500 "${slow[@]}" -w C=build/worker -w Another=build/worker -w Third=build/worker

step 'first queue'
../check_first_queue.sh build/first_queue

step 'minimal worker'
build/demo -s readpast -e -n 20
# As a user runs it, who knows of the suppressions: what is possibly lost counts as well.
done_lines=$(valgrind --quiet --error-exitcode=99 --leak-check=full --suppressions=valgrind.supp build/minimal_worker | grep --count '"Recipient":"customer-')
[ "$done_lines" -eq 20 ] || fail "it did $done_lines items of 20"

step 'worker on an event loop'
build/demo -s readpast -e -n 20
done_lines=$(valgrind --quiet --error-exitcode=99 --leak-check=full --suppressions=valgrind.supp build/event_loop | grep --count '"Recipient":"customer-')
[ "$done_lines" -eq 20 ] || fail "it did $done_lines items of 20"

step 'minimal worker, linked statically'
build/demo -s readpast -e -n 20
done_lines=$(build/static/minimal_worker | grep --count '"Recipient":"customer-')
[ "$done_lines" -eq 20 ] || fail "it did $done_lines items of 20"

# In a schema of its own: what fails here is due again while the next scripts count what they find in theirs.
step 'worker, linked statically, tells of failed attempts, and is stopped while it waits for more'
build/demo -s readpast_failing -e -n 20
log=$(mktemp)
trap 'rm -f "$log"' EXIT
coproc worker { exec build/static/worker -r -f 5 -o schema=readpast_failing Notification 2>"$log"; }
# shellcheck disable=SC2154 # coproc sets it, and bash forgets it as soon as the worker ends
pid=$worker_PID
for ((settled = 0; settled < 20;)); do
    read -r -t 600 -u "${worker[0]}" record || fail "it settled $settled of 20"
    [[ $record != S* ]] || settled=$((settled + 1))
done
kill -TERM "$pid"
wait "$pid" || fail "it ended with exit status $?"
failed='^warning: item [^ ]*, attempt 1 failed (RETRY): the mail server said: 451 try again later$'
[ "$(grep --count "$failed" "$log")" -eq 4 ] || fail "it does not tell of the 4 of 20 that failed: $(cat "$log")"
grep --quiet '^info: worker .* started: threads: 1, items a batch: 50$' "$log" || fail 'it does not tell that it started'
grep --quiet '^info: worker .* stopped$' "$log" || fail 'it does not tell that it stopped'
! grep 'customer-' "$log" || fail 'it tells of what is in the items'

step 'bad input'
! build/worker -o schema=readpast NoSuchQueue || fail 'a worker of a queue that is not there went well'
! READPAST_CONNECTION='' build/minimal_worker || fail 'a worker without a connection went well'
