// Which queues there are, and the end of one.
#ifndef READPAST_LIST_HPP
#define READPAST_LIST_HPP

#include <readpast/config.hpp>
#include <readpast/detail/made_text.hpp>
#include <readpast/error.hpp>
#include <readpast/text.hpp>

#include <string>

namespace readpast {

/// The queues that are installed in the schema that the settings name, by their names, as a JSON array; docs/ask.md, "list",
/// has the members. A login that may use one of them may ask. Throws with status::schema_missing where nothing is installed.
[[nodiscard]] inline std::string list(const config &settings) {
    readpast_text raw = {0};
    detail::call(readpast_list, settings.native_handle(), &raw);
    return detail::made_text(raw);
}

/// Drops the queue called `name`. It asks nothing. If the items are in a table of readpast's own, they all go with it, those
/// in work as well; a table that was there before stays with its rows. Needs the rights of who installed the queue. Throws
/// with status::unknown_queue when there is no such queue.
inline void drop(const config &settings, const text &name) {
    detail::call(readpast_drop, settings.native_handle(), name.c_str());
}

} // namespace readpast

#endif
