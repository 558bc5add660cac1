// Settlements of items, and the answers about them.
#ifndef READPAST_SETTLEMENT_HPP
#define READPAST_SETTLEMENT_HPP

#include <readpast/detail/json.hpp>
#include <readpast/new_item.hpp>
#include <readpast/status.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace readpast {

/// The actions that settle an item.
enum class action : std::int32_t {
    complete = READPAST_ACTION_COMPLETE,                     ///< Done.
    complete_partially = READPAST_ACTION_COMPLETE_PARTIALLY, ///< Done as far as it could be.
    fail = READPAST_ACTION_FAIL,                             ///< Give up for good.
    retry = READPAST_ACTION_RETRY,         ///< This attempt failed: try again when due, while attempts are left.
    release = READPAST_ACTION_RELEASE,     ///< Give back unworked: Pending again, and this attempt does not count.
    cancel = READPAST_ACTION_CANCEL,       ///< Call it off.
    pause = READPAST_ACTION_PAUSE,         ///< Set it aside.
    resume = READPAST_ACTION_RESUME,       ///< Let a paused item, or one that waits to be tried again, be picked up.
    terminate = READPAST_ACTION_TERMINATE, ///< Stop it for good; a worker that holds it finds its lease lost.
    step = READPAST_ACTION_STEP,           ///< Record progress and keep the claim; the lease starts anew.
};

/// The name of an action as readpast.h spells it after READPAST_ACTION_; "?" for one that is not known.
[[nodiscard]] constexpr std::string_view name(action value) noexcept {
    switch (value) {
    case action::complete: return "COMPLETE";
    case action::complete_partially: return "COMPLETE_PARTIALLY";
    case action::fail: return "FAIL";
    case action::retry: return "RETRY";
    case action::release: return "RELEASE";
    case action::cancel: return "CANCEL";
    case action::pause: return "PAUSE";
    case action::resume: return "RESUME";
    case action::terminate: return "TERMINATE";
    case action::step: return "STEP";
    }
    return "?";
}

/// The state that an item is in.
enum class state : std::int32_t {
    none = READPAST_STATE_NONE,                               ///< It was not found.
    pending = READPAST_STATE_PENDING,                         ///< Waits for a worker.
    processing = READPAST_STATE_PROCESSING,                   ///< A worker holds its lease.
    error = READPAST_STATE_ERROR,                             ///< An attempt failed; it is tried again when it is due.
    failed = READPAST_STATE_FAILED,                           ///< Attempts are spent, or the worker gave up. Final.
    completed = READPAST_STATE_COMPLETED,                     ///< Done. Final.
    cancelled = READPAST_STATE_CANCELLED,                     ///< Called off before it was done. Final.
    paused = READPAST_STATE_PAUSED,                           ///< Set aside until somebody resumes it.
    terminated = READPAST_STATE_TERMINATED,                   ///< Stopped by an operator. Final.
    partially_completed = READPAST_STATE_PARTIALLY_COMPLETED, ///< Done as far as it could be. Final.
};

/// The name of a state as readpast.h spells it after READPAST_STATE_; "?" for one that is not known.
[[nodiscard]] constexpr std::string_view name(state value) noexcept {
    switch (value) {
    case state::none: return "NONE";
    case state::pending: return "PENDING";
    case state::processing: return "PROCESSING";
    case state::error: return "ERROR";
    case state::failed: return "FAILED";
    case state::completed: return "COMPLETED";
    case state::cancelled: return "CANCELLED";
    case state::paused: return "PAUSED";
    case state::terminated: return "TERMINATED";
    case state::partially_completed: return "PARTIALLY_COMPLETED";
    }
    return "?";
}

/// The settlement of an item: the item's members make it for the holder of its lease, and queue::settle carries it out. It owns
/// its texts. An operator, who holds no lease, makes one of key and action: settlement(key, action::terminate).
struct settlement {
    settlement(std::string_view item, readpast::action what, std::optional<std::string> seen_token = std::nullopt,
               std::int32_t claimed_attempt = 0)
        : key(item), action(what), token(std::move(seen_token)), attempt(claimed_attempt) {}

    /// The item's key.
    std::string key;
    /// The action to take.
    readpast::action action;
    /// The token the item had when the caller last saw it. Required with an attempt; none without one: whatever it is.
    std::optional<std::string> token;
    /// The attempt of the claim. 0 steers an item without holding its lease.
    std::int32_t attempt;
    /// The step to record. None keeps the one there is.
    std::optional<std::string> step;
    /// The response to record. None keeps the one there is.
    std::optional<std::string> response;
    /// The error to record. None keeps the one there is.
    std::optional<std::string> error;
    /// When the item is due again, from now on the server's clock. None: at `due`.
    std::optional<std::chrono::milliseconds> delay;
    /// When the item is due again, a UTC time like "2026-11-21T08:30:00Z". None: as it was, or after `delay`.
    std::optional<std::string> due;
    /// Values for the item's own columns, as a JSON object in the form of new_item::columns, what a subtype has in an
    /// object by its name: {"PaidAt": "2026-11-21T08:30:00Z", "Email": {"Response": "250 OK"}}. A column left out stays.
    std::optional<std::string> set;
    /// Items that follow, put in with the same commit where the answer is ok, as the JSON array that then() makes.
    std::optional<std::string> then_json;

    /// Puts an item into the queue called `queue`, of the same schema, in the commit that settles this one, and not where
    /// the settlement is not accepted. More calls add more. An item that cannot be put in keeps this one from being done:
    /// a worker makes it failed, with the reason.
    settlement &then(std::string_view queue, const new_item &item) {
        detail::put_follower(then_json, queue, item);
        return *this;
    }
};

/// The answer about an item, and its state now.
class outcome {
public:
    explicit outcome(const readpast_outcome &raw) noexcept : raw_(raw) {}

    /// status::ok, lease_lost, conflict, illegal_transition or not_found.
    [[nodiscard]] status answer() const noexcept { return static_cast<status>(raw_.answer); }

    /// The state it is in then. It can be failed although another was asked for and the answer is ok: then its attempts
    /// are spent. A settle that is repeated with its operation is answered as the first time, whatever others have made
    /// of the item since.
    [[nodiscard]] readpast::state state() const noexcept { return static_cast<readpast::state>(raw_.state); }

    /// Its attempt number.
    [[nodiscard]] std::int32_t attempt() const noexcept { return raw_.attempt; }

    /// Its token then: the one to go on with after a step. Empty when it was not found, or has another holder since.
    /// Lives as long as the outcome.
    [[nodiscard]] std::string_view token() const noexcept { return raw_.token; }

private:
    readpast_outcome raw_;
};

/// A lease to renew.
struct lease {
    lease(std::string_view item, std::int32_t claimed_attempt) : key(item), attempt(claimed_attempt) {}

    std::string key;      ///< The item's key.
    std::int32_t attempt; ///< The attempt of the claim.
};

} // namespace readpast

#endif
