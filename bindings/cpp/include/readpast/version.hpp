// Which library this is.
#ifndef READPAST_VERSION_HPP
#define READPAST_VERSION_HPP

#include <readpast/error.hpp>

#include <string>
#include <string_view>

static_assert(READPAST_ABI == 1, "readpast.hpp and readpast.h are of different versions");

namespace readpast {

/// The version of the library at run time, like "0.1.0".
[[nodiscard]] inline std::string_view version() noexcept {
    return readpast_version();
}

/// The binary interface of the library at run time. Nothing can be opened with another one than READPAST_ABI.
[[nodiscard]] inline int abi() noexcept {
    return readpast_abi();
}

namespace detail {

/// Throws if the library that was loaded is not one that this program can use.
inline void require_abi() {
    if (abi() != READPAST_ABI)
        throw error(status::unsupported, "libreadpast " + std::string(version()) + " has the binary interface " +
                                             std::to_string(abi()) + "; this program was built for " +
                                             std::to_string(READPAST_ABI));
}

} // namespace detail
} // namespace readpast

#endif
