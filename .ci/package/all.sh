#!/usr/bin/env bash
# The files of a release, into target/package, each tried from a clean place: archives for Linux and Windows, the package for
# Debian, NuGet's packages and Python's wheels for both systems; and the hash of each.
#
#   all.sh             those for machines like this one, and Windows
#   all.sh --release   besides, in place of the wheel for machines like this one, wheels that PyPI takes, for four kinds of Linux;
#                      the package for Fedora and RHEL; the crates; those of Conan and vcpkg, from recipe and port; each tried on
#                      bare machines. At its end it lists what is not made
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ "${1:-}" = --release ]; then
    [ "$(uname -m)" = x86_64 ] || fail 'a release is made on x86_64; "make package" makes the files for this kind of machine'
    # Before the hour of work that comes before the crates.
    [ -z "$(git status --porcelain --untracked-files=no)" ] || fail 'a release is of a commit, and some changes are in none'
fi
# Lines for the list at the end.
not_made=
rm -rf "${into:?}"
mkdir -p "$into"
.ci/package/linux.sh
.ci/stage.sh --windows
.ci/wine.sh --make
.ci/wine.sh --keep
trap '.ci/wine.sh --end' EXIT
.ci/package/windows.sh

make_clean_place
trap '.ci/wine.sh --end; rm -rf "$clean"' EXIT
# The library of the archive, not the one of the tests.
/usr/bin/python3 -m zipfile --extract "$into/readpast-$version-windows-x86_64.zip" "$clean"
if has_dotnet; then
    READPAST_WINDOWS=$clean/readpast-$version-windows-x86_64 bindings/csharp/package/pack.sh "$into"
else
    echo "package: NuGet's left out: $no_dotnet"
    not_made="  NuGet's packages               no .NET SDK 10 is on the PATH of this machine
"
fi

make --no-print-directory -C bindings/python -f windows.mk READPAST_PROFILE=dist
cp bindings/python/build/windows/wheels/readpast-*.whl "$into/"
if [ "${1:-}" = --release ]; then
    .ci/package/wheels.sh
    .ci/package/try_wheels.sh
    .ci/package/rpm.sh
    .ci/package/try_deb.sh
    .ci/package/crates.sh
    .ci/package/try_conan.sh
    .ci/package/try_vcpkg.sh
    [ -n "${VCPKG_ROOT:-${VCPKG_INSTALLATION_ROOT:-}}" ] ||
        not_made+="  vcpkg's package                its port is in bindings/c/package/vcpkg; VCPKG_ROOT names no vcpkg to try it
"
    "$root/.local/release/bin/hadolint" .ci/package/Dockerfile
    [ "${READPAST_PROFILE:-dist}" = dist ] || not_made+="  optimized wheels               READPAST_PROFILE is $READPAST_PROFILE
"
else
    bindings/python/package/wheel.sh "$clean/wheels" --profile dist
    cp "$clean"/wheels/*.whl "$into/"
fi
(cd "$into" && sha256sum -- *.* >SHA256SUMS && cat SHA256SUMS)
[ "${1:-}" != --release ] || cat <<REPORT

Made here: all of the above. Each was tried; crates, NuGet's and pure Python's are by 'make test'. The wheels for musl were tried without
Python, which Debian has for glibc only; the package for Fedora and RHEL was installed and used on this Debian.

Not made here:
$not_made  macOS                          its libraries come with Apple's SDK, which no registry has
  Windows on ARM                 Debian's MinGW links for x86_64 only
  aarch64: archive, .deb, .rpm   'make package' on such a machine makes the first two
  container image                a build needs a daemon and images; its Dockerfile was linted
  Java's readpast-data           'mvn -f bindings/java/data package' makes it, anywhere: it is plain Java
  static libraries for Go        cgo finds the installed library by pkg-config; 30 MB a platform are no Go module
Nothing was published: each registry wants its owner's key.
REPORT
