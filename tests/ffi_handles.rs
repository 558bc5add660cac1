//! The C functions used wrongly, from one thread and from many, and across a fork: every call is answered, none crashes.
#![allow(unsafe_code, reason = "they are C functions")]

use readpast::ffi::*;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, ptr, thread};

/// Taken by every test: a handle of one would be a foreign handle for another, but a good one.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const NO_CONFIG: readpast_config = readpast_config { id: 0 };
const NO_QUEUE: readpast_queue = readpast_queue { id: 0 };
const NO_BATCH: readpast_batch = readpast_batch { id: 0 };
const NO_RENEWAL: readpast_renewal = readpast_renewal { id: 0 };
const NO_ERROR: readpast_error = readpast_error { id: 0 };

fn told(text: *const c_char) -> String {
    assert!(!text.is_null());
    // SAFETY: not NULL, so it is text.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

/// A call with its error: the status must be that of the error, and is returned with the message.
fn tell(call: impl FnOnce(*mut readpast_error) -> readpast_status) -> (readpast_status, String) {
    let mut err = readpast_error { id: 7 };
    let status = call(&mut err);
    if status >= READPAST_OK {
        assert_eq!(err.id, 0, "no failure, no error");
        return (status, String::new());
    }
    assert_eq!(readpast_error_status(err), status);
    let message = told(readpast_error_message(err));
    readpast_error_free(err);
    assert!(readpast_error_message(err).is_null(), "it was freed");
    (status, message)
}

fn set(config: readpast_config, key: &CStr, value: &CStr) -> (readpast_status, String) {
    // SAFETY: key and value are text.
    tell(|err| unsafe { readpast_config_set(config, key.as_ptr(), value.as_ptr(), err) })
}

fn open(config: readpast_config, name: &CStr) -> (readpast_queue, readpast_status, String) {
    let mut queue = readpast_queue { id: 7 };
    // SAFETY: the name is text, the place can be written.
    let (status, message) = tell(|err| unsafe { readpast_queue_open(config, name.as_ptr(), &mut queue, err) });
    (queue, status, message)
}

fn claim(queue: readpast_queue) -> (readpast_batch, readpast_status) {
    let mut batch = readpast_batch { id: 7 };
    // SAFETY: the place can be written.
    let (status, _) = tell(|err| unsafe { readpast_queue_claim(queue, 1, 0, &mut batch, err) });
    (batch, status)
}

/// Calls everything that takes a handle, with handles of the same number, and expects of every call that it fails with
/// one of `expected`, or answers nothing.
fn call_everything(id: u64, expected: &[readpast_status]) {
    let (config, queue, batch) = (readpast_config { id }, readpast_queue { id }, readpast_batch { id });
    let (renewal, error) = (readpast_renewal { id }, readpast_error { id });
    let receipts = readpast_receipts { id };
    let (worker, events) = (readpast_worker { id }, readpast_events { id });
    let text = c"1000".as_ptr();
    let size = size_of::<readpast_worker_figures>();
    let mut place = [0_u64; 64];
    place[0] = size as u64;
    let place = place.as_mut_ptr();
    let (mut new_queue, mut shared) = (queue, queue);
    let mut new_batch = batch;
    let mut new_renewal = renewal;
    let mut new_receipts = receipts;
    let (mut new_worker, mut new_events) = (worker, events);
    let mut new_text = readpast_text { id };
    let mut news = 7;
    let mut descriptor = 7;
    let item = readpast_new_item {
        struct_size: size_of::<readpast_new_item>(),
        r#type: ptr::null(),
        step: ptr::null(),
        delay_ms: -1,
        due: ptr::null(),
        columns_json: ptr::null(),
        traceparent: ptr::null(),
        tracestate: ptr::null(),
        after_json: ptr::null(),
        on_failed: ptr::null(),
    };
    let settlement = readpast_settlement {
        struct_size: size_of::<readpast_settlement>(),
        key: text,
        token: ptr::null(),
        attempt: 0,
        action: READPAST_ACTION_CANCEL,
        step: ptr::null(),
        response: ptr::null(),
        error: ptr::null(),
        delay_ms: -1,
        due: ptr::null(),
        step_length: 0,
        response_length: 0,
        error_length: 0,
        due_length: 0,
        set_json: ptr::null(),
        set_json_length: 0,
        then_json: ptr::null(),
        then_json_length: 0,
    };
    let lease = readpast_lease { struct_size: size_of::<readpast_lease>(), key: text, attempt: 1, reserved: 0 };

    // SAFETY: places are large enough and say so; texts are text.
    let statuses = unsafe {
        [
            tell(|err| readpast_config_set(config, c"lease.ms".as_ptr(), text, err)),
            tell(|err| readpast_install(config, ptr::null(), err)),
            tell(|err| readpast_list(config, &mut new_text, err)),
            tell(|err| readpast_drop(config, text, err)),
            tell(|err| readpast_queue_open(config, text, &mut new_queue, err)),
            tell(|err| readpast_queue_share(queue, &mut shared, err)),
            tell(|err| readpast_queue_attach(queue, ptr::null_mut(), &mut shared, err)),
            tell(|err| readpast_queue_is_done(queue, c"0000000b-0000-4000-8000-00000000000a".as_ptr(), err)),
            tell(|err| readpast_queue_wake(queue, err)),
            tell(|err| readpast_queue_enqueue(queue, &item, 1, ptr::null(), &mut new_receipts, err)),
            tell(|err| readpast_receipts_get(receipts, 0, place.cast(), err)),
            tell(|err| readpast_queue_claim(queue, 1, 0, &mut new_batch, err)),
            tell(|err| readpast_queue_settle(queue, &settlement, 1, ptr::null(), ptr::null_mut(), err)),
            tell(|err| {
                let nothing = ptr::null_mut();
                readpast_queue_settle_and_claim(queue, &settlement, 1, ptr::null(), 1, nothing, &mut new_batch, err)
            }),
            tell(|err| readpast_queue_renew(queue, &lease, 1, ptr::null_mut(), err)),
            tell(|err| readpast_queue_find(queue, ptr::null(), ptr::null(), 1, &mut new_batch, err)),
            tell(|err| readpast_queue_ask(queue, c"stats".as_ptr(), ptr::null(), &mut new_text, err)),
            tell(|err| readpast_queue_interrupt(queue, err)),
            tell(|err| readpast_queue_resume(queue, err)),
            tell(|err| readpast_batch_item(batch, 0, place.cast(), err)),
            tell(|err| readpast_batch_column(batch, 0, place.cast(), err)),
            tell(|err| readpast_batch_value(batch, 0, 0, place.cast(), err)),
            tell(|err| readpast_batch_value_by_name(batch, 0, text, place.cast(), err)),
            tell(|err| readpast_renewal_start(queue, batch, 1000, &mut new_renewal, err)),
            tell(|err| readpast_renewal_release(renewal, text, err)),
            tell(|err| readpast_worker_start(queue, ptr::null(), &mut new_worker, err)),
            tell(|err| readpast_worker_take(worker, 1, 0, &mut new_batch, err)),
            tell(|err| readpast_worker_want(worker, 1, &mut descriptor, err)),
            tell(|err| readpast_worker_begin(worker, text, 1, err)),
            tell(|err| readpast_worker_give_back(worker, batch, err)),
            tell(|err| readpast_worker_end(worker, &settlement, 1, err)),
            tell(|err| readpast_worker_step(worker, text, 1, text, err)),
            tell(|err| readpast_worker_progress(worker, text, 1, 42, text, err)),
            tell(|err| readpast_worker_changes(worker, 0, 0, &mut news, err)),
            tell(|err| readpast_worker_renew(worker, err)),
            tell(|err| readpast_worker_stop(worker, err)),
            tell(|err| readpast_worker_abandon(worker, err)),
            tell(|err| readpast_worker_close(worker, 0, err)),
            tell(|err| readpast_worker_get_figures(worker, place.cast(), err)),
            tell(|err| readpast_worker_events(worker, 1, 0, &mut new_events, err)),
            tell(|err| readpast_events_get(events, 0, place.cast(), err)),
        ]
    };
    for (i, (status, message)) in statuses.iter().enumerate() {
        assert!(expected.contains(status), "call {i}: {status}: {message}");
        assert!(message.contains("readpast_"), "{message}");
    }
    assert_eq!((new_queue.id, shared.id, new_batch.id, new_renewal.id), (0, 0, 0, 0), "places for handles are written");
    assert_eq!((new_receipts.id, readpast_receipts_count(receipts)), (0, 0));
    assert_eq!((new_text.id, readpast_queue_lease_ms(queue)), (0, 0));
    assert_eq!(readpast_queue_given_up(queue), 0);
    assert!(readpast_queue_worker(queue).is_null() && readpast_batch_json(batch, 0).is_null());
    assert!(readpast_queue_name(queue).is_null() && readpast_queue_is_traced(queue) == 0);
    assert!(readpast_batch_traceparent(batch, 0).is_null() && readpast_batch_tracestate(batch, 0).is_null());
    assert!(readpast_error_message(error).is_null() && readpast_error_sqlstate(error).is_null());
    assert!(readpast_error_operation(error).is_null() && readpast_renewal_lost_key(renewal, 0).is_null());
    assert_eq!(readpast_error_status(error), READPAST_OK);
    assert_eq!((readpast_error_native_code(error), readpast_error_is_retryable(error)), (0, 0));
    assert_eq!((readpast_batch_count(batch), readpast_batch_column_count(batch)), (0, 0));
    assert_eq!(readpast_renewal_lost_count(renewal), 0);
    assert_eq!((new_worker.id, new_events.id, readpast_events_count(events)), (0, 0, 0));
    assert_eq!(news, 7, "is written when there are some");
    assert!(readpast_text_get(readpast_text { id }).is_null());
    // SAFETY: the key is text.
    assert_eq!((readpast_worker_is_stopping(worker), unsafe { readpast_worker_is_lost(worker, text, 1) }), (1, 1));
    free_everything(id);
}

fn free_everything(id: u64) {
    readpast_config_free(readpast_config { id });
    readpast_queue_free(readpast_queue { id });
    readpast_batch_free(readpast_batch { id });
    readpast_renewal_free(readpast_renewal { id });
    readpast_error_free(readpast_error { id });
    readpast_receipts_free(readpast_receipts { id });
    readpast_worker_free(readpast_worker { id });
    readpast_events_free(readpast_events { id });
    readpast_text_free(readpast_text { id });
}

#[test]
fn null_stale_and_foreign_handles_are_refused_by_every_call() {
    let _alone = alone();
    let stale = readpast_config_new().id;
    readpast_config_free(readpast_config { id: stale });
    for id in [0, stale, 1, u64::MAX, stale ^ 1, stale ^ (1 << 20), stale ^ (1 << 48), stale ^ (1 << 60)] {
        call_everything(id, &[READPAST_INVALID_HANDLE]);
    }
}

#[test]
fn the_type_of_a_handle_is_checked_and_named() {
    let _alone = alone();
    let config = readpast_config_new();
    let queue = readpast_queue { id: config.id };
    // SAFETY: err can be written.
    let (status, message) = tell(|err| unsafe { readpast_queue_interrupt(queue, err) });
    assert_eq!(status, READPAST_INVALID_HANDLE);
    assert_eq!(message, "a readpast_queue is needed; this is a readpast_config");
    readpast_queue_free(queue);
    readpast_error_free(readpast_error { id: config.id });
    assert_eq!(set(config, c"lease.ms", c"1000").0, READPAST_OK, "only its own _free frees it");
    readpast_config_free(config);
}

#[test]
fn a_handle_is_freed_once_however_often_it_is_tried() {
    let _alone = alone();
    let first = readpast_config_new();
    readpast_config_free(first);
    let second = readpast_config_new();
    assert_ne!(first.id, second.id, "a number never comes again");
    readpast_config_free(first);
    assert_eq!(set(second, c"lease.ms", c"1000").0, READPAST_OK, "the second free did not hit its successor");
    readpast_config_free(second);
}

#[test]
fn arguments_are_checked_before_handles_are_written() {
    let _alone = alone();
    let config = readpast_config_new();
    let key = c"lease.ms".as_ptr();
    // SAFETY: each is NULL or text, or can be written.
    unsafe {
        let (status, message) = tell(|err| readpast_config_set(config, ptr::null(), key, err));
        assert_eq!((status, &*message), (READPAST_INVALID_ARGUMENT, "key is NULL; it must be text"));
        let (status, message) = tell(|err| readpast_config_set(config, c"connection".as_ptr(), ptr::null(), err));
        assert_eq!(status, READPAST_INVALID_ARGUMENT);
        assert!(message.contains("\"connection\" is NULL") && message.contains("READPAST_CONNECTION"), "{message}");
        let (status, message) = tell(|err| readpast_config_set(config, key, c"\xc3(".as_ptr(), err));
        assert_eq!((status, &*message), (READPAST_INVALID_ARGUMENT, "value is not UTF-8: see its byte 0"));
        let (status, message) = tell(|err| readpast_queue_open(config, key, ptr::null_mut(), err));
        assert_eq!(status, READPAST_INVALID_ARGUMENT);
        assert!(message.starts_with("queue is NULL"), "{message}");
        assert_eq!(readpast_config_set(config, ptr::null(), key, ptr::null_mut()), READPAST_INVALID_ARGUMENT);
    }
    let (queue, status, message) = open(config, c"Q");
    assert_eq!((queue.id, status), (0, READPAST_INVALID_CONFIG));
    assert!(message.contains("connection"), "{message}");
    let (status, message) = set(config, c"lease.ms", c"soon");
    assert_eq!(status, READPAST_INVALID_CONFIG);
    assert!(message.contains("10 to 86400000"), "{message}");
    readpast_config_free(config);
}

/// The process's own figures.
fn metrics() -> readpast_text {
    let mut text = readpast_text { id: 7 };
    // SAFETY: the place can be written.
    assert_eq!(tell(|err| unsafe { readpast_metrics(&mut text, err) }), (READPAST_OK, String::new()));
    text
}

/// How many items of the queue this process has claimed, as far as it knows the queue.
fn claimed() -> Option<String> {
    let text = metrics();
    let told = told(readpast_text_get(text));
    readpast_text_free(text);
    let line = told.lines().find(|line| line.starts_with("readpast_claimed_items_total{"))?;
    Some(line.rsplit(' ').next().unwrap().to_owned())
}

#[test]
fn figures_are_a_text_that_lives_until_it_is_freed() {
    let _alone = alone();
    let (text, other) = (metrics(), metrics());
    assert_ne!(text.id, other.id);
    readpast_config_free(readpast_config { id: text.id });
    let version = format!("readpast_build_info{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"));
    assert!(told(readpast_text_get(text)).contains(&version));
    readpast_text_free(text);
    assert!(readpast_text_get(text).is_null());
    assert!(told(readpast_text_get(other)).contains(&version), "only its own _free frees it");
    readpast_text_free(other);
    readpast_text_free(other);
    // SAFETY: no place is given, and err can be written.
    let (status, message) = tell(|err| unsafe { readpast_metrics(ptr::null_mut(), err) });
    assert_eq!((status, message.starts_with("text is NULL")), (READPAST_INVALID_ARGUMENT, true), "{message}");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| readpast_text_free(metrics())));
        }
    });
}

