#!/usr/bin/env bash
# Runs a command that runs tests which it chooses by their names, and fails if it ran none: a name that fits nothing, since
# somebody has renamed a test, is no failure to cargo.
#
#   tests_ran.sh cargo test --test offline -- licences::
set -euo pipefail

output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$@" | tee "$output"
grep --quiet --extended-regexp '^test result: ok\. [1-9][0-9]* passed' "$output" || {
    echo "tests_ran: no test fits, so none ran: $*" >&2
    exit 1
}
