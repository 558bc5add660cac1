// Handlers by the type of the item.
#ifndef READPAST_HANDLERS_HPP
#define READPAST_HANDLERS_HPP

#include <readpast/detail/handled.hpp>
#include <readpast/detail/unread.hpp>
#include <readpast/error.hpp>
#include <readpast/item.hpp>
#include <readpast/job.hpp>
#include <readpast/settlement.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace readpast {

/// Chooses a job's handler by the type of its item, and gives it the work that the item carries:
///
///     void from_item(const readpast::item &item, resize &work) { work.file = item.text("File").value(); }
///
///     readpast::handlers handlers;
///     handlers.handle<resize>("Resize", [](const resize &work, readpast::job &job) { ... });
///     worker.run(handlers);
///
/// An adapter makes the work from the item. It is a function from_item beside the type, found like the from_json of
/// nlohmann::json, for a type that can be made without arguments; or any function that takes a const item & and returns the
/// work, given before the handler. A typed handler takes the work and a job &; it returns what a worker's handler does.
///
/// - A std::exception of the adapter, and NULL where it asks for the value(), mean that the item carries no such work: it
///   becomes Failed, with the exception's text as the place, and is not tried again. That text should not have the value in
///   it, which may be secret; what nlohmann::json quotes is left out. A readpast::error (the column has another type), a
///   no_such_column and a std::bad_alloc are not the item's fault: it is tried again, as after any exception of a handler.
/// - An item whose type has no handler is tried again: a newer version of the program may know it.
/// - Items of a described table without a column for their type go to the handler of the only type there is.
///
/// All are added before a worker runs; from then on any number of threads may use them. Copies share their handlers.
class handlers {
public:
    /// The rest of an item's handling, for around().
    using next = std::function<settlement(job &)>;

    /// Has `handler` handle the items of a type, as `Work` if that is given. Throws with status::invalid_argument when the type
    /// has a handler.
    template <class Work = void, class Handler> handlers &handle(std::string type, Handler handler) {
        return add(std::move(type), made<Work>(std::move(handler)));
    }

    /// The same with an adapter.
    template <class Read, class Handler> handlers &handle(std::string type, Read read, Handler handler) {
        return add(std::move(type), typed(std::move(read), std::move(handler)));
    }

    /// Has `handler` handle the items of all other types, as `Work` if that is given.
    template <class Work = void, class Handler> handlers &handle_all(Handler handler) {
        others_ = made<Work>(std::move(handler));
        return *this;
    }

    /// The same with an adapter.
    template <class Read, class Handler> handlers &handle_all(Read read, Handler handler) {
        others_ = typed(std::move(read), std::move(handler));
        return *this;
    }

    /// Puts `middleware` around the handling of each item, also of one that cannot be read; the first that is added is the
    /// outermost. It is called with the job & and a const next &, and returns the settlement that next(job) returns, or
    /// decides without it. The exception of a handler passes through it.
    template <class Middleware> handlers &around(Middleware middleware) {
        static_assert(std::is_invocable_r_v<settlement, const Middleware &, job &, const next &>,
                      "middleware takes a readpast::job & and a const readpast::handlers::next &, returns a "
                      "readpast::settlement, and is const, as it is called on several threads at once");
        around_.push_back([kept = std::make_shared<const Middleware>(std::move(middleware))](
                              job &job, const next &rest) { return std::invoke(*kept, job, rest); });
        return *this;
    }

    /// Handles a job.
    settlement operator()(job &job) const { return within(0, job); }

private:
    handlers &add(std::string type, next handler) {
        if (by_type_.count(type) != 0)
            throw error(status::invalid_argument, "there is a handler for the type " + type);
        by_type_.emplace(std::move(type), std::move(handler));
        return *this;
    }

    template <class Work, class Handler> static next made(Handler handler) {
        if constexpr (std::is_void_v<Work>) {
            // Shared, as captures need not be copyable.
            return [kept = std::make_shared<const Handler>(std::move(handler))](job &job) {
                return detail::handled(*kept, job).value_or(job.complete());
            };
        } else {
            static_assert(detail::has_from_item<Work>,
                          "beside the work's type there is a void from_item(const readpast::item &, Work &)");
            return typed(
                [](const item &from) {
                    Work work{};
                    from_item(from, work);
                    return work;
                },
                std::move(handler));
        }
    }

    template <class Read, class Handler> static next typed(Read read, Handler handler) {
        static_assert(
            std::is_invocable_v<const Read &, const item &>,
            "an adapter takes a const readpast::item &, and is const, as it is called on several threads at once");
        return made<void>([read = std::move(read), handler = std::move(handler)](job &job) {
            using work = std::decay_t<std::invoke_result_t<const Read &, const item &>>;
            std::optional<work> found;
            if (const auto why = detail::unread([&] { found.emplace(std::invoke(read, std::as_const(job))); }))
                // No other attempt reads it either.
                return std::optional(
                    job.fail("the item carries no " + detail::short_name_of(typeid(work)) + ": " + *why));
            return detail::handled(handler, *std::move(found), job);
        });
    }

    [[nodiscard]] settlement within(std::size_t place, job &job) const {
        if (place == around_.size())
            return choose(job);
        return around_[place](job, [this, place](readpast::job &inner) { return within(place + 1, inner); });
    }

    [[nodiscard]] settlement choose(job &job) const {
        const auto type = job.type();
        const auto own = type ? by_type_.find(*type) : by_type_.end();
        if (own != by_type_.end())
            return own->second(job);
        if (others_)
            return others_(job);
        // A table of the user's without a column for it has one type of items.
        if (by_type_.size() == 1 && !job.find("Type"))
            return by_type_.begin()->second(job);
        std::string known;
        for (const auto &[name, handler] : by_type_)
            known += (known.empty() ? "" : ", ") + name;
        // A newer version of the program may know it: during a roll-out both are at work.
        return job.retry("this worker has no handler for the type " + std::string(type.value_or("(none)")) +
                         "; it has some for " + known);
    }

    std::map<std::string, next, std::less<>> by_type_;
    next others_;
    std::vector<std::function<settlement(job &, const next &)>> around_;
};

} // namespace readpast

#endif
