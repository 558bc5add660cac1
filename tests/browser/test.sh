#!/usr/bin/env bash
# Runs the browser test against the command that is built here, on a throw-away PostgreSQL. Screenshots stay in target/browser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --bin readpast
exec .ci/with_cluster.sh .local/browser/bin/python tests/browser/pages.py target/debug/readpast target/browser
