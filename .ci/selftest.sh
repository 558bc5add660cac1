#!/usr/bin/env bash
# Tries the scripts that all checks rely on: .ci/tests_ran.sh, .ci/steps.sh, and how .ci/lint_tsql.sh builds.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

unset KEEP_GOING
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'selftest: %s\n' "$*" >&2
    cat "$dir/output" >&2
    exit 1
}

# ends STATUS COMMAND...: runs it, with its output in $dir/output
ends() {
    local expected=$1 status=0
    shift
    "$@" >"$dir/output" 2>&1 || status=$?
    [ "$status" -eq "$expected" ] || fail "exit status $status, not $expected: $*"
}

says() { grep --quiet --line-regexp --extended-regexp -e "$1" "$dir/output" || fail "it does not say: $1"; }

# Each on its own, so that `steps.sh` is sourced as test.sh does it.
script() {
    { echo 'set -euo pipefail' && echo 'source .ci/steps.sh' && cat; } >"$dir/script"
}

ends 0 .ci/tests_ran.sh echo 'test result: ok. 2 passed; 0 failed'
ends 1 .ci/tests_ran.sh echo 'test result: ok. 0 passed; 0 failed; 7 filtered out'
says 'tests_ran: no test fits.*'
ends 3 .ci/tests_ran.sh sh -c 'echo "test result: ok. 2 passed"; exit 3'
# A script that chooses tests by name does it through tests_ran.sh; the number of threads is no choice.
if grep --line-number --extended-regexp 'cargo test\b.* -- ' .ci/*.sh | grep --invert-match --extended-regexp \
    -e '^\S*:[0-9]+: *#' -e 'tests_ran\.sh cargo test' -e ' -- --test-threads=' -e '^\.ci/selftest\.sh:' >"$dir/output"; then
    fail 'tests are chosen by name, and may be none: call them through .ci/tests_ran.sh'
fi

script <<'STEPS'
one() { step first echo 'from one' && after second && step third echo 'after it'; }
two() { after first && step second sh -c 'echo a; sleep 0.1; echo b'; }
step alone echo 'as it comes'
line one one
line two two
join
print_summary
STEPS
ends 0 bash "$dir/script"
says 'as it comes'
says ' +[0-9]+ s  third'
[ "$(grep --count --extended-regexp '^ +[0-9]+ s  ' "$dir/output")" -eq 4 ] || fail 'the summary has not the four steps'
[ "$(grep --line-regexp --extended-regexp '== .*|a|b|after it' "$dir/output" | sed -n 3,7p | tr '\n' ' ')" = \
    '== second a b == third after it ' ] || fail 'the outputs of two lines mix, or come in another order'

# The other line would go on for an hour; what runs in it ends, and says nothing.
script <<STEPS
bad() { after begun && step broken sh -c 'until [ -e $dir/waits ]; do sleep 0.1; done; echo why; exit 7' && step never echo never; }
long() { step begun true && step slow sh -c 'trap "echo >$dir/ended; exit 1" TERM; echo >$dir/waits; sleep 3600 & wait'; }
line bad bad
line long long
join
echo went on
STEPS
ends 7 timeout 600 bash "$dir/script"
says 'why'
says '== failed: broken \(sh -c .*\)'
! grep --quiet --line-regexp -e 'went on' -e 'never' "$dir/output" || fail 'it went on'
# The shell of the line may be gone before what ran in it.
timeout 600 sh -c "until [ -e '$dir/ended' ]; do sleep 0.1; done" || fail 'what ran in the other line was not ended'

# A signal ends it, and the output names the step that each line was at.
script <<STEPS
one() { step done true && step hangs sh -c 'echo at it; echo >$dir/hangs; sleep 3600'; }
line one one
join
STEPS
(
    bash "$dir/script" &
    until [ -e "$dir/hangs" ]; do sleep 0.1; done
    kill -s TERM $!
    wait $!
) >"$dir/output" 2>&1 && fail 'it was ended, and says it was not'
says '== not done: hangs'
says 'at it'
! grep --quiet 'not done: done' "$dir/output" || fail 'a step that was done is told as cut off'

# A step that hangs fails in the end.
for limit in 1 10 100; do
    script <<STEPS
limit=$limit
one() { step hangs sh -c 'echo at it; sleep 3600'; }
line one one
join
STEPS
    ends 124 timeout 600 bash "$dir/script"
    # A busy machine may not get to it in a second.
    ! grep --quiet 'at it' "$dir/output" || break
done
says 'at it'
says '== failed: hangs \(sh -c .*\)'

# Steps of lines that begin later are waited for, however late they begin.
script <<'STEPS'
one() { after second && step third true; }
two() { step second true; }
line one one
sleep 1
line two two
join
STEPS
ends 0 timeout 600 bash "$dir/script"

script <<'STEPS'
one() { after 'a step that was renamed' && step never true; }
two() { after 'another' && step never true; }
line one one
line two two
join
STEPS
ends 1 timeout 600 bash "$dir/script"
says '== failed: the line ".*" waits for ".*", which no line does'

# With KEEP_GOING the rest goes on, and the end lists the failures.
script <<'STEPS'
one() { step broken sh -c 'exit 4' && after second && step third echo 'after it'; }
two() { step second sh -c 'exit 5' ; }
line one one
line two two
join
print_summary
echo went on
STEPS
ends 1 env KEEP_GOING=1 bash "$dir/script"
says 'after it'
says '== failed'
says 'broken'
says 'second'
! grep --quiet 'went on' "$dir/output" || fail 'it reports success'

# A script ends with a sentence, wherever it fails: in a function, in a pipe, in a subshell that it waits for.
# shellcheck disable=SC2016 # the script in there runs it
for failing in 'false' 'grep -q x </dev/null | cat' 'value=$(false)' '(exit 3)'; do
    printf '%s\n' 'source .ci/common.sh' 'doing="the step"' "one() { $failing; }" 'one' >"$dir/script"
    status=0
    bash "$dir/script" >"$dir/output" 2>&1 || status=$?
    [ "$status" -ne 0 ] || fail "exit status 0: $failing"
    says 'script: stopped at "the step": line 3, .*'
    [ "$(grep --count 'Mend what' "$dir/output")" -eq 1 ] || fail "no remedy, or two: $failing"
done

script <<'STEPS'
step first true
step broken sh -c 'exit 4'
echo went on
STEPS
ends 4 bash "$dir/script"
says '== failed: broken .*'
! grep --quiet 'went on' "$dir/output" || fail 'it went on'

# lint_tsql.sh in a folder of its own, with compilers that fail and a program of an earlier build that finds no fault.
mkdir -p "$dir/.ci/tsql" "$dir/bin" "$dir/target/tsql/one" "$dir/.local/tsql_parser/dotnet" "$dir/target/tsql_check/mono"
cp .ci/lint_tsql.sh .ci/common.sh "$dir/.ci/"
touch "$dir/target/tsql/one/1.sql" "$dir/.ci/tsql/"{Program.cs,tsql.runtimeconfig.json} "$dir/target/tsql_check/mono/tsql.exe" \
    "$dir/.local/tsql_parser/Microsoft.SqlServer.TransactSql.ScriptDom.dll"
executable() { cat >"$1" && chmod +x "$1"; }
executable "$dir/.local/tsql_parser/dotnet/dotnet" <<<'#!/bin/sh'
executable "$dir/bin/mcs" <<<'#!/bin/sh
exit 1'
executable "$dir/bin/dotnet" <<'PROGRAM'
#!/bin/sh
[ "$1" = build ] || exec echo 10.0.0
printf 'tsql.csproj : error %s\n' $ERRORS
exit 1
PROGRAM
for errors in CS1002 MSB4018 'NU1301 CS1002' ''; do
    ends 1 env PATH="$dir/bin:$PATH" ERRORS="$errors" "$dir/.ci/lint_tsql.sh" --rendered
    says 'lint_tsql: .ci/tsql does not compile'
    ! grep --quiet 'will do' "$dir/output" || fail "a fault of the build is taken for one of the registry: $errors"
done
ends 1 env PATH="$dir/bin:$PATH" ERRORS=NU1301 "$dir/.ci/lint_tsql.sh" --rendered
says '.*those of 2017 and 2019 will do'
says 'lint_tsql: .ci/tsql does not compile'

echo 'the scripts hold'