#[test]
fn threads_may_share_use_and_free_handles_as_they_like() {
    let _alone = alone();
    const ROUNDS: usize = 2_000;
    let shared = Mutex::new([NO_CONFIG; 8]);
    thread::scope(|scope| {
        for seed in 0..6_usize {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let at = (round * 7 + seed * 3) % 8;
                    let config = shared.lock().unwrap()[at];
                    match (round + seed) % 3 {
                        0 => shared.lock().unwrap()[at] = readpast_config_new(),
                        1 => readpast_config_free(config),
                        _ => {
                            let (status, _) = set(config, c"lease.ms", c"1000");
                            assert!([READPAST_OK, READPAST_INVALID_HANDLE].contains(&status), "{status}");
                        }
                    }
                }
            });
        }
    });
    for config in shared.into_inner().unwrap() {
        readpast_config_free(config);
    }
}

/// Runs `body` in a child process and expects it to end well.
#[cfg(unix)]
fn in_child(body: impl FnOnce()) {
    // SAFETY: the child only runs the body and ends; it never returns into the test harness, whose threads it lacks.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            libc::_exit(i32::from(ended.is_err()));
        }
        let mut status = 0;
        let deadline = Instant::now() + Duration::from_secs(600);
        let ended = loop {
            match libc::waitpid(child, &mut status, libc::WNOHANG) {
                0 if Instant::now() > deadline => libc::kill(child, libc::SIGKILL),
                0 => 0,
                ended => break ended,
            };
            thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(ended, child);
        assert_eq!(status, 0, "the child ended with {status:#x}");
    }
}

