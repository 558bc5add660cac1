#!/usr/bin/env bash
# Makes, for this machine's kind, an archive that can be unpacked anywhere and a package for Debian and Ubuntu: command,
# library, header, and the unit for workers. Each is tried from a clean place, on the PostgreSQL that READPAST_CONNECTION names.
#
#   linux.sh           of an optimized build, into target/package
#   linux.sh --quick   of the command that the tests have built, into target/package/quick
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

name=readpast-$version-linux-$(uname -m)
architecture=$(dpkg --print-architecture)
multiarch=$(dpkg-architecture --query DEB_HOST_MULTIARCH)
readonly name architecture multiarch
readonly archive=$into/$name.tar.gz deb=$into/readpast_${version}_$architecture.deb

build() {
    if [ -n "$quick" ]; then
        .ci/stage.sh
        program=$(.ci/command.sh)
    else
        READPAST_PROFILE=dist .ci/stage.sh
        cargo build --locked --profile dist --bin readpast
        program=$folders/dist/readpast
    fi
}

# fill PLACE LIBRARIES: everything below PLACE, the library in the folder LIBRARIES there.
fill() {
    local place=$1 libraries=$1/$2 completions=$1/share/bash-completion/completions
    mkdir -p "$place"/{bin,share/doc/readpast,lib/systemd/system} "$completions" "$libraries"
    install "$program" "$place/bin/readpast"
    [ -n "$quick" ] || strip --strip-debug "$place/bin/readpast"
    cp -r .local/prefix/include "$place/"
    cp -P .local/prefix/lib/libreadpast.* "$libraries/"
    strip --strip-debug "$libraries/libreadpast.so.$version" "$libraries/libreadpast.a"
    cp -r .local/prefix/lib/{pkgconfig,cmake} "$libraries/"
    rm "$libraries/cmake/readpast/stamp"
    "$place/bin/readpast" completions bash >"$completions/readpast"
    cp docs/readpast-work@.service "$place/lib/systemd/system/"
    cp README.md CHANGELOG.md "$place/share/doc/readpast/"
    cp LICENSE "$place/share/doc/readpast/copyright"
}

# It lies where somebody unpacks it: its .pc says where by its own place.
make_archive() {
    local place=$clean/archive/$name
    fill "$place" lib
    # shellcheck disable=SC2016 # pkg-config fills this in
    sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$place/lib/pkgconfig/readpast.pc"
    tar --create --gzip --file "$archive" --directory "$clean/archive" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" "$name"
    echo "package: $archive"
}

make_deb() {
    local place=$clean/deb needed
    fill "$place/usr" "lib/$multiarch"
    sed -i "s|^prefix=.*|prefix=/usr|; s|/lib\$|/lib/$multiarch|" "$place/usr/lib/$multiarch/pkgconfig/readpast.pc"
    sed -i 's|/usr/local/bin/|/usr/bin/|' "$place/usr/lib/systemd/system/readpast-work@.service"
    mkdir -p "$place/DEBIAN" "$clean/debian"
    printf 'Source: readpast\n\nPackage: readpast\nArchitecture: any\n' >"$clean/debian/control"
    needed=$(cd "$clean" && dpkg-shlibdeps -O --ignore-missing-info -e"$place/usr/bin/readpast" \
        -e"$place/usr/lib/$multiarch/libreadpast.so.$version" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
    [[ $needed == *libodbc* ]] || fail "what the package depends on lacks libodbc: $needed"
    cat >"$place/DEBIAN/control" <<CONTROL
Package: readpast
Version: $version
Architecture: $architecture
Maintainer: The readpast authors <readpast@localhost>
Section: database
Priority: optional
Depends: $needed
Suggests: msodbcsql18, odbc-postgresql, unixodbc-dev
Description: work queues in ordinary SQL Server tables (and PostgreSQL)
 The command readpast, the library libreadpast with its header, and a unit of
 systemd for workers.
CONTROL
    # The tests' command is large, and nobody downloads it.
    dpkg-deb ${quick:+-z1} --root-owner-group --build "$place" "$deb" >/dev/null
    echo "package: $deb"
}

make_clean_place
build
make_archive
make_deb
mkdir "$clean/"{unpacked,extracted}
tar --extract --file "$archive" --directory "$clean/unpacked"
use_installed "$clean/unpacked/$name" lib
dpkg-deb --extract "$deb" "$clean/extracted"
use_installed "$clean/extracted/usr" "lib/$multiarch" "$clean/extracted"
