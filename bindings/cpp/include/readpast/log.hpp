// The log of a worker.
#ifndef READPAST_LOG_HPP
#define READPAST_LOG_HPP

#include <readpast/settlement.hpp>
#include <readpast/status.hpp>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace readpast {

/// How much it matters.
enum class log_level {
    info,    ///< In order: the worker started, or stopped.
    warning, ///< An attempt failed, an item was lost or refused, a call is tried again; the worker goes on.
    error    ///< A mistake of the program, or what ended the worker.
};

/// An entry of a worker's log. Lives as long as the call.
struct log_entry {
    log_level level;
    std::string_view
        text;             ///< A line without its end, with key and attempt in it. An exception's text may have several.
    std::string_view key; ///< The item's that it is about, or empty.
    std::int32_t attempt; ///< The one that it is about, or 0.
    std::string_view reason = {}; ///< The library's or the database's, of what was refused or is tried again.
    std::string_view queue = {};  ///< The worker's.
    std::string_view worker = {}; ///< The name that its leases are held under.
    std::optional<readpast::action> action =
        std::nullopt; ///< The action that was to settle the item; none where that is not known.
    std::optional<readpast::status> answer =
        std::nullopt; ///< The library's or the database's; none where a handler returned or threw something.
};

/// The end of an item that a worker had in flight, for worker::on_settled. Lives as long as the call.
struct settled {
    std::string_view key;    ///< The item's.
    std::int32_t attempt;    ///< The one that it is about.
    readpast::status answer; ///< status::ok, or why the item is not this worker's any more.
    readpast::state state;   ///< The one it is in now; state::none when it was found lost before it was settled.
    std::optional<readpast::action> action; ///< The one that was to settle it; none when it was found lost before.
    std::string_view left_out;              ///< The lost item's values from its handler, by name and length, or empty.
};

namespace detail {

/// An error as a line of the log has it: of a long one the beginning and the end.
inline std::string log_text(const std::string &error) {
    std::string text(READPAST_LOG_TEXT_ROOM, '\0');
    text.resize(readpast_log_text(error.c_str(), error.size(), &text[0], text.size()));
    return text;
}

/// Writes an entry that no observer takes: a program that hides its failures helps nobody.
inline void log_to_clog(const log_entry &entry) {
    if (entry.level == log_level::info)
        return;
    std::string line = entry.level == log_level::warning ? "readpast: warning: " : "readpast: error: ";
    line.append(entry.text) += '\n';
    std::clog << line << std::flush; // as one, so that threads do not mix theirs
}

} // namespace detail
} // namespace readpast

#endif
