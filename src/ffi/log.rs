//! Errors of handlers, for the log of a binding's worker.

use super::args::optional_bytes;
use super::boundary::contained;
use super::text::c_text;
use crate::error::log_text;
use std::ffi::c_char;
use std::ptr;

/// The least room of `readpast_log_text`, in bytes.
pub const READPAST_LOG_TEXT_ROOM: usize = 2200;

/// Writes an error as text for a log line: whole up to 500 characters; of a longer one the beginning, how many characters were
/// left out, and the end. The item's error column has all of it. Bytes that are not UTF-8, and NUL, become U+FFFD.
///
/// `error` has `error_length` bytes or, where that is 0, ends in NUL. `text` has `room` bytes, at least `READPAST_LOG_TEXT_ROOM`.
///
/// *Returns*: the length of the text in bytes, without the NUL at its end. 0 when `error` is NULL, for which the text is empty; and
/// when `text` is NULL or the room too small, for which nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_log_text(
    error: *const c_char,
    error_length: usize,
    text: *mut c_char,
    room: usize,
) -> usize {
    if text.is_null() || room < READPAST_LOG_TEXT_ROOM {
        return 0;
    }
    contained(0, || {
        // SAFETY: so many bytes lie there, or text that ends in NUL, as the caller promises.
        let error = unsafe { optional_bytes(error, error_length) }.unwrap_or_default();
        let line = c_text(&log_text(&String::from_utf8_lossy(error)));
        let length = line.as_bytes().len().min(room - 1);
        // SAFETY: the room is the caller's for writing, and ends no earlier than this.
        unsafe {
            ptr::copy_nonoverlapping(line.as_ptr(), text, length);
            text.add(length).write(0);
        }
        length
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(error: &[u8]) -> String {
        let mut text = vec![1_u8; READPAST_LOG_TEXT_ROOM];
        // SAFETY: the lengths are those of the slices, and an empty one is not given.
        let length =
            unsafe { readpast_log_text(error.as_ptr().cast(), error.len(), text.as_mut_ptr().cast(), text.len()) };
        assert_eq!(text[length], 0, "it ends in NUL");
        String::from_utf8(text[..length].to_vec()).unwrap()
    }

    #[test]
    fn the_longest_text_fits_its_room_and_is_text() {
        assert_eq!(written(b"a\xff\0b"), "a\u{fffd}\u{fffd}b");
        let line = written("\u{1f642}".repeat(16_000).as_bytes());
        assert!(line.contains(" … (15500 characters left out) … ") && line.ends_with('\u{1f642}'), "{line}");
    }

    #[test]
    fn without_room_nothing_is_written() {
        let mut text = [1; 8];
        // SAFETY: both texts are there, and end in NUL or have the given length.
        let lengths = unsafe {
            [
                readpast_log_text(c"a".as_ptr(), 0, text.as_mut_ptr(), text.len()),
                readpast_log_text(c"a".as_ptr(), 0, ptr::null_mut(), READPAST_LOG_TEXT_ROOM),
                readpast_log_text(ptr::null(), 0, text.as_mut_ptr(), 0),
            ]
        };
        assert_eq!((lengths, text), ([0; 3], [1; 8]));
    }

    #[test]
    fn no_error_is_an_empty_text() {
        let mut text = [1; READPAST_LOG_TEXT_ROOM];
        // SAFETY: the room is there.
        let length = unsafe { readpast_log_text(ptr::null(), 0, text.as_mut_ptr(), text.len()) };
        assert_eq!((length, text[0], text[1]), (0, 0, 1));
    }
}
