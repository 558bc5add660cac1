//! `readpast_metrics`: the process's own figures.

use super::answer::answer;
use super::error::readpast_error;
use super::handle::Handle;
use super::made_text::{put, readpast_text};
use super::out::OutParameter;
use super::status::readpast_status;
use crate::metrics::metrics;

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
    unsafe { answer(readpast_text::null(), err, || put(OutParameter::new("text", text)?, &metrics().to_string())) }
}
