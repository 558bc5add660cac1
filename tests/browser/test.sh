#!/usr/bin/env bash
# Runs the browser test against the command that is built here, on a throw-away PostgreSQL. Screenshots stay in target/browser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readpast=$(.ci/command.sh)
exec .ci/with_cluster.sh .local/browser/bin/python tests/browser/pages.py "$readpast" target/browser
