# shellcheck shell=bash disable=SC2154 # names that common.sh gives
# Machines with nothing of ours, to try packages on: Debian as debootstrap leaves it. To be sourced after common.sh, by a script that
# has made its clean place. It needs root's rights.

readonly machines=$root/.local/machines

# bare_machine SUITE PLACE PACKAGES: a machine that can be entered; what debootstrap made is kept for the next time.
bare_machine() {
    local suite=$1 place=$2 kept=$machines/$1.tar file
    if [ ! -e "$kept" ]; then
        echo "package: making a bare machine, $suite"
        mkdir -p "$machines"
        quietly as_root debootstrap --variant=minbase --include="$3" "$suite" "$clean/new"
        as_root tar --create --file "$kept.new" --numeric-owner --directory "$clean/new" .
        as_root rm -rf "$clean/new"
        as_root mv "$kept.new" "$kept"
    fi
    mkdir -p "$place"
    as_root tar --extract --file "$kept" --numeric-owner --directory "$place"
    for file in /usr/local/share/ca-certificates/*.crt; do
        [ ! -e "$file" ] || as_root cp "$file" "$place/usr/local/share/ca-certificates/"
    done
    as_root cp --dereference /etc/resolv.conf /etc/hosts "$place/etc/"
}

# inside PLACE: runs the script on standard input in there as root, with the network of this machine and nothing of its
# environment but how to reach the registries and the database.
inside() {
    as_root install --mode=644 /dev/stdin "$1/script"
    # shellcheck disable=SC2016 # the shell in there fills these in
    as_root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 place="$1" \
        READPAST_CONNECTION="$READPAST_CONNECTION" version="$version" http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
        unshare --mount --pid --fork --kill-child bash -ec '
            mount -t proc proc "$place/proc"
            mount --rbind /dev "$place/dev"
            exec chroot "$place" bash -eo pipefail /script' </dev/null
}

# unpacked_machine SUITE ARCHITECTURE PLACE PACKAGES: the files of a machine of another kind, which QEMU reads. No program of it has
# run, so nothing in it is configured.
unpacked_machine() {
    local suite=$1 architecture=$2 place=$3 kept=$machines/$1-$2.tar file
    if [ ! -e "$kept" ]; then
        echo "package: getting the files of $suite for $architecture"
        mkdir -p "$machines"
        quietly as_root debootstrap --foreign --arch="$architecture" --variant=minbase --include="$4" "$suite" "$clean/new"
        for file in "$clean"/new/var/cache/apt/archives/*.deb; do
            as_root dpkg-deb --extract "$file" "$clean/new"
        done
        as_root tar --create --file "$kept.new" --numeric-owner --directory "$clean/new" --exclude ./var/cache .
        as_root rm -rf "$clean/new"
        as_root mv "$kept.new" "$kept"
    fi
    mkdir -p "$place"
    as_root tar --extract --file "$kept" --numeric-owner --directory "$place"
}
