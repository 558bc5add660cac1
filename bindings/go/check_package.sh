#!/usr/bin/env bash
# Makes the module's archive, as a module proxy serves it, and builds the minimal worker in a project outside that gets
# the module from there, with an empty module cache. Runs it on the PostgreSQL that READPAST_TEST_POSTGRES names. Then
# it takes away what building and running need, and looks at the errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

prefix=$(realpath "${1:?the prefix where the library is installed}")
export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test"}
module=$(sed -n 's/^module //p' go.mod)
version=v$(sed -n 's/^#define READPAST_VERSION_[A-Z]* //p' ../../include/readpast.h | paste --serial --delimiters=.)
readonly prefix module version
dir=$(mktemp --directory)
# Go's downloads are read-only.
trap 'chmod -R u+w "$dir" && rm -rf "$dir"' EXIT

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

echo "-- the module $version"
proxy=$dir/proxy/$module/@v
mkdir -p "$proxy"
echo "{\"Version\": \"$version\"}" >"$proxy/$version.info"
cp go.mod "$proxy/$version.mod"
# Without the module within it, which is one for itself.
git ls-files --cached --others --exclude-standard -- . ':!readpastdata' ':!readpastprom' ':!readpastotel' | python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for path in sys.stdin.read().splitlines():
        archive.write(path, sys.argv[2] + "/" + path)
' "$proxy/$version.zip" "$module@$version"

echo '-- the minimal worker'
# A prefix of its own, as on another machine.
mkdir -p "$dir/prefix"
cp -r "$prefix/lib" "$prefix/include" "$dir/prefix/"
sed -i "s|^prefix=.*|prefix=$dir/prefix|" "$dir/prefix/lib/pkgconfig/readpast.pc"
unset LD_LIBRARY_PATH READPAST_PREFIX GOFLAGS
export PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig GOPROXY=file://$dir/proxy GOSUMDB=off GOMODCACHE=$dir/cache GOWORK=off
mkdir -p "$dir/project/minimal_worker" "$dir/project/enqueue"
cp examples/minimal_worker/main.go "$dir/project/minimal_worker/"
cp package/enqueue/main.go "$dir/project/enqueue/"
cd "$dir/project"
{ go mod init example.com/project && go get "$module@$version"; } 2>"$dir/said" || fail "$(cat "$dir/said")"
[ -d "$dir/cache/$module@$version" ] || fail 'the module came from elsewhere'
for program in minimal_worker enqueue; do
    go build -ldflags "-r $dir/prefix/lib" -o "$dir/" "./$program"
done
cd "$dir"
./enqueue 5
done_lines=$(./minimal_worker | grep --count '"Recipient":"customer-') || true
[ "$done_lines" -eq 5 ] || fail "it did $done_lines items of 5"

echo '-- what is missing is named'
# says TEXT COMMAND...: the command fails, and says TEXT and nothing of a crash
says() {
    local output text=$1
    shift
    ! output=$("$@" 2>&1) || fail "$* went well"
    [[ $output == *"$text"* && $output != *goroutine* ]] || fail "$* said: $output"
}
library=$dir/prefix/lib/$(basename "$(realpath prefix/lib/libreadpast.so)")
cp "$library" kept.so
sed -i 's/libodbc\.so\.2/libodbx.so.2/' "$library"
says 'libodbx.so.2: cannot open shared object file' ./minimal_worker
# Another library of the same name: all its functions are there, and none does anything.
soname=$(sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p' <(readelf -d kept.so))
echo "READPAST_${soname#libreadpast.so.} { *; };" >versions
sed -n 's/^\(const char \*\|[a-z0-9_]* \)\(readpast_[a-z_]*\)(.*/char *\2(void) { return 0; }/p' \
    prefix/include/readpast.h |
    sed 's/char \*readpast_abi(void) { return 0/int readpast_abi(void) { return 99/
         s/\(readpast_version.*\) 0;/\1 "9.9.9";/; s/\(readpast_status_name.*\) 0;/\1 "READPAST_UNSUPPORTED";/' |
    gcc -shared -fPIC -Wl,-soname,"$soname" -Wl,--version-script=versions -o "$library" -x c -
says 'libreadpast 9.9.9 has the binary interface 99, and this program was compiled for 1' ./minimal_worker
rm "$library"
says 'libreadpast.so' ./minimal_worker
rm "$dir/prefix/lib/pkgconfig/readpast.pc"
cd "$dir/project"
# With another flag, since go does not ask again for what it has built.
says 'Package readpast was not found' env PKG_CONFIG_LIBDIR="$dir/none" go build -gcflags="$module/...=-N" -o "$dir/" \
    ./minimal_worker
