// The call of a handler.
#ifndef READPAST_DETAIL_HANDLED_HPP
#define READPAST_DETAIL_HANDLED_HPP

#include <readpast/settlement.hpp>

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace readpast::detail {

/// Calls a handler, and returns its settlement. None: the item is complete.
template <class Handler, class... Arguments>
std::optional<settlement> handled(const Handler &handler, Arguments &&...arguments) {
    static_assert(
        std::is_invocable_v<const Handler &, Arguments...>,
        "a handler takes a readpast::job &, and is const, as it is called on several threads at once; a typed "
        "one takes its work before the job");
    using result = std::invoke_result_t<const Handler &, Arguments...>;
    static_assert(std::is_void_v<result> || std::is_convertible_v<result, std::optional<settlement>>,
                  "a handler returns nothing, a readpast::settlement, or a std::optional of one");
    if constexpr (std::is_void_v<result>) {
        std::invoke(handler, std::forward<Arguments>(arguments)...);
        return std::nullopt;
    } else {
        return std::invoke(handler, std::forward<Arguments>(arguments)...);
    }
}

} // namespace readpast::detail

#endif
