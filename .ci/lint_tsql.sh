#!/usr/bin/env bash
# Holds the T-SQL of every kind of queue to its rules (the test `tsql`, which also writes it to target/tsql), and has .ci/tsql
# read it by Microsoft's grammars and bind its names, where there is what that needs: a .NET SDK with its package registry,
# or what .ci/setup.sh could install.
#
#   lint_tsql.sh              runs that test first
#   lint_tsql.sh --rendered   reads what all the offline tests have just written
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
readonly built=target/tsql_check parser=.local/tsql_parser mono=/usr/lib/mono
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
log=$built.log

# With the grammars of 2017 to 2025.
build_with_sdk() {
    command -v dotnet >/dev/null && [ -n "$(dotnet --list-sdks)" ] || return 1
    if ! dotnet build --nologo --configuration Release --artifacts-path "$built" .ci/tsql/tsql.csproj >"$log" 2>&1; then
        # NU: the errors of the package registry. Any other is a fault of ours.
        if ! grep --quiet ': error NU' "$log" || grep --quiet --perl-regexp ': error (?!NU)' "$log"; then
            cat "$log" >&2
            fail '.ci/tsql does not compile'
        fi
        echo 'lint_tsql: the .NET SDK got no package of the grammars; those of 2017 and 2019 will do'
        return 1
    fi
    check=(dotnet "$built/bin/tsql/release/tsql.dll")
}

# With the grammars of 2017 and 2019.
build_with_mono() {
    local library=Microsoft.SqlServer.TransactSql.ScriptDom.dll reference references=()
    command -v mcs >/dev/null && [ -e "$parser/$library" ] || return 1
    { mkdir -p "$built/mono" && cp "$parser/$library" .ci/tsql/tsql.runtimeconfig.json "$built/mono/"; } ||
        fail "$built/mono cannot be written"
    for reference in 4.6.1-api/{mscorlib,System,System.Core}.dll 4.5/Facades/netstandard.dll; do
        references+=("-reference:$mono/$reference")
    done
    mcs -langversion:7 -optimize -warn:4 -warnaserror -nostdlib -noconfig "${references[@]}" "-reference:$parser/$library" \
        "-out:$built/mono/tsql.exe" .ci/tsql/*.cs || fail '.ci/tsql does not compile'
    check=("$parser/dotnet/dotnet" exec --runtimeconfig "$built/mono/tsql.runtimeconfig.json" "$built/mono/tsql.exe")
}

if [ "${1:-}" != --rendered ]; then
    rm -rf target/tsql # a script of a queue that is gone must not be read
    .ci/tests_ran.sh cargo test --quiet --test offline -- tsql::
fi
compgen -G 'target/tsql/*/*.sql' >/dev/null || fail 'cargo test --test offline wrote no script to target/tsql'
# A program of an earlier build must not stand in for one that does not compile. Errors of the functions below end nothing by
# themselves: bash takes `set -e` back in a condition.
rm -rf "./$built/mono" "./$built/bin"
if ! build_with_sdk && ! build_with_mono; then
    echo "lint_tsql: no .NET SDK, and Microsoft's grammars are not installed (.ci/setup.sh says why): left out"
    exit
fi
"${check[@]}" .ci/tsql --planted .ci/tsql/planted.sql
mkdir -p "$built/empty"
if "${check[@]}" .ci/tsql "$built/empty" >"$log" || ! grep --quiet 'has no script' "$log"; then
    fail 'a database without a script is no fault'
fi
"${check[@]}" .ci/tsql target/tsql/*
"${check[@]}" .ci/tsql --mutants 400 42 target/tsql/*
