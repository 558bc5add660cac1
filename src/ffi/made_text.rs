//! `readpast_text`: a text that a call made.

use super::boundary::{contained, read};
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::status::{READPAST_OK, readpast_status};
use super::text::c_text;
use std::ffi::{CString, c_char};
use std::ptr;

/// A text that a call made. Immutable; any number of threads may read it.
///
/// Made by `readpast_queue_ask`, `readpast_list` and `readpast_metrics`, freed by `readpast_text_free`.
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

/// Hands a text out.
pub(super) fn put(place: OutParameter<readpast_text>, text: &str) -> Result<readpast_status, CallFailure> {
    place.put(c_text(text))?;
    Ok(READPAST_OK)
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
