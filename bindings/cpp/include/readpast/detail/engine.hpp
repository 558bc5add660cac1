// A worker of the library, and its observers.
#ifndef READPAST_DETAIL_ENGINE_HPP
#define READPAST_DETAIL_ENGINE_HPP

#include <readpast/batch.hpp>
#include <readpast/detail/handle.hpp>
#include <readpast/error.hpp>
#include <readpast/log.hpp>
#include <readpast/queue.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace readpast::detail {

/// The observers of a worker. An empty one is not called.
struct observers {
    std::function<void(const batch &)> claimed;
    std::function<void(const settled &)> settled;
    std::function<void(const log_entry &)> log = log_to_clog;
};

/// Claims, settles and keeps leases, on threads of the library, between its start and its stop.
class engine {
public:
    /// `own` is a handle that no other object interrupts.
    explicit engine(queue own) noexcept : own_(std::move(own)) {}

    [[nodiscard]] const queue &own() const noexcept { return own_; }

    /// Set before it starts.
    observers told;
    bool until_empty = false;

    /// Once. False when it has been started, or stopped.
    bool start() {
        const std::scoped_lock guard(lock_);
        if (stopped_ || handle_)
            return false;
        readpast_worker_options made = READPAST_WORKER_OPTIONS_INIT;
        made.until_empty = until_empty ? 1 : 0;
        made.events = told.settled ? most_events : events_for_a_log;
        readpast_worker raw = {0};
        call(readpast_worker_start, own_.native_handle(), &made, &raw);
        handle_ = handle(raw);
        return true;
    }

    /// It is time to end. Once and for all.
    void stop() noexcept {
        const std::scoped_lock guard(lock_);
        stopped_ = true;
        readpast_worker_stop(handle_.get(), nullptr);
    }

    /// Stops, and gives back what has not ended.
    void abandon() noexcept {
        const std::scoped_lock guard(lock_);
        stopped_ = true;
        readpast_worker_abandon(handle_.get(), nullptr);
    }

    [[nodiscard]] bool stopping() const noexcept {
        const std::scoped_lock guard(lock_);
        return stopped_ || (handle_ && readpast_worker_is_stopping(handle_.get()) != 0);
    }

    /// Null until it has started.
    [[nodiscard]] readpast_worker get() const noexcept {
        const std::scoped_lock guard(lock_);
        return handle_.get();
    }

    /// Calls an observer, one at a time. Its exception ends the worker in order, and rethrow() throws it.
    template <class Observer, class What> void tell(const Observer &observer, const What &what) {
        if (!observer)
            return;
        const std::scoped_lock guard(telling_);
        try {
            observer(what);
        } catch (...) {
            // Not of C++: the thread is being cancelled, which must not be held up.
            if (!std::current_exception())
                throw;
            if (!thrown_)
                thrown_ = std::current_exception();
            stop();
        }
    }

    /// Adds the names of queue and worker to an entry.
    void log(log_entry entry) {
        entry.queue = own_.name();
        entry.worker = own_.worker();
        tell(told.log, entry);
    }

    void log(log_level level, const std::string &what, std::optional<status> answer = std::nullopt) {
        log_entry entry{level, what, {}, 0};
        entry.answer = answer;
        log(entry);
    }

    /// An entry about an item that is settled so: `what` follows its key and attempt.
    void log(log_level level, std::string_view key, std::int32_t attempt, action as, std::string_view what) {
        std::string text = "item ";
        text.append(key).append(", attempt ").append(std::to_string(attempt)).append(what);
        log_entry entry{level, text, key, attempt};
        entry.action = as;
        log(entry);
    }

    /// Throws the first exception of an observer.
    void rethrow() {
        const std::scoped_lock guard(telling_);
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

private:
    using handle = detail::handle<readpast_worker, readpast_worker_free>;

    // The library keeps so many events until they are read. An observer that counts settlements must miss none.
    static constexpr std::int32_t events_for_a_log = 1000, most_events = 1000000;

    queue own_;
    mutable std::mutex lock_; // guards the next two members
    bool stopped_ = false;
    handle handle_;
    std::mutex telling_; // guards the next member, and is held while an observer runs
    std::exception_ptr thrown_;
};

} // namespace readpast::detail

#endif
