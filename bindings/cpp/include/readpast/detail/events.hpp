// The events of a worker of the library, passed to its observers.
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
#include <optional>
#include <string_view>

namespace readpast::detail {

inline std::string_view text_or_empty(const char *text) noexcept {
    return text != nullptr ? std::string_view(text) : std::string_view();
}

inline void tell_event(engine &engine, const readpast_event &each) {
    const settled item = {text_or_empty(each.key),
                          each.attempt,
                          static_cast<status>(each.answer),
                          static_cast<state>(each.state),
                          each.action != 0 ? std::optional(static_cast<action>(each.action)) : std::nullopt,
                          text_or_empty(each.left_out)};
    if (each.line != nullptr) {
        log_entry entry{log_level::warning, each.line, item.key, item.attempt, text_or_empty(each.message)};
        entry.action = item.action;
        entry.answer = item.answer;
        engine.log(entry);
    }
    if (each.kind == READPAST_EVENT_SETTLED || each.kind == READPAST_EVENT_LOST)
        engine.tell(engine.told.settled, item);
}

/// Waits for events, and passes them to the observers. False when no more will come.
inline bool tell_events(engine &engine) {
    constexpr std::int32_t at_once = 1000;
    constexpr std::chrono::milliseconds day = std::chrono::hours(24);
    readpast_events raw = {0};
    const auto answer = call(readpast_worker_events, engine.get(), at_once, std::int64_t{day.count()}, &raw);
    const handle<readpast_events, readpast_events_free> events(raw);
    for (std::int32_t i = 0, count = readpast_events_count(raw); i < count; i++) {
        readpast_event each = READPAST_EVENT_INIT;
        call(readpast_events_get, raw, i, &each);
        tell_event(engine, each);
    }
    return answer != status::interrupted;
}

} // namespace readpast::detail

#endif
