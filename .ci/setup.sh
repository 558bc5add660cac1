#!/usr/bin/env bash
# Installs what building and testing readpast needs on Debian or Ubuntu. Run it as often as you like: it installs only
# what is missing. System packages come from apt, Rust from rustup; everything else goes below .local/, which git ignores.
#
#   setup.sh           everything, as `make test` needs it
#   setup.sh PART...   the needs of these parts: build (Rust, C compiler, unixODBC), core (the same, with PostgreSQL and its
#                      driver: the demo), drivers (the Microsoft driver), lint (of shell and SQL), manual (mkdocs), browser (Chromium
#                      and its driver), callers (drivers that tests call procedures by: psycopg, pyodbc, pgx, JDBC, pg), windows (MinGW
#                      and Wine, with Python for Windows), fresh (bare machines: debootstrap), release (packages for
#                      other machines: zig, auditwheel, rpm, QEMU), and the languages
#                      c, cpp, csharp, python, go, rust
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
for file in .ci/setup/*.sh; do
    # shellcheck source=/dev/null
    source "$file"
done

# shellcheck disable=SC2034 # the parts read these
readonly venv=$root/.local/venv msodbcsql=$root/.local/msodbcsql18 tsql_parser=$root/.local/tsql_parser odbc=$root/.local/odbc
log=$root/.local/setup.log
readonly tested=(build core drivers lint manual browser callers c cpp csharp python go rust windows fresh)
readonly parts=("${tested[@]}" release)
[ $# -gt 0 ] || set -- "${tested[@]}"
for part; do
    [[ " ${parts[*]} " == *" $part "* ]] || fail "there is no part \"$part\"; there are: ${parts[*]}"
done
asked=" $* "
# All but these two need a database.
[[ $asked == ' build ' || $asked == ' fresh ' ]] || asked=" core$asked"
readonly asked

needs() { [[ $asked == *" $1 "* ]]; }
needs_checks() { [[ ! $asked =~ ^\ ((build|core|fresh)\ )+$ ]]; }
needs_python() { needs drivers || needs lint || needs browser || needs callers || needs c || needs cpp ||
    needs go || needs manual || needs python || needs windows || needs release; }

print_versions() {
    doing='versions'
    local postgres package version
    echo
    say cargo "$(cargo --version | cut -d' ' -f2)"
    ! needs csharp || {
        if has_dotnet; then say dotnet "$(dotnet --version)"; else say csharp "left out: $no_dotnet"; fi
    }
    ! needs core || {
        postgres=$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort --version-sort | tail -n 1) || postgres=postgres
        say postgres "$("$postgres" --version | cut -d' ' -f3)"
    }
    ! needs drivers || say msodbcsql18 "$(sed -n 's/^mssql-python-odbc==\([^ ]*\).*/\1/p' "$msodbcsql/msodbcsql.txt")"
    # Packages that this machine has, of these.
    for package in odbc-postgresql unixodbc gcc clang valgrind; do
        version=$(dpkg-query --show --showformat '${Version}' "$package" 2>/dev/null) || continue
        [ -z "$version" ] || say "${package/odbc-postgresql/psqlodbc}" "$version"
    done
}

mkdir -p "$root/.local"
: >"$log"
install_packages
[[ $asked == ' fresh ' ]] || install_rust
! needs_python || install_python
! needs lint || install_tsql_parser
! { needs lint || needs manual; } || install_manual
! needs browser || install_browser
! { needs go || needs callers; } || install_go
! needs callers || install_callers
! needs windows || install_windows
! needs release || install_release
! needs windows || install_windows_runtimes
! needs drivers || install_msodbcsql
! needs core || write_odbcinst
[[ $asked == ' fresh ' ]] || print_versions
