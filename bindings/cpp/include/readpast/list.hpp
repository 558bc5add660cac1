// Which queues there are, and the end of one.
#ifndef READPAST_LIST_HPP
#define READPAST_LIST_HPP

#include <readpast/config.hpp>
#include <readpast/detail/handle.hpp>
#include <readpast/error.hpp>
#include <readpast/text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace readpast {

/// A queue that is installed.
struct installed {
    /// Its name.
    std::string queue;
    /// The table of its items with its schema, as the catalog has it; nothing where hand-written procedures hide it.
    std::optional<std::string> table;
    /// Its description, JSON.
    std::string description;
    /// Whether the items are in a table of readpast's own, which drop() drops with them.
    bool own = false;
};

/// The queues that are installed in the schema that the settings name, by their names. A login that may use one of them may
/// ask. Throws with status::schema_missing where nothing is installed.
[[nodiscard]] inline std::vector<installed> list(const config &settings) {
    readpast_queues raw = {0};
    detail::call(readpast_list, settings.native_handle(), &raw);
    const detail::handle<readpast_queues, readpast_queues_free> queues(raw);
    std::vector<installed> all(static_cast<std::size_t>(readpast_queues_count(queues.get())));
    std::int32_t index = 0;
    for (auto &one : all) {
        readpast_installed each = READPAST_INSTALLED_INIT;
        detail::call(readpast_queues_get, queues.get(), index++, &each);
        one.queue = each.queue;
        if (each.table != nullptr)
            one.table = each.table;
        one.description = each.description;
        one.own = each.own != 0;
    }
    return all;
}

/// Drops the queue called `name`. It asks nothing. If the items are in a table of readpast's own, they all go with it, those
/// in work as well; a table that was there before stays with its rows. Needs the rights of who installed the queue. Throws
/// with status::unknown_queue when there is no such queue.
inline void drop(const config &settings, const text &name) {
    detail::call(readpast_drop, settings.native_handle(), name.c_str());
}

} // namespace readpast

#endif
