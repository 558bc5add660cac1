// What a worker tells of what it does.
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

/// Something that a worker tells of. Lives as long as the call.
struct log_entry {
    log_level level;
    std::string_view
        text;             ///< A line without its end, with key and attempt in it. An exception's text may have several.
    std::string_view key; ///< Of the item that it is about, or empty.
    std::int32_t attempt; ///< The one that it is about, or 0.
    std::string_view reason = {}; ///< The library's or the database's, of what was refused or is tried again.
    std::string_view queue = {};  ///< The worker's.
    std::string_view worker = {}; ///< The name that its leases are held under.
    std::optional<readpast::action> action =
        std::nullopt; ///< What the item was to be settled as; none where that is not known.
    std::optional<readpast::status> answer =
        std::nullopt; ///< Of the library or the database; none for what a handler says or throws.
};

/// What became of an item that a worker had in flight, for worker::on_settled. Lives as long as the call.
struct settled {
    std::string_view key;    ///< Of the item.
    std::int32_t attempt;    ///< The one that it is about.
    readpast::status answer; ///< status::ok, or why the item is not this worker's any more.
    readpast::state state;   ///< The one it is in now; state::none when it was found lost before it was settled.
    std::optional<readpast::action> action; ///< What it was to be settled as; none when it was found lost before.
    std::string_view left_out;              ///< Of a lost item: what its handler gave, by name and length, or empty.
};

namespace detail {

/// An error as a line of the log has it: of a long one the beginning and the end.
inline std::string log_text(const std::string &error) {
    std::string text(READPAST_LOG_TEXT_ROOM, '\0');
    text.resize(readpast_log_text(error.c_str(), error.size(), &text[0], text.size()));
    return text;
}

/// What becomes of an entry while nobody else wants it: a program that says nothing of its failures helps nobody.
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
