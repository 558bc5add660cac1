// A text that a call made.
#ifndef READPAST_DETAIL_MADE_TEXT_HPP
#define READPAST_DETAIL_MADE_TEXT_HPP

#include <readpast.h>
#include <readpast/detail/handle.hpp>

#include <string>

namespace readpast::detail {

/// A copy of it; it is freed.
inline std::string made_text(readpast_text raw) {
    const handle<readpast_text, readpast_text_free> text(raw);
    return readpast_text_get(text.get());
}

} // namespace readpast::detail

#endif
