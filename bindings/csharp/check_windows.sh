#!/usr/bin/env bash
# Runs the tests and the minimal worker on .NET for Windows, in Wine, with the package as a user's project gets it, on the
# PostgreSQL that READPAST_TEST_POSTGRES names. `make windows` builds everything before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly root=$PWD/../..
export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test-windows" at the root}
export READPAST_HEADER=$root/include/readpast.h READPAST_WINDOWS=$root/.local/windows
# The tests' own session is a program of this system.
unset READPAST_PG_BIN

fail() {
    printf 'check_windows: %s\n' "$*" >&2
    exit 1
}

app=$PWD/build/windows
rm -rf "$app"
package/pack.sh "$app/package"
unzip -q "$app"/package/Readpast.[0-9]*.nupkg -d "$app/package"
for project in tests/Readpast.Tests examples/minimal_worker package/Enqueue; do
    dotnet publish "$project.csproj" --nologo --verbosity quiet --configuration Release --runtime win-x64 --self-contained \
        --output "$app"
done
cp "$app/package/runtimes/win-x64/native/libreadpast.dll" "$app/"
cd "$app"

run() { "$root/.ci/wine.sh" --again "$@"; }

echo '-- tests on .NET for Windows'
# The workers' warnings are worth reading only when something failed.
run ./Readpast.Tests.exe 2>warnings || {
    cut --bytes=1-300 warnings >&2
    fail 'the tests failed'
}
echo '-- the minimal worker'
run ./Enqueue.exe 5
done_lines=$(run ./minimal_worker.exe | grep --count '"Recipient":"customer-') || true
[ "$done_lines" -eq 5 ] || fail "it did $done_lines items of 5"
echo '-- what is missing is named'
rm libreadpast.dll
# The exit code comes from Wine's debugger.
said=$(run ./minimal_worker.exe 2>&1) || true
[[ $said == *DllNotFoundException* && $said == *'libreadpast.dll cannot be loaded'* ]] || fail "the worker said: $said"