#[cfg(unix)]
#[test]
fn handles_do_not_live_through_a_fork() {
    let _alone = alone();
    let config = readpast_config_new();
    let mut err = NO_ERROR;
    // SAFETY: err can be written.
    assert!(unsafe { readpast_install(config, ptr::null(), &mut err) } < READPAST_OK);
    let message = readpast_error_message(err);

    in_child(|| {
        for id in [config.id, err.id] {
            call_everything(id, &[READPAST_FORKED]);
        }
        // SAFETY: err can be written.
        let close = tell(|err| unsafe { readpast_queue_close(readpast_queue { id: config.id }, 0, err) });
        assert_eq!(close.0, READPAST_OK, "there is nothing for the child to close");
        assert!(!told(message).is_empty(), "what was lent is memory of the child's too");

        let fresh = readpast_config_new();
        assert_eq!(set(fresh, c"lease.ms", c"1000").0, READPAST_OK);
        in_child(|| {
            call_everything(fresh.id, &[READPAST_FORKED]);
            call_everything(config.id, &[READPAST_FORKED]);
            let fresh = readpast_config_new();
            assert_eq!(set(fresh, c"lease.ms", c"1000").0, READPAST_OK);
        });
        readpast_config_free(fresh);
        call_everything(fresh.id, &[READPAST_INVALID_HANDLE]);
    });

    assert_eq!(set(config, c"lease.ms", c"1000").0, READPAST_OK, "the parent goes on");
    assert_eq!(told(readpast_error_message(err)), told(message));
    readpast_config_free(config);
    readpast_error_free(err);
}

