//! Calls that take unsafe code: a fork, and the C function that knows the names of statuses (Rust has no numbers for them).
#![allow(unsafe_code, reason = "a fork, and a C function")]

use super::Adapter;
use super::answer::{Result, answer, items};
use readpast::Queue;
use readpast::ffi::readpast_status_name;
use serde_json::json;
use std::ffi::CStr;
use std::io::{Read, Write};
use std::time::Duration;

/// The name of a status.
pub fn status_name(status: i32) -> String {
    // SAFETY: the text is the library's and lives as long as it.
    unsafe { CStr::from_ptr(readpast_status_name(status)) }.to_string_lossy().into_owned()
}

/// A claim by a child process, on its parent's queue. The child returns its answer, and drops the queue, the last handle on it, which must not
/// disturb the parent.
pub fn claim(adapter: &Adapter, name: &str) -> Result {
    let queue = adapter.queues.with(name, Queue::clone)?;
    let (mut told, mut teller) = std::io::pipe().expect("a pipe can be made");
    // SAFETY: the child uses no lock that another thread may have held: this adapter has none at work now.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no child could be made");
    if child == 0 {
        let answered = answer(queue.claim(1, Duration::ZERO).map_err(Into::into).and_then(|batch| items(&batch)));
        drop((queue, adapter.queues.take(name)));
        let done = teller.write_all(answered["status"].as_str().unwrap_or_default().as_bytes());
        // SAFETY: ends the child at once, without what the parent has yet to do at its own end.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    drop(teller);
    let mut status = String::new();
    told.read_to_string(&mut status).expect("the child writes text");
    let mut exit = 0;
    // SAFETY: a place for a number.
    assert_eq!(unsafe { libc::waitpid(child, &mut exit, 0) }, child);
    assert_eq!(exit, 0, "the child ended with {exit:#x}");
    Ok(json!({"status": status}))
}
