#!/usr/bin/env bash
# Makes the NuGet packages, and prints no more than what is wrong with them:
#
#   pack.sh DIRECTORY
set -euo pipefail
into=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dotnet pack src/Readpast/Readpast.csproj --nologo --configuration Release --output "$into" --verbosity quiet