#[cfg(unix)]
#[test]
fn a_fork_amid_busy_threads_leaves_the_child_usable() {
    let _alone = alone();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let config = readpast_config_new();
                    // Without an error handle, so without an allocation at the moment of the fork but the config's own.
                    // SAFETY: err may be NULL.
                    unsafe { readpast_install(config, ptr::null(), ptr::null_mut()) };
                    readpast_config_free(config);
                }
            });
        }
        for _ in 0..50 {
            in_child(|| {
                let config = readpast_config_new();
                assert_eq!(set(config, c"lease.ms", c"1000").0, READPAST_OK);
                readpast_config_free(config);
            });
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// As many queues, each with a connection, whose thread waits for something to do.
#[cfg(unix)]
fn busy_queues(connection: &CStr, schema: &CStr, count: usize) -> Vec<readpast_queue> {
    let opened = || {
        let config = settings(connection, schema);
        let (queue, status, message) = open(config, c"Handles");
        assert_eq!(status, READPAST_OK, "{message}");
        readpast_config_free(config);
        assert_eq!(claim(queue), (NO_BATCH, READPAST_EMPTY));
        queue
    };
    (0..count).map(|_| opened()).collect()
}

/// Threads of the parent that wait are not the child's: what they wait in must not be, either. The child's own threads get their
/// memory.
#[cfg(unix)]
#[test]
fn threads_that_wait_in_the_parent_hold_up_nobody_in_the_child() {
    let _alone = alone();
    let Some(config) = server() else { return println!("READPAST_TEST_POSTGRES is not set") };
    readpast_config_free(config);
    let connection = std::ffi::CString::new(env::var("READPAST_TEST_POSTGRES").unwrap()).unwrap();
    let schema = std::ffi::CString::new(format!("ffi_handles_{}", std::process::id())).unwrap();
    for queue in busy_queues(&connection, &schema, 1) {
        // Emptied, whatever the other tests have left.
        while claim(queue).1 == READPAST_OK {}
        readpast_queue_free(queue);
    }
    let parents = busy_queues(&connection, &schema, 12);
    for _ in 0..3 {
        in_child(|| {
            for queue in busy_queues(&connection, &schema, 12) {
                for _ in 0..20 {
                    assert_eq!(claim(queue), (NO_BATCH, READPAST_EMPTY));
                }
                readpast_queue_free(queue);
            }
        });
    }
    for queue in parents {
        assert_eq!(claim(queue), (NO_BATCH, READPAST_EMPTY), "the parent goes on");
        readpast_queue_free(queue);
    }
}

/// A configuration with which no call is given up on a busy machine, and no item comes back that a test has left.
fn settings(connection: &CStr, schema: &CStr) -> readpast_config {
    let config = readpast_config_new();
    for (key, value) in [
        (c"connection", connection),
        (c"schema", schema),
        (c"lease.ms", c"3600000"),
        (c"login.timeout_ms", c"600000"),
        (c"query.timeout_ms", c"600000"),
        (c"retry.budget_ms", c"600000"),
    ] {
        assert_eq!(set(config, key, value), (READPAST_OK, String::new()));
    }
    config
}

/// A configuration for the PostgreSQL of the tests, and a schema of this process there, when there is one.
fn server() -> Option<readpast_config> {
    let connection = std::ffi::CString::new(env::var("READPAST_TEST_POSTGRES").ok()?).unwrap();
    let schema = std::ffi::CString::new(format!("ffi_handles_{}", std::process::id())).unwrap();
    let config = settings(&connection, &schema);
    let spec = c"{\"queue\": \"Handles\"}".as_ptr();
    // SAFETY: the description is text.
    assert_eq!(tell(|err| unsafe { readpast_install(config, spec, err) }), (READPAST_OK, String::new()));
    Some(config)
}

fn enqueue(queue: readpast_queue, count: i32) {
    let item = readpast_new_item {
        struct_size: size_of::<readpast_new_item>(),
        r#type: ptr::null(),
        step: ptr::null(),
        delay_ms: -1,
        due: ptr::null(),
        columns_json: c"{\"Payload\": \"p\"}".as_ptr(),
        traceparent: ptr::null(),
        tracestate: ptr::null(),
        after_json: ptr::null(),
        on_failed: ptr::null(),
    };
    let items = vec![item; usize::try_from(count).unwrap()];
    // SAFETY: there are as many items as the count.
    let told =
        tell(|err| unsafe { readpast_queue_enqueue(queue, items.as_ptr(), count, ptr::null(), ptr::null_mut(), err) });
    assert_eq!(told, (READPAST_OK, String::new()));
}

#[test]
fn children_outlive_their_queue_in_any_order() {
    let _alone = alone();
    let Some(config) = server() else { return println!("READPAST_TEST_POSTGRES is not set") };
    let (queue, status, message) = open(config, c"Handles");
    assert_eq!(status, READPAST_OK, "{message}");
    readpast_config_free(config);
    enqueue(queue, 2);
    let (first, _) = claim(queue);
    let (second, status) = claim(queue);
    assert_eq!((status, readpast_batch_count(first), readpast_batch_count(second)), (READPAST_OK, 1, 1));
    assert_eq!(claim(queue), (NO_BATCH, READPAST_EMPTY));

    let mut renewal = NO_RENEWAL;
    // SAFETY: the place can be written.
    let started = tell(|err| unsafe { readpast_renewal_start(queue, first, 5, &mut renewal, err) });
    assert_eq!(started.0, READPAST_OK);
    readpast_batch_free(first);
    // SAFETY: err can be written.
    assert_eq!(tell(|err| unsafe { readpast_queue_close(queue, 600_000, err) }).0, READPAST_OK);
    assert_eq!(claim(queue), (NO_BATCH, READPAST_CLOSED));
    readpast_queue_free(queue);
    assert_eq!(claim(queue), (NO_BATCH, READPAST_INVALID_HANDLE));
    assert!(told(readpast_batch_json(second, 0)).contains("\"p\""));
    assert_eq!(readpast_renewal_lost_count(renewal), 0);
    readpast_renewal_free(renewal);
    readpast_batch_free(second);
    assert!(readpast_batch_json(second, 0).is_null());
}

#[cfg(unix)]
#[test]
fn connections_stay_the_parents_and_the_child_opens_its_own() {
    let _alone = alone();
    let Some(config) = server() else { return println!("READPAST_TEST_POSTGRES is not set") };
    let (queue, status, message) = open(config, c"Handles");
    assert_eq!(status, READPAST_OK, "{message}");
    enqueue(queue, 2);
    let (batch, _) = claim(queue);
    let mut renewal = NO_RENEWAL;
    // It does not come to renew anything: at the fork no thread may be in the driver manager, which has locks of its own.
    // SAFETY: the place can be written.
    assert_eq!(tell(|err| unsafe { readpast_renewal_start(queue, batch, 60_000, &mut renewal, err) }).0, READPAST_OK);
    let connection = std::ffi::CString::new(env::var("READPAST_TEST_POSTGRES").unwrap()).unwrap();
    let schema = std::ffi::CString::new(format!("ffi_handles_{}", std::process::id())).unwrap();

    in_child(|| {
        for id in [queue.id, batch.id, renewal.id] {
            call_everything(id, &[READPAST_FORKED]);
        }
        assert_eq!(claimed(), None, "what the parent did is not the child's");
        let config = settings(&connection, &schema);
        let (queue, status, message) = open(config, c"Handles");
        assert_eq!(status, READPAST_OK, "{message}");
        assert_eq!(claimed(), Some("0".to_owned()));
        assert_eq!(claim(queue).1, READPAST_OK, "the second item");
        assert_eq!(claimed(), Some("1".to_owned()));
        readpast_queue_free(queue);
    });

    assert_eq!(claim(queue), (NO_BATCH, READPAST_EMPTY), "the parent's connection is whole");
    assert!(claimed().is_some_and(|items| items != "0"), "its figures too");
    readpast_renewal_free(renewal);
    assert_eq!(readpast_batch_count(batch), 1);
    readpast_batch_free(batch);
    readpast_queue_free(queue);
    readpast_config_free(config);
    assert_eq!(claim(NO_QUEUE).1, READPAST_INVALID_HANDLE);
}
