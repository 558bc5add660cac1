#!/usr/bin/env bash
# Holds the T-SQL of every kind of queue to its rules (the test `tsql`, which also writes it to target/tsql), and reads it with
# Microsoft's own parser where .ci/setup.sh could install that.
#
#   lint_tsql.sh              runs that test first
#   lint_tsql.sh --rendered   reads what all the offline tests have just written
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

if [ "${1:-}" != --rendered ]; then
    rm -rf target/tsql # a script of a queue that is gone must not be read
    .ci/tests_ran.sh cargo test --quiet --test offline -- tsql::
fi
compgen -G 'target/tsql/*.sql' >/dev/null || fail 'cargo test --test offline wrote no script to target/tsql'
# What the pages show.
cp tests/documents/queue_four.sql_server.sql target/tsql/
awk '/^```/ { within = /^```tsql$/; name = FILENAME; gsub("/", "_", name); file = "target/tsql/" name "_" FNR ".sql"; next }
    within { print >file }' docs/*.md sql/*.md
if [ ! -d .local/tsql_parser ]; then
    echo "lint_tsql: Microsoft's parser is not installed (.ci/setup.sh says why): left out"
    exit
fi
.local/venv/bin/python .ci/parse_tsql.py .local/tsql_parser target/tsql
