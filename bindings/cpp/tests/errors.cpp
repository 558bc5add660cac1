// The exceptions of the binding.
#include "support.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

using readpast::status;

static_assert(std::is_nothrow_copy_constructible_v<readpast::error>);
static_assert(std::is_nothrow_copy_assignable_v<readpast::error>);
static_assert(std::is_base_of_v<std::runtime_error, readpast::error>);
static_assert(!std::is_base_of_v<readpast::transient_error, readpast::outcome_unknown>);

TEST_CASE("an error says what is known") {
    const readpast::error bare(status::closed, "it is closed");
    CHECK(bare.status() == status::closed);
    CHECK(std::string(bare.what()) == "it is closed");
    CHECK(bare.sqlstate() == std::nullopt);
    CHECK(bare.native_code() == 0);
    CHECK_FALSE(bare.retryable());
    CHECK(bare.operation() == std::nullopt);

    const readpast::outcome_unknown full(status::outcome_unknown, "who knows", {"08S01", 10054, true, "an identity"});
    const readpast::error copy = full; // NOLINT(performance-unnecessary-copy-initialization): is what is looked at
    CHECK(copy.sqlstate() == "08S01");
    CHECK(copy.native_code() == 10054);
    CHECK(copy.retryable());
    CHECK(copy.operation() == "an identity");

    readpast::error const first(status::closed, "it is closed");
    // NOLINTBEGIN(performance-move-const-arg,bugprone-use-after-move): that it is none is what is looked at
    const readpast::error second = std::move(first);
    CHECK(first.sqlstate() == second.sqlstate());
    // NOLINTEND(performance-move-const-arg,bugprone-use-after-move)
}

TEST_CASE("an error has the details that the library knows") {
    try {
        const readpast::queue queue(settings(), "NoSuchQueue");
        FAIL("a queue that is not there was opened");
    } catch (const readpast::error &failure) {
        CHECK((failure.status() == status::unknown_queue || failure.status() == status::schema_missing));
        CHECK_FALSE(failure.retryable());
        CHECK(readpast::name(failure.status()).substr(0, 9) == "READPAST_");
    }
    CHECK(thrown_by([] { settings().set("no.such", "setting"); }) == status::invalid_config);
    CHECK(thrown_by([] { settings().set("lease.ms", "soon"); }) == status::invalid_config);
}

TEST_CASE("a failure that may pass by itself is a transient error") {
    readpast::config config("Driver={PostgreSQL Unicode};Server=127.0.0.1;Port=1;Database=none;Uid=nobody;Pwd=secret;");
    config.set("retry.budget_ms", "0").set("dialect", "postgres");
    try {
        const readpast::queue queue(config, "Work");
        FAIL("there is a server at port 1");
    } catch (const readpast::transient_error &failure) {
        CHECK(failure.status() == status::unreachable);
        CHECK(failure.retryable());
        CHECK(failure.sqlstate().value_or("").size() == 5);
        CHECK_FALSE(contains(failure.what(), "secret"));
    }
}

TEST_CASE("text is passed in many ways") {
    const auto passed = [](const readpast::text &text) { return text.c_str(); };
    const std::string text = "a text that is too long to lie inside of a std::string";
    CHECK(passed(text) == text.c_str());
    CHECK(passed(std::optional<std::string>()) == nullptr);
    const std::optional<std::string> some = text;
    CHECK(passed(some) == some->c_str());
    CHECK(passed(nullptr) == nullptr);
    CHECK(passed(std::nullopt) == nullptr);
    CHECK(passed(static_cast<const char *>(nullptr)) == nullptr);
    CHECK(readpast::text(std::string_view(text).substr(0, 6)).c_str() == std::string("a text"));
    CHECK(readpast::text(std::optional(std::string_view(text).substr(0, 6))).c_str() == std::string("a text"));
    CHECK(readpast::text(std::optional<std::string_view>()).c_str() == nullptr);
    CHECK(readpast::text("").c_str() == std::string());
}

TEST_CASE("text that cannot be sent") {
    using namespace std::string_literals;
    CHECK(thrown_by([] { const readpast::text text("a\0b"s); }) == status::invalid_argument);
    CHECK(thrown_by([] { const readpast::text text(std::string_view("a\0b", 3)); }) == status::invalid_argument);
    CHECK(thrown_by([] { settings().set("worker", "a\0b"s); }) == status::invalid_argument);
    CHECK(thrown_by([] { settings().set("worker", "\xFF"); }) == status::invalid_argument);
    CHECK(thrown_by([] { settings().set(nullptr, ""); }) == status::invalid_argument);
    CHECK(thrown_by([] { readpast::config(static_cast<const char *>(nullptr)); }) == status::invalid_argument);
    CHECK(thrown_by([] { readpast::queue(settings(), nullptr); }) == status::invalid_argument);
    try {
        const readpast::config config("Pwd=secret;\0"s);
        FAIL("a NUL was taken");
    } catch (const readpast::error &failure) {
        CHECK(contains(failure.what(), "after 11 bytes"));
        CHECK_FALSE(contains(failure.what(), "secret"));
    }
}

TEST_CASE("names") {
    CHECK(readpast::name(status::empty) == "READPAST_EMPTY");
    CHECK(readpast::name(static_cast<status>(12345)) == "READPAST_?");
    CHECK(readpast::name(static_cast<readpast::state>(99)) == "?");
    CHECK(readpast::name(static_cast<readpast::action>(99)) == "?");
    CHECK(readpast::name(static_cast<readpast::column_type>(99)) == "?");
    CHECK(readpast::version() == std::to_string(READPAST_VERSION_MAJOR) + "." + std::to_string(READPAST_VERSION_MINOR) +
                                     "." + std::to_string(READPAST_VERSION_PATCH));
    CHECK(readpast::abi() == READPAST_ABI);
}
