#!/usr/bin/env bash
# Builds the command as the tests have it, and prints where it lies. `cargo build` would compile it anew, with what it needs: the
# tests' own dependencies ask for more of some of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo test --quiet --locked --no-run --test windows >&2
realpath -m "${CARGO_TARGET_DIR:-target}/debug/readpast"
