//! `readpast_metrics`: the process's own figures, and their text.

use super::answer::answer;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::handle::Handle;
use super::out::OutParameter;
use super::status::{READPAST_OK, readpast_status};
use super::text::c_text;
use crate::metrics::metrics;
use std::ffi::{CString, c_char};
use std::ptr;

/// A text that a call made. Immutable; any number of threads may read it.
///
/// Made by `readpast_metrics`, freed by `readpast_text_free`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_text {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

impl Handle for readpast_text {
    type Object = CString;
    const TAG: u8 = 9;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// This process's work on its queues since it began, in Prometheus' text format (`text/plain; version=0.0.4; charset=utf-8`), for
/// a page that Prometheus scrapes: claims, settlements by outcome, lost leases, retries, errors, durations of calls, connections
/// and workers, with the labels `schema` and `queue`. docs/reference.md lists the names; later versions may add some. It covers
/// all queues that were opened in the process, through any binding of this library; the counters of closed ones stay. (Figures
/// from the database are not in it: `readpast serve` has those.)
///
/// It asks no server, waits for none, and opens nothing: call it every few seconds.
///
/// *Ownership*: the caller frees `*text` with `readpast_text_free`.
///
/// *Threads*: at any time, beside other calls. In the child of a fork the figures start from zero.
///
/// *Returns*:
/// - `READPAST_OK`: `*text` holds the figures; `readpast_text_get` reads them.
/// - `READPAST_INVALID_ARGUMENT`: `text` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_metrics(text: *mut readpast_text, err: *mut readpast_error) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(readpast_text::null(), err, || {
            OutParameter::new("text", text)?.put(c_text(&metrics().to_string()))?;
            Ok(READPAST_OK)
        })
    }
}

/// The characters of the text.
///
/// *Ownership*: the characters are the text's, until that is freed.
///
/// *Returns*: UTF-8; NULL for a text that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_text_get(text: readpast_text) -> *const c_char {
    read(text, ptr::null(), |text| text.as_ptr())
}

/// Frees a text. The null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_text_free(text: readpast_text) {
    contained((), || text.free());
}
