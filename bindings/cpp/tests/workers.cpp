// The return values and exceptions of a worker's handlers, and their effect.
#include "running.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
using readpast::action;
using readpast::job;
using readpast::settlement;
using readpast::status;

TEST_CASE("each item is handled once") {
    const auto queue = open();
    std::vector<readpast::new_item> items;
    items.reserve(300);
    for (int i = 0; i < 300; i++)
        items.push_back(with_payload(std::to_string(i)));
    queue.enqueue(items);

    std::mutex lock;
    std::multiset<std::string> handled;
    std::set<std::thread::id> threads;
    readpast::worker worker(queue);
    worker.threads(4).batch_size(7);
    run(
        worker,
        [&](const readpast::item &item) {
            const std::scoped_lock guard(lock);
            handled.emplace(*item.text("Payload"));
            threads.insert(std::this_thread::get_id());
        },
        [&] { return queue.stats().completed == 300; });
    CHECK(handled.size() == 300);
    CHECK(std::set<std::string>(handled.begin(), handled.end()).size() == 300);
    CHECK(threads.count(std::this_thread::get_id()) == 0);
}

namespace {

std::optional<settlement> do_what_it_says(job &job) {
    const auto payload = *job.text("Payload");
    if (payload == "response")
        return job.complete("sent");
    if (payload == "partially")
        return job.complete_partially("half");
    if (payload == "fail")
        return job.fail("never");
    if (payload == "retry")
        return job.retry("later", 1h);
    if (payload == "release")
        return job.release(1h);
    if (payload == "cancel")
        return job.settle(action::cancel);
    if (payload == "step") {
        auto before = job.complete("of before the step");
        CHECK(job.step("rendered") == status::ok);
        CHECK(job.step("sent") == status::ok);
        CHECK_FALSE(job.lost());
        return before;
    }
    return std::nullopt;
}

} // namespace

TEST_CASE("a handler's return value settles the item") {
    const auto queue = open();
    enqueue(queue, {"nothing", "response", "partially", "fail", "retry", "release", "cancel", "step"});
    readpast::worker worker(queue);
    std::atomic<int> handled = 0;
    run(
        worker,
        [&](job &job) {
            ++handled;
            return do_what_it_says(job);
        },
        [&] { return handled == 8; });
    CHECK(column(queue, "status") == std::vector<std::string>{"Completed", "Completed", "PartiallyCompleted", "Failed",
                                                              "Error", "Pending", "Cancelled", "Completed"});
    CHECK(column(queue, "response")[1] == "sent");
    CHECK(column(queue, "response")[7] == "of before the step");
    CHECK(column(queue, "error")[4] == "later");
    CHECK(column(queue, "step")[7] == "sent");
}

TEST_CASE("handlers may return little or much") {
    const auto queue = open();
    const auto handled_by = [&](const auto &handler) {
        enqueue(queue, {"a"});
        readpast::worker worker(queue);
        const auto before = queue.stats().completed;
        run(worker, handler, [&] { return queue.stats().completed == before + 1; });
    };
    handled_by([](const readpast::item &) {});
    handled_by([](job &job) { return job.complete("sent"); });
    handled_by([](job &) { return std::nullopt; });
    // A handler's captures need not be copyable.
    handled_by([owned = std::make_unique<int>(7)](job &job) { CHECK(job.attempt() + *owned == 8); });
}

TEST_CASE("an exception is the item's error, and the worker goes on") {
    const auto queue = open();
    enqueue(queue, {"good", "nested", "bytes", "number", "mixed up", "no end", "good"});
    readpast::worker worker(queue);
    worker.batch_size(4);
    std::atomic<int> handled = 0;
    run(
        worker,
        [&](job &job) -> std::optional<settlement> {
            ++handled;
            const auto payload = *job.text("Payload");
            if (payload == "nested") {
                try {
                    throw std::out_of_range("inner");
                } catch (...) {
                    std::throw_with_nested(std::runtime_error("it is bad: ä\U0001F600"));
                }
            }
            if (payload == "bytes")
                throw std::runtime_error("half of \xF0\x9F a character");
            if (payload == "number")
                throw 451;
            if (payload == "mixed up")
                return settlement("another", action::complete);
            if (payload == "no end")
                return job.settle(action::step);
            return std::nullopt;
        },
        [&] { return queue.stats().failed == 5 && queue.stats().completed == 2; });
    const auto errors = column(queue, "error");
    CHECK(errors[0].empty());
    CHECK(contains(errors[1], "it is bad: ä\U0001F600\ncaused by: std::out_of_range: inner"));
    CHECK(errors[2] == "std::runtime_error: half of \xEF\xBF\xBD a character");
    CHECK(errors[3] == "int, which is no std::exception");
    CHECK(contains(errors[4], "settled item another"));
    CHECK(contains(errors[5], "the action Step does not end an item"));
    CHECK(handled == 3 * 3 + 2 + 2); // work that was done, and settled wrongly, is not done again
}

