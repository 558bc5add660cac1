#!/usr/bin/env bash
# Builds the wheel, installs it into a virtual environment that has nothing else, and runs the minimal worker there, on
# the PostgreSQL that READPAST_TEST_POSTGRES names. Then it takes away what the library needs, and looks at the errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

READPAST_CONNECTION=${READPAST_TEST_POSTGRES:?set it to an ODBC connection string, or run "make test" at the root}
export READPAST_CONNECTION
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT
readonly wheels=$PWD/build/wheels examples=$PWD/examples package=$PWD/package

fail() {
    printf 'check_package: %s\n' "$*" >&2
    exit 1
}

echo '-- the wheel'
package/wheel.sh "$wheels"
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' ../../Cargo.toml)
wheel=$(echo "$wheels/readpast-$version-py3-none-linux_"*.whl)
[ -s "$wheel" ] || fail "there is no $wheel"
build/venv/bin/python -m zipfile --extract "$wheel" "$dir/wheel"
for part in readpast/{__init__.py,py.typed,_native/{__init__.py,ffi.py,lib_native.so}} \
    "readpast-$version.dist-info/"{METADATA,licenses/LICENSE}; do
    [ -e "$dir/wheel/$part" ] || fail "the wheel lacks $part"
done
diff --recursive --exclude=_native --exclude=__pycache__ src/readpast "$dir/wheel/readpast" ||
    fail 'the wheel has other sources'
diff "$dir/wheel/readpast/_native/ffi.py" build/lib/readpast/_native/ffi.py >"$dir/log" ||
    fail 'the wheel was made of other declarations than those of include/readpast.h'

echo '-- the wheel of readpast-data'
data=$wheels/readpast_data-$version-py3-none-any.whl
[ -s "$data" ] || fail "there is no $data: data/pyproject.toml has another version"
build/venv/bin/python -m zipfile --list "$data" | grep readpast_data/py.typed >/dev/null || fail 'it lacks its types'
${PYTHON:-/usr/bin/python3} -m venv "$dir/bare"
"$dir/bare/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$data"
"$dir/bare/bin/python" -c 'import readpast_data' || fail 'it needs more than Python'

echo '-- the minimal worker'
${PYTHON:-/usr/bin/python3} -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement requirements.txt "$wheel"
cd "$dir"
unset LD_LIBRARY_PATH READPAST_PREFIX PYTHONPATH
venv/bin/python "$package/enqueue.py" 5
done_lines=$(venv/bin/python "$examples/minimal_worker.py" | grep --count '"Recipient":"customer-') || true
[ "$done_lines" -eq 5 ] || fail "it did $done_lines items of 5"

echo '-- what is missing is named'
library=$(echo venv/lib/python3*/site-packages/readpast/_native/lib_native.so)
# says TEXT: the worker fails, and says TEXT and nothing of a crash
says() {
    local output
    ! output=$(venv/bin/python "$examples/minimal_worker.py" 2>&1) || fail 'the worker went well'
    [[ $output == *ImportError* && $output == *"$1"* ]] || fail "the worker said: $output"
}
sed -i 's/libodbc\.so\.2/libodbx.so.2/' "$library"
says 'install the package libodbc2'
cc -shared -o "$library" -x c - <<'C'
int readpast_abi(void) { return 99; }
const char *readpast_version(void) { return "9.9.9"; }
C
says 'libreadpast 9.9.9 has the binary interface 99'
rm "$library"
says "$library"
