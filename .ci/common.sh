# shellcheck shell=bash disable=SC2034 # names for the scripts that source this
# The first lines of every script here: strict errors, the root of the repository in $root, the tools that set-up
# installed on PATH, and one sentence for each way to end. To be sourced:
#
#   fail SENTENCE...   ends the script with a sentence on standard error
#   doing=...          names the step at work, for the sentence that an unexpected failure ends with
#   log=...            names a file with the whole output of what runs quietly
#   quietly COMMAND... runs a command with its output in the log, whose end is shown only if the command fails
set -Eeuo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
script=$(basename "$0" .sh)
readonly script
doing=
log=

# Go from set-up is newer than Debian's. Rust from rustup stands last: a cargo of the user's choice comes first.
export PATH=$root/.local/go/bin:$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin

say() { printf '%-11s %s\n' "$1" "$2"; }

fail() {
    printf '%s: %s\n' "$script" "$*" >&2
    exit 1
}

# An error that no command of the script expects.
report_failure() {
    local status=$1 line=$2 command=$3
    # The callers of a function that fails would report it once more.
    trap - ERR
    printf '%s: stopped%s: line %s, exit status %s, at: %s\n' "$script" "${doing:+ at \"$doing\"}" "$line" "$status" "$command" >&2
    # A subshell names its command; the shell that waits for it goes on from there.
    [ "$BASH_SUBSHELL" -eq 0 ] || return "$status"
    [ ! -s "$log" ] || printf '  the output of its commands is in %s\n' "$log" >&2
    printf '  Mend what the lines above name and run it again: it goes on where it stopped.\n' >&2
    printf '  If they name nothing, "bash -x %s" shows each command; please report its last lines.\n' "$0" >&2
}
trap 'report_failure $? "$LINENO" "$BASH_COMMAND"' ERR

quietly() {
    "$@" >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        fail "${doing:+$doing: }this failed: $* (its whole output is in $log)"
    }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "root's rights are needed and there is no sudo; run this as root: $*"
    fi
}

# Whether there is a .NET SDK that builds the C# binding.
has_dotnet() { command -v dotnet >/dev/null && [[ $(dotnet --list-sdks) =~ (^|$'\n')[1-9][0-9]\. ]]; }
readonly no_dotnet='there is no .NET SDK 10 on the PATH: Ubuntu has it (apt-get install dotnet-sdk-10.0), Microsoft for all
systems (https://dot.net)'

# Checks run with one Rust, whatever the machine builds with; without rustup there is no choice.
use_pinned_rust() {
    ! command -v rustup >/dev/null || export RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(tail -n 1 "$root/.ci/rust.txt")}
}

# The first version of Rust that builds the library: Cargo.toml promises it.
oldest_rust() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml"; }

# download URL SHA256 FILE: a file of which the content is known.
download() {
    quietly curl --fail --silent --show-error --retry 5 --retry-all-errors --location --output "$3" "$1"
    quietly sha256sum --check - <<<"$2  $3"
}
