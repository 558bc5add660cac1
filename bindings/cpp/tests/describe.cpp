// What the error column says of an exception.
#include <readpast/detail/describe.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>

using readpast::detail::fit;

namespace {

template <class Throw> std::string description_of(const Throw &thrower) {
    try {
        thrower();
    } catch (...) {
        return readpast::detail::describe_current_exception();
    }
    return "nothing was thrown";
}

struct own_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct no_exception {};

} // namespace

TEST_CASE("an exception is described by its type and text") {
    CHECK(description_of([] { throw std::runtime_error("why"); }) == "std::runtime_error: why");
    CHECK(description_of([] { throw own_error(""); }) == "(anonymous namespace)::own_error: ");
}

TEST_CASE("what is nested in it follows") {
    const auto thrower = [] {
        try {
            try {
                throw std::out_of_range("inner");
            } catch (...) {
                std::throw_with_nested(std::runtime_error("middle"));
            }
        } catch (...) {
            std::throw_with_nested(std::logic_error("outer"));
        }
    };
    const auto text = description_of(thrower);
    CHECK(text.find("std::logic_error") != std::string::npos);
    CHECK(text.find(": outer\ncaused by: ") != std::string::npos);
    CHECK(text.find(": middle\ncaused by: std::out_of_range: inner") != std::string::npos);
}

TEST_CASE("whatever is thrown, there is a text") {
    CHECK(description_of([] { throw "a literal"; }) == "a literal");
    CHECK(description_of([] { throw std::string("a text"); }) == "a text");
    // NOLINTNEXTLINE(misc-throw-by-value-catch-by-reference,cert-err09-cpp,cert-err61-cpp): others do it
    CHECK(description_of([] { throw static_cast<const char *>(nullptr); }) == "a null pointer");
    CHECK(description_of([] { throw 7; }) == "int, which is no std::exception");
    CHECK(description_of([] { throw no_exception(); }) ==
          "(anonymous namespace)::no_exception, which is no std::exception");
    const auto nested = description_of([] {
        try {
            throw 7;
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    });
    CHECK(nested.find("caused by: int") != std::string::npos);
}

TEST_CASE("text that is no UTF-8 is made some") {
    const std::string replaced = "\xEF\xBF\xBD";
    CHECK(fit("grüß \U0001F600", 100) == "grüß \U0001F600");
    CHECK(fit(std::string("a\0b", 3), 100) == "a" + replaced + "b");
    CHECK(fit("a\xFF"
              "b\x80",
              100) == "a" + replaced + "b" + replaced);
    CHECK(fit("\xC3", 100) == replaced);                               // cut off
    CHECK(fit("\xC0\xAF", 100) == replaced + replaced);                // overlong
    CHECK(fit("\xE0\x80\xAF", 100) == replaced + replaced + replaced); // overlong
    CHECK(fit("\xED\xA0\x80", 100) == replaced + replaced + replaced); // a surrogate
    CHECK(fit("\xF4\x90\x80\x80", 100).size() == 4 * replaced.size()); // beyond the last
    CHECK(fit("\xF0\x9F\x98", 100) == replaced + replaced + replaced); // cut off
    CHECK(fit("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", 100).size() == 10);
}

TEST_CASE("long text is cut between characters") {
    CHECK(fit("äöü", 2) == "äö");
    CHECK(fit("\U0001F600\U0001F600", 1) == "\U0001F600");
    CHECK(description_of([] { throw std::string(20000, 'x'); }).size() == readpast::detail::longest_error);
}
