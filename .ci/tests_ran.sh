#!/usr/bin/env bash
# Runs a command that runs tests which it chooses by their names, and fails if it ran none: a name that fits nothing, since
# somebody has renamed a test, is no failure to cargo.
#
#   tests_ran.sh cargo test --test offline -- licences::
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$@" | tee "$output" || exit
grep --quiet --extended-regexp '^test result: ok\. [1-9][0-9]* passed' "$output" || fail "no test fits, so none ran: $*"
