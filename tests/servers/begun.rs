//! Items that C takes from a worker, and begins or gives back.
#![allow(unsafe_code, reason = "calling C functions is what this file is for")]

use super::freed::worker_on;
use readpast::ffi::*;
use readpast::{ItemState, NewItem, Queue};
use std::ffi::{CStr, CString};
use std::time::Duration;
use std::{mem, ptr};
use support::both::Database;

const DAY_MS: i64 = 86_400_000;

fn take(worker: readpast_worker, max: i32) -> (readpast_batch, Vec<CString>) {
    let mut batch = readpast_batch { id: 0 };
    // SAFETY: the batch is a place for one, and lends its texts until it is freed.
    unsafe {
        assert_eq!(readpast_worker_take(worker, max, DAY_MS, &mut batch, ptr::null_mut()), READPAST_OK);
        let key = |index| {
            let mut item = readpast_item { struct_size: size_of::<readpast_item>(), ..mem::zeroed() };
            assert_eq!(readpast_batch_item(batch, index, &mut item, ptr::null_mut()), READPAST_OK);
            CStr::from_ptr(item.key).to_owned()
        };
        (batch, (0..readpast_batch_count(batch)).map(key).collect())
    }
}

fn begin(worker: readpast_worker, key: &CStr) -> readpast_status {
    // SAFETY: the key is text.
    unsafe { readpast_worker_begin(worker, key.as_ptr(), 1, ptr::null_mut()) }
}

fn give_back(worker: readpast_worker, batch: readpast_batch) -> readpast_status {
    // SAFETY: no error is asked for.
    unsafe { readpast_worker_give_back(worker, batch, ptr::null_mut()) }
}

fn end(worker: readpast_worker, key: &CStr) -> readpast_status {
    // SAFETY: NULL and 0 are what is left out; the key is text.
    unsafe {
        let settlement = readpast_settlement {
            struct_size: size_of::<readpast_settlement>(),
            key: key.as_ptr(),
            attempt: 1,
            action: READPAST_ACTION_COMPLETE,
            delay_ms: -1,
            ..mem::zeroed()
        };
        readpast_worker_end(worker, &settlement, 1, ptr::null_mut())
    }
}

#[test]
fn an_item_begins_once_and_what_has_not_begun_goes_back() {
    for database in Database::each() {
        let worker = worker_on(&database);
        let queue = Queue::open(&database.config(&[]), "Job").unwrap();
        queue.enqueue(&vec![NewItem::default(); 4], None).unwrap();
        let (batch, keys) = take(worker, 4);
        let [first, second, third, fourth] = &keys[..] else { panic!("it takes {keys:?}") };
        assert_eq!([begin(worker, first), begin(worker, first)], [READPAST_OK, READPAST_LEASE_LOST], "once");
        assert_eq!(end(worker, second), READPAST_OK, "to begin is optional");
        assert_eq!(begin(worker, second), READPAST_LEASE_LOST, "it has ended");
        assert_eq!([give_back(worker, batch), give_back(worker, batch)], [READPAST_OK; 2]);
        for key in [third, fourth] {
            assert_eq!([begin(worker, key), end(worker, key)], [READPAST_LEASE_LOST, READPAST_NOT_FOUND]);
        }
        assert_eq!(give_back(worker, readpast_batch { id: 0 }), READPAST_INVALID_HANDLE);
        // SAFETY: no error is asked for.
        unsafe {
            assert_eq!(readpast_worker_stop(worker, ptr::null_mut()), READPAST_OK);
            assert_eq!(begin(worker, third), READPAST_INTERRUPTED);
            assert_eq!(end(worker, first), READPAST_OK);
            assert_eq!(readpast_worker_close(worker, DAY_MS, ptr::null_mut()), READPAST_OK);
        }
        readpast_batch_free(batch);
        readpast_worker_free(worker);
        let stats = queue.stats().unwrap();
        assert_eq!((stats.count(ItemState::Completed), stats.count(ItemState::Pending)), (2, 2));
        let again = queue.claim(4, Duration::from_secs(600)).unwrap();
        assert!(again.iter().all(|item| item.attempt() == 1), "no attempt was spent");
    }
}

/// The handler of the first item may go on for long.
#[test]
fn a_stop_gives_back_the_rest_of_a_batch_at_once() {
    for database in Database::each() {
        let worker = worker_on(&database);
        let queue = Queue::open(&database.config(&[]), "Job").unwrap();
        queue.enqueue(&vec![NewItem::default(); 3], None).unwrap();
        let (batch, keys) = take(worker, 3);
        assert_eq!(begin(worker, &keys[0]), READPAST_OK);
        // SAFETY: no error is asked for.
        unsafe { readpast_worker_stop(worker, ptr::null_mut()) };
        let rest = queue.claim(3, Duration::from_secs(600)).unwrap();
        let others: Vec<_> = rest.iter().map(|item| (item.key().to_owned(), item.attempt())).collect();
        assert!(others.iter().all(|(key, attempt)| *key != keys[0].to_str().unwrap() && *attempt == 1), "{others:?}");
        assert_eq!([begin(worker, &keys[1]), begin(worker, &keys[2])], [READPAST_INTERRUPTED; 2]);
        assert_eq!(end(worker, &keys[0]), READPAST_OK);
        // SAFETY: no error is asked for.
        unsafe { assert_eq!(readpast_worker_close(worker, DAY_MS, ptr::null_mut()), READPAST_OK) };
        readpast_batch_free(batch);
        readpast_worker_free(worker);
        assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 1);
    }
}

/// A program that is about to end waits for its handlers no longer, and spends none of their attempts.
#[test]
fn an_abandoned_worker_gives_back_what_handlers_have_begun() {
    for database in Database::each() {
        let worker = worker_on(&database);
        let queue = Queue::open(&database.config(&[]), "Job").unwrap();
        queue.enqueue(&vec![NewItem::default(); 3], None).unwrap();
        let (batch, keys) = take(worker, 3);
        let (done, stepped) = (&keys[0], &keys[1]);
        for key in &keys[..2] {
            assert_eq!(begin(worker, key), READPAST_OK);
        }
        // SAFETY: no error is asked for; the texts live until the calls have returned.
        unsafe {
            let step = readpast_worker_step(worker, stepped.as_ptr(), 1, c"half".as_ptr(), ptr::null_mut());
            assert_eq!((step, end(worker, done)), (READPAST_OK, READPAST_OK));
            assert_eq!([0; 2].map(|_| readpast_worker_abandon(worker, ptr::null_mut())), [READPAST_OK; 2]);
            assert_eq!(
                (readpast_worker_is_lost(worker, stepped.as_ptr(), 1), end(worker, stepped)),
                (1, READPAST_NOT_FOUND)
            );
            assert_eq!(readpast_worker_close(worker, DAY_MS, ptr::null_mut()), READPAST_OK);
        }
        readpast_batch_free(batch);
        readpast_worker_free(worker);
        let stats = queue.stats().unwrap();
        assert_eq!((stats.count(ItemState::Completed), stats.count(ItemState::Pending)), (1, 2));
        let again = queue.claim(3, Duration::from_secs(600)).unwrap();
        assert!(again.len() == 2 && again.iter().all(|item| item.attempt() == 1), "no attempt was spent");
    }
}
