#!/usr/bin/env bash
# Installs vcpkg's port, of the clone that it lies in, by the vcpkg in the folder VCPKG_ROOT; and builds and runs the programs of
# Conan's test with it, and a program by pkg-config. Machines of GitHub have a vcpkg. Where there is none, it is left out.
# shellcheck source=.ci/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly vcpkg=${VCPKG_ROOT:-${VCPKG_INSTALLATION_ROOT:-}}
if [ -z "$vcpkg" ]; then
    echo 'package: the port of vcpkg is not tried: VCPKG_ROOT names no vcpkg'
    exit
fi
make_clean_place
triplet=$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')-linux
installed=$clean/installed/$triplet
"$vcpkg/vcpkg" install "readpast:$triplet" --vcpkg-root="$vcpkg" --overlay-ports=bindings/c/package/vcpkg --binarysource=clear \
    --x-install-root="$clean/installed" --x-buildtrees-root="$clean/buildtrees" --x-packages-root="$clean/packages" \
    >"$log" 2>&1 || fail "vcpkg install: see $log"
! grep 'warning:' "$log" || fail 'vcpkg warns of the lines above'

quietly cmake -S bindings/c/package/conan/test_package -B "$clean/build" "-DCMAKE_TOOLCHAIN_FILE=$vcpkg/scripts/buildsystems/vcpkg.cmake" \
    "-DVCPKG_INSTALLED_DIR=$clean/installed" "-DVCPKG_TARGET_TRIPLET=$triplet" -DVCPKG_MANIFEST_MODE=OFF
quietly cmake --build "$clean/build"
for program in shared static cpp; do
    quietly "$clean/build/$program"
done
# shellcheck disable=SC2046 # several words
quietly cc -o "$clean/version" bindings/c/package/conan/test_package/version.c \
    $(PKG_CONFIG_PATH=$installed/lib/pkgconfig pkg-config --cflags --libs readpast)
LD_LIBRARY_PATH=$installed/lib quietly "$clean/version"
echo "package: for vcpkg: readpast:$triplet $version"
