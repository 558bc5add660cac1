// How a worker ends.
#include "running.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include <pthread.h>

using namespace std::chrono_literals;
using readpast::job;
using readpast::status;

namespace {

void nothing(const readpast::item & /*unused*/) {}

} // namespace

TEST_CASE("a stop ends the sleep of a handler") {
    const auto queue = open();
    enqueue(queue, {"a"});
    readpast::worker worker(queue);
    worker.run([&](job &job) {
        CHECK_FALSE(job.stopping());
        CHECK(job.sleep_for(1ms));
        std::thread other([&] { worker.stop(); });
        CHECK_FALSE(job.sleep_for(1h));
        other.join();
        CHECK(job.stopping());
    });
    worker.stop();
    CHECK(worker.stopping());
    CHECK(queue.stats().completed == 1);
}

TEST_CASE("an abandoned worker gives its item back without an attempt") {
    const auto queue = open();
    enqueue(queue, {"a"});
    readpast::worker worker(queue);
    worker.run([&](job &job) {
        worker.abandon();
        CHECK_FALSE(job.sleep_for(1h));
        CHECK(job.lost());
    });
    CHECK(worker.stopping());
    CHECK(queue.stats().pending == 1);
    const auto batch = queue.claim(1);
    CHECK(batch[0].attempt() == 1);
}

TEST_CASE("a worker that waits is stopped") {
    const auto queue = open();
    readpast::worker worker(queue);
    worker.threads(3);
    run(worker, nothing, [] { return true; });
    worker.run(nothing); // does not start again
}

TEST_CASE("a worker that is stopped before it runs does nothing") {
    const auto queue = open();
    enqueue(queue, {"a"});
    readpast::worker worker(queue);
    worker.stop();
    worker.run([](job & /*unused*/) { FAIL("it was handled"); });
    CHECK(queue.stats().pending == 1);
}

TEST_CASE("an interrupt of the queue stops its workers") {
    const auto queue = open();
    readpast::worker worker(queue);
    worker.threads(3);
    auto running = std::async(std::launch::async, [&] { worker.run(nothing); });
    queue.interrupt();
    running.get();
    CHECK(worker.stopping());
}

TEST_CASE("a worker does not need the queue that it was made of") {
    std::optional<readpast::queue> queue = open();
    enqueue(*queue, {"a"});
    readpast::worker worker(*queue);
    queue.reset();
    std::atomic<int> handled = 0;
    run(worker, [&](job & /*unused*/) { ++handled; }, [&] { return handled == 1; });
}

TEST_CASE("a failure that does not pass ends the run") {
    const auto queue = open();
    CHECK(thrown_by([&] {
              readpast::worker worker(queue);
              worker.threads(2).batch_size(5000).run(nothing);
          }) == status::invalid_argument);
    CHECK(thrown_by([&] {
              readpast::worker worker(queue);
              worker.threads(0).run(nothing);
          }) == status::invalid_argument);
    CHECK(thrown_by([&] {
              readpast::worker worker(queue);
              worker.until_empty().settle_timeout(-1ms).run(nothing);
          }) == status::invalid_argument);
    readpast::worker worker(queue);
    worker.threads(2);
    auto running = std::async(std::launch::async, [&] { worker.run(nothing); });
    queue.close(10min);
    CHECK(thrown_by([&] { running.get(); }) == status::closed);
    CHECK(worker.stopping());
}

TEST_CASE("an observer's exception ends the run") {
    const auto queue = open();
    enqueue(queue, {"a", "b", "c", "d"});
    readpast::worker worker(queue);
    worker.threads(3);
    worker.on_claimed([](const readpast::batch & /*unused*/) { throw std::runtime_error("no more records"); });
    CHECK_THROWS_WITH_AS(worker.run(nothing), "no more records", std::runtime_error);
    CHECK(queue.stats().completed == 0);
    CHECK(queue.stats().pending == 4);
}

// libstdc++ itself binds a reference to no exception there, of which the sanitizer complains.
#if defined(__GLIBCXX__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a handler that ends its thread ends the worker") {
    const auto queue = open();
    enqueue(queue, {"a"});
    readpast::worker worker(queue);
    worker.threads(2);
    CHECK_THROWS_AS(worker.run([](job & /*unused*/) { pthread_exit(nullptr); }), std::future_error);
    CHECK(column(queue, "error")[0] == "the handler ended its thread");
}
#endif
