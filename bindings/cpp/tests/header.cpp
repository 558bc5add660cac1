// Every constant of readpast.h has its enumerator, by the same name and of the same value. (An enumerator too many would
// not compile: their values are the constants.) What else there is in the header, check_header.sh looks for.
#include <readpast.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#define SAME(enumeration, enumerator, constant)                                                                        \
    static_assert(static_cast<std::int32_t>(readpast::enumeration::enumerator) == (constant));
#include "header.inc"
#undef SAME

namespace {

int compared = 0;

void same(std::string_view name, const std::string &constant) {
    compared++;
    for (const std::string prefix : {"READPAST_ACTION_", "READPAST_STATE_", "READPAST_TYPE_"})
        if (constant.compare(0, prefix.size(), prefix) == 0) {
            CHECK(name == constant.substr(prefix.size()));
            return;
        }
    CHECK(name == constant);
}

} // namespace

TEST_CASE("everything is called as in the header") {
#define SAME(enumeration, enumerator, constant) same(readpast::name(readpast::enumeration::enumerator), #constant);
#include "header.inc"
#undef SAME
    CHECK(compared > 60);
}
