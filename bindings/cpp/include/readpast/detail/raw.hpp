// Our structs as the C library takes them.
#ifndef READPAST_DETAIL_RAW_HPP
#define READPAST_DETAIL_RAW_HPP

#include <readpast/new_item.hpp>
#include <readpast/settlement.hpp>
#include <readpast/text.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

namespace readpast::detail {

/// A time that the caller did not give is -1; one that is below 0 is for the library to refuse, also if it is -1.
inline std::int64_t raw(const std::optional<std::chrono::milliseconds> &time) noexcept {
    if (!time)
        return -1;
    return time->count() == -1 ? -2 : time->count();
}

/// How many there are. Numbers beyond 32 bits are as much out of range as the greatest of 32 bits.
inline std::int32_t raw(std::size_t count) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::min(count, most));
}

// These structs point to the texts of what they were made from.

inline readpast_new_item raw(const new_item &item) {
    readpast_new_item made = READPAST_NEW_ITEM_INIT;
    made.type = c_str(item.type);
    made.step = c_str(item.step);
    made.delay_ms = raw(item.delay);
    made.due = c_str(item.due);
    made.columns_json = c_str(item.columns);
    made.traceparent = c_str(item.traceparent);
    made.tracestate = c_str(item.tracestate);
    made.after_json = c_str(item.after);
    made.on_failed = c_str(item.on_failed);
    return made;
}

inline readpast_settlement raw(const settlement &given) {
    readpast_settlement made = READPAST_SETTLEMENT_INIT;
    made.key = c_str(given.key);
    made.token = c_str(given.token);
    made.attempt = given.attempt;
    made.action = static_cast<std::int32_t>(given.action);
    // These may hold any bytes, which the library judges.
    const auto put = [](const std::optional<std::string> &text, const char *&to, std::size_t &length) {
        to = text ? text->c_str() : nullptr;
        length = text ? text->size() : 0;
    };
    put(given.step, made.step, made.step_length);
    put(given.response, made.response, made.response_length);
    put(given.error, made.error, made.error_length);
    put(given.due, made.due, made.due_length);
    put(given.set, made.set_json, made.set_json_length);
    put(given.then_json, made.then_json, made.then_json_length);
    made.delay_ms = raw(given.delay);
    return made;
}

inline readpast_lease raw(const lease &given) {
    readpast_lease made = READPAST_LEASE_INIT;
    made.key = c_str(given.key);
    made.attempt = given.attempt;
    return made;
}

/// `count` of them, from the first on.
template <class Given> auto raw(const Given *first, std::size_t count) {
    std::vector<decltype(raw(*first))> made;
    made.reserve(count);
    std::transform(first, first + count, std::back_inserter(made), [](const Given &each) { return raw(each); });
    return made;
}

} // namespace readpast::detail

#endif
