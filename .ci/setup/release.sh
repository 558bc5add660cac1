# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# The needs of packages for machines that this one is not. To be sourced by .ci/setup.sh.

install_release() {
    doing='release'
    local target sysroot
    sysroot=$(rustc --print sysroot)
    for target in {x86_64,aarch64}-unknown-linux-{gnu,musl}; do
        [ ! -d "$sysroot/lib/rustlib/$target" ] || continue
        command -v rustup >/dev/null || fail "Rust has no standard library for $target, and there is no rustup to get it"
        say release "adding Rust's target $target"
        quietly rustup target add "$target"
    done
    own_environment "$root/.local/release" .ci/package/requirements.txt
    say release present
}
