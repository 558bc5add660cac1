#!/usr/bin/env bash
# Makes the package for Fedora, RHEL and openSUSE, of what linux.sh has built and put into the package for Debian; and tries it as
# far as Debian can: rpm installs it into an empty folder, from where it is used on the PostgreSQL that READPAST_CONNECTION names,
# and removes it again.
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

architecture=$(dpkg --print-architecture)
multiarch=$(dpkg-architecture --query DEB_HOST_MULTIARCH)
machine=$(uname -m)
readonly architecture multiarch machine
readonly deb=$into/readpast_${version}_$architecture.deb rpm=$into/readpast-$version-1.$machine.rpm
# The glibc of the oldest RHEL that the package is for, 9.
readonly glibc=2.34

lay_out() {
    local usr=$clean/tree/usr
    dpkg-deb --extract "$deb" "$clean/tree"
    mv "$usr/lib/$multiarch" "$usr/lib64"
    sed -i "s|/lib/$multiarch\$|/lib64|" "$usr/lib64/pkgconfig/readpast.pc"
    mkdir -p "$usr/share/licenses/readpast"
    mv "$usr/share/doc/readpast/copyright" "$usr/share/licenses/readpast/LICENSE"
}

# As old as the last change, and built nowhere in particular: the same sources give the same package.
make_rpm() {
    quietly rpmbuild -bb --target "$machine" --define "_topdir $clean/rpm" --define "_rpmdir $clean" --define "tree $clean/tree" \
        --define "version $version" --define '_rpmfilename made.rpm' --define 'debug_package %{nil}' \
        --define '__os_install_post %{nil}' --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
        --define 'clamp_mtime_to_source_date_epoch 1' --define '_build_id_links none' .ci/package/readpast.spec
    mv "$clean/made.rpm" "$rpm"
    echo "package: $rpm"
}

check_relations() {
    local newest
    rpm --query --package --requires "$rpm" >"$clean/requires"
    rpm --query --package --provides "$rpm" >"$clean/provides"
    grep --quiet --fixed-strings 'libodbc.so.2()(64bit)' "$clean/requires" || fail "$rpm does not require libodbc.so.2"
    grep --quiet --fixed-strings "libreadpast.so.${version%.*}()(64bit)" "$clean/provides" || fail "$rpm does not give the library"
    newest=$(sed -n 's/.*(GLIBC_\([0-9.]*\)).*/\1/p' "$clean/requires" | sort --version-sort | tail -n 1)
    [ "$(printf '%s\n' "$newest" "$glibc" | sort --version-sort | tail -n 1)" = "$glibc" ] ||
        fail "$rpm requires glibc $newest: RHEL 9 has $glibc"
}

make_clean_place
lay_out
make_rpm
check_relations
mkdir "$clean/root"
quietly rpm --root "$clean/root" --install --nodeps "$rpm"
quietly rpm --root "$clean/root" --verify --nodeps readpast
use_installed "$clean/root/usr" lib64 "$clean/root"
quietly rpm --root "$clean/root" --erase readpast
left=$(find "$clean/root" -name '*readpast*')
[ -z "$left" ] || fail "the package leaves behind: $left"
