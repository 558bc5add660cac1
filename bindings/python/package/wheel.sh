#!/usr/bin/env bash
# Builds the wheel, and that of readpast-data, with what build/venv has: nothing is downloaded, nothing compiled twice.
#
#   wheel.sh DIRECTORY [ARGUMENT...]    the arguments are maturin's: --target, --profile
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
into=$1
shift
rm -rf "$into"
mkdir -p "$into"
export PATH=$PWD/build/venv/bin:$PATH MATURIN_PEP517_ARGS="$*"
python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$into" . ./data \
    >"$into/log" 2>&1 || {
    cat "$into/log" >&2
    echo 'wheel: it could not be built' >&2
    exit 1
}
rm "$into/log"
