// The text of the error column after a handler failed.
#ifndef READPAST_DETAIL_DESCRIBE_HPP
#define READPAST_DETAIL_DESCRIBE_HPP

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace readpast::detail {

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
inline std::string describe_current_exception() {
    try {
        throw;
    } catch (const std::exception &thrown) {
        std::string text = name_of(typeid(thrown)) + ": " + thrown.what();
        try {
            std::rethrow_if_nested(thrown);
        } catch (...) {
            text += "\ncaused by: " + describe_current_exception();
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

} // namespace readpast::detail

#endif
