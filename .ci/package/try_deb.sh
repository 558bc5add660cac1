#!/usr/bin/env bash
# Installs the package for Debian by apt on a bare machine, uses command and library there on the PostgreSQL that
# READPAST_CONNECTION names, and removes it again.
#
#   try_deb.sh [--quick]   of target/package, or target/package/quick
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=.ci/package/machines.sh
source .ci/package/machines.sh

make_clean_place
trap 'as_root rm -rf --one-file-system "$clean"' EXIT
place=$clean/machine
architecture=$(dpkg --print-architecture)
# The Debian that this machine is: a package is for the glibc that it was linked with, and newer ones.
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
bare_machine "$suite" "$place" ca-certificates
cp "$into/readpast_${version}_$architecture.deb" "$place/readpast.deb"
echo "$notification" >"$place/queue.json"
# No compiler is in there; the program asks for the library by its soname.
multiarch=$(dpkg-architecture --query DEB_HOST_MULTIARCH)
dpkg-deb --extract "$place/readpast.deb" "$clean/files"
cc -o "$place/worker" -Iinclude bindings/c/examples/minimal_worker.c -L"$clean/files/usr/lib/$multiarch" -lreadpast
inside "$place" >"$clean/output" <<'MACHINE' || { cat "$clean/output" >&2 && fail "the package does not work on a bare $suite"; }
apt-get --quiet --quiet update >/log 2>&1
apt-get --quiet --quiet --yes install --no-install-recommends /readpast.deb odbc-postgresql >/log 2>&1 || { cat /log && exit 1; }
[ "$(readpast --version)" = "readpast $version" ]
readpast install /queue.json
readpast enqueue Notification 'Recipient=Zoë'
/worker
[ -e /usr/include/readpast.h ] && [ -e /usr/share/bash-completion/completions/readpast ]
apt-get --quiet --quiet --yes purge readpast >/log 2>&1 || { cat /log && exit 1; }
left=$(find /usr /etc -name '*readpast*')
[ -z "$left" ] || { echo "the package leaves behind: $left" && exit 1; }
MACHINE
grep --quiet 'Zoë' "$clean/output" || { cat "$clean/output" >&2 && fail "the worker on a bare $suite does no work"; }
echo "package: a bare $suite installs the package for Debian by apt, uses it, and is as before without it"
