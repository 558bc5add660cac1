//! Bytes in JSON: base64 with the usual alphabet and its padding, as both servers write and read it.

use base64::{Engine, engine::general_purpose::STANDARD};

/// Appends `bytes`.
pub(crate) fn put_base64(out: &mut String, bytes: &[u8]) {
    STANDARD.encode_string(bytes, out);
}

/// The bytes of `text`; `None` when it is not base64, or has blanks in it.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
