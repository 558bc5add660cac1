#!/usr/bin/env bash
# Does what a new user does, on machines that have nothing: a bare Debian each, made by debootstrap, kept as .local/fresh/SUITE.tar
# and unpacked into target/fresh, since cargo looks through every folder but target. As an
# ordinary user with sudo, in a clone whose path has a space: `make demo`, once more without a network, and the quick start of
# the README, block by block. It needs root's rights (sudo asks), and Linux namespaces.
#
#   fresh.sh                        both Debians, each with one end of the Rust versions that build
#   fresh.sh SUITE                  one: trixie (13, with today's stable Rust) or bookworm (12, with the oldest)
#   fresh.sh SUITE COMMAND...       runs something else there, like `make test`, and keeps the machine
#
# The clone is of what is committed. A machine that has failed is kept: `chroot target/fresh/SUITE` looks at it.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

readonly place=$root/.local/fresh machines=$root/target/fresh
log=$place/log
# The user there, and a clone with a space in its path.
readonly user=newcomer clone='read past'

# A Debian as debootstrap leaves it, and the four things that a user has who cloned a repository and may use sudo.
make_base() {
    local base=$place/$1.tar made=$machines/$1.new
    doing="$1: bare machine"
    [ ! -e "$base" ] || return 0
    say "$1" 'making a bare machine'
    as_root rm -rf "$made"
    quietly as_root debootstrap --variant=minbase --include=ca-certificates,git,make,sudo "$1" "$made"
    as_root tar --create --file "$base.new" --numeric-owner --directory "$made" .
    as_root rm -rf "$made"
    as_root mv "$base.new" "$base"
}

# Certificates and proxies by which this machine reaches its package registries.
trust_as_here() {
    local machine=$1 file
    for file in /usr/local/share/ca-certificates/*.crt; do
        [ ! -e "$file" ] || as_root cp "$file" "$machine/usr/local/share/ca-certificates/"
    done
    quietly as_root chroot "$machine" /usr/sbin/update-ca-certificates
    as_root cp --dereference /etc/resolv.conf /etc/hosts "$machine/etc/"
}

make_machine() {
    local machine=$machines/$1
    doing="$1: machine"
    [ ! -d "$machine" ] || as_root rm -rf --one-file-system "$machine"
    mkdir "$machine"
    as_root tar --extract --file "$place/$1.tar" --numeric-owner --directory "$machine"
    trust_as_here "$machine"
    quietly as_root chroot "$machine" /usr/sbin/useradd --create-home --shell /bin/bash "$user"
    echo "$user ALL=(ALL) NOPASSWD: ALL" | as_root tee "$machine/etc/sudoers.d/$user" >/dev/null
    as_root mkdir "$machine/home/$user/$clone"
    as_root git -C "$machine/home/$user/$clone" init --quiet
}

# The commit that is checked out here; a machine that was kept gets it anew.
update_clone() {
    local there=$machines/$1/home/$user/$clone git
    git=(as_root git -c safe.directory='*' -C "$there")
    "${git[@]}" fetch --quiet --depth=1 "file://$root" HEAD
    "${git[@]}" reset --quiet --hard FETCH_HEAD
    as_root chroot "$machines/$1" /bin/chown -R "$user:" "/home/$user/$clone"
}

# inside NETWORK SUITE: runs the script on standard input as the user, in the clone. A login shell: the environment is the
# machine's own, with nothing of this one but how to reach the registries. NETWORK is "online" or "offline".
inside() {
    local machine=$machines/$2 spaces=(--mount --pid --fork --kill-child)
    [ "$1" = online ] || spaces+=(--net)
    as_root install --mode=644 /dev/stdin "$machine/home/$user/script"
    # shellcheck disable=SC2016 # the shell in there fills these in
    as_root env -i PATH="$PATH" machine="$machine" user="$user" clone="$clone" network="$1" rust="${rust:-}" \
        proxies="$(env | grep -iE '^(https?|no)_proxy=|^CARGO_HTTP_|^PIP_(INDEX_URL|PROXY)=|^GOPROXY=|^NODE_EXTRA_CA_CERTS=' | tr '\n' ' ' || true)" \
        unshare "${spaces[@]}" bash -ec '
            mount -t proc proc "$machine/proc"
            mount -t tmpfs tmpfs "$machine/tmp" -o mode=1777
            mount --rbind /dev "$machine/dev"
            mount -t tmpfs tmpfs "$machine/dev/shm" -o mode=1777
            [ "$network" = online ] || ip link set lo up 2>/dev/null || /sbin/ip link set lo up
            exec chroot "$machine" su --login "$user" --command "
                cd \"$clone\"
                export $proxies ${rust:+RUSTUP_TOOLCHAIN=$rust} TERM=dumb
                exec bash -e ~/script" </dev/null'
}

# The shell blocks between the two marks, one after the other: a reader copies them into one shell.
quick_start() {
    awk '/<!-- quick start: begin -->/ { on = 1 } /<!-- quick start: end -->/ { on = 0 }
         /^```/ { code = !code; next } on && code' README.md
}

newcomer() {
    local suite=$1 seconds=$SECONDS
    make_base "$suite"
    make_machine "$suite"
    update_clone "$suite"
    doing="$suite: make demo"
    say "$suite" "$doing"
    inside online "$suite" <<<'make demo' | tee "$place/$suite.log"
    grep --quiet --extended-regexp '^Lost +0$' "$place/$suite.log" || fail "$suite: the demo does not report that nothing is lost"
    say "$suite" "make demo: $((SECONDS - seconds)) s"
    doing="$suite: make demo without a network"
    say "$suite" "$doing"
    inside offline "$suite" <<<'make demo' >"$place/$suite.log" || { cat "$place/$suite.log" && false; }
    doing="$suite: quick start"
    say "$suite" "$doing"
    quick_start >"$place/$suite.quick"
    grep --quiet 'readpast work' "$place/$suite.quick" || fail 'README.md has no quick start between its marks'
    inside online "$suite" <"$place/$suite.quick" 2>&1 | tee "$place/$suite.log"
    grep --quiet --extended-regexp '\b[1-9][0-9]* completed' "$place/$suite.log" || fail "$suite: the quick start completes nothing"
    say "$suite" "all of it: $((SECONDS - seconds)) s"
    as_root rm -rf --one-file-system "${machines:?}/$suite"
}

mkdir -p "$place" "$machines"
: >"$log"
doing='rights'
as_root true
suites=(trixie bookworm)
[ $# -eq 0 ] || suites=("$1")
for suite in "${suites[@]}"; do
    case $suite in
        trixie) rust=stable ;;
        bookworm) rust=$(oldest_rust) ;;
        *) fail "there is no machine \"$suite\": trixie, bookworm" ;;
    esac
    if [ $# -le 1 ]; then
        newcomer "$suite"
    else
        # Checks have a Rust of their own.
        rust=
        make_base "$suite"
        [ -d "$machines/$suite" ] || make_machine "$suite"
        update_clone "$suite"
        doing="$suite: ${*:2}"
        printf '%q ' "${@:2}" | inside online "$suite"
    fi
done
