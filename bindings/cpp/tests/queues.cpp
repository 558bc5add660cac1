// The calls on a queue.
#include "support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using readpast::action;
using readpast::settlement;
using readpast::state;
using readpast::status;

TEST_CASE("settling judges each item by itself") {
    const auto queue = open();
    const auto items = claimed(queue, {"a", "b", "c"});
    CHECK(queue.settle(items[1].complete()).answer() == status::ok);
    auto stale = items[2].complete();
    stale.token = "2001-01-01T00:00:00.0000000";
    const auto outcomes = queue.settle({items[0].retry("not now", 1h), items[1].complete(), stale});
    CHECK(outcomes.status() == status::lease_lost);
    REQUIRE(outcomes.size() == 3);
    CHECK(outcomes[0].answer() == status::ok);
    CHECK(outcomes[0].state() == state::error);
    CHECK(outcomes[0].attempt() == 1);
    CHECK(outcomes[1].answer() == status::lease_lost);
    CHECK(outcomes[1].state() == state::completed);
    CHECK(outcomes[2].answer() == status::conflict);
    CHECK(outcomes[2].token() == items[2].token());
    CHECK_THROWS_AS((void)outcomes[3], std::out_of_range);
    CHECK(column(queue, "error")[0] == "not now");
}

TEST_CASE("every way to end a claim") {
    const auto queue = open();
    const auto items = claimed(queue, {"a", "b", "c", "d", "e", "f"});
    queue.settle({items[0].complete("sent"), items[1].complete_partially("half"), items[2].fail("never"),
                  items[3].retry("later", 1h), items[4].release(1h), items[5].settle(action::pause)});
    const auto statuses = column(queue, "status");
    CHECK(statuses ==
          std::vector<std::string>{"Completed", "PartiallyCompleted", "Failed", "Error", "Pending", "Paused"});
    CHECK(queue.stats().due == 0);
    CHECK(column(queue, "response")[0] == "sent");
    CHECK(column(queue, "error")[2] == "never");
}

TEST_CASE("questions are answered as JSON") {
    const auto queue = open();
    const auto items = claimed(queue, {"a", "b"});
    CHECK(contains(queue.ask("types"), R"({"type":"First","waiting":0,"due":0,"oldest_due_ms":null,"in_flight":2,)"));
    CHECK(contains(queue.ask("trend", R"({"apart_ms": 1})"), R"("depth":0,)"));
    CHECK(queue.ask("show", R"({"key": "2001-01-01T00:00:00.0000000"})") == "null");
    CHECK(thrown_by([&] { (void)queue.ask("moons"); }) == status::invalid_argument);
    CHECK(thrown_by([&] { (void)queue.ask("types", R"({"key": "a"})"); }) == status::invalid_argument);
}

TEST_CASE("a settlement sets the item's own columns") {
    const auto queue = open();
    const auto items = claimed(queue, {"a", "b"});
    auto paid = items[0].complete("paid");
    paid.set = R"({"payload": "changed", "Brief": "b"})";
    queue.settle({paid, items[1].complete()});
    CHECK(column(queue, "Payload") == std::vector<std::string>{"changed", "b"});
    CHECK(column(queue, "Brief") == std::vector<std::string>{"b", "NULL"});

    const auto more = claimed(queue, {"c"});
    auto wrong = more[0].complete();
    wrong.set = R"({"Nope": 1})";
    CHECK(thrown_by([&] { queue.settle(wrong); }) == status::invalid_item);
    CHECK(column(queue, "status")[2] == "Processing");
}

TEST_CASE("settling and claiming is one call") {
    const auto queue = open();
    auto items = claimed(queue, {"a"});
    enqueue(queue, {"b", "c"});
    auto [outcomes, next] = queue.settle_and_claim({items[0].complete()}, 5);
    CHECK(outcomes[0].state() == state::completed);
    REQUIRE(next.size() == 2);
    CHECK(next[0].text("Payload") == "b");
    auto last = queue.settle_and_claim({next[0].complete(), next[1].complete()}, 5);
    CHECK(last.outcomes.status() == status::ok);
    CHECK(last.claimed.empty());
    CHECK(last.claimed.status() == status::empty);
}

TEST_CASE("the same operation is applied once") {
    const auto queue = open();
    const std::optional<std::string> operation = identity();
    const auto first = queue.enqueue(with_payload("a"), operation);
    const auto again = queue.enqueue(with_payload("a"), operation);
    CHECK(first.answer() == status::ok);
    CHECK(again.key() == first.key());
    CHECK(again.token() == first.token());
    CHECK(queue.stats().pending == 1);
    const auto item = queue.claim();
    const auto other = identity();
    const auto settled = queue.settle(item[0].complete(), other);
    CHECK(queue.settle(item[0].complete(), other).token() == settled.token());
    CHECK(queue.settle(item[0].complete(), identity()).answer() == status::lease_lost);
    CHECK(thrown_by([&] { queue.settle(item[0].complete(), "no UUID"); }) == status::invalid_argument);
}

TEST_CASE("all items or none") {
    const auto queue = open();
    CHECK(thrown_by([&] { queue.enqueue({with_payload("a"), with("Nonesuch", "1")}); }) == status::invalid_item);
    CHECK(queue.stats().pending == 0);
}

