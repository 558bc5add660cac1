#!/usr/bin/env bash
# Looks at the header itself: that it leaves out nothing of readpast.h, that each of its files compiles alone and twice, and
# that all of it and its users compile as C++17 and C++20 with every compiler.
#
#   check_header.sh PREFIX    where readpast.h is installed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

prefix=$1
c_header=../../include/readpast.h
dir=$(mktemp --directory)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'check_header: %s\n' "$*" >&2
    exit 1
}

echo '-- nothing of readpast.h is left out'
# Its functions; and of each struct that is no handle the fields, but for those of no meaning. The figures of a worker are
# readpast_worker_figures itself.
mapfile -t functions < <(grep -oE '\breadpast_[a-z_]+\(' "$c_header" | tr -d '(' | sort -u)
[ "${#functions[@]}" -gt 40 ] || fail 'the header was not understood'
for function in "${functions[@]}"; do
    # The status of an error is what the call returned. A program's event loop has a worker of C's, on queue::native_handle().
    [[ "$function" =~ ^readpast_(error_status|worker_want)$ ]] || grep --quiet --recursive --word-regexp "$function" include || fail "nothing calls $function"
done
mapfile -t fields < <(awk '
    /^typedef struct/ { count = 0 }
    /^    [a-z].*;$/ { field = $NF; gsub(/[*;]|\[.*/, "", field); found[count++] = field }
    /^} readpast_/ && found[0] == "struct_size" && $2 != "readpast_worker_figures;" {
        for (i = 1; i < count; i++)
            if (found[i] != "reserved")
                print found[i]
    }' "$c_header" | sort -u)
[ "${#fields[@]}" -gt 20 ] || fail 'the structs were not understood'
for field in "${fields[@]}"; do
    # A batch gives its items' number of columns too.
    [ "$field" = column_count ] || grep --quiet --recursive --extended-regexp "\\b(raw|raw_|made|each)\\.$field\\b" \
        include || fail "nothing reads or writes the field $field"
done

echo '-- each file alone, and twice'
strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
    -Iinclude -isystem "$prefix/include" -fsyntax-only)
(cd include && find . -name '*.hpp' -printf '%P\n') | sort >"$dir/files"
while read -r file; do
    printf '#include <%s>\n#include <%s>\n' "$file" "$file" >"$dir/alone.cpp"
    g++ -std=c++17 "${strict[@]}" "$dir/alone.cpp" || fail "$file does not compile alone"
    guard=$(tr 'a-z/.' 'A-Z__' <<<"${file/readpast\//readpast_}")
    grep --quiet "^#ifndef $guard\$" "include/$file" || fail "the guard of $file is not $guard"
done <"$dir/files"

echo '-- all of it, in every dialect'
mapfile -t users < <(ls examples/*.cpp examples/*/*.cpp bench/*.cpp)
for compiler in g++ clang++; do
    for standard in c++17 c++20; do
        for user in "${users[@]}"; do
            "$compiler" -std="$standard" "${strict[@]}" "$user" || fail "$user is not $standard for $compiler"
        done
    done
done

echo '-- what must not compile'
# refused TEXT CODE: the compiler says TEXT about CODE
refused() {
    printf '#include <readpast.hpp>\nvoid f(readpast::worker &worker) { %s }\n' "$2" >"$dir/wrong.cpp"
    ! clang++ -std=c++17 "${strict[@]}" "$dir/wrong.cpp" 2>"$dir/said" || fail "it compiles: $2"
    grep --quiet "$1" "$dir/said" || fail "$(cat "$dir/said")"
}
refused 'a handler takes a readpast::job &, and is const' 'worker.run([n = 0](readpast::job &) mutable { n++; });'
refused 'a handler takes a readpast::job &, and is const' 'worker.run([] {});'
refused 'a handler returns nothing, a readpast::settlement' 'worker.run([](readpast::job &) { return 7; });'
refused 'call to deleted' 'readpast::worker copy(worker);'
refused 'beside the work.s type there is a void from_item' 'readpast::handlers().handle<int>("A", [](int, readpast::job &) {});'
refused 'a typed one takes its work before the job' 'readpast::handlers().handle_all([](const readpast::item &) { return 1; }, [] {});'
refused 'middleware takes a' 'readpast::handlers().around([](readpast::job &job, const auto &next) { next(job); });'
