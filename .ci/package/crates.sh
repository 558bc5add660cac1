#!/usr/bin/env bash
# Packs library, command and readpast-data for Rust's registry, into target/package. They are of a commit: cargo refuses changes that are in none.
# bindings/rust/check_package.sh, a part of `make test`, builds and uses the same from what is packed.
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

make_clean_place
# Cargo's own folder of packages would be ours.
cargo package --quiet --locked --no-verify --package readpast --package readpast-cli --target-dir "$clean"
for crate in readpast readpast-cli; do
    cp "$clean/package/$crate-$version.crate" "$into/"
    echo "package: $into/$crate-$version.crate"
done
(cd bindings/rust/data && cargo package --quiet --locked --no-verify --target-dir "$clean")
cp "$clean/package/readpast-data-$version.crate" "$into/"
echo "package: $into/readpast-data-$version.crate"
