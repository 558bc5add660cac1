#!/usr/bin/env bash
# Makes the package, and has projects in a clean directory get it as a user's do: they are compiled for .NET, and ahead of
# time, and run on the PostgreSQL that READPAST_TEST_POSTGRES names. Then it takes away files of the library, and
# checks the errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

echo '-- the package'
package/pack.sh "$dir/packed"
version=$(sed -n 's|.*<Version>\(.*\)</Version>.*|\1|p' src/Directory.Build.props)
unzip -q "$dir/packed/Readpast.$version.nupkg" -d "$dir/package"
for part in Readpast.nuspec README.md LICENSE {lib/net10.0,lib/netstandard2.0}/Readpast.{dll,xml} \
    runtimes/linux-x64/native/libreadpast.so buildTransitive/Readpast.targets; do
    [ -s "$dir/package/$part" ] || fail "the package lacks $part"
done
for project in src/*/PublicAPI; do
    project=$(basename "$(dirname "$project")")
    [ -s "$dir/packed/$project.$version.nupkg" ] || fail "there is no package $project"
    [ -s "$dir/packed/$project.$version.snupkg" ] || fail "there is no package of symbols of $project"
done

# Another restore may have kept a package of this version.
export NUGET_PACKAGES=$dir/packages
unset LD_LIBRARY_PATH READPAST_PREFIX
cat >"$dir/Directory.Build.props" <<PROPS
<Project>
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
    <InvariantGlobalization>true</InvariantGlobalization>
    <RestoreAdditionalProjectSources>$dir/packed</RestoreAdditionalProjectSources>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Readpast" Version="$version" />
  </ItemGroup>
</Project>
PROPS
for source in examples/minimal_worker.cs package/Enqueue.cs; do
    program=$(basename "$source" .cs)
    mkdir "$dir/$program"
    cp "$source" "$dir/$program/"
    echo '<Project Sdk="Microsoft.NET.Sdk" />' >"$dir/$program/$program.csproj"
done
cd "$dir"

mkdir Hosted
cp "$OLDPWD/package/Hosted.cs" Hosted/
cat >Hosted/Hosted.csproj <<PROJECT
<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <Nullable>enable</Nullable>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Readpast.Hosting" Version="$version" />
    <PackageReference Include="Microsoft.Extensions.Hosting" Version="10.0.15" />
    <PackageReference Include="Npgsql" Version="10.0.3" />
  </ItemGroup>
</Project>
PROJECT

# works COMMAND...: the worker, begun so, does what is enqueued
works() {
    local done_lines
    dotnet Enqueue/app/Enqueue.dll 5
    done_lines=$("$@" | grep --count '"Recipient":"customer-') || true
    [ "$done_lines" -eq 5 ] || fail "$1 did $done_lines items of 5"
}

echo '-- the minimal worker'
for program in minimal_worker Enqueue; do
    dotnet publish "$program" --nologo --verbosity quiet --runtime linux-x64 --no-self-contained --output "$program/app"
done
works dotnet minimal_worker/app/minimal_worker.dll

echo '-- the minimal worker, compiled ahead of time'
dotnet publish minimal_worker --nologo --verbosity quiet --runtime linux-x64 --output ahead -p:PublishAot=true
works ahead/minimal_worker

echo '-- a host with a producer of its own, compiled ahead of time'
dotnet publish Hosted --nologo --verbosity quiet --runtime linux-x64 --output hosted -p:PublishAot=true
done_lines=$(hosted/Hosted 5 | grep --count '^handled customer-') || true
[ "$done_lines" -eq 5 ] || fail "the host did $done_lines items of 5"

echo '-- a platform without a library is warned of'
said=$(dotnet build Enqueue --nologo --verbosity quiet --runtime linux-musl-x64 --no-self-contained \
    -p:UseAppHost=false 2>&1) || true
[[ $said == *RP0002*linux-musl-x64* ]] || fail "the build said: $said"

echo '-- what is missing is named'
# says TEXT: the worker fails, and says TEXT and nothing of a crash
says() {
    local output
    ! output=$(dotnet minimal_worker/app/minimal_worker.dll 2>&1) || fail 'the worker went well'
    [[ $output == *DllNotFoundException* && $output == *"$1"* ]] || fail "the worker said: $output"
}
library=minimal_worker/app/libreadpast.so
sed -i 's/libodbc\.so\.2/libodbx.so.2/' "$library"
says 'install the package libodbc2'
gcc -shared -o "$library" -x c - <<<'int readpast_abi(void) { return 99; } const char *readpast_version(void) { return "9.9.9"; }'
says 'libreadpast 9.9.9 has the binary interface 99'
rm "$library"
says 'no library for linux-x64'
