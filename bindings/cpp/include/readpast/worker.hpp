// Works a queue off.
#ifndef READPAST_WORKER_HPP
#define READPAST_WORKER_HPP

#include <readpast/batch.hpp>
#include <readpast/detail/crew.hpp>
#include <readpast/detail/desk.hpp>
#include <readpast/job.hpp>
#include <readpast/log.hpp>
#include <readpast/queue.hpp>
#include <readpast/settlement.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace readpast {

/// Runs a handler for each item of a queue, on several threads, until it is stopped:
///
///     readpast::worker worker(queue);
///     worker.threads(4).batch_size(50);
///     worker.run([&](readpast::job &job) { send(*job.text("Recipient")); });
///
/// Each thread claims a batch, has its leases renewed, hands one item after the other to the handler, and settles them all
/// while it claims the next batch, in one round trip. What becomes of an item is what its handler returns: nothing, or
/// std::nullopt, means that it is done; a settlement, like job.retry("451 greylisted"), says otherwise.
///
/// - An exception, of whatever type, is an attempt that failed: its type and text, and those nested in it, become the item's
///   error, and the item is tried again after the queue's backoff until its attempts are spent. The worker goes on.
/// - A settlement of another item is a mistake of the program: the work was done, so the item becomes Failed with an error
///   that says so, and is not tried again.
/// - What was lost meanwhile (job::lost) is left to whoever has it now.
/// - What the database cannot store, such as a response longer than its column, is left out, and the item's error says so.
/// - Failures that may pass by themselves are waited out; when the outcome of a settling is unknown, it is asked for with the
///   same operation. All others end the worker, and run() throws them.
///
/// Each thread needs a connection while it claims or settles, and now and then one to renew leases: set "pool.size" to the
/// number of threads, or a little above it.
class worker {
public:
    /// Of one thread that claims one item at a time. It has a handle of its own (queue::share), so that its stop is no
    /// concern of the other users of `queue`, while an interrupt of `queue` stops it. `queue` may be destroyed.
    explicit worker(const queue &queue) : desk_(queue.share()) {}

    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker() = default;

    // To be set before run().

    /// On how many threads handlers run at once.
    worker &threads(std::size_t count) noexcept {
        threads_ = count;
        return *this;
    }

    /// How many items a thread claims at a time, 1 to 1000. They are handled one after the other and settled together, so
    /// that the first waits in hand until the last is done: good for short work.
    worker &batch_size(std::int32_t items) noexcept {
        batch_size_ = items;
        return *this;
    }

    // Who is told of what happens: on the thread that it happens on, which waits, and on several at once. An exception ends
    // the worker.

    /// The items of a batch, before the first is handled.
    worker &on_claimed(std::function<void(const batch &)> observer) {
        desk_.told.claimed = std::move(observer);
        return *this;
    }

    /// What a batch came to, after it was settled.
    worker &on_settled(std::function<void(const settled &)> observer) {
        desk_.told.settled = std::move(observer);
        return *this;
    }

    /// What a person may want to know: start and end, each attempt that failed, what was lost or refused, calls that are
    /// tried again. No column of an item is in it. Unless this is set, warnings and errors go to std::clog; an empty
    /// function keeps them from it.
    worker &on_log(std::function<void(const log_entry &)> observer) {
        desk_.told.log = std::move(observer);
        return *this;
    }

    /// Works until it is stopped. `handler` is called with a job &, on all threads at once, and therefore as const; it
    /// returns nothing, a settlement of its item, or a std::optional of one. Once stopped, a worker does not start again.
    ///
    /// Throws what a claim or settling failed with if it cannot pass by itself, what an observer threw, and
    /// std::system_error when no more threads can be had; all threads have ended then.
    template <class Handler> void run(const Handler &handler) {
        static_assert(std::is_invocable_v<const Handler &, job &>,
                      "a handler takes a readpast::job &, and is const, as it is called on several threads at once");
        using result = std::invoke_result_t<const Handler &, job &>;
        static_assert(std::is_void_v<result> || std::is_convertible_v<result, std::optional<settlement>>,
                      "a handler returns nothing, a readpast::settlement, or a std::optional of one");
        const auto handle = [&handler](job &job) -> std::optional<settlement> {
            if constexpr (std::is_void_v<result>) {
                std::invoke(handler, job);
                return std::nullopt;
            } else {
                return std::invoke(handler, job);
            }
        };
        detail::crew(desk_, batch_size_, handle).run(threads_);
    }

    /// Lets run() end in order: handlers that have begun are waited for and their items settled, the rest is given back
    /// without costing an attempt, and nothing more is claimed. From any thread, handlers included, but not from a signal
    /// handler; returns at once.
    void stop() noexcept { desk_.stop(); }

    /// Whether it was stopped, by stop() or by a failure.
    [[nodiscard]] bool stopping() const noexcept { return desk_.stopping(); }

private:
    detail::desk desk_;
    std::size_t threads_ = 1;
    std::int32_t batch_size_ = 1;
};

} // namespace readpast

#endif
