#!/usr/bin/env bash
# Writes the PublicAPI files of the packages anew, from what the sources have. Read the difference before you commit it: it is
# what users of the packages will notice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

for project in src/*/PublicAPI; do
    project=$(dirname "$project")
    for folder in "$project"/PublicAPI/*/; do
        printf '#nullable enable\n' >"$folder/PublicAPI.Shipped.txt"
        printf '#nullable enable\n' >"$folder/PublicAPI.Unshipped.txt"
        # RS0016 says the line of each symbol that the files lack.
        dotnet build "$project" --nologo --no-incremental --no-dependencies --configuration Release --verbosity quiet \
            --framework "$(basename "$folder")" -p:TreatWarningsAsErrors=false |
            sed -n "s/.*RS0016: Symbol '\(.*\)' is not part of the declared public API.*/\1/p" |
            LC_ALL=C sort --unique >>"$folder/PublicAPI.Unshipped.txt"
    done
done
