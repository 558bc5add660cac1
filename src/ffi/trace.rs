//! The trace context of an item.

use super::batch::readpast_batch;
use super::boundary::read;
use super::queue::readpast_queue;
use std::ffi::c_char;
use std::ptr;

/// Whether trace context travels with the items of a queue: whether its description has `trace`. Ask before you make spans, so
/// that other queues cost nothing.
///
/// *Returns*: 1, or 0; 0 for a queue that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queue_is_traced(queue: readpast_queue) -> i32 {
    read(queue, 0, |queue| i32::from(queue.is_traced()))
}

/// The W3C `traceparent` under which the item at `index` was enqueued: the parent of the span around its handler.
///
/// *Ownership*: the text is the batch's, until that is freed.
///
/// *Returns*: text; NULL when there is no such item, when it has none or a malformed one, and when its queue's description has
/// no `trace`.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_batch_traceparent(batch: readpast_batch, index: i32) -> *const c_char {
    read(batch, ptr::null(), |batch| batch.trace(index).map_or(ptr::null(), |(parent, _)| parent.as_ptr()))
}

/// The `tracestate` that belongs to the `traceparent` of the item at `index`.
///
/// *Ownership*: the text is the batch's, until that is freed.
///
/// *Returns*: text; NULL when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_batch_tracestate(batch: readpast_batch, index: i32) -> *const c_char {
    read(batch, ptr::null(), |batch| match batch.trace(index) {
        Some((_, Some(state))) => state.as_ptr(),
        _ => ptr::null(),
    })
}
