#!/usr/bin/env bash
# Builds the command as the tests have it, and prints where it lies. `cargo build` would compile it anew, with what it needs: the
# tests' own dependencies ask for more of some of them.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
cargo test --quiet --locked --no-run --test windows >&2
realpath -m "${CARGO_TARGET_DIR:-target}/debug/readpast"
