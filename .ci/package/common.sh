# shellcheck shell=bash
# What makes and tries packages has in common. To be sourced.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$root"
mkdir -p .local
use_pinned_rust

log=$root/.local/package.log
: >"$log"
readonly folders=${CARGO_TARGET_DIR:-target}
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)
# The same sources give the same package: what is in it is as old as the last change.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
readonly version
export SOURCE_DATE_EPOCH

# A clean place, which goes when the script ends.
make_clean_place() {
    clean=$(mktemp --directory)
    trap 'rm -rf "$clean"' EXIT
}

# says_version COMMAND...
says_version() {
    local said
    said=$("$@" --version)
    [ "${said%$'\r'}" = "readpast $version" ] || fail "$1 says: $said"
}

# The queue that the smallest worker works on: that of bindings/python/package/enqueue.py, since all of a release is tried on one database.
readonly notification='{"queue": "Notification", "types": ["Email", "Sms"], "columns": [{"name": "Recipient", "type": "text(254)"},
    {"name": "Subject", "type": "text(200)"}, {"name": "Body", "type": "text"}]}'

# make_queue COMMAND...: it, where the database does not have it yet.
make_queue() {
    echo "$notification" >"$clean/queue.json"
    "$@" install "$clean/queue.json" >/dev/null
}

# does_work WORKER...: what was enqueued before is what it prints.
does_work() {
    local said
    said=$("$@")
    [[ $said == *Zoë* ]] || fail "the worker $1 says: $said"
}

# use_installed USR LIBRARIES [SYSROOT]: as somebody uses it who has nothing else of ours, by pkg-config and by CMake.
use_installed() {
    local usr=$1 libraries=$1/$2
    local flags worker
    says_version "$usr/bin/readpast"
    make_queue "$usr/bin/readpast"
    # A sysroot is where a package is that is not installed; without it, paths are what the .pc says.
    flags=$(PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=${3:-} pkg-config --cflags --libs readpast)
    # shellcheck disable=SC2086 # several words
    cc -o "$clean/worker" bindings/c/examples/minimal_worker.c $flags
    rm -rf "$clean/cmake"
    quietly cmake -S bindings/c/package/find_package -B "$clean/cmake" "-Dreadpast_DIR=$libraries/cmake/readpast"
    quietly cmake --build "$clean/cmake"
    for worker in "$clean"/{worker,cmake/my_worker,cmake/my_static_worker}; do
        "$usr/bin/readpast" enqueue Notification 'Recipient=Zoë' >/dev/null
        LD_LIBRARY_PATH=$libraries does_work "$worker"
    done
    echo "package: ${usr#"$clean/"} was used from a clean place"
}

[ -n "${READPAST_CONNECTION:-}" ] || fail 'set READPAST_CONNECTION to an ODBC connection string, or run "make package"'
quick=
[ "${1:-}" != --quick ] || quick=yes
into=$root/$folders/package${quick:+/quick}
[[ $folders != /* ]] || into=$folders/package${quick:+/quick}
mkdir -p "$into"
