// An open queue.
#ifndef READPAST_QUEUE_HPP
#define READPAST_QUEUE_HPP

#include <readpast/answers.hpp>
#include <readpast/batch.hpp>
#include <readpast/config.hpp>
#include <readpast/detail/handle.hpp>
#include <readpast/detail/made_text.hpp>
#include <readpast/detail/raw.hpp>
#include <readpast/error.hpp>
#include <readpast/new_item.hpp>
#include <readpast/settlement.hpp>
#include <readpast/stats.hpp>
#include <readpast/text.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace readpast {

/// The results of settling items and claiming others in the same commit: `auto [outcomes, claimed] = ...`.
struct settled_and_claimed {
    answers<outcome> outcomes; ///< The answers about the settled items.
    batch claimed;             ///< The claimed items; empty when nothing was due.
};

/// An open queue, with its connections and its worker's name. Any number of threads may use it at once; each call takes a
/// connection of its own.
///
/// A call with several items does 1000 of them in a commit. When a call with more fails, the thousands before are done, and
/// the same call with the operation of the error goes on. A call without items sends nothing. An `operation`, a UUID, makes a
/// call repeatable: made again with the same one and the same items, it changes nothing more and answers the same. Without one
/// the library chooses one for its own retries. A caller that gives one keeps it until a call with it succeeds.
class queue {
public:
    /// Connects, checks that the queue is as the library needs it, and opens it. Throws when there is no connection
    /// (status::unreachable, authentication, driver_missing ...), or what is installed does not fit (unknown_queue,
    /// schema_missing ...); the message names the remedy.
    queue(const config &settings, const text &name) {
        readpast_queue raw = {0};
        detail::call(readpast_queue_open, settings.native_handle(), name.c_str(), &raw);
        handle_ = handle(raw);
    }

    /// Another handle on the same queue, with connections, worker and leases in common, which can be interrupted for itself
    /// alone; when this one is interrupted, it is too. Closing one closes all; destroying one leaves the others. Nothing is
    /// sent to the server.
    [[nodiscard]] queue share() const {
        readpast_queue raw = {0};
        detail::call(readpast_queue_share, handle_.get(), &raw);
        return queue(raw);
    }

    /// Another handle, as of share(), at one of the places of a queue that is spread over several databases, for calls that cannot
    /// be about all of them. Throws status::invalid_argument when there is no such place.
    [[nodiscard]] queue at(const text &place) const {
        readpast_queue raw = {0};
        detail::call(readpast_queue_at, handle_.get(), place.c_str(), &raw);
        return queue(raw);
    }

    /// The name of the queue, as its description has it. Lives as long as this handle.
    [[nodiscard]] std::string_view name() const noexcept {
        const char *name = readpast_queue_name(handle_.get());
        return name != nullptr ? std::string_view(name) : std::string_view();
    }

    /// Whether trace context travels with its items, so that spans are worth their while: whether its description has `trace`.
    [[nodiscard]] bool is_traced() const noexcept { return readpast_queue_is_traced(handle_.get()) != 0; }

    /// The name that the leases are held under: the setting "worker", or a name of its own. Lives as long as this handle.
    [[nodiscard]] std::string_view worker() const noexcept {
        const char *name = readpast_queue_worker(handle_.get());
        return name != nullptr ? std::string_view(name) : std::string_view();
    }

    /// How long a claim holds: the setting "lease.ms", or else what the queue's description says. The queue's leaseMs in
    /// AppSettings overrides the description on the server, and is not asked for here.
    [[nodiscard]] std::chrono::milliseconds lease() const noexcept {
        return std::chrono::milliseconds(readpast_queue_lease_ms(handle_.get()));
    }

    /// How many connections were given up so far, since they fell silent without being closed; see docs/worker.md.
    [[nodiscard]] std::int64_t given_up() const noexcept { return readpast_queue_given_up(handle_.get()); }

    /// Makes every claim on this handle and on those shared of it, waiting or to come, return with status::interrupted until
    /// resume(). Settling and renewing go on, so that work in flight can be finished. Returns at once. Not from a signal
    /// handler.
    void interrupt() const { detail::call(readpast_queue_interrupt, handle_.get()); }