TEST_CASE("none, and more than go out at once") {
    const auto queue = open();
    CHECK(queue.enqueue(std::vector<readpast::new_item>()).empty());
    CHECK(queue.settle(std::vector<readpast::settlement>()).status() == status::ok);
    const auto receipts = queue.enqueue(std::vector<readpast::new_item>(1001));
    CHECK(receipts.size() == 1001);
    CHECK(receipts[0].key() != receipts[1000].key());
    CHECK(queue.stats().pending == 1001);
}

TEST_CASE("when an item is due") {
    const auto queue = open();
    readpast::new_item later = with_payload("later");
    later.delay = 1h;
    readpast::new_item then = with_payload("then");
    then.due = "2001-02-03T04:05:06Z";
    then.type = "Second";
    then.step = "prepared";
    queue.enqueue({later, then});
    const auto items = queue.claim(5);
    REQUIRE(items.size() == 1);
    CHECK(items[0].text("Payload") == "then");
    CHECK(items[0].text("Type") == "Second");
    CHECK(items[0].text("Step") == "prepared");
    CHECK(thrown_by([&] { queue.settle(items[0].release(-1ms)); }) == status::invalid_argument);
    CHECK(thrown_by([&] { queue.settle(items[0].release(-2ms)); }) == status::invalid_argument);
}

TEST_CASE("operators find, steer, redrive and purge") {
    const auto queue = open();
    enqueue(queue, {"a", "b", "c"});
    const auto page = queue.find(nullptr, nullptr, 2);
    REQUIRE(page.size() == 2);
    CHECK(queue.find(nullptr, page[1].key()).size() == 1);
    CHECK(queue.settle(settlement(page[0].key(), action::cancel)).state() == state::cancelled);
    CHECK(queue.settle(settlement(page[1].key(), action::pause, std::string(page[1].token()))).state() ==
          state::paused);
    CHECK(queue.settle(settlement(page[1].key(), action::cancel, "2001-01-01")).answer() == status::conflict);
    CHECK(queue.find(R"({"status": ["Cancelled"]})").size() == 1);
    const auto items = R"({"items": [{"key": ")" + std::string(page[0].key()) + R"("}, {"key": "2001-01-01"}]})";
    const auto redriven = queue.ask("redrive", items);
    CHECK(contains(redriven, R"("redriven":1,"refused":1,"states":{"Pending":1},)"));
    CHECK(contains(redriven, R"("answer":"NOT_FOUND","state":null)"));
    queue.settle(settlement(page[0].key(), action::terminate));
    CHECK(queue.ask("purge") == R"({"purged":1})");
    CHECK(queue.ask("purge") == R"({"purged":0})");
    CHECK(contains(queue.ask("recover"), R"("recovered":0)"));
    const auto figures = queue.stats();
    CHECK(figures.pending == 1);
    CHECK(figures.paused == 1);
    CHECK(figures.arrivals_last_hour == 2);
    CHECK(figures.wait_mean_ms == std::nullopt);
}

TEST_CASE("leases are renewed, by hand and by a renewal") {
    auto config = settings();
    config.set("lease.ms", "10000").set("recover.interval_ms", "3600000");
    const readpast::queue queue(config, install());
    CHECK(queue.lease() == 10s);
    const auto items = claimed(queue, {"a", "b"});
    const auto renewed = queue.renew({{items[0].key(), items[0].attempt()}, {items[1].key(), 7}});
    CHECK(renewed.status() == status::lease_lost);
    CHECK(renewed[0].answer() == status::ok);

    const readpast::renewal renewal(queue, items, 100ms);
    std::this_thread::sleep_for(11s);
    CHECK(contains(queue.ask("recover"), R"("recovered":0)"));
    CHECK(renewal.release(items[0].key()));
    CHECK_FALSE(renewal.release(items[0].key()));
    CHECK_FALSE(renewal.has_lost(items[1].key()));
    queue.settle(settlement(items[1].key(), action::terminate));
    until([&] { return renewal.has_lost(items[1].key()); });
    CHECK(renewal.lost_count() == 1);
    CHECK(renewal.lost_keys() == std::vector<std::string>{std::string(items[1].key())});
    CHECK(thrown_by([&] { readpast::renewal(queue, items, 0ms); }) == status::invalid_argument);
    CHECK(thrown_by([&] { readpast::renewal(queue, readpast::batch(), 1s); }) == status::invalid_handle);
}

TEST_CASE("a shared handle is interrupted for itself") {
    const auto queue = open();
    const auto shared = queue.share();
    CHECK(shared.worker() == queue.worker());
    auto waiting = std::async(std::launch::async, [&] { return shared.claim(1, 1h).status(); });
    shared.interrupt();
    CHECK(waiting.get() == status::interrupted);
    CHECK(queue.claim().status() == status::empty);
    CHECK(shared.claim().status() == status::interrupted);
    shared.resume();
    CHECK(shared.claim().status() == status::empty);
    queue.interrupt();
    CHECK(shared.claim().status() == status::interrupted);
}

TEST_CASE("a closed queue says so") {
    auto queue = open();
    const auto shared = queue.share();
    auto waiting = std::async(std::launch::async, [&] { return shared.claim(1, 1h); });
    queue.close(10min);
    queue.close(0s);
    CHECK(thrown_by([&] { waiting.get(); }) == status::closed);
    CHECK(thrown_by([&] { (void)queue.stats(); }) == status::closed);

    // A shared handle keeps its own when the other goes.
    std::optional<readpast::queue> first = open();
    const auto second = first->share();
    first.reset();
    CHECK(claimed(second, {"a"}).size() == 1);
}
