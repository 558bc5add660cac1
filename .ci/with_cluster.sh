#!/usr/bin/env bash
# Runs a command with a throw-away PostgreSQL cluster of its own:
#
#   with_cluster.sh cargo test
#
# The command finds the cluster in READPAST_TEST_POSTGRES and READPAST_CONNECTION (both its ODBC connection string), and
# in READPAST_PG_BIN, _DATA and _USER (what pg_ctl needs to stop and start it). Its exit status is ours. However it
# ends, nothing is left: no process of its process group, no cluster. If it fails, the server's log stays in
# .local/postgres.log.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# Job control: the command gets a process group of its own, which can be signalled, and cleared away, as a whole. Such a
# group may not read from a terminal, so what it would read there is empty.
set -m
[ ! -t 0 ] || exec </dev/null

[ $# -gt 0 ] || {
    echo 'usage: with_cluster.sh COMMAND [ARGUMENT...]' >&2
    exit 2
}
group=       # the command's process group, while it runs
interrupted= # the last signal that arrived

on_signal() {
    local signal=$1
    # A second signal means that the command did not heed the first.
    [ -z "$interrupted" ] || signal=KILL
    interrupted=$1
    [ -z "$group" ] || kill -s "$signal" -- "-$group" 2>/dev/null || true
}

# A signal ends `wait` before the process has ended. (A plain foreground command would hold the traps back instead.)
wait_for() {
    local status
    while true; do
        status=0
        wait "$1" || status=$?
        kill -0 "$1" 2>/dev/null || break
    done
    [ -z "$interrupted" ] || exit $((128 + $(kill -l "$interrupted")))
    return "$status"
}

clean_up() {
    local status=$?
    trap '' INT TERM HUP
    [ -z "$group" ] || kill -s KILL -- "-$group" 2>/dev/null || true
    "$root/.ci/cluster.sh" stop "$dir" || true
    if [ "$status" -ne 0 ] && [ -z "$interrupted" ] && [ -f "$dir/log" ]; then
        mkdir -p "$root/.local"
        cat "$dir/log" >"$root/.local/postgres.log"
        echo 'with_cluster: the command failed; the server log is in .local/postgres.log' >&2
    fi
    rm -rf "$dir"
    exit "$status"
}

dir=$(mktemp --directory /tmp/readpast-cluster.XXXXXX)
trap clean_up EXIT
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064 # the name of this round
    trap "on_signal $signal" "$signal"
done

# Signals are not passed on here: a cluster stopped halfway through its start is harder to clear away than a whole one.
"$root/.ci/cluster.sh" start "$dir" >/dev/null &
wait_for $!

READPAST_TEST_POSTGRES=$("$root/.ci/cluster.sh" url "$dir")
settings=$("$root/.ci/cluster.sh" env "$dir")
eval "$settings"
# Whatever server the user's own READPAST_CONNECTION names: what runs here must not reach it.
READPAST_CONNECTION=$READPAST_TEST_POSTGRES
ODBCSYSINI=${ODBCSYSINI:-$root/.local/odbc}
export READPAST_TEST_POSTGRES READPAST_CONNECTION READPAST_PG_BIN READPAST_PG_DATA READPAST_PG_USER ODBCSYSINI

"$@" &
group=$!
# A signal since the start of the cluster found no group to go to.
[ -z "$interrupted" ] || kill -s "$interrupted" -- "-$group" 2>/dev/null || true
wait_for "$group" || exit
