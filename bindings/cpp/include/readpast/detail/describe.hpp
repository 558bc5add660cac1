// What the error column says of a handler that failed.
#ifndef READPAST_DETAIL_DESCRIBE_HPP
#define READPAST_DETAIL_DESCRIBE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace readpast::detail {

/// The most characters of an error that are kept: enough for a chain of causes, and not for a dump.
inline constexpr std::size_t longest_error = 16000;

/// The length of the UTF-8 character that `text` begins with; 0 if that is none that a server can store.
inline std::size_t length_of_character(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned first = byte(0);
    if (first < 0x80)
        return first == 0 ? 0 : 1;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    // Of the second byte some values would be overlong, surrogates, or beyond the last character.
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high)
        return 0;
    for (std::size_t i = 2; i < length; i++)
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    return length;
}

/// At most `most` characters of `text`, with U+FFFD for what is no character: an exception may hold any bytes, which is no
/// reason to lose the rest of them.
inline std::string fit(std::string_view text, std::size_t most) {
    std::string fitting;
    for (std::size_t count = 0; count < most && !text.empty(); count++) {
        const std::size_t length = length_of_character(text);
        fitting += length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD";
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return fitting;
}

/// The name of a type as the program spells it, where that can be known.
inline std::string name_of(const std::type_info &type) {
#if __has_include(<cxxabi.h>)
    int failed = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed),
                                                           &std::free);
    if (name)
        return name.get();
#endif
    return type.name();
}

/// The exception that is being handled, and those nested in it, a line for each.
inline std::string text_of_current_exception() {
    try {
        throw;
    } catch (const std::exception &thrown) {
        std::string text = name_of(typeid(thrown)) + ": " + thrown.what();
        try {
            std::rethrow_if_nested(thrown);
        } catch (...) {
            text += "\ncaused by: " + text_of_current_exception();
        }
        return text;
    } catch (const std::string &thrown) {
        return thrown;
    } catch (const char *thrown) {
        return thrown != nullptr ? thrown : "a null pointer";
    } catch (...) {
#if __has_include(<cxxabi.h>)
        if (const std::type_info *type = abi::__cxa_current_exception_type())
            return name_of(*type) + ", which is no std::exception";
#endif
        return "what is no std::exception";
    }
}

/// The same, as an error column takes it.
inline std::string describe_current_exception() {
    return fit(text_of_current_exception(), longest_error);
}

} // namespace readpast::detail

#endif