TEST_CASE("a value that cannot be stored is left out, and holds up no item") {
    using namespace std::string_literals;
    const auto queue = open();
    enqueue(queue, {"NUL", "bytes", "due", "long step", "good"});
    readpast::worker worker(queue);
    worker.batch_size(5);
    std::vector<std::string> notices;
    worker.on_log([&](const readpast::log_entry &entry) {
        if (entry.level == readpast::log_level::warning)
            notices.emplace_back(entry.text);
    });
    run(
        worker,
        [](job &job) {
            auto made = job.complete("sent");
            const auto payload = *job.text("Payload");
            if (payload == "NUL")
                made.response = "a\0b"s;
            if (payload == "bytes")
                made.error = "\xFF is no text";
            if (payload == "due")
                made.due = "soon";
            if (payload == "long step")
                made.step = std::string(1000, 's');
            return made;
        },
        [&] { return queue.stats().completed == 5; });
    const auto errors = column(queue, "error");
    CHECK(contains(errors[0], "a part of the result was refused: the response contains U+0000"));
    CHECK(errors[1] == "\xEF\xBF\xBD is no text");
    CHECK(contains(errors[2], "a part of the result was refused"));
    CHECK(contains(errors[3], "a part of the result was refused"));
    CHECK(errors[4].empty());
    CHECK(column(queue, "response") == std::vector<std::string>{"", "sent", "sent", "sent", "sent"});
    CHECK(notices.size() == 3);
}

TEST_CASE("leases outlast the work") {
    auto config = settings();
    config.set("lease.ms", "15000").set("recover.interval_ms", "50");
    const auto name = install();
    const readpast::queue brief(config, name), rival(config, name);
    enqueue(brief, {"slow"});
    readpast::worker worker(brief);
    worker.settle_timeout(10min);
    bool lost = false;
    run(
        worker,
        [&](job &job) {
            for (int i = 0; i < 340; i++)
                lost = lost || job.lost() || rival.claim(1, 50ms);
        },
        [&] { return brief.stats().completed == 1; });
    CHECK_FALSE(lost);
}

TEST_CASE("a handler learns that its item is lost") {
    auto config = settings();
    config.set("lease.ms", "1500").set("recover.interval_ms", "3600000");
    const readpast::queue brief(config, install());
    enqueue(brief, {"doomed"});
    readpast::worker worker(brief);
    worker.settle_timeout(10min);
    std::mutex lock;
    std::vector<std::string> notices;
    worker.on_log([&](const readpast::log_entry &entry) {
        const std::scoped_lock guard(lock);
        if (entry.level == readpast::log_level::warning)
            notices.emplace_back(entry.text);
    });
    std::atomic<bool> was_lost = false;
    run(
        worker,
        [&](job &job) {
            brief.settle(settlement(job.key(), action::terminate));
            CHECK_FALSE(job.sleep_for(1h));
            CHECK(job.lost());
            CHECK(job.step("in vain") != status::ok);
            was_lost = true;
        },
        [&] {
            const std::scoped_lock guard(lock);
            return !notices.empty();
        });
    CHECK(was_lost);
    CHECK(contains(notices[0], " was lost: "));
}

TEST_CASE("observers get the events") {
    const auto queue = open();
    enqueue(queue, {"a", "b", "c"});
    readpast::worker worker(queue);
    worker.batch_size(2);
    std::vector<std::string> taken;
    std::vector<std::string> became;
    std::size_t claimed = 0;
    worker.on_claimed([&](const readpast::batch &items) { claimed += items.size(); });
    worker.on_settled([&](const readpast::settled &item) {
        CHECK(item.answer == status::ok);
        CHECK(item.attempt == 1);
        became.push_back(std::string(item.key) + " " + std::string(name(item.state)));
    });
    run(
        worker, [&](const readpast::item &item) { taken.push_back(std::string(item.key()) + " COMPLETED"); },
        [&] { return queue.stats().completed == 3; });
    CHECK(claimed == 3);
    std::sort(taken.begin(), taken.end());
    std::sort(became.begin(), became.end());
    CHECK(became == taken);
    CHECK(worker.figures().settled == 3);
    CHECK(worker.figures().begun == 0);
}

TEST_CASE("a worker may end by itself") {
    const auto queue = open();
    enqueue(queue, {"a", "b", "c"});
    readpast::worker worker(queue);
    std::atomic<int> handled = 0;
    worker.threads(2).until_empty().settle_timeout(10min).run([&](job & /*unused*/) {
        ++handled;
        worker.renew();
    });
    CHECK(handled == 3);
    CHECK(worker.stopping());
    CHECK(queue.stats().completed == 3);
}
