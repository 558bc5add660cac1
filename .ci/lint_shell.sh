#!/usr/bin/env bash
# Runs shellcheck over every shell script that git knows or could add.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
shellcheck "${scripts[@]}"

# A reader that leaves a pipe early ends its writer by SIGPIPE, now and then, and pipefail makes that a failure.
readonly early='[^|]\|[[:space:]]*(head|grep[[:space:]]+(-[a-zA-Z]*q|.*--quiet|.*--max-count))([[:space:]]|$)'
if grep --line-number --extended-regexp "$early" "${scripts[@]}"; then
    fail 'these lines read a part of a pipe: let the reader take all of it (sed -n 1p, grep … >/dev/null)'
fi
echo "${#scripts[@]} scripts: no finding"
