# The layout of C# sources: neither astyle nor clang-format (of Debian 12) knows the language well enough to lay it out.
#
#   awk -f check_layout.awk FILE...
#
# Lines are of at most 120 columns, with spaces only; a brace that closes stands below the line on which it was opened.

function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad = 1
}

function indent_of(line) {
    match(line, /^ */)
    return RLENGTH
}

FNR == 1 { depth = 0 }

/\t|\r/ { complain("a tab or a carriage return") }
/ $/ { complain("trailing space") }
/^$/ && before ~ /^ *(\{)?$/ && FNR > 1 { complain("an empty line too many") }
/^ *\}/ && before == "" { complain("an empty line before the end of a block") }
length($0) > 120 { complain("longer than 120 columns") }
/^ / && indent_of($0) % 4 != 0 { complain("indented by part of a level") }
/[^ {@$"'] *\{$/ && !/^ *\{$/ && !/["'].*\{$/ { complain("a brace that opens a block has a line of its own") }

{
    before = $0
    line = $0
    # Braces within text do not count.
    gsub(/\\\\|\\"|'\\?.'/, "", line)
    gsub(/@?"[^"]*"/, "", line)
    sub(/\/\/.*/, "", line)
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "{") {
            opened[++depth] = indent_of($0)
        } else if (c == "}") {
            if (depth == 0) {
                complain("a brace too many")
            } else if (line ~ /^ *\}/ && i == indent_of($0) + 1 && indent_of($0) != opened[depth]) {
                complain("the brace was opened at another indentation")
            }
            depth -= depth > 0
        }
    }
}

END { exit bad }
