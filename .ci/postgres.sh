#!/usr/bin/env bash
# A throw-away PostgreSQL to try readpast on: `make postgres` and `make postgres-stop`.
#
#   postgres.sh start   starts it, and writes its ODBC connection string to .local/postgres/connection
#   postgres.sh stop    stops and deletes it
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

readonly place=.local/postgres
# Below /tmp, since the user whom root starts it as may not enter every home directory.
dir=$(cat "$place/directory" 2>/dev/null || true)

case ${1:-} in
    start)
        mkdir -p "$place"
        # A restart of the machine may have deleted it.
        [ -d "$dir/data" ] || dir=
        dir=$(.ci/cluster.sh start ${dir:+"$dir"})
        echo "$dir" >"$place/directory"
        (umask 077 && .ci/cluster.sh url "$dir" >"$place/connection")
        echo "A throw-away PostgreSQL runs in $dir. To use it, and to end it:"
        echo
        echo "  export READPAST_CONNECTION=\"\$(cat $place/connection)\""
        echo '  make postgres-stop'
        ;;
    stop)
        if [ -n "$dir" ]; then
            .ci/cluster.sh stop "$dir"
            rm -rf "$dir"
        fi
        rm -rf "$place"
        ;;
    *)
        fail 'usage: postgres.sh start | stop'
        ;;
esac
