# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Packages of Debian and Ubuntu. To be sourced by .ci/setup.sh.

apt_get() {
    # Another apt may be at work (unattended upgrades): wait for it instead of failing.
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get --yes -o DPkg::Lock::Timeout=300 "$@"
}

has_postgres_server() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; }

# Names those of the given packages that are not installed.
missing_packages() {
    local package installed
    installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        grep --quiet --line-regexp --fixed-strings "$package installed" <<<"$installed" || echo "$package"
    done
}

is_offered() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

install_packages() {
    doing='packages'
    command -v apt-get >/dev/null || fail 'this script knows only apt. Install by hand: unixODBC with its headers,' \
        'psqlODBC, a PostgreSQL server, a C compiler, pkg-config, clang, valgrind, Python 3 with venv.'

    local packages=(build-essential ca-certificates curl pkg-config unixodbc unixodbc-dev)
    ! needs core || packages+=(odbc-postgresql odbcinst)
    # krb5, gssapi and ltdl are linked by the Microsoft driver; libssl (from openssl) it opens when it connects.
    ! needs drivers || packages+=(libgssapi-krb5-2 libkrb5-3 libltdl7 openssl)
    # Mono compiles the check of T-SQL where there is no .NET SDK.
    ! needs lint || packages+=(mono-devel shellcheck)
    ! needs browser || packages+=(chromium chromium-driver)
    # Any JDK will do.
    ! needs callers || command -v javac >/dev/null || packages+=(default-jdk-headless)
    ! needs c || packages+=(clang cmake libcjson-dev valgrind)
    ! needs cpp || packages+=(clang cmake doctest-dev nlohmann-json3-dev)
    # Ubuntu has it; on Debian it comes from elsewhere.
    ! needs csharp || has_dotnet || ! is_offered dotnet-sdk-10.0 || packages+=(dotnet-sdk-10.0)
    # A program that is compiled ahead of time is linked.
    ! needs csharp || packages+=(clang unzip zlib1g-dev)
    ! needs windows || packages+=(g++-mingw-w64-x86-64-posix gcc-mingw-w64-x86-64-posix nlohmann-json3-dev wine64)
    ! { needs fresh || needs release; } || packages+=(debian-archive-keyring debootstrap)
    ! needs release || packages+=(musl qemu-user-static rpm)
    ! needs_python || packages+=(python3-venv)
    local missing
    mapfile -t missing < <(missing_packages "${packages[@]}" | sort -u)
    if [ ${#missing[@]} -eq 0 ] && { has_postgres_server || ! needs core; }; then
        say packages present
        return
    fi

    local postgres=
    ! needs core || has_postgres_server || postgres=', PostgreSQL (the programs only; no server is started)'
    say packages "installing ${missing[*]}$postgres"
    apt_get update
    [ ${#missing[@]} -eq 0 ] || apt_get install --no-install-recommends "${missing[@]}"
    [ -z "$postgres" ] || install_postgres_server
}

# Debian creates and starts a cluster called main with the first server package. We need the programs only (tests make
# their own cluster), so that is switched off while we install, and the machine's own setting left as it was.
install_postgres_server() {
    local package=postgresql switch=/etc/postgresql-common/createcluster.d/readpast-setup.conf
    ! is_offered postgresql-15 || package=postgresql-15

    as_root mkdir -p "$(dirname "$switch")"
    # shellcheck disable=SC2064 # $switch is local: expand it now
    trap "as_root rm -f '$switch'" EXIT
    echo 'create_main_cluster = false' | as_root tee "$switch" >/dev/null
    apt_get install --no-install-recommends "$package"
    as_root rm -f "$switch"
    trap - EXIT
}
