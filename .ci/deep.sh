#!/usr/bin/env bash
# Checks whose tools take long to get or to run; `make test-deep`. They are not part of `make test`, which says so.
#
#   deep.sh            all of them
#   deep.sh CHECK...   some: newest (today's stable Rust), miri (the handle tables under an interpreter that sees undefined
#                      behaviour), asan (hostile calls of the C functions, with addresses checked), deny (crates: licences,
#                      sources, and known weaknesses of those in Cargo.lock)
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

readonly checks=(newest miri asan deny)
readonly cargo_deny=0.20.2
# One day's: another may not have what is asked for.
readonly nightly=nightly-2026-10-30
[ $# -gt 0 ] || set -- "${checks[@]}"

newest() {
    rustup toolchain install --profile minimal --no-self-update stable
    cargo +stable check --locked --all-targets --target-dir target/stable
}

miri() {
    rustup toolchain install --profile minimal --no-self-update --component miri,rust-src "$nightly"
    # Properties need the clock and random numbers of this machine; a few cases of each take long enough.
    PROPTEST_CASES=4 MIRIFLAGS='-Zmiri-disable-isolation' cargo "+$nightly" miri test --locked --lib --target-dir target/miri -- ffi::
}

asan() {
    rustup toolchain install --profile minimal --no-self-update "$nightly"
    local target
    target=$(rustc -vV | sed -n 's/^host: //p')
    # Memory that the drivers keep to the end of the process is theirs; `make test` looks for leaks of ours, in C.
    ASAN_OPTIONS=detect_leaks=0 RUSTFLAGS=-Zsanitizer=address READPAST_FUZZ_SECONDS="${READPAST_FUZZ_SECONDS:-60}" \
        .ci/with_cluster.sh cargo "+$nightly" test --locked --target "$target" --target-dir target/asan \
        --test fuzz_ffi --test ffi_handles
}

deny() {
    local place=$root/.local/cargo-deny
    if [ "$("$place/bin/cargo-deny" --version 2>/dev/null)" != "cargo-deny $cargo_deny" ]; then
        echo "building cargo-deny $cargo_deny, once, for some minutes"
        cargo install --quiet --locked --root "$place" --version "=$cargo_deny" cargo-deny
    fi
    "$place/bin/cargo-deny" check licenses bans sources
    # The list of known weaknesses is a repository on GitHub, which not every machine reaches.
    if timeout 120 "$place/bin/cargo-deny" fetch db >"$place/fetch.log" 2>&1; then
        "$place/bin/cargo-deny" check advisories
    else
        local why
        why=$(tail -n 1 "$place/fetch.log")
        echo "advisories: NOT CHECKED: the database of RustSec could not be fetched (${why:-no answer within 120 s})"
    fi
}

for check; do
    [[ " ${checks[*]} " == *" $check "* ]] || fail "no check \"$check\": ${checks[*]}"
done
for check; do
    doing=$check
    echo "== $check"
    "$check"
done
echo "The checks passed: $*"
