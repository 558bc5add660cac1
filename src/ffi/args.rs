//! Arguments from C: text, and numbers in their ranges. Each error names its argument.

use super::failure::CallFailure;
use std::ffi::{CStr, c_char};
use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::slice;
use std::time::Duration;

/// The most items of one call.
const MOST_ITEMS: i32 = 1000;

/// The most elements of an array. A call works through them a thousand at a time; a larger count is rather a slip, whose array
/// does not exist.
const MOST_ELEMENTS: i32 = 1_000_000;

/// The longest wait, in milliseconds: a day.
const LONGEST_WAIT_MS: i64 = 86_400_000;

/// The name of a field of a struct in an array, as in `items[3].type`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field(pub(super) &'static str, pub(super) usize, pub(super) &'static str);

impl Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(array, index, field) = self;
        write!(f, "{array}[{index}].{field}")
    }
}

/// Text that must be there.
///
/// # Safety
/// `text` is NULL, or text that ends in NUL and stays as it is for `'a`.
pub(super) unsafe fn text<'a>(name: impl Display, text: *const c_char) -> Result<&'a str, CallFailure> {
    if text.is_null() {
        return Err(CallFailure::argument(format!("{name} is NULL; it must be text")));
    }
    // SAFETY: not NULL, so as the caller promises.
    utf8(name, unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Text that may be NULL.
///
/// # Safety
/// As for [`text`].
pub(super) unsafe fn optional_text<'a>(
    name: impl Display,
    text: *const c_char,
) -> Result<Option<&'a str>, CallFailure> {
    // SAFETY: as the caller promises.
    (!text.is_null()).then(|| unsafe { self::text(name, text) }).transpose()
}

/// The bytes of a text that may be NULL: `length` of them or, where that is 0, those before the first NUL.
///
/// # Safety
/// `text` is NULL, or so many bytes lie there, or text that ends in NUL, and stay as they are for `'a`.
pub(super) unsafe fn optional_bytes<'a>(text: *const c_char, length: usize) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(unsafe {
        match length {
            0 => CStr::from_ptr(text).to_bytes(),
            length => slice::from_raw_parts(text.cast(), length),
        }
    })
}

/// The bytes as text, if they are UTF-8.
pub(super) fn utf8(name: impl Display, bytes: &[u8]) -> Result<&str, CallFailure> {
    std::str::from_utf8(bytes)
        .map_err(|error| CallFailure::argument(format!("{name} is not UTF-8: see its byte {}", error.valid_up_to())))
}

/// A number of items: 1 to 1000.
pub(super) fn item_count(name: &str, count: i32) -> Result<u32, CallFailure> {
    in_range(name, count.into(), 1..=MOST_ITEMS.into()).map(|_| count.unsigned_abs())
}

/// How many elements the array called `name` has: up to a million, or none.
pub(super) fn element_count(name: &str, count: i32) -> Result<usize, CallFailure> {
    in_range(format_args!("the number of {name}"), count.into(), 0..=MOST_ELEMENTS.into())
        .map(|_| count.unsigned_abs() as usize)
}

/// A time to wait: up to a day.
pub(super) fn wait(name: &str, ms: i64) -> Result<Duration, CallFailure> {
    in_range(name, ms, 0..=LONGEST_WAIT_MS).map(|_| Duration::from_millis(ms.unsigned_abs()))
}

/// A time to wait, or -1 for the default.
pub(super) fn patience(name: &str, ms: i64) -> Result<Option<Duration>, CallFailure> {
    if ms == -1 { Ok(None) } else { wait(name, ms).map(Some) }
}

/// The time between two repetitions: up to a day, and not 0.
pub(super) fn interval(name: &str, ms: i64) -> Result<Duration, CallFailure> {
    in_range(name, ms, 1..=LONGEST_WAIT_MS).map(|_| Duration::from_millis(ms.unsigned_abs()))
}

/// A delay, or -1 for none. The core checks its range.
pub(super) fn delay(name: impl Display, ms: i64) -> Result<Option<i64>, CallFailure> {
    in_range(name, ms, -1..=i64::MAX).map(|ms| (ms >= 0).then_some(ms))
}

/// An attempt's number.
pub(super) fn attempt(name: impl Display, attempt: i32) -> Result<i32, CallFailure> {
    in_range(name, attempt.into(), 0..=i32::MAX.into()).map(|_| attempt)
}

/// Checks a number against its range.
pub(super) fn in_range(name: impl Display, number: i64, range: RangeInclusive<i64>) -> Result<i64, CallFailure> {
    if range.contains(&number) {
        return Ok(number);
    }
    Err(CallFailure::argument(format!("{name} is {number}; it must be from {} to {}", range.start(), range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::READPAST_INVALID_ARGUMENT;
    use std::ptr;

    fn message(failure: &CallFailure) -> String {
        format!("{failure:?}")
    }

    #[test]
    fn a_patience_is_a_wait_or_left_out() {
        assert_eq!(patience("wait_ms", -1).ok(), Some(None));
        assert_eq!(patience("wait_ms", 0).ok(), Some(Some(Duration::ZERO)));
        for ms in [-2, LONGEST_WAIT_MS + 1] {
            let failure = patience("wait_ms", ms).unwrap_err();
            assert!(message(&failure).contains(&ms.to_string()), "{failure:?}");
        }
    }

    #[test]
    fn text_is_checked_before_it_is_text() {
        // SAFETY: each is NULL or a literal.
        unsafe {
            assert_eq!(text("name", c"\u{e4}b".as_ptr()).unwrap(), "äb");
            assert_eq!(optional_text("name", ptr::null()).unwrap(), None);
            assert_eq!(optional_text("name", c"".as_ptr()).unwrap(), Some(""));

            let missing = text(Field("items", 3, "type"), ptr::null()).unwrap_err();
            assert_eq!(missing.status(), READPAST_INVALID_ARGUMENT);
            assert!(message(&missing).contains("items[3].type is NULL"));
            let latin1 = text("name", c"a\xe4b".as_ptr()).unwrap_err();
            assert!(message(&latin1).contains("name is not UTF-8: see its byte 1"), "{latin1:?}");
        }
    }

    #[test]
    fn numbers_keep_to_their_range() {
        assert_eq!(item_count("max_items", 1000).unwrap(), 1000);
        for count in [i32::MIN, -1, 0, 1001, i32::MAX] {
            assert!(message(&item_count("max_items", count).unwrap_err()).contains("max_items is"));
        }
        assert_eq!((element_count("items", 0).unwrap(), element_count("items", 1001).unwrap()), (0, 1001));
        for count in [i32::MIN, -1, 1_000_001, i32::MAX] {
            assert!(message(&element_count("leases", count).unwrap_err()).contains("the number of leases is"));
        }
        assert_eq!(wait("wait_ms", 0).unwrap(), Duration::ZERO);
        assert!(wait("wait_ms", i64::MAX).is_err() && wait("wait_ms", -1).is_err());
        assert!(interval("interval_ms", 0).is_err());
    }
}
