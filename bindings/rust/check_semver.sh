#!/usr/bin/env bash
# Compares the crate's public API with that of the last release, and fails if the version number does not allow for what
# has changed since.
#
#   check_semver.sh              installs cargo-semver-checks into .local/tools first, if it is not there: takes ten minutes
#   check_semver.sh --if-there   does nothing but say so where it is not installed: what `make test` does
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly tools=$PWD/.local/tools
readonly version=0.51.0
# The last release is the newest tag; before the first one, it is the commit in which all languages used the API.
readonly before_releases=7629773246b108dd1bf518cd013562603ba00643

PATH=$tools/bin:$PATH
if ! command -v cargo-semver-checks >/dev/null; then
    if [ "${1:-}" = --if-there ]; then
        echo 'cargo-semver-checks is not installed, so the API was not compared with the last release: make semver'
        exit
    fi
    echo "building cargo-semver-checks $version, once; takes about ten minutes"
    cargo install --quiet --locked --debug --no-default-features --root "$tools" --target-dir "$tools/build" \
        --version "$version" cargo-semver-checks
    rm -rf "$tools/build"
fi

release=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null) || release=$before_releases
git cat-file -e "$release^{commit}" 2>/dev/null || {
    echo "check_semver: this clone lacks the history to compare with ($release): git fetch --unshallow --tags" >&2
    exit 1
}
baseline=$(mktemp --directory)
trap 'rm -rf "$baseline"' EXIT
git archive "$release" | tar -x -C "$baseline"
# The library alone: the command's further needs are no API.
cargo semver-checks --manifest-path Cargo.toml --baseline-root "$baseline" --only-explicit-features
