// Items to enqueue.
#ifndef READPAST_NEW_ITEM_HPP
#define READPAST_NEW_ITEM_HPP

#include <readpast/status.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace readpast {

/// An item to enqueue: new_item{R"({"Recipient": "a@example.org"})"}.
struct new_item {
    /// The values of the queue's own columns, by name in any case, as a JSON object. None: each has its default, or NULL.
    std::optional<std::string> columns = std::nullopt;
    /// The kind of work, one of the queue's types. None: the first of them.
    std::optional<std::string> type = std::nullopt;
    /// The step to begin with.
    std::optional<std::string> step = std::nullopt;
    /// When it is due, from now on the server's clock. None: at `due`.
    std::optional<std::chrono::milliseconds> delay = std::nullopt;
    /// When it is due, a UTC time like "2026-11-21T08:30:00Z". None: now, or after `delay`.
    std::optional<std::string> due = std::nullopt;
    /// The W3C traceparent in which it is enqueued, for a queue whose description has `trace`; others take no notice. A
    /// malformed one is left out, and is no error.
    std::optional<std::string> traceparent = std::nullopt;
    /// The tracestate that belongs to it.
    std::optional<std::string> tracestate = std::nullopt;
    /// The items for which it waits, as a JSON array: texts are keys of items of the queue, numbers the places of earlier items
    /// of the call, from 0 on: "[0, 1]". It is due when all of them are over, and not before `due`. Only in a queue whose
    /// description has `after`.
    std::optional<std::string> after = std::nullopt;
    /// Its fate when one of them ends in another way than completed: "fail", it fails, and so do those that wait for it; "run",
    /// the other counts as done; "wait", it waits until the other is started again and completed. None: "fail".
    std::optional<std::string> on_failed = std::nullopt;
};

/// The answer about an item to enqueue.
class receipt {
public:
    explicit receipt(const readpast_receipt &raw)
        : answer_(static_cast<status>(raw.answer)), key_(raw.key), token_(raw.token) {}

    /// status::ok, or status::duplicate when nothing was enqueued.
    [[nodiscard]] status answer() const noexcept { return answer_; }

    /// The item's key. For a duplicate, the key of the item which is there, where the queue has it; else empty. Lives as long
    /// as the receipt.
    [[nodiscard]] std::string_view key() const noexcept { return key_; }

    /// The item's token, by which a caller can cancel or pause exactly this version of it. Empty for a duplicate, unless
    /// the item that waits got the values of this one (`on_duplicate`). Lives as long as the receipt.
    [[nodiscard]] std::string_view token() const noexcept { return token_; }

private:
    status answer_;
    std::string key_, token_;
};

} // namespace readpast

#endif
