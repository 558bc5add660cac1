//! Text on its way to C.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

/// Text to lend to C. A NUL within it, which C would take for its end, becomes U+FFFD.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default())
}

/// Text in a field of its own, ended and filled up with NULs; empty when it does not fit, since a part of a key or token would
/// name something else.
pub(super) fn fixed_text<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    if text.len() < N {
        for (to, from) in field.iter_mut().zip(text.bytes()) {
            *to = from as c_char;
        }
    }
    field
}

/// The address of optional text.
pub(super) fn lend_optional(text: Option<&CStr>) -> *const c_char {
    text.map_or(ptr::null(), CStr::as_ptr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_field_is_whole_or_not_there() {
        assert_eq!(fixed_text::<4>("abc"), [b'a' as c_char, b'b' as c_char, b'c' as c_char, 0]);
        assert_eq!(fixed_text::<4>("abcd"), [0; 4]);
    }

    #[test]
    fn a_nul_within_text_is_replaced() {
        assert_eq!(c_text("a\0b").to_str().unwrap(), "a\u{fffd}b");
    }
}
