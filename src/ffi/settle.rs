//! `readpast_queue_settle` and `readpast_queue_settle_and_claim`.

use super::action;
use super::answer::answer;
use super::args::{self, Field};
use super::batch::readpast_batch;
use super::claim;
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::out::OutParameter;
use super::outcome::{readpast_outcome, write_outcomes};
use super::queue::readpast_queue;
use super::sized::{OutStructs, Versioned, read_array};
use super::status::readpast_status;
use crate::engine::ReportedResult;
use crate::item::Settlement;
use std::ffi::c_char;

/// A settlement of an item. Initialise it with `READPAST_SETTLEMENT_INIT`.
///
/// A text with a length has that many bytes. Without a length, it ends at its first NUL.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_settlement {
    /// The size of this struct.
    pub struct_size: usize,
    /// The item's key.
    pub key: *const c_char,
    /// The token that the item had when the caller last saw it. Required with an attempt; without one, NULL accepts any.
    pub token: *const c_char,
    /// The attempt of the claim. 0 changes the item as an operator, without holding its lease.
    pub attempt: i32,
    /// The action: a `READPAST_ACTION_`.
    pub action: i32,
    /// The step to record. NULL keeps the present one.
    pub step: *const c_char,
    /// The response to record. NULL keeps the present one.
    pub response: *const c_char,
    /// The error to record. NULL keeps the present one.
    pub error: *const c_char,
    /// When the item is due again, in milliseconds from now on the server's clock. -1: at `due`.
    pub delay_ms: i64,
    /// When the item is due again, a UTC time like `"2026-11-21T08:30:00Z"`. NULL: unchanged, or after `delay_ms`.
    pub due: *const c_char,
    /// The length of `step` in bytes. 0: it ends at its NUL.
    pub step_length: usize,
    /// The same of `response`.
    pub response_length: usize,
    /// The same of `error`.
    pub error_length: usize,
    /// The same of `due`.
    pub due_length: usize,
    /// Values for the item's own columns, written in the same commit: a JSON object like `columns_json` of a new item, with a
    /// nested object for each subtype. A column that is left out keeps its value. NULL: none.
    pub set_json: *const c_char,
    /// The length of `set_json` in bytes. 0: it ends in NUL.
    pub set_json_length: usize,
    /// Items that follow, put in with the same commit where the answer is `READPAST_OK`: a JSON array of up to 1000 objects, each with
    /// `columns` like `columns_json` of a new item and, where wanted, `queue` (another of the schema), `type`, `step`, `due` or
    /// `delay_ms`. A repetition of the call adds nothing. NULL: none.
    pub then_json: *const c_char,
    /// The length of `then_json` in bytes. 0: it ends in NUL.
    pub then_json_length: usize,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_settlement {
    const INIT: &'static str = "READPAST_SETTLEMENT_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Ends the claims of `count` (0 to 1000000) items, or records progress, 1000 in a commit. Each item has its own answer: a lost
/// item does not affect the others. With no items, nothing is sent. When a call of more than 1000 fails, the thousands before the
/// failure are settled, and the error has the operation with which to repeat the call.
///
/// `operation` makes the call repeatable: a repetition with the same UUID and settlements changes nothing more and returns the
/// same answers; with the UUID of a call of another queue or kind it is refused. NULL: the library chooses one for its own
/// retries, so that a settlement is applied once even if the connection breaks.
///
/// If you give one, keep it until a call with it succeeds: a repetition that fails, with any status, leaves the outcome of the
/// first call open.
///
/// `outcomes` may be NULL; otherwise there are `count` of them.
///
/// *Returns*:
/// - `READPAST_OK`: all are settled; `outcomes` are written.
/// - `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND`: the answer for the first
///   item that is not; `outcomes` are written for all.
/// - `READPAST_INVALID_ITEM`: a value of a settlement does not fit the queue; the message names item and column. None is settled.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_settle(
    queue: readpast_queue,
    settlements: *const readpast_settlement,
    count: i32,
    operation: *const c_char,
    outcomes: *mut readpast_outcome,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let settlements = read_settlements(settlements, count)?;
            let outcomes = OutStructs::optional("outcomes", outcomes, count)?;
            let operation = args::optional_text("operation", operation)?;
            Ok(write_outcomes(outcomes, &queue.get()?.settle(&settlements, operation)?))
        })
    }
}

