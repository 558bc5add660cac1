# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# The test framework of the C# binding. To be sourced by .ci/setup.sh.

# NUnit as Debian 12 has it: later releases have none. Only the tests use it.
install_nunit() {
    doing='nunit'
    local place=$root/.local/nunit package=libnunit-framework2.6.3-cil_2.6.4+dfsg-1.1_all.deb
    local hash=61c88126bbb0c33611f58878e4cf057c2f04ac38bd17eabe91418640467ae986
    if [ -e "$place/nunit.framework.dll" ]; then
        say nunit present
        return
    fi
    say nunit "installing into ${place#"$root/"}"
    mkdir -p "$place"
    download "https://deb.debian.org/debian/pool/main/n/nunit/$package" "$hash" "$place/package.deb"
    quietly dpkg-deb --extract "$place/package.deb" "$place/package"
    mv "$place"/package/usr/lib/cli/nunit.framework-2.6.3/nunit.framework.dll "$place/"
    rm -r "$place"/package*
}
