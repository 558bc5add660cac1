// Works a queue off.
#ifndef READPAST_WORKER_HPP
#define READPAST_WORKER_HPP

#include <readpast/batch.hpp>
#include <readpast/detail/crew.hpp>
#include <readpast/detail/engine.hpp>
#include <readpast/detail/handled.hpp>
#include <readpast/error.hpp>
#include <readpast/job.hpp>
#include <readpast/log.hpp>
#include <readpast/queue.hpp>
#include <readpast/settlement.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace readpast {

/// A worker's figures so far, as readpast.h describes them.
using worker_figures = readpast_worker_figures;

/// Runs a handler for each item of a queue, on several threads, until it is stopped:
///
///     readpast::worker worker(queue);
///     worker.threads(4).batch_size(50);
///     worker.run([&](readpast::job &job) { send(*job.text("Recipient")); });
///
/// Threads of the library claim ahead of the handlers, settle in one call all that has ended, and renew the leases, however
/// long a handler takes (docs/worker.md; the settings worker.fetchers, worker.ahead and worker.hold_ms). A handler decides
/// by its return value what becomes of its item: nothing, or std::nullopt, means that it is done; a settlement, like
/// job.retry("451 greylisted"), asks for something else.
///
/// - An exception, of whatever type, is an attempt that failed: its type and text, and those nested in it, become the item's
///   error, and the item is tried again after the queue's backoff until its attempts are spent. The worker goes on.
/// - A settlement of another item is a mistake of the program: the work was done, so the item becomes Failed with an error
///   that says so, and is not tried again.
/// - An item that was lost meanwhile (job::lost) is left to the worker that has it now.
/// - A value that the database cannot store, such as a response longer than its column, is left out, and the item's error
///   names it.
/// - Failures that may pass by themselves are waited out. All others end the worker, and run() throws them.
///
/// It takes a connection for each fetcher, however many threads there are, now and then one to renew leases, and one for each
/// step while it is recorded.
class worker {
public:
    /// A worker with one thread that takes one item at a time. It has a handle of its own (queue::share), so that its stop is no
    /// concern of the other users of `queue`, while an interrupt of `queue` stops it. `queue` may be destroyed.
    explicit worker(const queue &queue) : engine_(queue.share()) {}

    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker() = default;

    // To be set before run().

    /// On how many threads handlers run at once.
    worker &threads(std::size_t count) noexcept {
        threads_ = count;
        return *this;
    }

    /// How many items a thread takes at a time, 1 to 1000; they are handled one after the other. For handlers that gain from
    /// having several at hand: round trips are saved without it.
    worker &batch_size(std::int32_t items) noexcept {
        batch_size_ = items;
        return *this;
    }

    /// How long a worker that was stopped waits for the database to take what its handlers have ended, once the last of them
    /// has: a lease's length unless you say otherwise, at most a day. Then it gives up, run() throws with status::timed_out,
    /// and the leases run out.
    worker &settle_timeout(std::chrono::milliseconds time) noexcept {
        settle_timeout_ = time;
        return *this;
    }

    /// Whether it stops by itself when nothing is due and nothing in flight.
    worker &until_empty(bool so = true) noexcept {
        engine_.until_empty = so;
        return *this;
    }

    // The observers: called one at a time, on the worker's threads or the one that runs it. An observer's exception stops the
    // worker, and run() throws it when all that was begun is settled.

    /// The items that a thread has taken, before the first is handled.
    worker &on_claimed(std::function<void(const batch &)> observer) {
        engine_.told.claimed = std::move(observer);
        return *this;
    }

    /// The end of an item: after it was settled, given back unbegun, or found lost.
    worker &on_settled(std::function<void(const settled &)> observer) {
        engine_.told.settled = std::move(observer);
        return *this;
    }

    /// The worker's log: start and end, each attempt that failed, items that were lost or refused, calls that are
    /// tried again. No column of an item is in it. Unless this is set, warnings and errors go to std::clog; an empty
    /// function keeps them from it.
    worker &on_log(std::function<void(const log_entry &)> observer) {
        engine_.told.log = std::move(observer);
        return *this;
    }

    /// Works until it is stopped. `handler` is called with a job &, on all threads at once, and therefore as const; it
    /// returns nothing, a settlement of its item, or a std::optional of one. A worker runs once.
    ///
    /// Throws what a claim or settling failed with if it cannot pass by itself, what an observer threw, and
    /// std::system_error when no more threads can be had; all threads have ended then.
    template <class Handler> void run(const Handler &handler) {
        const auto handle = [&handler](job &job) { return detail::handled(handler, job); };
        detail::crew(engine_, batch_size_, settle_timeout_, handle).run(threads_);
    }

    /// Lets run() end in order: handlers that have begun are waited for and their items settled, the rest is given back
    /// without costing an attempt, and nothing more is claimed. From any thread, handlers included, but not from a signal
    /// handler; returns at once.
    void stop() noexcept { engine_.stop(); }

    /// Stops, and gives back at once what handlers have not ended, without costing an attempt: for a program that ends soon.
    /// To those handlers the item is lost (job::lost()), and their end is of no effect. run() returns when they have
    /// returned. From any thread, but not from a signal handler; returns at once.
    void abandon() noexcept { engine_.abandon(); }

    /// Whether it was stopped, by stop() or by a failure.
    [[nodiscard]] bool stopping() const noexcept { return engine_.stopping(); }

    /// Has the leases of all that is in flight renewed now, and not only when a third of their time is over. While it runs.
    void renew() const { detail::call(readpast_worker_renew, engine_.get()); }

    /// Its figures so far. Call it once the worker was run.
    [[nodiscard]] worker_figures figures() const {
        worker_figures figures = READPAST_WORKER_FIGURES_INIT;
        detail::call(readpast_worker_get_figures, engine_.get(), &figures);
        return figures;
    }

private:
    detail::engine engine_;
    std::size_t threads_ = 1;
    std::int32_t batch_size_ = 1;
    std::optional<std::chrono::milliseconds> settle_timeout_;
};

} // namespace readpast

#endif
