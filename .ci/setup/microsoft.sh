# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Microsoft's ODBC driver and T-SQL grammars, from PyPI, each with its licence; and the list of ODBC drivers. To be sourced by .ci/setup.sh.

# The T-SQL grammars, for `make lint`: a check that is left out where they cannot be had: without a network, on another
# architecture. A run that leaves it out reports so.
install_tsql_parser() {
    doing='tsql_parser'
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
        say tsql_parser 'left out: it could not be downloaded for this machine'
        rm -rf "$unpacked"
        return
    fi
    for wheel in "$unpacked"/wheels/*.whl; do
        quietly "$venv/bin/python" -m zipfile --extract "$wheel" "$unpacked/lib"
    done
    # The grammars and the licence alone of mssql-cli; all of .NET, since a wheel does not mark its programs.
    mv "$unpacked/lib/mssqlcli/mssqltoolsservice/bin/Microsoft.SqlServer.TransactSql.ScriptDom.dll" "$unpacked/"
    mv "$unpacked"/lib/mssql_cli-*.dist-info/LICENSE.txt "$unpacked/licences/mssql-cli.txt"
    mv "$unpacked/lib/dotnetcore2/bin" "$unpacked/dotnet"
    cp "$unpacked/dotnet/LICENSE.txt" "$unpacked/licences/dotnet.txt"
    rm -rf "${unpacked:?}"/{wheels,lib}
    chmod +x "$unpacked/dotnet/dotnet"
    cp .ci/tsql_parser.txt "$unpacked/"
    rm -rf "$tsql_parser"
    mv "$unpacked" "$tsql_parser"
}

install_msodbcsql() {
    doing='msodbcsql18'
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
    doing='odbcinst'
    local psqlodbc_library wanted
    psqlodbc_library=$(dpkg-query --listfiles odbc-postgresql | grep '/psqlodbcw\.so$') ||
        fail 'the package odbc-postgresql has no psqlodbcw.so'
    wanted="# Written by .ci/setup.sh. Use it with ODBCSYSINI=$odbc
[PostgreSQL Unicode]
Description = psqlODBC, Unicode
Driver = $psqlodbc_library"
    # Another run may have brought it.
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
