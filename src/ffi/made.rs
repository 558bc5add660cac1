//! `readpast_batch_from_json`: items for tests.

use super::answer::answer;
use super::args;
use super::batch::readpast_batch;
use super::claim;
use super::error::readpast_error;
use super::handle::Handle;
use super::out::OutParameter;
use super::status::readpast_status;
use crate::description::QueueSpec;
use crate::item::Batch;
use std::ffi::c_char;

/// Makes items without a queue, to test a handler without a database. Nothing is sent anywhere; every queue refuses a
/// settlement made from such an item.
///
/// `items_json` is an array of up to 1000 objects like `{"columns": {"Recipient": "a@example.org"}}`. Each may also have
/// `key`, `token`, `attempt` (by default 1), `state` (by default `"Processing"`), and `type`, `step`, `due`, `enqueued` and
/// `lease_until`, which become columns like `ScheduledFor`. With `spec`, a queue's description as
/// for `readpast_install`, the items have its columns and types; with NULL, the columns follow from the values. Text in a
/// JSON column is taken as it is.
///
/// *Ownership*: the texts are copied. The caller frees `*batch` with `readpast_batch_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item.
/// - `READPAST_EMPTY`: the array is empty; `*batch` is null.
/// - `READPAST_INVALID_ITEM`: an item cannot be made; the message names it and the column.
/// - `READPAST_INVALID_ARGUMENT`: the description has a mistake; the message says where.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_batch_from_json(
    items_json: *const c_char,
    spec: *const c_char,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(readpast_batch::null(), err, || {
            let place = OutParameter::new("batch", batch)?;
            let items = args::text("items_json", items_json)?;
            let spec = args::optional_text("spec", spec)?.map(QueueSpec::from_text).transpose()?;
            let made = match spec {
                Some(spec) => spec.batch_from_json(items)?,
                None => Batch::from_json(items)?,
            };
            claim::put(place, made)
        })
    }
}
