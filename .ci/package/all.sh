#!/usr/bin/env bash
# Everything that a release gives away, into target/package, each tried from a clean place: archives for Linux and Windows, the
# package for Debian, NuGet's package and Python's wheels for both systems; and the hash of each.
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

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
fi

make --no-print-directory -C bindings/python -f windows.mk READPAST_PROFILE=dist
bindings/python/package/wheel.sh "$clean/wheels" --profile dist
cp "$clean"/wheels/*.whl bindings/python/build/windows/wheels/readpast-*.whl "$into/"
(cd "$into" && sha256sum -- *.* >SHA256SUMS && cat SHA256SUMS)