    /// Ends what interrupt() began.
    void resume() const { detail::call(readpast_queue_resume, handle_.get()); }

    /// Has everybody in this process who waits for the queue look at it at once. Call it after you enqueued without the library,
    /// or inside a transaction that has committed since.
    void wake() const { detail::call(readpast_queue_wake, handle_.get()); }

    /// A queue whose enqueue() and settle() work on `connection`, an ODBC connection (SQLHDBC) of the caller's, inside the
    /// transaction that is open there; all else throws with status::not_provided. The library neither commits nor closes it. An item
    /// that is not the caller's any more is an answer: roll back then. After the commit, wake() those who wait.
    [[nodiscard]] queue attach(void *connection) const {
        readpast_queue raw = {0};
        detail::call(readpast_queue_attach, handle_.get(), connection, &raw);
        return queue(raw);
    }

    /// Whether the call that was made with `operation` has committed, for a caller who has lost the answer to a commit of his
    /// own. One that is under way is waited for; after an hour identities are forgotten.
    [[nodiscard]] bool is_done(const text &operation) const {
        return detail::call(readpast_queue_is_done, handle_.get(), operation.c_str()) == status::ok;
    }

    /// Closes the connections of this and all shared handles; waits up to `timeout` (at most a day) for calls under way.
    /// From here on calls throw with status::closed, and so do claims that wait. Throws with status::timed_out when calls
    /// are still under way; new ones are refused nevertheless.
    void close(std::chrono::milliseconds timeout) const {
        detail::call(readpast_queue_close, handle_.get(), std::int64_t{timeout.count()});
    }

    /// Claims up to `max_items` (1 to 1000) items that are due, in the order they were due; when none is, waits up to `wait`
    /// (at most a day) for the first. Each is this worker's until its lease runs out, on the server's clock; settle or renew
    /// it before.
    [[nodiscard]] batch claim(std::int32_t max_items = 1, std::chrono::milliseconds wait = {}) const {
        readpast_batch raw = {0};
        const auto answer =
            detail::call(readpast_queue_claim, handle_.get(), max_items, std::int64_t{wait.count()}, &raw);
        return {answer, raw};
    }

    /// Waits up to `wait` (at most a day) until the item of this key has ended, and returns it as it is then: its state, its response
    /// and its error. Empty with status::empty when it has not ended in time, with status::not_found when it is not there: a
    /// queue with `completion` deletes an item, or moves it to the history, as it ends. Those who wait share one question to the server.
    [[nodiscard]] batch wait_for(const text &key, std::chrono::milliseconds wait) const {
        readpast_batch raw = {0};
        const auto answer =
            detail::call(readpast_queue_wait_for, handle_.get(), key.c_str(), std::int64_t{wait.count()}, &raw);
        return {answer, raw};
    }

    /// Enqueues an item.
    receipt enqueue(const new_item &item, const text &operation = nullptr) const {
        return enqueue(&item, 1, operation)[0];
    }

    /// Enqueues items: up to 1000 all of them, or in case of a failure none. A queue whose description defines
    /// duplicates leaves only them out.
    answers<receipt> enqueue(const std::vector<new_item> &items, const text &operation = nullptr) const {
        return enqueue(items.data(), items.size(), operation);
    }

    /// Settles an item. A lost lease, or another token, is an answer.
    outcome settle(const settlement &item, const text &operation = nullptr) const {
        return settle(&item, 1, operation)[0];
    }

    /// Ends the claims of items, or records progress. Each is judged by itself: one that was lost does not keep the others.
    answers<outcome> settle(const std::vector<settlement> &items, const text &operation = nullptr) const {
        return settle(items.data(), items.size(), operation);
    }

