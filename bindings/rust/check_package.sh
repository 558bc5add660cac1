#!/usr/bin/env bash
# Packs library and command as for a registry, builds the command from what was packed, and a new crate that has the library from
# there and the ten lines of the README; then runs both on the PostgreSQL that READPAST_TEST_POSTGRES names.
set -euo pipefail
shopt -s extglob
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)

: "${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run \"make test\" at the root}"
dir=$(mktemp --directory)
worker=
trap '[ -z "$worker" ] || kill "$worker" 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

# The dependencies that the tests have built serve here as well (cargo before 1.91 builds them again); the programs lie on
# their own.
tests=$(cd "$root" && realpath -m "${CARGO_TARGET_DIR:-target}")
target=$tests/packaged
build() {
    CARGO_BUILD_BUILD_DIR=$tests cargo build --quiet --target-dir "$target" --config 'profile.dev.debug="line-tables-only"' \
        --config 'profile.dev.package."*".debug=false' "$@"
}

echo '-- what is packed'
(cd "$root" && cargo package --quiet --allow-dirty --no-verify --package readpast --package readpast-cli --target-dir "$dir/packed")
for packed in "$dir"/packed/package/*.crate; do
    tar -C "$dir" -xzf "$packed"
done
mv "$dir"/readpast-cli-* "$dir/command"
mv "$dir"/readpast-* "$dir/readpast"
for file in include/readpast.h sql/SPEC.md README.md LICENSE bindings/rust/examples/minimal_worker.rs; do
    [ -e "$dir/readpast/$file" ] || fail "$file is not packed"
done
for file in tests benches .ci target .local; do
    [ ! -e "$dir/readpast/$file" ] || fail "$file is packed"
done

echo '-- the command, built from the package'
# The library is on no registry yet.
build --manifest-path "$dir/command/Cargo.toml" --bin readpast --config "patch.crates-io.readpast.path=\"$dir/readpast\""
readpast=$target/debug/readpast

echo '-- a new crate'
mkdir -p "$dir/my_worker/src"
cp examples/minimal_worker.rs "$dir/my_worker/src/main.rs"
cp "$dir/readpast/Cargo.lock" "$dir/my_worker/"
cat >"$dir/my_worker/Cargo.toml" <<END
[package]
name = "my_worker"
version = "0.0.0"
edition = "2024"

[dependencies]
readpast = { path = "../readpast" }
END
build --manifest-path "$dir/my_worker/Cargo.toml"
! grep --quiet --extended-regexp '^name = "(clap|tokio)"' "$dir/my_worker/Cargo.lock" ||
    fail 'the library brings the needs of the command or of a feature with it'

echo '-- its work'
# In a database of its own: other checks have queues of this name too.
database=readpast_package_$$
admin() { "$READPAST_PG_BIN/psql" --quiet --no-psqlrc --command="$1" "$(conninfo postgres)"; }
# The parts of the connection string that psql needs.
conninfo() {
    tr ';' '\n' <<<"$READPAST_TEST_POSTGRES" |
        sed -n 's/^Server=/host=/ip; s/^Port=/port=/ip; s/^Uid=/user=/ip; s/^Pwd=/password=/ip' | tr '\n' ' '
    echo "dbname=$1"
}
admin "CREATE DATABASE $database"
trap '[ -z "$worker" ] || kill "$worker" 2>/dev/null || true; admin "DROP DATABASE $database WITH (FORCE)" || true; rm -rf "$dir"' EXIT
READPAST_CONNECTION=${READPAST_TEST_POSTGRES/Database=*([^;])/Database=$database}
export READPAST_CONNECTION
"$readpast" --quiet install "$dir/readpast/sql/specs/notification.toml"
for i in 1 2 3; do
    "$readpast" --quiet enqueue Notification --type Email Email.EmailTo="number $i"
done
"$target/debug/my_worker" >"$dir/work" &
worker=$!
for _ in $(seq 600); do
    counts=$("$readpast" stats Notification --json)
    ! grep --quiet --extended-regexp '"Completed": ?3' <<<"$counts" || break
    sleep 0.1
done
grep --quiet --extended-regexp '"Completed": ?3' <<<"$counts" || fail "it did not complete 3 items: $counts"
kill -0 "$worker" || fail 'it ended by itself'
[ "$(grep --count '"Email_EmailTo":"number ' "$dir/work")" -eq 3 ] || fail 'it did not do the work'
echo 'The package builds, and its worker works.'
