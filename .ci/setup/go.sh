# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Go, where the machine has none or an older one than the binding needs. To be sourced by .ci/setup.sh.

# Debian's Go is often older than the bindings need. The Go module proxy serves whole toolchains; ours goes below .local/,
# which is first on PATH.
install_go() {
    doing='go'
    local version oldest
    oldest=$(sed -n 's/^go //p' bindings/go/go.mod)
    version=$(GOTOOLCHAIN=local go version 2>/dev/null | sed 's/.* go\([0-9.]*\).*/\1/') || true
    if [ "$(printf '%s\n' "$oldest" "${version:-0}" | sort --version-sort | sed -n 1p)" = "$oldest" ]; then
        say go present
        return
    fi

    local machine hash name archive=$root/.local/go.zip
    case $(uname -m) in
        x86_64) machine=amd64 hash=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7 ;;
        aarch64) machine=arm64 hash=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99 ;;
        *) fail "install Go $oldest or later by hand: this script knows none for $(uname -m)" ;;
    esac
    name=toolchain@v0.0.1-go1.26.8.linux-$machine
    say go "installing ${name#*-} into .local/go"
    download "https://proxy.golang.org/golang.org/${name/@/\/@v\/}.zip" "$hash" "$archive"
    rm -rf "$root/.local/go" "$root/.local/go.new"
    quietly "$venv/bin/python" -m zipfile --extract "$archive" "$root/.local/go.new"
    # A module's archive does not say which files are programs.
    chmod +x "$root/.local/go.new/golang.org/$name"/{bin/*,pkg/tool/*/*}
    mv "$root/.local/go.new/golang.org/$name" "$root/.local/go"
    rm -rf "$root/.local/go.new" "$archive"
}
