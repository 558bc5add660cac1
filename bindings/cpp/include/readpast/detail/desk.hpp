// What every thread of a worker, and each of its jobs, works with.
#ifndef READPAST_DETAIL_DESK_HPP
#define READPAST_DETAIL_DESK_HPP

#include <readpast/answers.hpp>
#include <readpast/batch.hpp>
#include <readpast/error.hpp>
#include <readpast/log.hpp>
#include <readpast/queue.hpp>
#include <readpast/settlement.hpp>
#include <readpast/text.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace readpast {

/// What a worker's batch came to, for worker::on_settled. Lives as long as the call.
struct settled {
    const std::vector<settlement> &settlements; ///< What was asked for.
    const answers<outcome> &outcomes;           ///< What was answered, in the same order.
    std::chrono::nanoseconds took;              ///< How long the call took that was answered.
    std::size_t claimed;                        ///< How many items it claimed.
};

namespace detail {

/// Who is told of what a worker does. Those that are empty are not called.
struct observers {
    std::function<void(const batch &)> claimed;
    std::function<void(const settled &)> settled;
    std::function<void(const log_entry &)> log = log_to_clog;
};

/// The queue, and whether it is time to end; calls that are made again until they succeed.
class desk {
public:
    /// `own` is a handle that nobody else claims on.
    explicit desk(queue own) noexcept : own_(std::move(own)) {}

    [[nodiscard]] const queue &own() const noexcept { return own_; }

    /// Set while nobody works.
    observers told;

    /// It is time to end: calls off the claims that wait. Once and for all.
    void stop() noexcept {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            stopping_ = true;
        }
        stops_.notify_all();
        readpast_queue_interrupt(own_.native_handle(), nullptr);
    }

    [[nodiscard]] bool stopping() const noexcept {
        const std::lock_guard<std::mutex> guard(lock_);
        return stopping_;
    }

    void log(log_level level, const std::string &what) const {
        if (told.log)
            told.log({level, what, {}, 0});
    }

    /// Of an item: `what` follows its key and attempt.
    void log(log_level level, std::string_view key, std::int32_t attempt, std::string_view what) const {
        if (!told.log)
            return;
        std::string text = "item ";
        text.append(key).append(", attempt ").append(std::to_string(attempt)).append(what);
        told.log({level, text, key, attempt});
    }

    /// Whether a call that failed is to be made again; then a while has passed. The library has made it again for a while
    /// itself. Who is to end need not wait for a server that does not answer.
    bool passes(std::string_view doing, const error &why) const {
        if (!why.retryable() || stopping())
            return false;
        log(log_level::warning, "cannot " + std::string(doing) + ", and will try again: " + why.what());
        std::unique_lock<std::mutex> guard(lock_);
        stops_.wait_for(guard, std::chrono::seconds(1), [this] { return stopping_; });
        return true;
    }

    /// Makes a call until it succeeds, with the same operation once its outcome is unknown. Throws what does not pass.
    template <class Call> auto repeat(std::string_view doing, const Call &call) const {
        std::optional<std::string> operation;
        for (;;) {
            try {
                return call(operation);
            } catch (const error &why) {
                if (why.operation())
                    operation = std::string(*why.operation());
                if (!passes(doing, why))
                    throw;
            }
        }
    }

    /// Settles items, and claims up to `max_items` with them; 0: none.
    batch settle(const std::vector<settlement> &items, std::int32_t max_items) const {
        std::chrono::steady_clock::time_point begun;
        settled_and_claimed both = repeat("settle", [&](const text &operation) {
            begun = std::chrono::steady_clock::now();
            return max_items > 0 ? own_.settle_and_claim(items, max_items, operation)
                                 : settled_and_claimed{own_.settle(items, operation), batch()};
        });
        const auto took = std::chrono::steady_clock::now() - begun;
        for (std::size_t i = 0; i < items.size(); i++)
            if (both.outcomes[i].answer() != status::ok)
                log(log_level::warning, items[i].key, items[i].attempt,
                    " could not be settled as " + std::string(name(items[i].action)) + " (" +
                        std::string(name(both.outcomes[i].answer())) + "): it is " +
                        std::string(name(both.outcomes[i].state())) + " now, and left to whoever has it");
        if (told.settled)
            told.settled({items, both.outcomes, took, both.claimed.size()});
        return std::move(both.claimed);
    }

private:
    queue own_;
    mutable std::mutex lock_; // of stopping_
    mutable std::condition_variable stops_;
    bool stopping_ = false;
};

} // namespace detail
} // namespace readpast

#endif
