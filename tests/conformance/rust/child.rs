//! What Rust has no safe function for: a fork, whose child finds the handles of its parent useless. The crate guards its
//! C handles against that (a `Queue` of Rust is not to be taken across a fork at all), so it is one of them that is tried.
#![allow(unsafe_code, reason = "a fork, and C functions")]

use super::answer::Result;
use super::given;
use readpast::ffi::*;
use serde_json::{Value, json};
use std::ffi::{CStr, CString};
use std::ptr;

/// The name of a status.
pub fn status_name(status: i32) -> String {
    // SAFETY: the text is the library's and lives as long as it.
    unsafe { CStr::from_ptr(readpast_status_name(status)) }.to_string_lossy().into_owned()
}

/// A claim by a child process, on a queue that its parent opened as `opened` says.
pub fn claim(opened: &Value) -> Result {
    let queue = open(opened);
    // SAFETY: the child makes one call, for which no thread of the parent's is needed, and ends.
    let status = unsafe {
        let child = libc::fork();
        assert!(child >= 0, "no child could be made");
        if child == 0 {
            let mut batch = readpast_batch { id: 0 };
            let status = readpast_queue_claim(queue, 1, 0, &mut batch, ptr::null_mut());
            // An exit code has 8 bits, and statuses are small.
            libc::_exit(status & 0xff);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFEXITED(status), "the child ended with {status:#x}");
        libc::WEXITSTATUS(status) as u8 as i8
    };
    readpast_queue_free(queue);
    Ok(json!({"status": status_name(status.into())}))
}

fn open(opened: &Value) -> readpast_queue {
    let text = |text: &str| CString::new(text).expect("no NUL in it");
    let config = readpast_config_new();
    for (key, value) in opened["settings"].as_object().into_iter().flatten() {
        let (key, value) = (text(key), text(value.as_str().expect("a setting is a text")));
        // SAFETY: both are texts; no error is asked for.
        let status = unsafe { readpast_config_set(config, key.as_ptr(), value.as_ptr(), ptr::null_mut()) };
        assert_eq!(status, READPAST_OK);
    }
    let mut queue = readpast_queue { id: 0 };
    let name = text(given::text(opened, "name"));
    // SAFETY: a text and a place for a handle; no error is asked for.
    let status = unsafe { readpast_queue_open(config, name.as_ptr(), &mut queue, ptr::null_mut()) };
    assert_eq!(status, READPAST_OK);
    readpast_config_free(config);
    queue
}
