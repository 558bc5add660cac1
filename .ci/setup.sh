#!/usr/bin/env bash
# Installs what building and testing readpast needs on Debian or Ubuntu. Run it as often as you like: it installs only
# what is missing. System packages come from apt; everything else goes below .local/, which git ignores.
#
#   setup.sh           everything, as `make test` needs it
#   setup.sh PART...   what the parts need: core (Rust, C compiler, PostgreSQL and its driver: the demo), drivers (the
#                      Microsoft driver), lint (of shell and SQL), manual (mkdocs), browser (Chromium and its driver),
#                      callers (drivers that tests call procedures by: psycopg, pyodbc, pgx, JDBC), windows (MinGW and
#                      Wine, with Python and .NET for Windows), and the languages c, cpp, csharp, python, go, rust
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly root=$PWD
readonly venv=$root/.local/venv
readonly msodbcsql=$root/.local/msodbcsql18
readonly tsql_parser=$root/.local/tsql_parser
readonly odbc=$root/.local/odbc
readonly log=$root/.local/setup.log
readonly parts=(core drivers lint manual browser callers c cpp csharp python go rust windows)
[ $# -gt 0 ] || set -- "${parts[@]}"
readonly asked=" core $* "
oldest_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
readonly oldest_rust

say() { printf '%-11s %s\n' "$1" "$2"; }

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

needs() { [[ $asked == *" $1 "* ]]; }
for part; do
    [[ " ${parts[*]} " == *" $part "* ]] || fail "there is no part \"$part\"; there are: ${parts[*]}"
done

# Runs a command with its output in the log; the log's end is shown only if the command fails.
quietly() {
    "$@" >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        fail "failed: $* (everything it printed is in $log)"
    }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "this needs root and there is no sudo: run as root: $*"
    fi
}

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

