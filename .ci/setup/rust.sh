# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Rust, by rustup. To be sourced by .ci/setup.sh.

# Debian 12 and Ubuntu before 24.04 have no package of it.
readonly rustup_version=1.28.2

install_rust() {
    doing='rust'
    local oldest version
    oldest=$(oldest_rust)
    command -v cargo >/dev/null || install_rustup
    version=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$oldest" "$version" | sort --version-sort | sed -n 1p)" = "$oldest" ] ||
        fail "rustc is $version, $oldest or later is needed: rustup update stable"
    if needs_checks; then
        if command -v rustup >/dev/null; then
            use_pinned_rust
            install_toolchain "$RUSTUP_TOOLCHAIN"
            rustup run "$oldest" cargo --version >/dev/null 2>&1 ||
                quietly rustup toolchain install "$oldest" --profile minimal --no-self-update
        elif ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
            fail 'rustfmt or clippy is missing, and there is no rustup to install them with'
        fi
    fi
    say rust present
}

install_toolchain() {
    ! rustup run "$1" cargo clippy --version >/dev/null 2>&1 || ! rustup run "$1" cargo fmt --version >/dev/null 2>&1 ||
        return 0
    say rust "installing the toolchain $1"
    quietly rustup toolchain install "$1" --profile minimal --no-self-update --component clippy --component rustfmt
}

# A user's RUSTUP_TOOLCHAIN names another toolchain than ours.
install_rustup() {
    local toolchain=${RUSTUP_TOOLCHAIN:-$(tail -n 1 .ci/rust.txt)}
    say rust "installing rustup and the toolchain $toolchain for $(id -un)"
    if is_offered rustup; then
        apt_get install --no-install-recommends rustup
    else
        download_rustup
    fi
    install_toolchain "$toolchain"
    quietly rustup default "$toolchain"
}

download_rustup() {
    local host hash program=$root/.local/rustup-init
    case $(uname -m) in
        x86_64) host=x86_64 hash=20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c ;;
        aarch64) host=aarch64 hash=e3853c5a252fca15252d07cb23a1bdd9377a8c6f3efa01531109281ae47f841c ;;
        *) fail "this script knows no rustup for $(uname -m): install Rust by hand, from https://rustup.rs" ;;
    esac
    download "https://static.rust-lang.org/rustup/archive/$rustup_version/$host-unknown-linux-gnu/rustup-init" "$hash" "$program"
    chmod +x "$program"
    quietly "$program" -y --no-modify-path --profile minimal --default-toolchain none
    rm "$program"
}
