//! A worker that C frees while threads of the program wait for it: each of them gets an answer, and goes.
#![allow(unsafe_code, reason = "calling C functions is what this file is for")]

use readpast::ffi::*;
use readpast::{QueueSpec, install::install};
use std::ffi::CString;
use std::time::Duration;
use std::{ptr, thread};
use support::both::Database;
use support::limit::in_time;

const DAY_MS: i64 = 86_400_000;

/// A worker that claims only what is asked for.
pub fn worker_on(database: &Database) -> readpast_worker {
    install(&database.config(&[]), Some(&QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap())).unwrap();
    let connection = CString::new(database.connection()).unwrap();
    let (config, mut queue, mut worker) = (readpast_config_new(), readpast_queue { id: 0 }, readpast_worker { id: 0 });
    let none = ptr::null_mut();
    let options =
        readpast_worker_options { struct_size: size_of::<readpast_worker_options>(), until_empty: 0, events: 10 };
    // SAFETY: texts are text, the handles places for some.
    let statuses = unsafe {
        [
            readpast_config_set(config, c"connection".as_ptr(), connection.as_ptr(), none),
            readpast_config_set(config, c"worker.ahead".as_ptr(), c"0".as_ptr(), none),
            readpast_queue_open(config, c"Job".as_ptr(), &mut queue, none),
            readpast_worker_start(queue, &options, &mut worker, none),
        ]
    };
    assert_eq!(statuses, [READPAST_OK; 4]);
    readpast_config_free(config);
    readpast_queue_free(queue);
    worker
}

fn take(worker: readpast_worker) -> readpast_status {
    // SAFETY: the batch is a place for one.
    unsafe { readpast_worker_take(worker, 1, DAY_MS, &mut readpast_batch { id: 0 }, ptr::null_mut()) }
}

fn events(worker: readpast_worker) -> readpast_status {
    // SAFETY: the events are a place for some.
    unsafe { readpast_worker_events(worker, 1, DAY_MS, &mut readpast_events { id: 0 }, ptr::null_mut()) }
}

fn news(worker: readpast_worker) -> readpast_status {
    // SAFETY: the number can be written.
    unsafe { readpast_worker_changes(worker, 9, DAY_MS, &mut 0, ptr::null_mut()) }
}

#[test]
fn threads_that_wait_for_a_freed_worker_go() {
    for database in Database::each() {
        let worker = worker_on(&database);
        in_time(|| {
            thread::scope(|scope| {
                let waits = [take, events, news, take, events, news];
                let waiting = waits.map(|wait| scope.spawn(move || wait(worker)));
                // They wait by then, as a rule; one that comes later gets the answer that the worker is gone.
                thread::sleep(Duration::from_millis(300));
                readpast_worker_free(worker);
                for each in waiting {
                    let status = each.join().unwrap();
                    assert!([READPAST_INTERRUPTED, READPAST_INVALID_HANDLE].contains(&status), "{status}");
                }
            });
        });
    }
}
