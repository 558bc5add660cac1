// The threads of a worker.
#ifndef READPAST_DETAIL_CREW_HPP
#define READPAST_DETAIL_CREW_HPP

#include <readpast/batch.hpp>
#include <readpast/detail/describe.hpp>
#include <readpast/detail/engine.hpp>
#include <readpast/detail/events.hpp>
#include <readpast/detail/raw.hpp>
#include <readpast/error.hpp>
#include <readpast/job.hpp>
#include <readpast/log.hpp>
#include <readpast/settlement.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace readpast::detail {

/// The threads of one run of a worker: each takes items, has them handled, and ends them.
class crew {
public:
    /// None: the item is complete.
    using handler = std::function<std::optional<settlement>(job &)>;

    crew(engine &engine, std::int32_t batch_size, std::optional<std::chrono::milliseconds> settle_timeout,
         handler handle) noexcept
        : engine_(engine), batch_size_(batch_size), settle_timeout_(settle_timeout), handle_(std::move(handle)) {}

    /// Works on so many threads until the worker is stopped; one that cannot go on stops them all.
    void run(std::size_t threads) {
        if (threads == 0)
            throw error(status::invalid_argument, "a worker needs a thread");
        if (!engine_.start())
            return;
        const std::string worker = "worker " + std::string(engine_.own().worker());
        engine_.log(log_level::info, worker + " started: threads: " + std::to_string(threads) +
                                         ", items a batch: " + std::to_string(batch_size_));
        try {
            std::future<void> end = std::async(std::launch::async, [this, threads] { work(threads); });
            const stop_at_end before(engine_); // since the future waits
            while (tell_events(engine_)) {
            }
            end.get();
            engine_.rethrow();
        } catch (...) {
            engine_.stop();
            if (std::current_exception())
                engine_.log(log_level::error, worker + " ended: " + describe_current_exception(), current_status());
            throw;
        }
        engine_.log(log_level::info, worker + " stopped");
    }

private:
    /// Stops all threads when one ends, whatever it ends by.
    struct stop_at_end {
        engine &of;

        explicit stop_at_end(engine &all) noexcept : of(all) {}
        stop_at_end(const stop_at_end &) = delete;
        stop_at_end &operator=(const stop_at_end &) = delete;
        ~stop_at_end() { of.stop(); }
    };

    /// Until all threads have ended, and what they have done is settled. Throws what the first of them ended by.
    void work(std::size_t threads) {
        std::exception_ptr failure;
        const auto attempt = [&failure](const auto &call) {
            try {
                call();
            } catch (...) {
                if (!std::current_exception())
                    throw;
                if (!failure)
                    failure = std::current_exception();
            }
        };
        std::vector<std::future<void>> all;
        attempt([&] {
            all.reserve(threads);
            while (all.size() < threads)
                all.push_back(std::async(std::launch::async, [this] { take_and_end(); }));
        });
        if (failure)
            engine_.stop();
        for (auto &each : all)
            attempt([&each] { each.get(); });
        attempt([this] { call(readpast_worker_close, engine_.get(), raw(settle_timeout_)); });
        if (failure)
            std::rethrow_exception(failure);
    }

    void take_and_end() {
        const stop_at_end others(engine_);
        constexpr std::chrono::milliseconds day = std::chrono::hours(24);
        for (;;) {
            readpast_batch raw = {0};
            const auto answer = call(readpast_worker_take, engine_.get(), batch_size_, std::int64_t{day.count()}, &raw);
            if (answer == status::interrupted)
                return;
            const batch taken(answer, raw);
            try {
                engine_.tell(engine_.told.claimed, taken);
                for (const item &each : taken)
                    work_on(each);
            } catch (...) {
                engine_.stop(); // first, so that others have the rest at once
                readpast_worker_give_back(engine_.get(), taken.native_handle(), nullptr);
                throw;
            }
        }
    }

    void work_on(const item &item) {
        job job(item, engine_.get());
        if (call(readpast_worker_begin, engine_.get(), job.key().data(), job.attempt()) == status::ok)
            end(job, handle(job));
    }

    /// The settlement that the handler returns, or the one of a failed attempt.
    settlement handle(job &job) {
        std::optional<settlement> made;
        try {
            made = handle_(job);
        } catch (...) {
            // Not of C++: the thread is being cancelled, which must not be held up.
            if (!std::current_exception()) {
                end(job, job.retry("the handler ended its thread"));
                throw;
            }
            const std::string what = describe_current_exception();
            log(job, log_level::warning, action::retry, " failed: the handler threw " + log_text(what));
            return job.retry(what);
        }
        if (!made)
            return job.complete();
        if (made->key != job.key()) {
            // Work that was done is not to be done again.
            const std::string mistake = "the handler of item " + std::string(job.key()) + " settled item " + made->key +
                                        "; it may only settle its own";
            log(job, log_level::error, action::fail, ": " + mistake + "; the item is not tried again");
            return job.fail(mistake);
        }
        if (made->action == action::retry || made->action == action::fail)
            log(job, log_level::warning, made->action,
                " failed (" + std::string(name(made->action)) +
                    "): " + log_text(made->error.value_or("the handler gave no error")));
        return *std::move(made);
    }

    void end(const job &job, settlement made) const {
        made.attempt = job.attempt();
        made.token = std::nullopt; // the library has the one that a step left
        const readpast_settlement given = raw(made);
        call(readpast_worker_end, engine_.get(), &given, 1);
    }

    void log(const job &job, log_level level, action as, const std::string &what) {
        engine_.log(level, job.key(), job.attempt(), as, what);
    }

    /// The status of the error that is being handled, if it is one of ours.
    static std::optional<status> current_status() noexcept {
        try {
            throw;
        } catch (const error &failure) {
            return failure.status();
        } catch (...) {
            return std::nullopt;
        }
    }

    engine &engine_;
    std::int32_t batch_size_;
    std::optional<std::chrono::milliseconds> settle_timeout_;
    handler handle_;
};

} // namespace readpast::detail

#endif
