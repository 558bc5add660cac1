# From readpast.h, what the tests compare the binding with: SAME(enumeration, enumerator, constant) for each constant.
#
# The names differ where C++ has a keyword or a better word. The binding passes events on by their meaning.
BEGIN { instead["column_type float"] = "floating" }

/^#define READPAST_[A-Z_0-9]+ -?[0-9]+$/ {
    constant = $2
    word = tolower(substr(constant, length("READPAST_") + 1))
    if (word == "abi" || word ~ /^(version|event|log)_/)
        next
    enumeration = "status"
    if (sub(/^action_/, "", word))
        enumeration = "action"
    else if (sub(/^state_/, "", word))
        enumeration = "state"
    else if (sub(/^type_/, "", word))
        enumeration = "column_type"
    if (enumeration " " word in instead)
        word = instead[enumeration " " word]
    printf "SAME(%s, %s, %s)\n", enumeration, word, constant
}
