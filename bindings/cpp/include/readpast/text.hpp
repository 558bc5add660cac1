// How text is passed.
#ifndef READPAST_TEXT_HPP
#define READPAST_TEXT_HPP

#include <readpast/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace readpast {

namespace detail {

/// Refuses a NUL inside, which the library would take for the end. Not quoted: it may be a password.
inline void require_no_nul(std::string_view given) {
    if (const auto place = given.find('\0'); place != std::string_view::npos)
        throw error(status::invalid_argument, "a text has a NUL inside, after " + std::to_string(place) + " bytes");
}

// A text of ours as the library takes it, which lives as long as ours.

inline const char *c_str(const std::string &given) {
    require_no_nul(given);
    return given.c_str();
}

inline const char *c_str(const std::optional<std::string> &given) {
    return given ? c_str(*given) : nullptr;
}

/// A text that the library lends, or none.
inline std::optional<std::string_view> optional_view(const char *lent) noexcept {
    return lent != nullptr ? std::optional<std::string_view>(lent) : std::nullopt;
}

} // namespace detail

/// A parameter that takes any text, UTF-8, or none: "literal", const char *, std::string, std::string_view, a std::optional
/// of these, nullptr, std::nullopt. It refers to what it was made from, and is for the length of a call.
///
/// Text with a NUL inside is refused with status::invalid_argument.
class text {
public:
    text(std::nullptr_t) noexcept {}
    text(std::nullopt_t) noexcept {}
    text(const char *given) noexcept : c_str_(given) {}
    text(const std::string &given) : c_str_(detail::c_str(given)) {}
    text(const std::optional<std::string> &given) : c_str_(detail::c_str(given)) {}
    /// Copied, since nothing says that a NUL comes after it.
    text(std::string_view given) : copy_(given), c_str_(detail::c_str(copy_)) {}
    text(std::optional<std::string_view> given) {
        if (given)
            c_str_ = detail::c_str(copy_ = *given);
    }

    text(const text &) = delete;
    text &operator=(const text &) = delete;
    ~text() = default;

    /// Ends in NUL; null for none.
    [[nodiscard]] const char *c_str() const noexcept { return c_str_; }

private:
    std::string copy_;
    const char *c_str_ = nullptr;
};

} // namespace readpast

#endif
