// Which queues there are, and the end of one.
#include "support.hpp"

#include <doctest/doctest.h>

#include <string>

using readpast::status;

TEST_CASE("queues are listed, and dropped with their items") {
    const auto name = install();
    const readpast::queue queue(settings(), name);
    enqueue(queue, {"a", "b"});
    const auto held = queue.claim();
    const auto find = [&] { return readpast::list(settings()).find(R"({"queue":")" + name + '"'); };
    REQUIRE(find() != std::string::npos);
    const auto listed = readpast::list(settings()).substr(find());
    CHECK(listed.find("\"own\":true") < listed.find("\"table\":\"readpast_cpp."));
    CHECK(contains(listed, R"(\"Payload\")"));

    CHECK(thrown_by([&] { readpast::drop(settings(), name + "x"); }) == status::unknown_queue);
    readpast::drop(settings(), name);
    CHECK(find() == std::string::npos);
    CHECK(thrown_by([&] { queue.settle(held[0].complete()); }) == status::unknown_queue);
    CHECK(thrown_by([&] { readpast::drop(settings(), name); }) == status::unknown_queue);
    auto elsewhere = settings();
    elsewhere.set("schema", "readpast_cpp_nowhere");
    CHECK(thrown_by([&] { readpast::drop(elsewhere, name); }) == status::schema_missing);
    CHECK(thrown_by([&] { static_cast<void>(readpast::list(elsewhere)); }) == status::schema_missing);
}
