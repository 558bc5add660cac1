// An item in the hands of its handler.
#ifndef READPAST_JOB_HPP
#define READPAST_JOB_HPP

#include <readpast/detail/desk.hpp>
#include <readpast/item.hpp>
#include <readpast/renewal.hpp>
#include <readpast/settlement.hpp>
#include <readpast/text.hpp>

#include <atomic>
#include <string>

namespace readpast {

/// An item in the hands of a worker's handler, whose lease is kept meanwhile: an item, and what only the one that works on
/// it can do. Made by a worker, for one call of its handler.
class job : public item {
public:
    /// `kept` may be null.
    job(const item &claimed, const detail::desk &desk, const renewal *kept) noexcept
        : item(claimed), desk_(desk), kept_(kept) {}

    job(const job &) = delete;
    job &operator=(const job &) = delete;
    ~job() = default;

    /// Records a step, so that another attempt can go on from there. The claim is kept, and its lease starts anew. Any
    /// answer but status::ok means that the item is lost; the handler had better end. What may pass by itself is waited
    /// for until the worker is stopped.
    ///
    /// From one thread at a time. token() is then a new one; an item that was copied of the job had better not be used any
    /// more.
    outcome step(const readpast::text &step) {
        settlement progress = settle(action::step);
        if (step.c_str() != nullptr)
            progress.step = step.c_str();
        const outcome came = desk_.repeat(
            "record a step", [&](const readpast::text &operation) { return desk_.own().settle(progress, operation); });
        if (came.answer() == status::ok) {
            token_ = came.token();
            set_token(token_);
        } else {
            lost_ = true;
        }
        return came;
    }

    /// Whether the item was found lost: its lease ran out, or an operator took it. Work on it is in vain then, and what the
    /// handler returns will be refused.
    [[nodiscard]] bool lost() const noexcept { return lost_ || (kept_ != nullptr && kept_->has_lost(key())); }

    /// Whether the worker is to end: a long handler may then return release(), and another worker takes the item.
    [[nodiscard]] bool stopping() const noexcept { return desk_.stopping(); }

private:
    const detail::desk &desk_;
    const renewal *kept_;
    std::string token_; // the one that a step left
    std::atomic<bool> lost_ = false;
};

} // namespace readpast

#endif
