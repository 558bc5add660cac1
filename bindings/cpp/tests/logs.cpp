// The log of a worker.
#include "running.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

using readpast::job;
using readpast::log_level;
using readpast::settlement;

namespace {

/// An entry of a worker's log, with copies of the parts that lived no longer than the call.
struct told {
    log_level level;
    std::string text, key;
    std::int32_t attempt;
};

/// Does what the first word of the payload says; the rest of the payload is nobody's business.
std::optional<settlement> fail(job &job) {
    const std::string payload(*job.text("Payload"));
    const auto what = payload.substr(0, payload.find(' '));
    if (what == "throws")
        throw std::runtime_error("451 greylisted");
    if (what == "retries")
        return job.retry("452 full" + std::string(15000, '!'), std::chrono::hours(1));
    if (what == "fails")
        return job.fail("550 no such user");
    if (what == "another's")
        return settlement("another", readpast::action::complete);
    if (what == "long") {
        auto made = job.complete("s3crets3crets3cret");
        made.step = std::string(1000, 's');
        return made;
    }
    return std::nullopt;
}

/// std::clog, for as long as this lives.
class captured_clog {
public:
    captured_clog() : before_(std::clog.rdbuf(said_.rdbuf())) {}
    captured_clog(const captured_clog &) = delete;
    captured_clog &operator=(const captured_clog &) = delete;
    ~captured_clog() { std::clog.rdbuf(before_); }

    [[nodiscard]] std::string said() const { return said_.str(); }

private:
    std::ostringstream said_;
    std::streambuf *before_;
};

} // namespace

TEST_CASE("the log has every failed attempt, and no payload") {
    const auto queue = open();
    enqueue(queue,
            {"throws s3cret", "retries s3cret", "fails s3cret", "long s3cret", "another's s3cret", "good s3cret"});
    std::vector<std::string> keys;
    for (const auto &item : queue.find())
        keys.emplace_back(item.key());
    readpast::worker worker(queue);
    worker.batch_size(2);
    std::vector<told> all;
    std::vector<std::string> fields;
    worker.on_log([&](const readpast::log_entry &entry) {
        all.push_back({entry.level, std::string(entry.text), std::string(entry.key), entry.attempt});
        CHECK(entry.queue == queue.name());
        CHECK(entry.worker == queue.worker());
        fields.push_back(std::string(entry.key) + ' ' +
                         (entry.action ? std::string(readpast::name(*entry.action)) : "") + ' ' +
                         (entry.answer ? std::string(readpast::name(*entry.answer)) : ""));
    });
    run(worker, fail, [&] { return queue.stats().failed == 3 && queue.stats().completed == 2; });
    const auto with = [&](const std::string &one) { return std::count(fields.begin(), fields.end(), one); };
    CHECK(with("  ") == 2);
    CHECK(with(keys[0] + " RETRY ") == 3);
    CHECK(with(keys[2] + " FAIL ") == 1);
    CHECK(with(keys[3] + " COMPLETE READPAST_INVALID_ARGUMENT") == 1);
    CHECK(with(keys[4] + " FAIL ") == 1);

    CHECK(all.front().level == log_level::info);
    CHECK(contains(all.front().text, " started: threads: 1, items a batch: 2"));
    CHECK(all.back().level == log_level::info);
    CHECK(contains(all.back().text, " stopped"));
    std::map<std::string, std::vector<told>> of;
    for (const auto &each : all) {
        CHECK_FALSE(contains(each.text, "s3cret"));
        of[each.key].push_back(each);
    }
    REQUIRE(of[keys[0]].size() == 3);
    for (int attempt = 1; attempt <= 3; attempt++) {
        const auto &each = of[keys[0]][static_cast<std::size_t>(attempt - 1)];
        CHECK(each.level == log_level::warning);
        CHECK(each.attempt == attempt);
        CHECK(each.text == "item " + keys[0] + ", attempt " + std::to_string(attempt) +
                               " failed: the handler threw std::runtime_error: 451 greylisted");
    }
    REQUIRE(of[keys[1]].size() == 1);
    CHECK(of[keys[1]][0].text == "item " + keys[1] + ", attempt 1 failed (RETRY): 452 full" + std::string(242, '!') +
                                     " … (14508 characters left out) … " + std::string(250, '!'));
    REQUIRE(of[keys[2]].size() == 1);
    CHECK(of[keys[2]][0].text == "item " + keys[2] + ", attempt 1 failed (FAIL): 550 no such user");
    REQUIRE(of[keys[3]].size() == 1);
    CHECK(contains(of[keys[3]][0].text,
                   "a part of the result (step of 1000 characters) was refused, and is left out of its Complete"));
    CHECK(contains(of[keys[3]][0].text, "widen its column"));
    REQUIRE(of[keys[4]].size() == 1);
    CHECK(of[keys[4]][0].level == log_level::error);
    CHECK(contains(of[keys[4]][0].text, "settled item another"));
    CHECK(of[keys[5]].empty());
}

TEST_CASE("warnings go to std::clog while there is no observer") {
    const auto queue = open();
    enqueue(queue, {"fails"});
    const auto said_by = [&](readpast::worker &worker) {
        const auto failed = queue.stats().failed;
        const captured_clog clog;
        run(worker, fail, [&] { return queue.stats().failed == failed + 1; });
        return clog.said();
    };
    readpast::worker loud(queue);
    const auto said = said_by(loud);
    CHECK(contains(said, "readpast: warning: item "));
    CHECK_FALSE(contains(said, "started"));
    enqueue(queue, {"fails"});
    readpast::worker quiet(queue);
    quiet.on_log(nullptr);
    CHECK(said_by(quiet).empty());
}

TEST_CASE("an observer of the log that throws stops the worker, and is no failure of the handler") {
    const auto queue = open();
    enqueue(queue, {"fails"});
    readpast::worker worker(queue);
    worker.on_log([](const readpast::log_entry &entry) {
        if (entry.level == log_level::warning)
            throw std::out_of_range("the log is full");
    });
    CHECK_THROWS_AS(worker.run(fail), std::out_of_range);
    CHECK(queue.stats().failed == 1); // as the handler asked
}

TEST_CASE("the end of a worker is logged with its reason") {
    const auto queue = open();
    readpast::worker worker(queue);
    std::vector<std::string> errors;
    worker.batch_size(5000).on_log([&](const readpast::log_entry &entry) {
        if (entry.level == log_level::error) {
            errors.emplace_back(entry.text);
            CHECK(entry.answer == readpast::status::invalid_argument);
        }
    });
    CHECK_THROWS_AS(worker.run([](job &) {}), readpast::error);
    REQUIRE(errors.size() == 1);
    CHECK(contains(errors[0], " ended: "));
}
