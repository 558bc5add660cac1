// The text of the error column after an exception.
#include <readpast/detail/describe.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>

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

TEST_CASE("nested exceptions follow it") {
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

TEST_CASE("every thrown value has a text") {
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