    /// Settles as settle() does and, in the same round trip and commit, claims up to `max_items` items without waiting.
    [[nodiscard]] settled_and_claimed settle_and_claim(const std::vector<settlement> &items, std::int32_t max_items,
                                                       const text &operation = nullptr) const {
        const auto given = detail::raw(items.data(), items.size());
        auto outcomes = outcomes_for(items.size());
        readpast_batch raw = {0};
        const auto answer =
            detail::call(readpast_queue_settle_and_claim, handle_.get(), given.data(), detail::raw(given.size()),
                         operation.c_str(), max_items, outcomes.data(), &raw);
        batch claimed(raw.id != 0 ? status::ok : status::empty, raw);
        return {answers<outcome>(answer, outcomes), std::move(claimed)};
    }

    /// Lets the leases of items start anew, on the server's clock. A renewal does this by itself.
    answers<outcome> renew(const std::vector<readpast::lease> &leases) const {
        const auto given = detail::raw(leases.data(), leases.size());
        auto outcomes = outcomes_for(leases.size());
        const auto answer =
            detail::call(readpast_queue_renew, handle_.get(), given.data(), detail::raw(given.size()), outcomes.data());
        return {answer, outcomes};
    }

    /// Finds up to `max_items` (1 to 1000) items in the order of their keys, from behind `after_key` on. Nothing is claimed
    /// or changed. `filter` is a JSON object of which every member narrows the choice: "keys", "status", "types" (arrays of
    /// text), "before", "after" (UTC times of the last change), "error" (a part of its text), "longer_ms" (the last
    /// attempt took more milliseconds) and "columns" (an object of values); none: all items.
    [[nodiscard]] batch find(const text &filter = nullptr, const text &after_key = nullptr,
                             std::int32_t max_items = 1000) const {
        readpast_batch raw = {0};
        const auto answer =
            detail::call(readpast_queue_find, handle_.get(), filter.c_str(), after_key.c_str(), max_items, &raw);
        return {answer, raw};
    }

    /// The answer to a question, as JSON: ask("errors"), ask("show", R"({"key": "..."})"), ask("purge", R"({"max": 1000})").
    /// docs/ask.md has the questions, their arguments and answers. Throws with status::invalid_argument when there is no such
    /// question or argument; the message names those that there are.
    [[nodiscard]] std::string ask(const text &what, const text &arguments = nullptr) const {
        readpast_text raw = {0};
        detail::call(readpast_queue_ask, handle_.get(), what.c_str(), arguments.c_str(), &raw);
        return detail::made_text(raw);
    }

    /// Counts the items and measures how long they take. Reads much of the table.
    [[nodiscard]] readpast::stats stats() const { return detail::stats_of(ask("stats")); }

    /// For calls of the C library; remains this object's.
    [[nodiscard]] readpast_queue native_handle() const noexcept { return handle_.get(); }

private:
    using handle = detail::handle<readpast_queue, readpast_queue_free>;

    explicit queue(readpast_queue raw) noexcept : handle_(raw) {}

    static std::vector<readpast_outcome> outcomes_for(std::size_t count) {
        const readpast_outcome first = READPAST_OUTCOME_INIT;
        return std::vector<readpast_outcome>(count, first);
    }

    answers<receipt> enqueue(const new_item *items, std::size_t count, const text &operation) const {
        const auto given = detail::raw(items, count);
        readpast_receipts raw = {0};
        const auto answer = detail::call(readpast_queue_enqueue, handle_.get(), given.data(), detail::raw(count),
                                         operation.c_str(), &raw);
        const detail::handle<readpast_receipts, readpast_receipts_free> receipts(raw);
        std::vector<readpast_receipt> all(static_cast<std::size_t>(readpast_receipts_count(raw)),
                                          readpast_receipt READPAST_RECEIPT_INIT);
        for (std::size_t i = 0; i < all.size(); i++)
            detail::call(readpast_receipts_get, raw, detail::raw(i), &all[i]);
        return {answer, all};
    }

    answers<outcome> settle(const settlement *items, std::size_t count, const text &operation) const {
        const auto given = detail::raw(items, count);
        auto outcomes = outcomes_for(count);
        const auto answer = detail::call(readpast_queue_settle, handle_.get(), given.data(), detail::raw(count),
                                         operation.c_str(), outcomes.data());
        return {answer, outcomes};
    }

    handle handle_;
};

} // namespace readpast

#endif
