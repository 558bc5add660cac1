# shellcheck shell=bash
# shellcheck disable=SC2030,SC2031 # a line is a subshell on purpose
# Named steps, one after the other or in lines side by side. To be sourced, by a script that stands at the root.
#
#   step NAME COMMAND...    runs it. The first step that fails ends everything; with KEEP_GOING=1 in the environment the rest
#                           goes on, and `print_summary` lists all that failed, and ends with 1
#   line NAME FUNCTION      begins a line: its steps run one after the other, beside those of the other lines
#   after NAME              within a line: waits for a step of another line
#   join                    waits for all lines
#   print_summary           how long each step took
#
# What a step prints is shown as it comes. Within a line it is shown in one piece when the step has ended, so that the outputs
# of two lines do not mix; of those that a signal ends, the last lines. A step's command is a program: a function would lose
# `set -e`.

# Files: `done.NAME` of each step that is done, `goes.LINE` of each line that goes on, and of each that waits for a step a
# file `waits.LINE` with the step's name. Until all have begun, who does a step may be yet to come.
steps=$(mktemp --directory)
readonly steps
: >"$steps/goes. more"
current=
lines=()
# A command that clears away what goes on by itself, run at the very end.
at_end=(true)
# After so many seconds a step hangs, whatever the machine: it fails, and its output shows where.
limit=7200

# The last output of each line's step, before a signal ends it: one may hang.
show_cut() {
    local name
    for name in "$steps"/begun.*; do
        [ -e "$name" ] || continue
        echo "== not done: $(cat "$name")"
        tail -n 20 "$steps/output.${name#"$steps"/begun.}"
    done
}

end_lines() {
    local status=$? pid
    trap '' INT TERM HUP
    # Each is a process group; those that have ended are none.
    for pid in "${lines[@]}"; do
        kill -s TERM -- "-$pid" 2>/dev/null || true
    done
    wait
    "${at_end[@]}" || true
    rm -rf "$steps"
    exit "$status"
}
trap end_lines EXIT
trap 'show_cut; exit 130' INT
trap 'show_cut; exit 143' TERM HUP

step() {
    local name=$1 started=$SECONDS status=0
    shift
    if [ -z "$current" ]; then
        echo "== $name"
        timeout --foreground --kill-after=60 "$limit" "$@" || status=$?
        [ "$status" -eq 0 ] || echo "== failed: $name ($*)" >&2
    else
        echo "   begun: $name"
        : >"$steps/output.$current"
        echo "$name" >"$steps/begun.$current"
        timeout --foreground --kill-after=60 "$limit" "$@" </dev/null >"$steps/output.$current" 2>&1 || status=$?
        rm "$steps/begun.$current"
        {
            flock 9
            echo "== $name"
            cat "$steps/output.$current"
            [ "$status" -eq 0 ] || echo "== failed: $name ($*)" >&2
        } 9>"$steps/lock"
    fi
    if [ "$status" -ne 0 ]; then
        [ -n "${KEEP_GOING:-}" ] || exit "$status"
        echo "$name" >>"$steps/failed"
    fi
    printf '%4d s  %s\n' $((SECONDS - started)) "$name" >>"$steps/summary"
    : >"$steps/done.$name"
}

line() {
    : >"$steps/goes.$1"
    # A process group of its own, which can be ended as a whole.
    set -m
    (
        set +m
        trap - INT TERM HUP
        current=$1
        "$2"
        rm "$steps/goes.$1"
    ) &
    lines+=($!)
    set +m
}

# resume STEP: 0 if it is done, and the line goes on; 1 if it may still be; 2 if nobody will do it: no line goes on, and those
# that wait do so in vain.
resume() (
    flock 8
    if [ -e "$steps/done.$1" ]; then
        : >"$steps/goes.$current"
        rm "$steps/waits.$current"
        exit 0
    fi
    ! compgen -G "$steps/goes.*" >/dev/null || exit 1
    for waits in "$steps"/waits.*; do
        [ ! -e "$steps/done.$(cat "$waits")" ] || exit 1
    done
    exit 2
) 8>"$steps/state"

after() {
    local status
    echo "$1" >"$steps/waits.$current"
    rm "$steps/goes.$current"
    while true; do
        status=0
        resume "$1" || status=$?
        case $status in
            0) return ;;
            2)
                echo "== failed: the line \"$current\" waits for \"$1\", which no line does" >&2
                exit 1
                ;;
        esac
        sleep 0.2
    done
}

join() {
    local line status
    rm -f "$steps/goes. more"
    for line in "${lines[@]}"; do
        # Whichever ends next. Its own exit status, if it is none of success, is ours.
        wait -n || {
            status=$?
            echo "== a line of steps ended with exit status $status: the failure is above" >&2
            exit "$status"
        }
        : "$line"
    done
    lines=()
}

print_summary() {
    echo '== summary, the slowest first'
    sort --reverse --numeric-sort "$steps/summary"
    [ -e "$steps/failed" ] || return 0
    echo '== failed' >&2
    cat "$steps/failed" >&2
    exit 1
}
