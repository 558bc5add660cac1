#!/usr/bin/env bash
# Runs shellcheck over every shell script that git knows or could add.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
shellcheck "${scripts[@]}"
echo "${#scripts[@]} scripts: no finding"