/// Settles as `readpast_queue_settle` does and, in the same round trip and commit (of more than 1000, that of the last), claims
/// up to `max_items` (1 to 1000) items as `readpast_queue_claim` does without waiting. A repetition with the same `operation`
/// claims nothing more: its batch has the items of the first call, as far as this worker still holds them. Where items follow a
/// settlement (`then_json`), the claim is a call of its own after it, and a repetition claims others.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`. The texts of `settlements` are copied.
///
/// *Returns*: as `readpast_queue_settle`: the status is that of the settlements, whatever was claimed. At 0 and above, `*batch`
/// holds the claimed items; it is null when nothing was due, and in all other cases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_settle_and_claim(
    queue: readpast_queue,
    settlements: *const readpast_settlement,
    count: i32,
    operation: *const c_char,
    max_items: i32,
    outcomes: *mut readpast_outcome,
    batch: *mut readpast_batch,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("batch", batch)?;
            let settlements = read_settlements(settlements, count)?;
            let outcomes = OutStructs::optional("outcomes", outcomes, count)?;
            let operation = args::optional_text("operation", operation)?;
            let max = args::item_count("max_items", max_items)?;
            let (settled, claimed) = queue.get()?.settle_and_claim(&settlements, operation, max)?;
            let status = write_outcomes(outcomes, &settled);
            claim::put(place, claimed)?;
            Ok(status)
        })
    }
}

/// # Safety
/// `settlements` keeps to the header's rules for arrays and text.
pub(super) unsafe fn read_settlements<'a>(
    settlements: *const readpast_settlement,
    count: i32,
) -> Result<Vec<Settlement<'a>>, CallFailure> {
    // SAFETY: as the caller promises.
    let settlements = unsafe { read_array("settlements", settlements, count) }?;
    // SAFETY: as the caller promises.
    settlements.iter().enumerate().map(|(i, settlement)| unsafe { read_settlement(i, settlement) }).collect()
}

/// # Safety
/// The settlement's texts keep to the header's rules.
unsafe fn read_settlement<'a>(i: usize, settlement: &readpast_settlement) -> Result<Settlement<'a>, CallFailure> {
    let name = |field| Field("settlements", i, field);
    // SAFETY: as the caller promises.
    unsafe {
        let text = |field, text, length| {
            args::optional_bytes(text, length).map(|bytes| args::utf8(name(field), bytes)).transpose()
        };
        Ok(Settlement {
            key: args::text(name("key"), settlement.key)?,
            token: args::optional_text(name("token"), settlement.token)?,
            attempt: args::attempt(name("attempt"), settlement.attempt)?,
            action: action::read(name("action"), settlement.action)?,
            step: text("step", settlement.step, settlement.step_length)?,
            response: text("response", settlement.response, settlement.response_length)?,
            error: text("error", settlement.error, settlement.error_length)?,
            delay_ms: args::delay(name("delay_ms"), settlement.delay_ms)?,
            due: text("due", settlement.due, settlement.due_length)?,
            set: text("set_json", settlement.set_json, settlement.set_json_length)?,
            then: text("then_json", settlement.then_json, settlement.then_json_length)?,
        })
    }
}

/// Results of items, unchecked but for the item's name: the engine checks the rest.
///
/// # Safety
/// As [`read_settlements`].
pub(super) unsafe fn read_ends<'a>(
    settlements: *const readpast_settlement,
    count: i32,
) -> Result<Vec<ReportedResult<'a>>, CallFailure> {
    // SAFETY: as the caller promises.
    let settlements = unsafe { read_array("settlements", settlements, count) }?;
    let read = |(i, settlement): (usize, &readpast_settlement)| {
        let name = |field| Field("settlements", i, field);
        // SAFETY: as the caller promises.
        unsafe {
            Ok(ReportedResult {
                key: args::text(name("key"), settlement.key)?,
                attempt: args::attempt(name("attempt"), settlement.attempt)?,
                action: action::known(settlement.action),
                step: args::optional_bytes(settlement.step, settlement.step_length),
                response: args::optional_bytes(settlement.response, settlement.response_length),
                error: args::optional_bytes(settlement.error, settlement.error_length),
                delay_ms: (settlement.delay_ms != -1).then_some(settlement.delay_ms),
                due: args::optional_bytes(settlement.due, settlement.due_length),
                set: args::optional_bytes(settlement.set_json, settlement.set_json_length),
                then: args::optional_bytes(settlement.then_json, settlement.then_json_length),
            })
        }
    };
    settlements.iter().enumerate().map(read).collect()
}
