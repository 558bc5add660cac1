// An item in the hands of its handler.
#ifndef READPAST_JOB_HPP
#define READPAST_JOB_HPP

#include <readpast/error.hpp>
#include <readpast/item.hpp>
#include <readpast/status.hpp>
#include <readpast/text.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

namespace readpast {

/// An item in the hands of a worker's handler, whose lease is kept meanwhile: an item, and what only the one that works on
/// it can do. Made by a worker, for one call of its handler.
class job : public item {
public:
    /// A job without a worker, for the test of a handler: it is never lost, and its steps are recorded nowhere.
    explicit job(const item &made) noexcept : item(made) {}

    /// A job that a worker took.
    job(const item &taken, readpast_worker worker) noexcept : item(taken), worker_(worker) {}

    job(const job &) = delete;
    job &operator=(const job &) = delete;
    ~job() = default;

    /// Records a step, of at most 60 characters, so that another attempt can go on from there. The claim is kept, and its
    /// lease starts anew. Any answer but status::ok means that the item is lost; the handler had better end. It waits out
    /// a failure that may pass by itself, until the worker is stopped.
    readpast::status
    step(const readpast::text &step) { // NOLINT(readability-make-member-function-const): it changes the item
        if (worker_.id == 0)
            return status::ok;
        return detail::call(readpast_worker_step, worker_, key().data(), attempt(), step.c_str());
    }

    /// Reports how far the work is: a percentage from 0 to 100, a line of text, or both, each in place of the one before; an empty
    /// text is none. Operators see it while the handler runs. Returns at once: it is written a moment later, at most one in a
    /// second, and a report may be lost. A percentage above 100 counts as 100, one below 0 as none; a text is cut after 200
    /// characters. Throws status::unsupported if the queue's description has no `progress`.
    void progress(std::optional<std::int32_t> percent, const readpast::text &text = "") const {
        if (worker_.id != 0)
            detail::call(readpast_worker_progress, worker_, key().data(), attempt(), percent.value_or(-1),
                         text.c_str());
    }

    /// The same without a percentage.
    void progress(const readpast::text &text) const { progress(std::nullopt, text); }

    /// Whether the item was found lost: its lease ran out, an operator took it, or it was worked on for longer than
    /// `worker.max_run_ms`. Work on it is in vain then, or, after that time, as soon as the lease runs out, and what the
    /// handler returns will be refused.
    [[nodiscard]] bool lost() const noexcept {
        return worker_.id != 0 && readpast_worker_is_lost(worker_, key().data(), attempt()) != 0;
    }

    /// Whether the worker is to end: a long handler may then return release(), and another worker takes the item.
    [[nodiscard]] bool stopping() const noexcept {
        return worker_.id != 0 && readpast_worker_is_stopping(worker_) != 0;
    }

    /// Sleeps for `time` (at most a day), or until the item is found lost or the worker is to end: for a handler that waits
    /// for something else, so that it need not look in between.
    ///
    /// Returns whether to go on: false if lost() or stopping().
    [[nodiscard]] bool sleep_for(std::chrono::milliseconds time) const {
        time = std::min<std::chrono::milliseconds>(time, std::chrono::hours(24));
        if (worker_.id == 0) {
            std::this_thread::sleep_for(time);
            return true;
        }
        const auto end = std::chrono::steady_clock::now() + time;
        std::int64_t seen = 0;
        auto told = status::ok;
        while (told == status::ok && !lost() && !stopping()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            if (left.count() <= 0)
                return true;
            told = detail::call(readpast_worker_changes, worker_, seen, std::int64_t{left.count()}, &seen);
            if (told == status::empty)
                return true;
        }
        return false;
    }

private:
    readpast_worker worker_ = {0};
};

} // namespace readpast

#endif
