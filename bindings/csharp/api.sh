#!/usr/bin/env bash
# Writes the PublicAPI files of the packages anew, from what the sources have, and lists how they differ from those before. Read
# it before you commit: it is what users of the packages will notice.
#
# One build reports all packages at once. A build that fails, as an ordinary one does at a difference, stops at the first of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

for file in src/*/PublicAPI/*/PublicAPI.{Shipped,Unshipped}.txt; do
    printf '#nullable enable\n' >"$file"
done
# RS0016 names the line of each symbol that the files lack, and at its end project and framework.
dotnet build Readpast.slnx --nologo --no-incremental --configuration Release --verbosity quiet \
    -p:TreatWarningsAsErrors=false |
    sed -n "s/.*RS0016: Symbol '\(.*\)' is not part of the declared public API.*\[\(.*\)\]\$/\2\t\1/p" |
    LC_ALL=C sort --unique |
    while IFS=$'\t' read -r project symbol; do
        folder=$(dirname "${project%%::*}")/PublicAPI
        framework=${project##*TargetFramework=}
        [ "$framework" != "$project" ] || framework=$(basename "$folder"/*)
        printf '%s\n' "$symbol" >>"$folder/$framework/PublicAPI.Unshipped.txt"
    done
git diff --stat -- 'src/*/PublicAPI'
