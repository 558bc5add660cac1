// What a worker of the library tells, as its observers are told.
#ifndef READPAST_DETAIL_EVENTS_HPP
#define READPAST_DETAIL_EVENTS_HPP

#include <readpast/detail/engine.hpp>
#include <readpast/detail/handle.hpp>
#include <readpast/error.hpp>
#include <readpast/log.hpp>
#include <readpast/settlement.hpp>
#include <readpast/status.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace readpast::detail {

/// Follows the key and attempt of an item.
inline std::string refusal(std::string_view why) {
    std::string text = ": what the handler gave was refused, and is left out: ";
    return text.append(why).append("; shorten or correct it, or widen its column");
}

inline std::string_view text_or_empty(const char *text) noexcept {
    return text != nullptr ? std::string_view(text) : std::string_view();
}

inline void tell_event(engine &engine, const readpast_event &each) {
    const settled item = {text_or_empty(each.key), each.attempt, static_cast<status>(each.answer),
                          static_cast<state>(each.state)};
    switch (each.kind) {
    case READPAST_EVENT_LOST:
        engine.log(log_level::warning, item.key, item.attempt,
                   " was lost (" + std::string(name(item.answer)) + ")" +
                       (item.state == state::none ? "" : ": it is " + std::string(name(item.state)) + " now") +
                       ", and is left to whoever has it");
        [[fallthrough]];
    case READPAST_EVENT_SETTLED: engine.tell(engine.told.settled, item); break;
    case READPAST_EVENT_REFUSED:
        engine.log(log_level::warning, item.key, item.attempt, refusal(text_or_empty(each.message)));
        break;
    case READPAST_EVENT_TROUBLE:
        engine.log(log_level::warning, "a call failed, and is made again: " + std::string(text_or_empty(each.message)));
        break;
    default: break; // of a later version of the library
    }
}

/// Tells of what has happened, waiting so long for the first of it. False when there was nothing.
inline bool tell_events(engine &engine, std::chrono::milliseconds wait) {
    constexpr std::int32_t at_once = 1000;
    readpast_events raw = {0};
    if (call(readpast_worker_events, engine.get(), at_once, std::int64_t{wait.count()}, &raw) != status::ok)
        return false;
    const handle<readpast_events, readpast_events_free> events(raw);
    for (std::int32_t i = 0, count = readpast_events_count(raw); i < count; i++) {
        readpast_event each = READPAST_EVENT_INIT;
        call(readpast_events_get, raw, i, &each);
        tell_event(engine, each);
    }
    return true;
}

} // namespace readpast::detail

#endif
