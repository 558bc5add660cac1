#include "adapter.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace {

const json *member_of(const json &request, const char *member) {
    const auto found = request.find(member);
    return found == request.end() || found->is_null() ? nullptr : &*found;
}

template <class Make> auto list_of(const json &request, const char *member, Make make) {
    std::vector<decltype(make(request))> made;
    for (const json &each : request.at(member))
        made.push_back(make(each));
    return made;
}

readpast::new_item new_item_of(const json &item) {
    return {json_of(item, "columns"),    text_of(item, "type"),  text_of(item, "step"),
            time_of(item, "delay_ms"),   text_of(item, "due"),   text_of(item, "traceparent"),
            text_of(item, "tracestate"), json_of(item, "after"), text_of(item, "on_failed")};
}

} // namespace

std::optional<std::string> text_of(const json &request, const char *member) {
    const json *found = member_of(request, member);
    return found != nullptr ? std::optional(found->get<std::string>()) : std::nullopt;
}

std::string name_of(const json &request, const char *member) {
    return request.at(member).get<std::string>();
}

std::int32_t number_of(const json &request, const char *member, std::int32_t otherwise) {
    const json *found = member_of(request, member);
    return found != nullptr ? found->get<std::int32_t>() : otherwise;
}

std::optional<std::chrono::milliseconds> time_of(const json &request, const char *member) {
    const json *found = member_of(request, member);
    if (found == nullptr)
        return std::nullopt;
    return std::chrono::milliseconds(found->get<std::int64_t>());
}

std::optional<std::string> json_of(const json &request, const char *member) {
    const json *found = member_of(request, member);
    return found != nullptr ? std::optional(found->dump()) : std::nullopt;
}

readpast::config config_of(const json &request) {
    readpast::config made;
    if (const json *settings = member_of(request, "settings"))
        for (const auto &[key, value] : settings->items())
            made.set(key, value.get<std::string>());
    return made;
}

std::vector<readpast::new_item> new_items_of(const json &request) {
    return list_of(request, "items", new_item_of);
}

void put_followers(readpast::settlement &settlement, const json &given) {
    if (!given.contains("then"))
        return;
    for (const json &each : given.at("then"))
        settlement.then(name_of(each, "queue"), new_item_of(each));
}

readpast::settlement settlement_of(const json &item) {
    readpast::settlement made(name_of(item, "key"), action_of(item.at("action")), text_of(item, "token"),
                              number_of(item, "attempt", 0));
    made.step = text_of(item, "step");
    made.response = text_of(item, "response");
    made.error = text_of(item, "error");
    made.delay = time_of(item, "delay_ms");
    made.due = text_of(item, "due");
    made.set = json_of(item, "set");
    put_followers(made, item);
    return made;
}

std::vector<readpast::settlement> settlements_of(const json &request) {
    return list_of(request, "settlements", settlement_of);
}

std::vector<readpast::lease> leases_of(const json &request) {
    return list_of(request, "leases", [](const json &each) {
        return readpast::lease(name_of(each, "key"), number_of(each, "attempt", 0));
    });
}

readpast::action action_of(const json &name) {
    // A number stands for itself, so that one which is none can be asked for.
    if (name.is_number())
        return static_cast<readpast::action>(name.get<std::int32_t>());
    auto wanted = name.get<std::string>();
    std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    for (std::int32_t number = 1; number < 100; number++)
        if (const auto action = static_cast<readpast::action>(number); readpast::name(action) == wanted)
            return action;
    throw std::out_of_range("there is no action " + wanted);
}
