// An item in the hands of its handler.
#ifndef READPAST_JOB_HPP
#define READPAST_JOB_HPP

#include <readpast/error.hpp>
#include <readpast/item.hpp>
#include <readpast/status.hpp>
#include <readpast/text.hpp>

namespace readpast {

/// An item in the hands of a worker's handler, whose lease is kept meanwhile: an item, and what only the one that works on
/// it can do. Made by a worker, for one call of its handler.
class job : public item {
public:
    /// Of no worker, for the test of a handler: nothing of it is ever lost, and a step is recorded nowhere.
    explicit job(const item &made) noexcept : item(made) {}

    /// Of a worker, which took it.
    job(const item &taken, readpast_worker worker) noexcept : item(taken), worker_(worker) {}

    job(const job &) = delete;
    job &operator=(const job &) = delete;
    ~job() = default;

    /// Records a step, of at most 60 characters, so that another attempt can go on from there. The claim is kept, and its
    /// lease starts anew. Any answer but status::ok means that the item is lost; the handler had better end. What may pass
    /// by itself is waited for until the worker is stopped.
    readpast::status
    step(const readpast::text &step) { // NOLINT(readability-make-member-function-const): it changes the item
        if (worker_.id == 0)
            return status::ok;
        return detail::call(readpast_worker_step, worker_, key().data(), attempt(), step.c_str());
    }

    /// Whether the item was found lost: its lease ran out, or an operator took it. Work on it is in vain then, and what the
    /// handler returns will be refused.
    [[nodiscard]] bool lost() const noexcept {
        return worker_.id != 0 && readpast_worker_is_lost(worker_, key().data(), attempt()) != 0;
    }

    /// Whether the worker is to end: a long handler may then return release(), and another worker takes the item.
    [[nodiscard]] bool stopping() const noexcept {
        return worker_.id != 0 && readpast_worker_is_stopping(worker_) != 0;
    }

private:
    readpast_worker worker_ = {0};
};

} // namespace readpast

#endif
