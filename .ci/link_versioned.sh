#!/usr/bin/env bash
# The linker of the shared library for systems: gives its functions the version that READPAST_SYMBOLS names, by which programs
# then ask for them. So two versions of the library in one process, each come with another plugin, do not take each other's calls.
# rustc lists what is exported without a version, and ld takes no second list beside one without.
set -euo pipefail

for argument in "$@"; do
    case $argument in
        -Wl,--version-script=*) sed -i "1s/^{/${READPAST_SYMBOLS:?} {/" "${argument#-Wl,--version-script=}" ;;
    esac
done
exec "${CC:-cc}" "$@"
