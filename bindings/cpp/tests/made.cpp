// Items for tests of handlers, which need no server.
#include "support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <fstream>

using readpast::action;
using readpast::batch;
using readpast::status;

namespace {

readpast::settlement handle(const readpast::item &item) {
    if (item.attempt() > 2)
        return item.fail(std::string(item.text("To").value()) + " does not answer");
    return item.complete(std::string(item.text("Body").value()));
}

constexpr auto letters = R"(queue = "Letters"
columns = [{ name = "To", type = "text" }, { name = "Body", type = "json" }])";

} // namespace

TEST_CASE("a handler is tested without a server") {
    const auto items = batch::from_json(
        R"([{"key": "7", "columns": {"To": "a", "body": {"n": 1.10}}}, {"attempt": 3, "columns": {"To": "b"}}])",
        letters);
    REQUIRE(items.size() == 2);
    CHECK(handle(items[0]).key == "7");
    CHECK(handle(items[0]).response == R"({"n": 1.10})");
    CHECK(handle(items[1]).action == action::fail);
    CHECK(handle(items[1]).error == "b does not answer");
    CHECK(batch::from_json("[]").status() == status::empty);
    CHECK(thrown_by([] { (void)batch::from_json("[{\"state\": 1}]"); }) == status::invalid_item);
    CHECK(thrown_by([] { (void)batch::from_json("[]", "queue = 1"); }) == status::invalid_argument);
    CHECK(thrown_by([] { (void)batch::from_json(nullptr); }) == status::invalid_argument);
}

TEST_CASE("an item has its life cycle by property and by any name") {
    const auto items = batch::from_json(
        R"([{"type": "Mail", "step": "sent", "due": "2026-11-21T08:30:00Z", "enqueued": "2026-11-20",
            "lease_until": "2026-11-22", "state": "Error"}, {}])");
    const auto &item = items[0];
    CHECK(item.type() == "Mail");
    CHECK(item.step() == "sent");
    CHECK(item.state() == readpast::state::error);
    CHECK(item.due() == "2026-11-21T08:30:00.0000000");
    CHECK(item.enqueued() == "2026-11-20T00:00:00.0000000");
    CHECK(item.lease_until() == "2026-11-22T00:00:00.0000000");
    CHECK(item.text("scheduled_for") == item.due());
    CHECK(item.text("ItemDueAt") == item.due());
    CHECK(!item.find("due"));
    const auto &bare = items[1];
    CHECK(!bare.type());
    CHECK(!bare.step());
    CHECK(!bare.due());
    CHECK(!bare.enqueued());
    CHECK(!bare.lease_until());
}

TEST_CASE("so is one that takes a job") {
    const auto items = batch::from_json(R"([{"key": "7"}])");
    const auto handle = [](readpast::job &job) {
        CHECK(job.step("on the way") == status::ok);
        job.progress(42, "on the way");
        job.progress("half");
        CHECK(job.sleep_for(std::chrono::milliseconds(1)));
        return job.lost() || job.stopping() ? job.release() : job.complete();
    };
    readpast::job job(items[0]);
    CHECK(handle(job).action == action::complete);
    CHECK(handle(job).key == "7");
}

TEST_CASE("a description in a file") {
    const std::string name = "build/description.toml";
    std::ofstream(name) << "queue = \"FromFile\"\n";
    readpast::install_file(settings(), name);
    CHECK(readpast::queue(settings(), "FromFile").claim().empty());
    CHECK_THROWS_AS(readpast::install_file(settings(), "build/nonesuch.toml"), std::ios_base::failure);
    (void)std::remove(name.c_str());
}