install_packages() {
    command -v apt-get >/dev/null || fail 'this script knows only apt. Install by hand: unixODBC with its headers,' \
        'psqlODBC, a PostgreSQL server, a C compiler, pkg-config, clang, valgrind, Python 3 with venv.'

    local packages=(
        build-essential ca-certificates odbc-postgresql odbcinst pkg-config unixodbc unixodbc-dev)
    # krb5, gssapi and ltdl are linked by the Microsoft driver; libssl (from openssl) it opens when it connects.
    ! needs drivers || packages+=(libgssapi-krb5-2 libkrb5-3 libltdl7 openssl python3-venv)
    ! needs lint || packages+=(python3-venv shellcheck)
    ! needs manual || packages+=(python3-venv)
    ! needs browser || packages+=(chromium chromium-driver python3-venv)
    ! needs callers || packages+=(curl python3-venv)
    # Any JDK will do.
    ! needs callers || command -v javac >/dev/null || packages+=(default-jdk-headless)
    ! needs c || packages+=(clang clang-format clang-tidy cmake libcjson-dev valgrind)
    ! needs cpp || packages+=(clang clang-format clang-tidy cmake doctest-dev nlohmann-json3-dev)
    ! needs csharp || packages+=(astyle gendarme mono-devel nunit-console python3-venv unzip)
    ! needs python || packages+=(python3-venv)
    ! needs go || packages+=(curl python3-venv)
    ! needs windows || packages+=(
        curl g++-mingw-w64-x86-64-posix gcc-mingw-w64-x86-64-posix nlohmann-json3-dev python3-venv wine64)
    local missing
    mapfile -t missing < <(missing_packages "${packages[@]}")
    if [ ${#missing[@]} -eq 0 ] && has_postgres_server; then
        say packages present
        return
    fi

    say packages "installing ${missing[*]}$(has_postgres_server || echo ' and a PostgreSQL server')"
    apt_get update
    [ ${#missing[@]} -eq 0 ] || apt_get install --no-install-recommends "${missing[@]}"
    has_postgres_server || install_postgres_server
}

# Debian creates and starts a cluster called main with the first server package. We need the programs only (tests make
# their own cluster), so that is switched off while we install, and the machine's own setting left as it was.
install_postgres_server() {
    local package=postgresql switch=/etc/postgresql-common/createcluster.d/readpast-setup.conf
    [ -z "$(apt-cache madison postgresql-15)" ] || package=postgresql-15

    as_root mkdir -p "$(dirname "$switch")"
    # shellcheck disable=SC2064 # $switch is local: expand it now
    trap "as_root rm -f '$switch'" EXIT
    echo 'create_main_cluster = false' | as_root tee "$switch" >/dev/null
    apt_get install --no-install-recommends "$package"
    as_root rm -f "$switch"
    trap - EXIT
}

install_rust() {
    if ! command -v cargo >/dev/null; then
        [ ! -x "$HOME/.cargo/bin/cargo" ] || fail 'cargo is in ~/.cargo/bin, which is not on PATH: run . ~/.cargo/env'
        command -v rustup >/dev/null || [ -n "$(apt-cache madison rustup)" ] ||
            fail "no Rust, and this release packages no rustup: install Rust $oldest_rust or later from" \
                'https://rustup.rs, then run this again.'
        say rust 'installing rustup and the stable toolchain'
        command -v rustup >/dev/null || apt_get install --no-install-recommends rustup
        quietly rustup toolchain install stable --profile minimal --component clippy --component rustfmt
        quietly rustup default stable
    fi

    local version
    version=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$oldest_rust" "$version" | sort --version-sort | head -n 1)" = "$oldest_rust" ] ||
        fail "rustc is $version, $oldest_rust or later is needed: rustup update stable"
    { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1 ||
        fail 'rustfmt or clippy is missing: rustup component add rustfmt clippy'
    say rust present
}

# Debian's Go is often older than the bindings need. The Go module proxy serves whole toolchains; ours goes below .local/,
# where the Makefile looks for it first.
install_go() {
    local version oldest
    oldest=$(sed -n 's/^go //p' bindings/go/go.mod)
    version=$(PATH=$root/.local/go/bin:$PATH GOTOOLCHAIN=local go version 2>/dev/null | sed 's/.* go\([0-9.]*\).*/\1/') || true
    if [ "$(printf '%s\n' "$oldest" "${version:-0}" | sort --version-sort | head -n 1)" = "$oldest" ]; then
        say go present
        return
    fi

    local machine hash name archive=$root/.local/go.zip
    case $(uname -m) in
        x86_64) machine=amd64 hash=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7 ;;
        aarch64) machine=arm64 hash=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99 ;;
        *) fail "install Go $oldest or later by hand: this script knows none for $(uname -m)" ;;
    esac
    name=toolchain@v0.0.1-go1.26.8.linux-$machine
    say go "installing ${name#*-} into .local/go"
    quietly curl --fail --silent --show-error --retry 5 --retry-all-errors --location --output "$archive" \
        "https://proxy.golang.org/golang.org/${name/@/\/@v\/}.zip"
    quietly sha256sum --check - <<<"$hash  $archive"
    rm -rf "$root/.local/go" "$root/.local/go.new"
    quietly "$venv/bin/python" -m zipfile --extract "$archive" "$root/.local/go.new"
    # A module's archive does not say which files are programs.
    chmod +x "$root/.local/go.new/golang.org/$name"/{bin/*,pkg/tool/*/*}
    mv "$root/.local/go.new/golang.org/$name" "$root/.local/go"
    rm -rf "$root/.local/go.new" "$archive"
}

make_venv() {
    [ ! -x "$venv/bin/python" ] || return 0
    say python "making ${venv#"$root/"}"
    # /usr/bin/python3 is the one that the package python3-venv completes; a python3 found earlier on PATH may lack it.
    quietly /usr/bin/python3 -m venv --clear "$venv"
}

install_sqlfluff() {
    # What was asked for is kept beside what it led to, so that a changed pin is noticed.
    if cmp --silent .ci/requirements.txt "$venv/requirements.txt"; then
        say sqlfluff present
        return
    fi
    say sqlfluff "installing into ${venv#"$root/"}"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --requirement .ci/requirements.txt
    cp .ci/requirements.txt "$venv/requirements.txt"
}

install_manual() {
    local wanted=.ci/manual/requirements.txt place=$root/.local/manual
    if cmp --silent "$wanted" "$place/requirements.txt"; then
        say mkdocs present
        return
    fi
    say mkdocs "installing into ${place#"$root/"}"
    quietly /usr/bin/python3 -m venv --clear "$place"
    quietly "$place/bin/python" -m pip install --disable-pip-version-check --require-hashes --requirement "$wanted"
    cp "$wanted" "$place/requirements.txt"
}

# What drives the browser has an environment of its own: it brings much along.
install_selenium() {
    local wanted=tests/browser/requirements.txt place=$root/.local/browser
    if cmp --silent "$wanted" "$place/requirements.txt"; then
        say selenium present
        return
    fi
    say selenium "installing into ${place#"$root/"}"
    quietly /usr/bin/python3 -m venv --clear "$place"
    quietly "$place/bin/python" -m pip install --disable-pip-version-check --requirement "$wanted"
    cp "$wanted" "$place/requirements.txt"
}

# The drivers for Python in an environment of their own, that for Java beside them. Go keeps its modules itself.
install_callers() {
    local place=$root/.local/callers version hash
    if ! cmp --silent tests/callers/requirements.txt "$place/requirements.txt"; then
        say callers "installing the drivers for Python into ${place#"$root/"}"
        quietly /usr/bin/python3 -m venv --clear "$place"
        quietly "$place/bin/python" -m pip install --disable-pip-version-check --requirement tests/callers/requirements.txt
        cp tests/callers/requirements.txt "$place/"
    fi
    read -r version hash < <(grep -v '^#' tests/callers/jdbc/driver.txt)
    if ! sha256sum --check --status - 2>/dev/null <<<"$hash  $place/postgresql.jar"; then
        say callers "getting PostgreSQL's JDBC driver $version"
        quietly curl --fail --silent --show-error --retry 5 --retry-all-errors --location --output "$place/postgresql.jar" \
            "https://repo1.maven.org/maven2/org/postgresql/postgresql/$version/postgresql-$version.jar"
        quietly sha256sum --check - <<<"$hash  $place/postgresql.jar"
    fi
    (cd tests/callers/pgx && PATH=$root/.local/go/bin:$PATH quietly go mod download)
    say callers present
}

# Microsoft's T-SQL parser, for `make lint`. A check that is left out where it cannot be had: without a network, on another
# architecture, with a Python that the bridge has no wheel for. Whoever leaves it out is told so each time.
install_tsql_parser() {
    if cmp --silent .ci/tsql_parser.txt "$tsql_parser/tsql_parser.txt"; then
        say tsql_parser present
        return
    fi
    local unpacked=$tsql_parser.new wheel
    say tsql_parser "installing into ${tsql_parser#"$root/"}, with its licences"
    rm -rf "$unpacked"
    mkdir -p "$unpacked/licences"
    if ! "$venv/bin/python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --requirement .ci/tsql_parser.txt --dest "$unpacked/wheels" >>"$log" 2>&1; then
        say tsql_parser 'left out: it could not be downloaded for this machine and Python'
        rm -rf "$unpacked"
        return
    fi
    for wheel in "$unpacked"/wheels/*.whl; do
        quietly "$venv/bin/python" -m zipfile --extract "$wheel" "$unpacked/lib"
    done
    # Of mssql-scripter nothing but the parser and the licence; of .NET all, since a wheel does not say what is a program.
    mv "$unpacked/lib/mssqlscripter/mssqltoolsservice/bin/Microsoft.SqlServer.SqlParser.dll" "$unpacked/"
    mv "$unpacked"/lib/mssql_scripter-*.dist-info/LICENSE.txt "$unpacked/licences/mssql-scripter.txt"
    mv "$unpacked/lib/dotnetcore2/bin" "$unpacked/dotnet"
    cp "$unpacked/dotnet/LICENSE.txt" "$unpacked/licences/dotnet.txt"
    rm -rf "$unpacked"/wheels "$unpacked"/lib/{mssqlscripter,mssql_scripter-*,dotnetcore2,dotnetcore2-*}
    chmod +x "$unpacked/dotnet/dotnet"
    cp .ci/tsql_parser.txt "$unpacked/"
    rm -rf "$tsql_parser"
    mv "$unpacked" "$tsql_parser"
}

# What Rust needs to compile for Windows, and for C's adapter the source of cJSON, of which Debian compiles only its own.
install_windows() {
    local target=x86_64-pc-windows-gnu cjson=$root/.local/windows/cjson unpacked=$root/.local/cjson.new
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
        command -v rustup >/dev/null || fail "Rust has no standard library for $target, and there is no rustup to get it"
        say windows "adding Rust's target $target"
        quietly rustup target add "$target"
    fi
    if [ -e "$cjson/cJSON.c" ]; then
        say windows present
        return
    fi
    say windows "getting the source of cJSON"
    rm -rf "$unpacked"
    mkdir -p "$unpacked"/{lists/partial,source} "$cjson/cjson"
    # A list of its own: the machine's need not have sources.
    # shellcheck disable=SC2016 # apt-get fills these in
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sed -nE 's/^(Debian|Ubuntu) (.* (main|universe))$/deb-src \2/p' | sort -u >"$unpacked/sources.list"
    local apt=(apt-get -o "Dir::Etc::SourceList=$unpacked/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$unpacked/lists" -o APT::Sandbox::User=root)
    quietly "${apt[@]}" update
    (cd "$unpacked/source" && quietly "${apt[@]}" source --download-only cjson)
    tar --extract --gzip --file "$unpacked"/source/cjson_*.orig.tar.gz --directory "$unpacked" --strip-components 1
    cp "$unpacked/cJSON.h" "$cjson/cjson/"
    cp "$unpacked"/cJSON.[ch] "$cjson/"
    rm -rf "$unpacked"
}

# Python and .NET for Windows, which Wine runs.
install_windows_runtimes() {
    local place=$root/.local/windows_runtimes unpacked=$root/.local/windows_runtimes.new name=cpython version hash wheel
    if cat .ci/windows_{runtimes,wheels}.txt | cmp --silent - "$place/wanted"; then
        say runtimes present
        return
    fi
    say runtimes "getting Python and .NET for Windows into ${place#"$root/"}"
    read -r version hash < <(sed -n 's/^cpython //p' .ci/windows_runtimes.txt)
    rm -rf "$place" "$unpacked"
    mkdir -p "$unpacked"
    quietly curl --fail --silent --show-error --retry 5 --retry-all-errors --location --output "$unpacked/$name.jar" \
        "https://repo1.maven.org/maven2/org/bytedeco/$name/$version/$name-$version-windows-x86_64.jar"
    quietly sha256sum --check - <<<"$hash  $unpacked/$name.jar"
    quietly "$venv/bin/python" -m zipfile --extract "$unpacked/$name.jar" "$unpacked/jar"
    quietly "$venv/bin/python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --platform win_amd64 --python-version 3.10 --requirement .ci/windows_wheels.txt --dest "$unpacked/wheels"
    wheel=$(echo "$unpacked"/wheels/dotnetcore2-*.whl)
    quietly "$venv/bin/python" -m zipfile --extract "$wheel" "$unpacked/dotnet"
    mkdir -p "$place"
    mv "$unpacked/jar/org/bytedeco/cpython/windows-x86_64" "$place/python"
    mv "$unpacked/dotnet/dotnetcore2/bin" "$place/dotnet"
    rm "$wheel"
    mv "$unpacked/wheels" "$place/wheels"
    rm -rf "$unpacked" "$place"/python/{include,libs,share,jnipython.dll}
    cat .ci/windows_{runtimes,wheels}.txt >"$place/wanted"
}

install_msodbcsql() {
    if cmp --silent .ci/msodbcsql.txt "$msodbcsql/msodbcsql.txt"; then
        say msodbcsql18 present
    else
        local unpacked=$msodbcsql.new folder wheels=()
        case $(uname -m) in
            x86_64) folder=x86_64 ;;
            aarch64) folder=arm64 ;;
            *) fail "Microsoft has no ODBC driver for Linux on $(uname -m)" ;;
        esac
        say msodbcsql18 "installing under Microsoft's licence, which is then in ${msodbcsql#"$root/"}/LICENSE.txt"
        rm -rf "$unpacked"
        quietly "$venv/bin/python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: \
            --require-hashes --requirement .ci/msodbcsql.txt --dest "$unpacked"
        wheels=("$unpacked"/*.whl)
        quietly "$venv/bin/python" -m zipfile --extract "${wheels[0]}" "$unpacked"

        # The driver looks for its messages in ../share, seen from itself: lib and share stay side by side.
        mv "$unpacked/mssql_python_odbc/libs/linux/debian_ubuntu/$folder"/{lib,share} "$unpacked/"
        mv "$unpacked/lib/MICROSOFT_ODBC_DRIVER_FOR_SQL_SERVER_LICENSE.txt" "$unpacked/LICENSE.txt"
        rm -rf "$unpacked"/mssql_python_odbc* "$unpacked"/*.whl
        cp .ci/msodbcsql.txt "$unpacked/"
        rm -rf "$msodbcsql"
        mv "$unpacked" "$msodbcsql"
    fi

    local lacking
    lacking=$(ldd "$msodbcsql"/lib/libmsodbcsql-18*.so* | grep 'not found' || true)
    [ -z "$lacking" ] || fail "the SQL Server driver lacks libraries: $lacking"
}

# A directory to set ODBCSYSINI to: the drivers under their usual names, the machine's own ODBC set-up untouched.
write_odbcinst() {
    local psqlodbc_library wanted
    psqlodbc_library=$(dpkg-query --listfiles odbc-postgresql | grep '/psqlodbcw\.so$') ||
        fail 'the package odbc-postgresql has no psqlodbcw.so'
    wanted="# Written by .ci/setup.sh. Use it with ODBCSYSINI=$odbc
[PostgreSQL Unicode]
Description = psqlODBC, Unicode
Driver = $psqlodbc_library"
    # Whether or not this run was asked for it.
    [ ! -e "$msodbcsql/msodbcsql.txt" ] || wanted+="

[ODBC Driver 18 for SQL Server]
Description = Microsoft ODBC Driver 18 for SQL Server
Driver = $(echo "$msodbcsql"/lib/libmsodbcsql-18*.so*)"

    if [ "$(cat "$odbc/odbcinst.ini" 2>/dev/null)" = "$wanted" ]; then
        say odbcinst present
        return
    fi
    say odbcinst "writing ${odbc#"$root/"}/odbcinst.ini"
    mkdir -p "$odbc"
    printf '%s\n' "$wanted" >"$odbc/odbcinst.ini"
}

print_versions() {
    local postgres package version
    postgres=$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort --version-sort | tail -n 1) || postgres=postgres
    echo
    say cargo "$(cargo --version | cut -d' ' -f2)"
    say postgres "$("$postgres" --version | cut -d' ' -f3)"
    ! needs drivers || say msodbcsql18 "$(sed -n 's/^mssql-python-odbc==\([^ ]*\).*/\1/p' "$msodbcsql/msodbcsql.txt")"
    ! needs lint || say sqlfluff "$(sed -n 's/^sqlfluff.*==//p' "$venv/requirements.txt")"
    dpkg-query --show --showformat '${Package} ${Version}\n' odbc-postgresql unixodbc gcc clang valgrind 2>/dev/null |
        while read -r package version; do
            [ -z "$version" ] || say "${package/odbc-postgresql/psqlodbc}" "$version"
        done
}

mkdir -p "$root/.local"
: >"$log"
install_packages
install_rust
if needs drivers || needs lint || needs csharp || needs go || needs callers || needs windows; then make_venv; fi
! needs lint || install_sqlfluff
if needs lint || needs manual; then install_manual; fi
# The .NET that it runs on runs C#'s tests too.
if needs lint || needs csharp; then install_tsql_parser; fi
! needs browser || install_selenium
if needs go || needs callers; then install_go; fi
! needs callers || install_callers
! needs windows || install_windows
! needs windows || install_windows_runtimes
! needs drivers || install_msodbcsql
write_odbcinst
print_versions
