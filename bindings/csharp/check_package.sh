#!/usr/bin/env bash
# Makes the package, unpacks it into a clean directory as a user's project gets it, and compiles and runs the minimal worker
# there, on the PostgreSQL that READPAST_TEST_POSTGRES names. Then it takes away what the library needs, and looks at
# what is said about that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT
readonly netstandard=/usr/lib/mono/4.5/Facades/netstandard.dll

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

echo '-- the package'
mkdir "$dir/once" "$dir/again"
package/pack.py "$dir/once"
package/pack.py "$dir/again"
version=$(sed -n 's|.*<Version>\(.*\)</Version>.*|\1|p' src/Readpast/Readpast.csproj)
package=$dir/once/Readpast.$version.nupkg
cmp "$package" "$dir/again/Readpast.$version.nupkg" || fail 'the same input gave another package'
unzip -q "$package" -d "$dir/package"
for part in Readpast.nuspec _rels/.rels '[Content_Types].xml' README.md LICENSE lib/netstandard2.0/Readpast.dll \
    lib/netstandard2.0/Readpast.xml runtimes/linux-x64/native/libreadpast.so; do
    [ -s "$dir/package/$part" ] || fail "the package lacks $part"
    extension=${part##*.}
    [[ $part == *Content_Types* ]] || grep --quiet --fixed-strings -e "\"$extension\"" -e "\"/$part\"" \
        "$dir/package/[Content_Types].xml" || fail "[Content_Types].xml does not tell the type of $part"
done
grep --quiet "<version>$version</version>" "$dir/package/Readpast.nuspec" || fail 'the nuspec has another version'

echo '-- the minimal worker'
cp -r "$dir/package/lib/netstandard2.0" "$dir/app"
cp "$dir/package/runtimes/linux-x64/native/libreadpast.so" "$dir/app/"
cp examples/minimal_worker.cs package/Enqueue.cs "$dir/app/"
cd "$dir/app"
unset LD_LIBRARY_PATH READPAST_PREFIX MONO_PATH
for program in minimal_worker Enqueue; do
    mcs -langversion:7 -warnaserror -out:$program.exe -reference:$netstandard -reference:Readpast.dll $program.cs
done
mono Enqueue.exe 5
done_lines=$(mono minimal_worker.exe | grep --count '"Recipient":"customer-') || true
[ "$done_lines" -eq 5 ] || fail "it did $done_lines items of 5"

echo '-- what is missing is named'
# says TEXT: the worker fails, and says TEXT and nothing of a crash
says() {
    local output
    ! output=$(mono minimal_worker.exe 2>&1) || fail 'the worker went well'
    [[ $output == *DllNotFoundException* && $output == *"$1"* ]] || fail "the worker said: $output"
}
sed -i 's/libodbc\.so\.2/libodbx.so.2/' libreadpast.so
says 'install the package libodbc2'
gcc -shared -o libreadpast.so -x c - <<<'int readpast_abi(void) { return 99; } const char *readpast_version(void) { return "9.9.9"; }'
says 'libreadpast 9.9.9 has the binary interface 99'
rm libreadpast.so
says 'set LD_LIBRARY_PATH'
