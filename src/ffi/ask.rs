//! `readpast_queue_ask`: the calls of operators, by name.

use super::answer::answer as answered;
use super::args;
use super::error::readpast_error;
use super::handle::Handle;
use super::made_text::{put, readpast_text};
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::status::readpast_status;
use std::ffi::c_char;

/// Answers the question called `what`, as the command's `--json` does: `"stats"`, `"trend"`, `"watch"`, `"types"`, `"errors"`,
/// `"workers"`, `"find"`, `"show"`, `"why"`, `"retry"`, `"redrive"`, `"cancel"`, `"pause"`, `"resume"`, `"purge"`, `"recover"`,
/// `"settings"`, `"set"`, `"doctor"`. docs/ask.md has the arguments and the answer of each. Later versions may add questions,
/// arguments and members of answers.
///
/// `arguments_json` is a JSON object, like `{"items": [{"key": "2026-11-21T08:30:00.1234560"}]}`; NULL gives none. An argument that
/// the question does not take is refused.
///
/// The answer is JSON on one line. Calls on items answer for each of them: an item that was left unchanged is no failure.
///
/// *Ownership*: the caller frees `*answer` with `readpast_text_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*answer` holds the answer; `readpast_text_get` reads it.
/// - `READPAST_INVALID_ARGUMENT`: there is no such question, or an argument cannot be taken; the message names those that there
///   are.
/// - `READPAST_INVALID_ITEM`: a key is not one of this queue's, or a value of `set` does not fit it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - `READPAST_INTERRUPTED`: between the two looks of a trend, by `readpast_queue_interrupt`.
/// - any failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_ask(
    queue: readpast_queue,
    what: *const c_char,
    arguments_json: *const c_char,
    answer: *mut readpast_text,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answered(queue, err, || {
            let place = OutParameter::new("answer", answer)?;
            let what = args::text("what", what)?;
            let arguments = args::optional_text("arguments_json", arguments_json)?;
            put(place, &queue.get()?.ask(what, arguments)?)
        })
    }
}
