//! `readpast_config`: the settings of a queue before it is opened.

use super::answer::answer;
use super::args;
use super::boundary::contained;
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::status::{READPAST_OK, readpast_status};
use crate::config::Config;
use crate::sync::Mutex;
use std::ffi::c_char;

/// The settings to open a queue with. Any number of threads may use it; opening copies it.
///
/// Made by `readpast_config_new`, freed by `readpast_config_free`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_config {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

impl Handle for readpast_config {
    type Object = Mutex<Config>;
    const TAG: u8 = 1;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

impl readpast_config {
    /// The present settings, or why the handle has none.
    pub(super) fn settings(self) -> Result<Config, CallFailure> {
        // A setting is replaced as a whole, so a panic while it is checked leaves nothing half-changed.
        Ok(self.get()?.lock().clone())
    }
}

/// Makes a configuration, with all settings at their defaults.
///
/// *Ownership*: the caller frees it with `readpast_config_free`.
///
/// *Returns*: the configuration; the null handle when no more handles fit.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_config_new() -> readpast_config {
    contained(None, || readpast_config::hand_out(Mutex::default())).unwrap_or(readpast_config::null())
}

/// Sets the setting called `key`, like `"lease.ms"`, to `value`, like `"30000"`. The last value counts.
/// docs/reference.md lists the settings; only `"connection"` is required.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_INVALID_CONFIG`: there is no such setting, or it does not take this value. The message names the range.
/// - `READPAST_INVALID_ARGUMENT`: a text is NULL or not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_config_set(
    config: readpast_config,
    key: *const c_char,
    value: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            let key = args::text("key", key)?;
            let value = args::optional_text("value", value)?.ok_or_else(|| not_given(key))?;
            config.get()?.lock().set(key, value)?;
            Ok(READPAST_OK)
        })
    }
}

/// The failure when a setting is set to NULL: most often the result of `getenv` for a missing variable.
fn not_given(key: &str) -> CallFailure {
    let variable = if key == "connection" { ", perhaps READPAST_CONNECTION," } else { "" };
    CallFailure::argument(format!(
        "the value of {key:?} is NULL; it must be text: if it comes from an environment variable{variable} that is not set"
    ))
}

/// Frees a configuration. The null handle, and one that was freed already, are ignored.
///
/// *Threads*: queues that were opened with it stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_config_free(config: readpast_config) {
    contained((), || config.free());
}
