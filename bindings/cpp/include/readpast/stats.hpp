// The figures of a queue.
#ifndef READPAST_STATS_HPP
#define READPAST_STATS_HPP

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace readpast {

/// Figures about a queue at one moment; spans are in milliseconds. Percentiles and means are of the newest items that were
/// started and finished; none where there is no such item. docs/ask.md, "stats", has more of them.
struct stats {
    std::int64_t pending = 0;                       ///< How many items are in this state; likewise the next eight.
    std::int64_t processing = 0;                    ///< Being worked on.
    std::int64_t error = 0;                         ///< Waiting for another attempt.
    std::int64_t failed = 0;                        ///< Failed for good.
    std::int64_t completed = 0;                     ///< Done.
    std::int64_t cancelled = 0;                     ///< Cancelled.
    std::int64_t paused = 0;                        ///< Paused.
    std::int64_t terminated = 0;                    ///< Stopped by an operator.
    std::int64_t partially_completed = 0;           ///< Done in part.
    std::int64_t due = 0;                           ///< How many are due now and wait for a worker.
    std::optional<std::int64_t> oldest_due_ms;      ///< How long the longest-waiting of them has been due.
    std::int64_t expired = 0;                       ///< How many in flight have outlived their lease.
    std::int64_t sample = 0;                        ///< How many items the percentiles and means are of.
    std::optional<std::int64_t> wait_p50_ms;        ///< From due to started, 50th percentile.
    std::optional<std::int64_t> wait_p90_ms;        ///< The 90th.
    std::optional<std::int64_t> wait_p99_ms;        ///< The 99th.
    std::optional<std::int64_t> claimed_p50_ms;     ///< From the claim to the end, 50th percentile.
    std::optional<std::int64_t> claimed_p90_ms;     ///< The 90th.
    std::optional<std::int64_t> claimed_p99_ms;     ///< The 99th.
    std::optional<std::int64_t> wait_mean_ms;       ///< From due to started, on average.
    std::optional<std::int64_t> claimed_mean_ms;    ///< From the claim to the end, on average.
    std::optional<std::int64_t> arrivals_last_hour; ///< None when the queue deletes completed items.
    std::int64_t claimed = 0;                       ///< In flight, with a lease that has not run out.
    std::optional<std::int64_t> workers_needed;     ///< How many workers keep up.
};

namespace detail {

/// The numbers of an answer, one after the other, in the order in which it has them. Within a text, a quotation mark has a
/// backslash before it, so that no text is taken for a member.
class numbers {
public:
    explicit numbers(std::string_view answer) noexcept : rest_(answer) {}

    std::optional<std::int64_t> known(std::string_view member) {
        const auto name = '"' + std::string(member) + "\":";
        const auto at = rest_.find(name);
        if (at == std::string_view::npos)
            return std::nullopt;
        rest_.remove_prefix(at + name.size());
        std::int64_t number = 0;
        const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
        return read.ec == std::errc() ? std::optional(number) : std::nullopt;
    }

    std::int64_t number(std::string_view member) { return known(member).value_or(0); }

private:
    std::string_view rest_;
};

inline stats stats_of(std::string_view answer) {
    numbers of(answer);
    stats made;
    made.pending = of.number("Pending");
    made.processing = of.number("Processing");
    made.error = of.number("Error");
    made.failed = of.number("Failed");
    made.completed = of.number("Completed");
    made.cancelled = of.number("Cancelled");
    made.paused = of.number("Paused");
    made.terminated = of.number("Terminated");
    made.partially_completed = of.number("PartiallyCompleted");
    made.due = of.number("due");
    made.oldest_due_ms = of.known("oldest_due_ms");
    made.expired = of.number("expired");
    made.sample = of.number("sample");
    made.wait_p50_ms = of.known("p50");
    made.wait_p90_ms = of.known("p90");
    made.wait_p99_ms = of.known("p99");
    made.claimed_p50_ms = of.known("p50");
    made.claimed_p90_ms = of.known("p90");
    made.claimed_p99_ms = of.known("p99");
    made.wait_mean_ms = of.known("wait_mean_ms");
    made.claimed_mean_ms = of.known("claimed_mean_ms");
    made.arrivals_last_hour = of.known("arrivals_last_hour");
    made.claimed = of.number("claimed");
    made.workers_needed = of.known("workers_needed");
    return made;
}

} // namespace detail

} // namespace readpast

#endif
