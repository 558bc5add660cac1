#!/usr/bin/env bash
# The caller's own transaction over other people's drivers: psycopg, pgx, JDBC, pg and those of Rust on the PostgreSQL of
# READPAST_CONNECTION, pyodbc and tiberius on the SQL Server of READPAST_TEST_SQLSERVER where that is set. .ci/setup.sh callers has brought the drivers; each suite
# is read by the linters of its language first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
readonly root callers=$root/.local/callers classes=$root/target/callers

step() { printf -- '-- %s\n' "$*"; }

# A value of an ODBC connection string.
value() { tr ';' '\n' <<<"$2" | sed -n "s/^$1=//Ip" | tail -n 1; }

step 'ruff, mypy'
"$callers/bin/ruff" check --quiet .
"$callers/bin/ruff" format --quiet --diff .
"$callers/bin/mypy" --no-error-summary ./*.py django_shop

step 'node --check'
export NODE_PATH=$callers/node/node_modules
for file in node/*.js; do "$callers/node/bin/node" --check "$file"; done

step 'gofmt, go vet'
unformatted=$(gofmt -l pgx)
[ -z "$unformatted" ] || {
    echo "gofmt would change: $unformatted" >&2
    exit 1
}
(cd pgx && go vet .)

step 'javac, javadoc'
rm -rf "$classes"
javac -Xlint:all -Werror --release 17 -cp "$callers/postgresql.jar" -d "$classes" jdbc/*.java "$root"/bindings/java/data/src/main/java/readpast/data/*.java
javadoc -quiet -Xdoclint:all,-missing -Werror -d "$classes/doc" "$root"/bindings/java/data/src/main/java/readpast/data/*.java

PGHOST=$(value Server "$READPAST_CONNECTION")
PGPORT=$(value Port "$READPAST_CONNECTION")
PGDATABASE=$(value Database "$READPAST_CONNECTION")
PGUSER=$(value Uid "$READPAST_CONNECTION")
PGPASSWORD=$(value Pwd "$READPAST_CONNECTION")
export PGHOST PGPORT PGDATABASE PGUSER PGPASSWORD

export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/bindings/python/data/src
python_tests() { "$callers/bin/python" -m pytest --quiet -p no:cacheprovider "$@"; }

readpast=$("$root/.ci/command.sh")
"$readpast" install transfer.toml notice.toml
# Two queues of tasks.
of_tasks=$root/bindings/python/data/src/readpast_data/django/task.toml
"$readpast" install "$of_tasks" <(sed 's/"Task"/"ShopMail"/' "$of_tasks")
step 'psycopg'
python_tests test_psycopg.py
step 'readpast-data: psycopg, psycopg2, pg8000, pyodbc, asyncpg, SQLAlchemy, Django'
python_tests test_data.py
step 'readpast-data: tasks of Django'
DJANGO_SETTINGS_MODULE=django_shop.settings python_tests test_django_tasks.py
step 'pgx'
(cd pgx && go test -count=1 .)
step 'readpast-data of Rust: tokio-postgres, postgres, sqlx, tiberius'
rust_tests() { (cd "$root/bindings/rust/data" && CARGO_TARGET_DIR=$root/target/data cargo "$@"); }
rust_tests fmt --check
rust_tests clippy --quiet --all-features --all-targets -- -D warnings
rust_tests test --quiet --all-features
step 'pg, of Node'
"$callers/node/bin/node" --test --test-reporter=dot node/callers.js
step 'JDBC, readpast-data of Java'
java -cp "$classes:$callers/postgresql.jar" Callers

[ -n "${READPAST_TEST_SQLSERVER:-}" ] || {
    echo 'pyodbc: READPAST_TEST_SQLSERVER is not set: left out'
    exit
}
step 'pyodbc on SQL Server'
database=readpast_callers_$$
run() {
    "$callers/bin/python" -c 'import pyodbc, sys; pyodbc.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])' \
        "$READPAST_TEST_SQLSERVER" "$1"
}
run "CREATE DATABASE $database"
trap 'run "DROP DATABASE $database"' EXIT
READPAST_CALLERS_SQLSERVER="$(tr ';' '\n' <<<"$READPAST_TEST_SQLSERVER" | grep -iv '^database=' | tr '\n' ';');Database=$database;"
export READPAST_CALLERS_SQLSERVER
READPAST_CONNECTION=$READPAST_CALLERS_SQLSERVER "$readpast" install transfer.toml notice.toml
python_tests test_pyodbc.py test_data.py
step 'tiberius on SQL Server'
READPAST_DATA_TIBERIUS="$(value Server "$READPAST_TEST_SQLSERVER"),$(value UID "$READPAST_TEST_SQLSERVER"),$(
    value PWD "$READPAST_TEST_SQLSERVER"
),$database"
export READPAST_DATA_TIBERIUS
rust_tests test --quiet --all-features tiberius
