#!/usr/bin/env bash
# Runs a language's first_queue on the PostgreSQL that READPAST_TEST_POSTGRES names, twice: the queue is there the second time,
# and the item of the first time is done.
#
#   check_first_queue.sh PROGRAM [ARGUMENT...]
set -euo pipefail

export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
for run in 1 2; do
    output=$("$@")
    if [[ $output != 'work on '*a@example.org* ]] || [ "$(wc -l <<<"$output")" -ne 1 ]; then
        echo "check_first_queue: run $run of $1 printed: $output" >&2
        exit 1
    fi
done
