# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Drivers of others, by which tests call procedures: psycopg, pyodbc, pgx, JDBC. To be sourced by .ci/setup.sh.

# The drivers for Python in an environment of their own, that for Java beside them. Go keeps its modules itself.
install_callers() {
    doing='callers'
    local place=$root/.local/callers version hash
    own_environment "$place" tests/callers/requirements.txt
    read -r version hash < <(grep -v '^#' tests/callers/jdbc/driver.txt)
    if ! sha256sum --check --status - 2>/dev/null <<<"$hash  $place/postgresql.jar"; then
        say callers "getting PostgreSQL's JDBC driver $version"
        download "https://repo1.maven.org/maven2/org/postgresql/postgresql/$version/postgresql-$version.jar" "$hash" \
            "$place/postgresql.jar"
    fi
    (cd tests/callers/pgx && quietly go mod download)
    say callers present
}
