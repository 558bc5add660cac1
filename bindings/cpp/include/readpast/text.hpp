// How text is passed.
#ifndef READPAST_TEXT_HPP
#define READPAST_TEXT_HPP

#include <readpast/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace readpast {

/// A parameter that takes any text, UTF-8, or none: "literal", const char *, std::string, std::string_view,
/// std::optional<std::string>, nullptr, std::nullopt. It refers to what it was made from, and is for the length of a call.
///
/// Text with a NUL inside is refused with status::invalid_argument: the library would take the NUL for its end.
class text {
public:
    text(std::nullptr_t) noexcept {}
    text(std::nullopt_t) noexcept {}
    text(const char *given) noexcept : c_str_(given) {}
    text(const std::string &given) : c_str_(given.c_str()) { check(given); }
    text(const std::optional<std::string> &given) : c_str_(given ? given->c_str() : nullptr) {
        if (given)
            check(*given);
    }
    /// Copied, since nothing says that a NUL comes after it.
    text(std::string_view given) : copy_(given), c_str_(copy_.c_str()) { check(given); }

    text(const text &) = delete;
    text &operator=(const text &) = delete;
    ~text() = default;

    /// Ends in NUL; null for none.
    [[nodiscard]] const char *c_str() const noexcept { return c_str_; }

private:
    static void check(std::string_view given) {
        // Not quoted: it may be a password.
        if (const auto place = given.find('\0'); place != std::string_view::npos)
            throw error(status::invalid_argument, "a text has a NUL inside, after " + std::to_string(place) + " bytes");
    }

    std::string copy_;
    const char *c_str_ = nullptr;
};

} // namespace readpast

#endif
