//! The version of this library. Every binding compares it when it loads.

use std::ffi::{CStr, c_char};

/// The major version of this header.
pub const READPAST_VERSION_MAJOR: i32 = 0;
/// The minor version of this header.
pub const READPAST_VERSION_MINOR: i32 = 1;
/// The patch level of this header.
pub const READPAST_VERSION_PATCH: i32 = 0;
/// The binary interface of this header. Within one number, functions, statuses and trailing struct fields are added, and
/// nothing is changed or removed.
pub const READPAST_ABI: i32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The version of the library at run time: `"0.1.0"`.
///
/// *Ownership*: the text is the library's and lives as long as it.
///
/// *Returns*: text, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The binary interface of the library at run time. If it is not the `READPAST_ABI` that the caller was built with, the
/// caller must not go on.
///
/// *Returns*: the number.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_abi() -> i32 {
    READPAST_ABI
}
