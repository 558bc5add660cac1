#!/usr/bin/env bash
# A throw-away PostgreSQL cluster for the demo, the tests and the benchmarks.
#
#   cluster.sh start [DIR]   creates it in DIR (by default a new directory below /tmp), starts it and prints DIR
#   cluster.sh url DIR       prints its ODBC connection string
#   cluster.sh env DIR       prints READPAST_PG_BIN, _DATA and _USER as shell assignments: what pg_ctl needs
#   cluster.sh stop DIR      stops it; the data stays, and `start DIR` starts it again
#
# It listens on a free TCP port of 127.0.0.1 only. PostgreSQL refuses to run as root, so root runs it as the user
# postgres, or readpast where there is none. READPAST_CLUSTER_FSYNC=off makes tests faster; benchmarks keep the default.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly role=readpast # the cluster's superuser, and the name of its database

usage() { fail 'usage: cluster.sh start [DIR] | url DIR | env DIR | stop DIR'; }

find_programs() {
    if [ -n "${READPAST_PG_BIN:-}" ]; then
        echo "$READPAST_PG_BIN"
    elif compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
        # Debian keeps them off PATH, one directory per major version: the newest.
        dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort --version-sort | tail -n 1)"
    else
        dirname "$(command -v initdb)" || fail 'no PostgreSQL server is installed: run .ci/setup.sh'
    fi
}

find_owner() {
    if [ "$(id -u)" -ne 0 ]; then
        id -un
    elif getent passwd postgres >/dev/null; then
        echo postgres
    else
        getent passwd readpast >/dev/null || useradd --system --no-create-home --shell /usr/sbin/nologin readpast >&2
        echo readpast
    fi
}

as_owner() {
    if [ "$(id -un)" = "$owner" ]; then "$@"; else runuser -u "$owner" -- "$@"; fi
}

create() {
    local fsync=${READPAST_CLUSTER_FSYNC:-on}
    chmod 700 "$dir"
    [ "$(id -un)" = "$owner" ] || chown "$owner": "$dir"
    as_owner test -x "$dir" || fail "the user $owner cannot reach $dir: name a directory below one that all may enter"

    # A superuser of this server can run programs as $owner: other users of the machine must not guess the password.
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n' | as_owner tee "$dir/password" >/dev/null
    as_owner "$programs/initdb" --pgdata="$data" --username="$role" --pwfile="$dir/password" --auth=scram-sha-256 \
        --encoding=UTF8 --locale=C.UTF-8 >"$dir/initdb.log" 2>&1 ||
        fail "initdb failed: $(tail -n 5 "$dir/initdb.log")"
    as_owner tee -a "$data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
fsync = $fsync
autovacuum = on
log_lock_waits = on
include = 'port.conf'
CONF
    choose_port
}

choose_port() { as_owner tee "$data/port.conf" >/dev/null <<<"port = $((20000 + RANDOM % 12000))"; }

# The bind itself is what claims a port, so there is no gap between finding one free and taking it: try until one can be
# bound. The range is below the one Linux takes the ports of outgoing connections from.
start() {
    local attempt
    for attempt in {1..20}; do
        if as_owner "$programs/pg_ctl" start --pgdata="$data" --log="$dir/log" --wait --timeout=600 --silent >/dev/null 2>&1; then
            return
        fi
        tail -n 5 "$dir/log" | grep 'Address already in use' >/dev/null || break
        choose_port
    done
    fail "the server did not start (attempt $attempt): $(tail -n 5 "$dir/log")"
}

is_running() { as_owner "$programs/pg_ctl" status --pgdata="$data" >/dev/null 2>&1; }

port() { sed -n 's/^port = //p' "$data/port.conf"; }

create_database() {
    PGPASSWORD=$(cat "$dir/password") "$programs/createdb" --host=127.0.0.1 --port="$(port)" --username="$role" "$role"
}

programs=$(find_programs)
owner=$(find_owner)
action=${1:-}
if [ "$action" = start ] && [ -z "${2:-}" ]; then
    dir=$(mktemp --directory /tmp/readpast-cluster.XXXXXX)
elif [ -n "${2:-}" ]; then
    dir=$(realpath --canonicalize-missing "$2")
else
    usage
fi
data=$dir/data
# The caller's directory may be closed to $owner, about which every program would complain.
cd /

case $action in
    start)
        if [ -d "$data" ]; then
            is_running || start
        else
            mkdir -p "$dir"
            [ -z "$(ls -A "$dir")" ] || fail "$dir is not empty, and holds no cluster of ours"
            create
            start
            create_database
        fi
        echo "$dir"
        ;;
    url)
        password=$(cat "$dir/password")
        echo "Driver={PostgreSQL Unicode};Server=127.0.0.1;Port=$(port);Database=$role;Uid=$role;Pwd=$password;"
        ;;
    env)
        printf '%s=%q\n' READPAST_PG_BIN "$programs" READPAST_PG_DATA "$data" READPAST_PG_USER "$owner"
        ;;
    stop)
        # fast, not smart: a test that left a connection open must not keep the server alive.
        if is_running; then as_owner "$programs/pg_ctl" stop --pgdata="$data" --mode=fast --wait --timeout=600 --silent >&2; fi
        ;;
    *)
        usage
        ;;
esac
