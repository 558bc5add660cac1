//! `readpast_install`.

use super::answer::answer;
use super::args;
use super::config::readpast_config;
use super::error::readpast_error;
use super::status::{READPAST_OK, readpast_status};
use crate::description::QueueSpec;
use std::ffi::c_char;

/// Installs or upgrades readpast's own objects in the schema that `config` names, and with `spec` also the queue that it
/// describes. A second call changes nothing, so a program can call it at every start. It needs the rights to create
/// objects; workers do not.
///
/// `spec` is like `{"queue": "Notification", "types": ["Email"], "columns": [{"name": "Recipient", "type": "text(254)"}]}`, or
/// the same in TOML, or NULL for no queue. sql/SPEC.md has all keys. It is the description itself, not the name of a file.
///
/// *Threads*: processes that install at the same time wait for each other.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_INVALID_ARGUMENT`: the description has a mistake; the message says where.
/// - `READPAST_SCHEMA_NEWER`: a newer library has installed the objects.
/// - `READPAST_PERMISSION_DENIED`: the login may not create objects in the schema.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_install(
    config: readpast_config,
    spec: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            let spec = args::optional_text("spec", spec)?.map(QueueSpec::from_text).transpose()?;
            crate::install::install(&config.settings()?, spec.as_ref())?;
            Ok(READPAST_OK)
        })
    }
}
