// New items as the library reads them in JSON.
#ifndef READPAST_DETAIL_JSON_HPP
#define READPAST_DETAIL_JSON_HPP

#include <readpast/new_item.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace readpast::detail {

/// Appends a text in quotes. Bytes that are no UTF-8 stay: the library refuses them.
inline void put_text(std::string &to, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    to += '"';
    for (const char each : text) {
        if (const auto code = static_cast<unsigned char>(each); code < 0x20) {
            to += "\\u00";
            to += digits[code >> 4U];
            to += digits[code & 0xFU];
            continue;
        }
        if (each == '"' || each == '\\')
            to += '\\';
        to += each;
    }
    to += '"';
}

/// Appends an item to the array of those that follow a settlement, or begins it.
inline void put_follower(std::optional<std::string> &array, std::string_view queue, const new_item &item) {
    std::string &to = array ? *array : array.emplace("[]");
    to.back() = to.size() > 2 ? ',' : ' ';
    to += "{\"queue\":";
    put_text(to, queue);
    const auto put = [&to](std::string_view name, const std::optional<std::string> &text) {
        if (!text)
            return;
        to += ",\"";
        to += name;
        to += "\":";
        put_text(to, *text);
    };
    put("type", item.type);
    put("step", item.step);
    put("due", item.due);
    put("traceparent", item.traceparent);
    put("tracestate", item.tracestate);
    put("on_failed", item.on_failed);
    if (item.after) {
        to += ",\"after\":";
        to += *item.after;
    }
    if (item.delay) {
        to += ",\"delay_ms\":";
        to += std::to_string(item.delay->count());
    }
    if (item.columns) {
        to += ",\"columns\":";
        to += *item.columns;
    }
    to += "}]";
}

} // namespace readpast::detail

#endif
