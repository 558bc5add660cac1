#!/usr/bin/env bash
# Installs the job queues that `cargo bench --bench peers` compares readpast with, below .local/peers: by their package
# managers, in the versions that are pinned here. It leaves out, and names, those whose tools are missing (no node, no go).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

dir=$(cd ../.. && pwd)/.local/peers
readonly dir
mkdir -p "$dir"

with() { command -v "$1" >/dev/null || { echo "peers       there is no $1: left out"; return 1; }; }

if with npm && ! cmp --quiet package.json "$dir/package.json"; then
    echo 'peers       graphile-worker, pg-boss'
    cp package.json "$dir/"
    npm install --silent --no-audit --no-fund --prefix "$dir"
fi
# Modules are looked up from where the programs lie.
cp ./*.mjs ./*.py "$dir/"

if with go && ! cmp --quiet river/go.mod "$dir/river.mod"; then
    echo 'peers       river'
    (cd river && go build -o "$dir/river" .)
    cp river/go.mod "$dir/river.mod"
fi

if with python3 && ! cmp --quiet requirements.txt "$dir/requirements.txt"; then
    echo 'peers       procrastinate'
    python3 -m venv "$dir/venv"
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
    cp requirements.txt "$dir/requirements.txt"
fi
