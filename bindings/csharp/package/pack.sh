#!/usr/bin/env bash
# Makes the NuGet packages, and prints no more than what is wrong with them:
#
#   pack.sh DIRECTORY
set -euo pipefail
into=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for project in Readpast.Data Readpast Readpast.Hosting Readpast.EntityFrameworkCore Readpast.Testing; do
    dotnet pack "src/$project/$project.csproj" --nologo --configuration Release --output "$into" --verbosity quiet
done
