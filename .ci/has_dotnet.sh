#!/usr/bin/env bash
# Ends with 0 where there is a .NET SDK that builds the C# binding; else prints how to get one.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! has_dotnet; then
    echo "C#: left out: $no_dotnet"
    exit 1
fi
