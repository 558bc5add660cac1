#!/usr/bin/env bash
# Runs shellcheck over every shell script that git knows or could add.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
shellcheck "${scripts[@]}"
echo "${#scripts[@]} scripts: no finding"
