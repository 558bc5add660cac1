// Items that do not carry the work that a handler is for.
#ifndef READPAST_DETAIL_UNREAD_HPP
#define READPAST_DETAIL_UNREAD_HPP

#include <readpast/detail/describe.hpp>
#include <readpast/error.hpp>
#include <readpast/item.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

namespace readpast::detail {

/// Whether there is a from_item for a type.
template <class Work, class = void> inline constexpr bool has_from_item = false;
template <class Work>
inline constexpr bool
    has_from_item<Work, decltype(void(from_item(std::declval<const item &>(), std::declval<Work &>())))> = true;

/// A type's name without its namespaces and arguments.
inline std::string short_name_of(const std::type_info &type) {
    std::string name = name_of(type);
    if (name.back() == '>')
        name.resize(name.find('<'));
    return name.substr(name.find_last_of(": ") + 1);
}

/// An exception's text without the part of the item that nlohmann::json quotes in it, which may be secret.
inline std::string without_value(std::string text) {
    for (const char *before : {"; last read: ", " parsing '"})
        text.resize(std::min(text.size(), text.find(before)));
    return text;
}

/// Reads an item's work, or says why it cannot be read. Throws the mistakes of the program, and what may pass.
template <class Read> std::optional<std::string> unread(const Read &read) {
    try {
        read();
        return std::nullopt;
    } catch (const error &) {
        throw;
    } catch (const no_such_column &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::bad_optional_access &) {
        return "a value that it needs is null";
    } catch (const std::exception &thrown) {
        return without_value(thrown.what());
    }
}

} // namespace readpast::detail

#endif
