// The threads of a worker.
#ifndef READPAST_DETAIL_CREW_HPP
#define READPAST_DETAIL_CREW_HPP

#include <readpast/batch.hpp>
#include <readpast/detail/describe.hpp>
#include <readpast/detail/desk.hpp>
#include <readpast/error.hpp>
#include <readpast/job.hpp>
#include <readpast/log.hpp>
#include <readpast/renewal.hpp>
#include <readpast/settlement.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace readpast::detail {

/// The threads of one run of a worker.
class crew {
public:
    /// None: the item is complete.
    using handler = std::function<std::optional<settlement>(job &)>;

    crew(desk &desk, std::int32_t batch_size, handler handle) noexcept
        : desk_(desk), batch_size_(batch_size), handle_(std::move(handle)) {}

    /// Works on so many threads until the worker is stopped; one that cannot go on stops them all.
    void run(std::size_t threads) {
        if (threads == 0)
            throw error(status::invalid_argument, "a worker needs a thread");
        desk_.log(log_level::info, "worker " + std::string(desk_.own().worker()) + " started: threads: " +
                                       std::to_string(threads) + ", items a batch: " + std::to_string(batch_size_));
        std::vector<std::future<void>> all;
        all.reserve(threads);
        try {
            while (all.size() < threads)
                all.push_back(std::async(std::launch::async, [this] { work(); }));
        } catch (...) {
            desk_.stop();
            throw; // the destructors of the futures wait for those that were started
        }
        for (auto &each : all)
            each.wait();
        end(all);
    }

private:
    /// Says how the threads have ended, and throws what the first of those that could not go on ended by.
    void end(std::vector<std::future<void>> &all) {
        const std::string worker = "worker " + std::string(desk_.own().worker());
        try {
            for (auto &each : all)
                each.get();
        } catch (...) {
            if (std::current_exception())
                desk_.log(log_level::error, worker + " ended: " + describe_current_exception());
            throw;
        }
        desk_.log(log_level::info, worker + " stopped");
    }

    /// Stops the others when a thread ends, whatever it ends by. One that ends in order was stopped.
    struct stop_others {
        desk &of;

        explicit stop_others(desk &all) noexcept : of(all) {}
        stop_others(const stop_others &) = delete;
        stop_others &operator=(const stop_others &) = delete;
        ~stop_others() { of.stop(); }
    };

    void work() {
        const stop_others when_done(desk_);
        while (batch claimed = claim())
            while (claimed)
                claimed = work_on(claimed);
    }

    /// The next items; none when it is time to end: the worker was stopped, or the queue interrupted that it works on.
    batch claim() {
        while (!desk_.stopping()) {
            try {
                batch claimed = desk_.own().claim(batch_size_, std::chrono::hours(1));
                if (claimed || claimed.status() == status::interrupted)
                    return claimed;
            } catch (const error &why) {
                if (!desk_.passes("claim", why) && !why.retryable())
                    throw;
            }
        }
        return {};
    }

    /// Works on a batch and settles it; the next one comes with that.
    batch work_on(const batch &items) {
        std::vector<settlement> settlements;
        settlements.reserve(items.size());
        {
            const std::optional<renewal> kept = renew(items);
            if (desk_.told.claimed)
                desk_.told.claimed(items);
            for (const item &each : items)
                settlements.push_back(work_on(each, kept ? &*kept : nullptr));
        } // A renewal beside the settling would find the items gone.
        return settle(settlements);
    }

    std::optional<renewal> renew(const batch &items) {
        try {
            return std::optional<renewal>(std::in_place, desk_.own(), items);
        } catch (const error &why) {
            // What takes too long will be found lost.
            desk_.log(log_level::warning, std::string("leases will not be renewed: ") + why.what());
            return std::nullopt;
        }
    }

    settlement work_on(const item &item, const renewal *kept) {
        job job(item, desk_, kept);
        // Of what was lost before it was begun, that the release is refused is all there is to report.
        if (desk_.stopping() || job.lost())
            return job.release();
        settlement made = handle(job);
        // What it was made of may be from before a step.
        made.token = std::string(job.token());
        made.attempt = job.attempt();
        return made;
    }

    /// What the handler says, or that it failed.
    settlement handle(job &job) {
        std::optional<settlement> made;
        try {
            made = handle_(job);
        } catch (...) {
            // Not of C++: the thread is being cancelled, which must not be held up.
            if (!std::current_exception())
                throw;
            const std::string what = describe_current_exception();
            log(job, log_level::warning, " failed: the handler threw " + what);
            return job.retry(what);
        }
        if (!made)
            return job.complete();
        if (made->key != job.key())
            return mistaken(job, "the handler of item " + std::string(job.key()) + " settled item " + made->key +
                                     "; it may only settle its own");
        if (made->action == action::retry || made->action == action::fail)
            log(job, log_level::warning,
                " failed (" + std::string(name(made->action)) + "): " + made->error.value_or("no error is given"));
        return *std::move(made);
    }

    /// For what no handler may give: work that was done is not to be done again.
    settlement mistaken(const job &job, const std::string &what) {
        log(job, log_level::error, ": " + what + "; the item is not tried again");
        return job.fail(what);
    }

    void log(const job &job, log_level level, std::string_view what) {
        desk_.log(level, job.key(), job.attempt(), what);
    }

    batch settle(const std::vector<settlement> &settlements) {
        try {
            return desk_.settle(settlements, batch_size_);
        } catch (const error &why) {
            if (!is_of_one_item(why))
                throw;
        }
        for (const settlement &each : settlements)
            settle_alone(each);
        return {};
    }

    /// Settles one item so that what is wrong with it does not hold up the others: without what the database or the library
    /// refuses, which its error then says. What is done stays done.
    void settle_alone(const settlement &given) {
        settlement bare(given.key, given.action, given.token, given.attempt);
        try {
            desk_.settle({given}, 0);
            return;
        } catch (const error &why) {
            if (!is_of_one_item(why))
                throw;
            desk_.log(log_level::warning, given.key, given.attempt,
                      ": what the handler gave (" + extent(given) + ") was refused, and is left out of its " +
                          std::string(name(given.action)) + ": " + why.what() +
                          "; shorten or correct it, or widen its column");
            bare.error =
                fit((given.error ? *given.error + "; " : "") + "what the handler gave was refused: " + why.what(),
                    short_error);
        }
        desk_.settle({bare}, 0);
    }

    /// What a handler gave besides the action, by kind and length: its texts are nobody's business.
    static std::string extent(const settlement &given) {
        std::string extent;
        const auto add = [&extent](const char *what, const std::optional<std::string> &text) {
            if (text)
                extent +=
                    std::string(extent.empty() ? "" : ", ") + what + " of " + std::to_string(text->size()) + " bytes";
        };
        add("step", given.step);
        add("response", given.response);
        add("error", given.error);
        add("due", given.due);
        if (given.delay)
            extent += extent.empty() ? "delay" : ", delay";
        return extent.empty() ? "nothing but the action" : extent;
    }

    /// Whether what one handler gave may be the reason: no text, out of range, or more than a column takes.
    static bool is_of_one_item(const error &why) noexcept {
        return why.status() == status::invalid_argument || why.status() == status::invalid_item ||
               why.status() == status::database;
    }

    desk &desk_;
    std::int32_t batch_size_;
    handler handle_;
};

} // namespace readpast::detail

#endif
