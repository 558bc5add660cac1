# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Environments of Python: one for the tools that check, others for what tests import. To be sourced by .ci/setup.sh.

# /usr/bin/python3 is the one that the package python3-venv completes; a python3 found earlier on PATH may lack it.
make_venv() { quietly /usr/bin/python3 -m venv --clear "$1"; }

install_python() {
    doing='python'
    [ -x "$venv/bin/python" ] || {
        say python "making ${venv#"$root/"}"
        make_venv "$venv"
    }
    ! needs lint || install_tools sqlfluff
    ! needs lint || install_tools workflows
    ! { needs c || needs cpp; } || install_tools clang
}

# Tools of .ci/python, in the one environment. The list is kept beside the result, so that a changed pin is noticed.
install_tools() {
    local wanted=.ci/python/$1.txt
    if cmp --silent "$wanted" "$venv/$1.txt"; then
        say "$1" present
        return
    fi
    say "$1" "installing into ${venv#"$root/"}"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --require-hashes --requirement "$wanted"
    cp "$wanted" "$venv/$1.txt"
}

# own_environment PLACE LIST: an environment of its own, for packages that bring much along.
own_environment() {
    ! cmp --silent "$2" "$1/requirements.txt" || return 0
    say "$(basename "$1")" "installing into ${1#"$root/"}"
    make_venv "$1"
    # Where one requirement has a hash, pip asks for all of them.
    quietly "$1/bin/python" -m pip install --disable-pip-version-check --requirement "$2"
    cp "$2" "$1/requirements.txt"
}

install_manual() {
    doing='manual'
    own_environment "$root/.local/manual" .ci/manual/requirements.txt
    say manual present
}

install_browser() {
    doing='browser'
    own_environment "$root/.local/browser" tests/browser/requirements.txt
    say browser present
}
