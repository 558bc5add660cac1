// A claimed item.
#ifndef READPAST_ITEM_HPP
#define READPAST_ITEM_HPP

#include <readpast/detail/raw.hpp>
#include <readpast/error.hpp>
#include <readpast/settlement.hpp>
#include <readpast/text.hpp>
#include <readpast/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace readpast {

/// The items have no such column.
class no_such_column : public std::out_of_range {
public:
    using std::out_of_range::out_of_range;
};

/// A claimed item, seen in its batch: a view, cheap to copy, good for as long as the batch. (Its columns are read by the
/// batch's handle, so that to read them later throws with status::invalid_handle; key, token and json dangle.)
class item {
public:
    /// The primary key, as text. A NUL comes after it.
    [[nodiscard]] std::string_view key() const noexcept { return key_; }

    /// The token that the claim left on the item. A settle must carry it. A NUL comes after it.
    [[nodiscard]] std::string_view token() const noexcept { return token_; }

    /// Which attempt this is, counted from 1. A settle must carry it.
    [[nodiscard]] std::int32_t attempt() const noexcept { return raw_.attempt; }

    /// The state it was in when it was read.
    [[nodiscard]] readpast::state state() const noexcept { return static_cast<readpast::state>(raw_.state); }

    // Its life cycle, whatever the server or the table calls the columns. Times are text in UTC, like those of a value. None where
    // there is none. A NUL comes after each.

    /// Its type; none where a described table has none.
    [[nodiscard]] std::optional<std::string_view> type() const noexcept { return detail::optional_view(raw_.type); }
    /// The step that was recorded last.
    [[nodiscard]] std::optional<std::string_view> step() const noexcept { return detail::optional_view(raw_.step); }
    /// The time before which it is not claimed.
    [[nodiscard]] std::optional<std::string_view> due() const noexcept { return detail::optional_view(raw_.due); }
    /// The time at which it was enqueued; none where a described table has no such column.
    [[nodiscard]] std::optional<std::string_view> enqueued() const noexcept {
        return detail::optional_view(raw_.enqueued);
    }
    /// The end that its lease had when it was read, which renewals move on.
    [[nodiscard]] std::optional<std::string_view> lease_until() const noexcept {
        return detail::optional_view(raw_.lease_until);
    }

    /// The value of a column, whatever the case of its name; none when there is no such column. A column of the life cycle has its
    /// name on the other server and in other tables too: "ScheduledFor", "scheduled_for" and "ItemDueAt" are one.
    [[nodiscard]] std::optional<value> find(const readpast::text &column) const {
        readpast_value raw = READPAST_VALUE_INIT;
        const auto answer = detail::call(readpast_batch_value_by_name, batch_, index_, column.c_str(), &raw);
        return answer == status::ok ? std::optional<value>(raw) : std::nullopt;
    }

    /// The value of a column, whatever the case of its name. Throws no_such_column when there is no such column.
    [[nodiscard]] value operator[](const readpast::text &column) const {
        if (auto found = find(column))
            return *found;
        throw no_such_column("the items have no column \"" + std::string(column.c_str()) + "\"");
    }

    /// The value of the column at `place`, counted from 0, of batch::columns. Throws no_such_column when there is none.
    [[nodiscard]] value at(std::size_t place) const {
        readpast_value raw = READPAST_VALUE_INIT;
        if (detail::call(readpast_batch_value, batch_, index_, detail::raw(place), &raw) == status::ok)
            return value(raw);
        throw no_such_column("the items have no column " + std::to_string(place));
    }

    // The same by name, as what the column holds; NULL is none. See value.
    [[nodiscard]] std::optional<std::string_view> text(const readpast::text &column) const {
        return (*this)[column].text();
    }
    [[nodiscard]] std::optional<std::int64_t> integer(const readpast::text &column) const {
        return (*this)[column].integer();
    }
    [[nodiscard]] std::optional<double> floating(const readpast::text &column) const {
        return (*this)[column].floating();
    }
    [[nodiscard]] std::optional<bool> boolean(const readpast::text &column) const { return (*this)[column].boolean(); }
    [[nodiscard]] std::optional<bytes> binary(const readpast::text &column) const { return (*this)[column].binary(); }

    /// The whole item as one JSON object, a member per column: times are text in UTC, decimals text with all their digits,
    /// bytes base64. A NUL comes after it.
    [[nodiscard]] std::string_view json() const {
        if (const char *made = readpast_batch_json(batch_, index_))
            return made;
        throw error(status::invalid_handle, "the batch of the item is gone");
    }

    /// The W3C traceparent in which the item was enqueued: what the span around its handler has as its parent. None where the
    /// queue's description has no `trace`, and where the item has none. A NUL comes after it.
    [[nodiscard]] std::optional<std::string_view> traceparent() const noexcept {
        return detail::optional_view(readpast_batch_traceparent(batch_, index_));
    }

    /// The tracestate that belongs to it. A NUL comes after it.
    [[nodiscard]] std::optional<std::string_view> tracestate() const noexcept {
        return detail::optional_view(readpast_batch_tracestate(batch_, index_));
    }

    // These end the claim; see action. Further wishes are members of the settlement.

    [[nodiscard]] settlement complete(std::optional<std::string> response = std::nullopt) const {
        settlement made = settle(action::complete);
        made.response = std::move(response);
        return made;
    }
    [[nodiscard]] settlement complete_partially(std::optional<std::string> response = std::nullopt) const {
        settlement made = settle(action::complete_partially);
        made.response = std::move(response);
        return made;
    }
    [[nodiscard]] settlement fail(std::optional<std::string> why) const {
        settlement made = settle(action::fail);
        made.error = std::move(why);
        return made;
    }
    /// Without a delay it is due again when the queue's backoff says.
    [[nodiscard]] settlement retry(std::optional<std::string> why,
                                   std::optional<std::chrono::milliseconds> delay = std::nullopt) const {
        settlement made = settle(action::retry);
        made.error = std::move(why);
        made.delay = delay;
        return made;
    }
    /// Without a delay it is due when it was.
    [[nodiscard]] settlement release(std::optional<std::chrono::milliseconds> delay = std::nullopt) const {
        settlement made = settle(action::release);
        made.delay = delay;
        return made;
    }

    /// Any way there is.
    [[nodiscard]] settlement settle(readpast::action action) const {
        return {key_, action, std::string(token_), raw_.attempt};
    }

private:
    friend class batch;

    item(readpast_batch batch, std::int32_t index, const readpast_item &raw) noexcept
        : batch_(batch), index_(index), raw_(raw), key_(raw.key), token_(raw.token) {}

    readpast_batch batch_;
    std::int32_t index_;
    readpast_item raw_;
    std::string_view key_, token_;
};

} // namespace readpast

#endif
