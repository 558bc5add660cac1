#!/usr/bin/env bash
# Lints the SQL as users get it: rendered. The test `sql` writes it to target/sql/<dialect>, without a database.
#
#   lint_sql.sh              renders it first
#   lint_sql.sh --rendered   reads what all the offline tests have just rendered
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

if [ "${1:-}" != --rendered ]; then
    rm -rf target/sql # a script of a queue that is gone must not be linted
    .ci/tests_ran.sh cargo test --quiet --test offline -- sql:: --skip tsql::
fi

lint() {
    local directory=target/sql/$1 dialect=$2
    compgen -G "$directory/*.sql" >/dev/null || fail "cargo test --test offline wrote no script to $directory"
    echo "$directory as $dialect"
    .local/venv/bin/python -m sqlfluff lint --config .ci/sqlfluff.cfg --dialect "$dialect" --processes 0 \
        --disable-progress-bar "$directory"
}

lint sql_server tsql
lint postgres postgres
