#!/usr/bin/env bash
# Makes the module's archive, as the module proxy serves it, and builds the minimal worker in a project outside that gets the
# module from it, with an empty module cache. Runs it on the PostgreSQL that READPAST_TEST_POSTGRES names. Then it takes away
# what the program needs, and looks at what is said about that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
prefix=${1:?the prefix where the library is installed}

export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
header=$PWD/../../include/readpast.h
module=$(sed -n 's/^module //p' go.mod)
version=v$(sed -n 's/^#define READPAST_VERSION_[MP][A-Z]* //p' "$header" | paste --serial --delimiters=.)
dir=$(mktemp --directory)
# What go downloads it makes read-only.
trap 'chmod -R u+w "$dir" && rm -rf "$dir"' EXIT

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

echo "-- the module $version"
proxy=$dir/proxy/$module/@v
mkdir -p "$proxy" "$dir/zip"
git ls-files --cached --others --exclude-standard -z | (cd "$dir/zip" && mkdir -p "$module@$version" &&
    xargs -0 -I{} cp --parents -t "$module@$version" --no-dereference "$OLDPWD/{}" 2>/dev/null || true)
