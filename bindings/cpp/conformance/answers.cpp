#include "adapter.hpp"

#include <string_view>

namespace {

json text_or_null(const std::optional<std::string_view> &text) {
    return text ? json(*text) : json();
}

json hexadecimal(const readpast::bytes &bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const auto byte : bytes)
        (text += digits[byte >> 4U]) += digits[byte & 15U];
    return text;
}

json plain(const readpast::value &value) {
    using type = readpast::column_type;
    if (value.is_null())
        return nullptr;
    switch (value.type()) {
    case type::boolean: return *value.boolean();
    case type::integer: return *value.integer();
    case type::floating: return *value.floating();
    case type::binary: return hexadecimal(*value.binary());
    default: return *value.text();
    }
}

} // namespace

json answer_of(readpast::status status) {
    return {{"status", readpast::name(status)}};
}

json answer_of(const readpast::error &failure) {
    json answer = answer_of(failure.status());
    answer["error"] = {{"message", failure.what()},
                       {"sqlstate", text_or_null(failure.sqlstate())},
                       {"native_code", failure.native_code()},
                       {"retryable", failure.retryable()},
                       {"operation", text_or_null(failure.operation())}};
    return answer;
}

json answer_of(const readpast::answers<readpast::receipt> &receipts) {
    json answer = answer_of(receipts.status());
    json &all = answer["receipts"] = json::array();
    for (const auto &each : receipts)
        all.push_back({{"key", each.key()}, {"token", each.token()}, {"answer", readpast::name(each.answer())}});
    return answer;
}

json answer_of(const readpast::answers<readpast::outcome> &outcomes) {
    json answer = answer_of(outcomes.status());
    json &all = answer["outcomes"] = json::array();
    for (const auto &each : outcomes)
        all.push_back({{"answer", readpast::name(each.answer())},
                       {"state", readpast::name(each.state())},
                       {"attempt", each.attempt()},
                       {"token", each.token()}});
    return answer;
}

json items_of(const readpast::batch &batch) {
    json all = json::array();
    const auto columns = batch.columns();
    for (const auto &item : batch) {
        json values = json::object();
        for (std::size_t i = 0; i < columns.size(); i++)
            values[std::string(columns[i].name)] = value_of(item.at(i));
        all.push_back({{"key", item.key()},
                       {"token", item.token()},
                       {"attempt", item.attempt()},
                       {"state", readpast::name(item.state())},
                       {"type", text_or_null(item.type())},
                       {"step", text_or_null(item.step())},
                       {"due", text_or_null(item.due())},
                       {"enqueued", text_or_null(item.enqueued())},
                       {"lease_until", text_or_null(item.lease_until())},
                       {"columns", std::move(values)},
                       {"json", json::parse(item.json())},
                       {"traceparent", text_or_null(item.traceparent())},
                       {"tracestate", text_or_null(item.tracestate())}});
    }
    return all;
}

json value_of(const readpast::value &value) {
    return {{"type", readpast::name(value.type())}, {"value", plain(value)}};
}
