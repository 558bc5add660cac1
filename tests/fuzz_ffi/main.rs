//! Random calls of all C functions: made-up, stale and good handles, NULL, text that is none, sizes and numbers at their
//! extremes, in any order, from one thread and then from several. What must hold: nothing crashes, no call panics, and
//! status and error agree.
//!
//! `READPAST_FUZZ_SECONDS` says for how long (5), `READPAST_FUZZ_SEED` with what numbers (1). With
//! `READPAST_TEST_POSTGRES`, some queues are real; the others lead to a port where nobody listens.
#![allow(unsafe_code, reason = "they are C functions")]

mod calls;
mod input;

use input::{Input, Memory};
use readpast::ffi::*;
use readpast::for_tests::Session;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, ptr, thread};

const NOWHERE: &CStr = c"Driver={PostgreSQL Unicode};Server=127.0.0.1;Port=1;Database=x;Uid=x;Pwd=x;";

/// The kinds of handles.
const CONFIG: usize = 0;
const QUEUE: usize = 1;
const BATCH: usize = 2;
const RENEWAL: usize = 3;
const ERROR: usize = 4;
const RECEIPTS: usize = 5;
const WORKER: usize = 6;
const EVENTS: usize = 7;
const TEXT: usize = 8;
const KINDS: usize = 9;

/// The state that the threads share.
struct World {
    /// Handles of each kind, also freed ones.
    handles: Mutex<[Vec<u64>; KINDS]>,
    connections: Vec<CString>,
    schema: CString,
    /// How often each status came.
    statuses: Mutex<BTreeMap<String, u64>>,
    /// Text may be read only while no other thread can free it.
    may_read: bool,
}

#[test]
fn nothing_crashes() {
    let number = |name: &str, default: u64| env::var(name).map_or(default, |value| value.parse().expect(name));
    let time = Duration::from_secs(number("READPAST_FUZZ_SECONDS", 5));
    let seed = number("READPAST_FUZZ_SEED", 1);
    let live = env::var("READPAST_TEST_POSTGRES").ok();
    let schema = format!("fuzz_{}", std::process::id());

    let mut world = World {
        handles: Mutex::default(),
        connections: [Some(NOWHERE.to_owned()), live.clone().map(|text| CString::new(text).unwrap())]
            .into_iter()
            .flatten()
            .collect(),
        schema: CString::new(schema.clone()).unwrap(),
        statuses: Mutex::default(),
        may_read: true,
    };
    if live.is_some() {
        world.install_queue();
    }
    let mut calls = run(&world, seed, Instant::now() + time / 2);
    world.may_read = false;
    let end = Instant::now() + time / 2;
    calls += thread::scope(|scope| {
        let threads: Vec<_> = (1..4)
            .map(|i| {
                let world = &world;
                scope.spawn(move || run(world, seed.wrapping_add(i << 32), end))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum::<u64>()
    });
    println!("{calls} calls, seed {seed}; statuses: {:?}", world.statuses.lock().unwrap());

    let handles = world.handles.into_inner().unwrap();
    handles.into_iter().flatten().for_each(free_all);
    if let Some(connection) = live {
        let mut session = Session::open(&support::limit::patient(&connection)).unwrap();
        session.execute(&format!("DROP SCHEMA \"{schema}\" CASCADE"), &[]).unwrap();
    }
}

fn run(world: &World, seed: u64, end: Instant) -> u64 {
    let mut input = Input::new(seed);
    let mut calls = 0;
    while Instant::now() < end {
        world.call(&mut input);
        calls += 1;
    }
    calls
}

fn free_all(id: u64) {
    readpast_batch_free(readpast_batch { id });
    readpast_queue_free(readpast_queue { id });
    readpast_config_free(readpast_config { id });
    readpast_error_free(readpast_error { id });
    readpast_renewal_free(readpast_renewal { id });
    readpast_receipts_free(readpast_receipts { id });
    readpast_worker_free(readpast_worker { id });
    readpast_events_free(readpast_events { id });
    readpast_text_free(readpast_text { id });
}

impl World {
    fn install_queue(&self) {
        let config = self.config(self.connections.len() - 1);
        for (key, value) in support::limit::PATIENT {
            let (key, value) = (CString::new(*key).unwrap(), CString::new(*value).unwrap());
            // SAFETY: key and value are text.
            let status = unsafe { readpast_config_set(config, key.as_ptr(), value.as_ptr(), ptr::null_mut()) };
            assert_eq!(status, READPAST_OK, "{key:?}");
        }
        let mut err = readpast_error { id: 0 };
        // SAFETY: the description is text.
        let status = unsafe { readpast_install(config, c"{\"queue\": \"Fuzz\"}".as_ptr(), &mut err) };
        assert_eq!(status, READPAST_OK, "{:?}", self.read(readpast_error_message(err)));
        readpast_config_free(config);
    }

    /// A configuration that is good, but for the server, which may not be there.
    fn config(&self, connection: usize) -> readpast_config {
        let config = readpast_config_new();
        for (key, value) in [
            (c"connection", &*self.connections[connection]),
            (c"schema", &*self.schema),
            (c"retry.budget_ms", c"0"),
            (c"login.timeout_ms", c"1000"),
            (c"pool.acquire_ms", c"50"),
            // So long the close of a worker waits.
            (c"lease.ms", c"50"),
        ] {
            // SAFETY: key and value are text.
            let status = unsafe { readpast_config_set(config, key.as_ptr(), value.as_ptr(), ptr::null_mut()) };
            assert_eq!(status, READPAST_OK, "{key:?}");
        }
        config
    }

    /// A handle: mostly one of this kind that was handed out at some time.
    fn handle(&self, input: &mut Input, kind: usize) -> u64 {
        let kind = if input.below(8) == 0 { input.below(KINDS) } else { kind };
        let handles = self.handles.lock().unwrap();
        let known = handles[kind].get(input.below(handles[kind].len().max(1))).copied().unwrap_or(0);
        match input.below(49) {
            0 => 0,
            1 => input.number(),
            // Bits of slot and generation could make a handle that another thread holds for its own.
            2 if self.may_read => known ^ (1 << input.below(64)),
            2 => known ^ (1 << (48 + input.below(16))),
            _ => known,
        }
    }

    /// Remembers a handle; there is room for so many, so one that was freed gives way sooner or later.
    fn keep(&self, input: &mut Input, kind: usize, id: u64) {
        if id == 0 {
            return;
        }
        let mut handles = self.handles.lock().unwrap();
        if handles[kind].len() < 8 {
            return handles[kind].push(id);
        }
        let at = input.below(8);
        let old = std::mem::replace(&mut handles[kind][at], id);
        drop(handles);
        free_all(old);
    }

    /// Reads text to its end.
    fn read(&self, text: *const c_char) -> Option<CString> {
        if text.is_null() || !self.may_read {
            return None;
        }
        // SAFETY: not NULL, so it is text, and nobody else can have freed it.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_str().expect("text from the library is UTF-8");
        Some(text.to_owned())
    }

    /// Makes a call and checks what its error says.
    fn tell(&self, input: &mut Input, call: impl FnOnce(*mut readpast_error) -> readpast_status) {
        let mut err = readpast_error { id: input.number() };
        if input.below(8) == 0 {
            self.check(call(ptr::null_mut()));
            return;
        }
        let status = call(&mut err);
        self.check(status);
        assert_eq!(status < READPAST_OK, err.id != 0);
        if err.id != 0 {
            // Nobody else knows this handle yet.
            assert_eq!(readpast_error_status(err), status);
            assert!(!self.may_read || self.read(readpast_error_message(err)).is_some_and(|text| !text.is_empty()));
            self.keep(input, ERROR, err.id);
        }
    }

    fn check(&self, status: readpast_status) {
        assert_ne!(status, READPAST_PANIC);
        // SAFETY: names live for ever.
        let name = unsafe { CStr::from_ptr(readpast_status_name(status)) };
        assert_ne!(name, c"READPAST_?", "{status}");
        *self.statuses.lock().unwrap().entry(name.to_string_lossy().into_owned()).or_default() += 1;
    }

    fn call(&self, input: &mut Input) {
        input.careful = input.below(4) > 0;
        let config = readpast_config { id: self.handle(input, CONFIG) };
        let queue = readpast_queue { id: self.handle(input, QUEUE) };
        let batch = readpast_batch { id: self.handle(input, BATCH) };
        let renewal = readpast_renewal { id: self.handle(input, RENEWAL) };
        let error = readpast_error { id: self.handle(input, ERROR) };
        let receipts = readpast_receipts { id: self.handle(input, RECEIPTS) };
        // SAFETY: every pointer is NULL, or leads to text, or to memory as large as its structs say.
        unsafe {
            match input.below(51) {
                0 => {
                    let at = input.below(self.connections.len());
                    self.keep(input, CONFIG, self.config(at).id);
                }
                1 => self.keep(input, CONFIG, readpast_config_new().id),
                2 => {
                    let (key, value) = (input.setting(), input.text());
                    self.tell(input, |err| readpast_config_set(config, key.as_ptr(), value.as_ptr(), err));
                }
                3 => {
                    let spec = input.text();
                    // Installing the queue that is there takes long, so only what is refused is tried often.
                    if input.below(20) == 0 || !spec.is_null() {
                        self.tell(input, |err| readpast_install(config, spec.as_ptr(), err));
                    }
                }
                4 | 5 => {
                    let name = input.queue_name();
                    let mut place = readpast_queue { id: input.number() };
                    let to = input.maybe(&mut place);
                    self.tell(input, |err| readpast_queue_open(config, name.as_ptr(), to, err));
                    if !to.is_null() {
                        self.keep(input, QUEUE, place.id);
                    }
                }
                6 => drop((self.read(readpast_queue_worker(queue)), self.read(readpast_queue_name(queue)))),
                39 => {
                    let mut place = readpast_queue { id: input.number() };
                    let to = input.maybe(&mut place);
                    self.tell(input, |err| readpast_queue_share(queue, to, err));
                    if !to.is_null() {
                        self.keep(input, QUEUE, place.id);
                    }
                }
                7..10 => self.enqueue(input, queue),
                10..13 => {
                    let mut place = readpast_batch { id: input.number() };
                    let to = input.maybe(&mut place);
                    let (max, wait) = (input.count(6), input.wait());
                    self.tell(input, |err| readpast_queue_claim(queue, max, wait, to, err));
                    if !to.is_null() {
                        self.learn_keys(input, place);
                        self.keep(input, BATCH, place.id);
                    }
                }
                13..16 => self.settle(input, queue),
                16 => self.renew(input, queue),
                17 | 18 => self.ask(input, queue),
                19 => {
                    self.tell(input, |err| readpast_queue_interrupt(queue, err));
                    self.tell(input, |err| readpast_queue_resume(queue, err));
                    self.tell(input, |err| readpast_queue_wake(queue, err));
                    let text = CString::new(input.number().to_string()).unwrap();
                    self.tell(input, |err| readpast_queue_is_done(queue, text.as_ptr(), err));
                    // Any other address is the caller's word that it is a connection.
                    let mut place = readpast_queue { id: input.number() };
                    let to = input.maybe(&mut place);
                    self.tell(input, |err| readpast_queue_attach(queue, ptr::null_mut(), to, err));
                }
                20 if input.below(8) == 0 => {
                    let wait = input.wait();
                    self.tell(input, |err| readpast_queue_close(queue, wait, err));
                }
                21 => drop(readpast_batch_count(batch)),
                22 => drop(readpast_batch_column_count(batch)),
                23 => {
                    let index = input.index();
                    drop((
                        self.read(readpast_batch_json(batch, index)),
                        self.read(readpast_batch_tracestate(batch, index)),
                    ));
                    drop((self.read(readpast_batch_traceparent(batch, index)), readpast_queue_is_traced(queue)));
                }
                24 => self.item(input, batch),
                25 => {
                    let mut memory = Memory::<readpast_column>::unset(input, 1);
                    let (at, to) = (input.index(), memory.place(input));
                    self.tell(input, |err| readpast_batch_column(batch, at, to, err));
                }
                26 | 27 => self.value(input, batch),
                28 => {
                    let mut place = readpast_renewal { id: input.number() };
                    let (to, interval) = (input.maybe(&mut place), input.wait());
                    self.tell(input, |err| readpast_renewal_start(queue, batch, interval, to, err));
                    if !to.is_null() {
                        self.keep(input, RENEWAL, place.id);
                    }
                }
                29 => {
                    let key = input.key();
                    self.tell(input, |err| readpast_renewal_release(renewal, key.as_ptr(), err));
                }
                30 => {
                    readpast_renewal_lost_count(renewal);
                    drop(self.read(readpast_renewal_lost_key(renewal, input.index())));
                }
                31 => self.error(error),
                32 => {
                    self.check(READPAST_OK);
                    let (error, mut text) = (input.key(), [1; READPAST_LOG_TEXT_ROOM]);
                    let length = readpast_log_text(error.as_ptr(), 0, text.as_mut_ptr(), text.len());
                    assert_eq!(text[length], 0);
                }
                33 => assert!(!readpast_status_name(input.number() as i32).is_null()),
                34 => self.find(input, queue),
                35..39 => self.ask(input, queue),
                40 => {
                    let mut memory = Memory::<readpast_receipt>::unset(input, 1);
                    let (at, to) = (input.index(), memory.place(input));
                    self.tell(input, |err| readpast_receipts_get(receipts, at, to, err));
                }
                41 => drop(readpast_receipts_count(receipts)),
                42 => {
                    let (items, spec) = (input.items(), input.spec());
                    let mut place = readpast_batch { id: input.number() };
                    let to = input.maybe(&mut place);
                    self.tell(input, |err| readpast_batch_from_json(items.as_ptr(), spec.as_ptr(), to, err));
                    if !to.is_null() {
                        self.learn_keys(input, place);
                        self.keep(input, BATCH, place.id);
                    }
                }
                43..47 => self.work(input, queue),
                47 => self.events(input),
                48 => {
                    let mut place = readpast_text { id: input.number() };
                    let to = input.maybe(&mut place);
                    self.tell(input, |err| readpast_metrics(to, err));
                    if !to.is_null() {
                        assert!(!self.may_read || self.read(readpast_text_get(place)).is_some());
                        self.keep(input, TEXT, place.id);
                    }
                    drop(self.read(readpast_text_get(readpast_text { id: self.handle(input, TEXT) })));
                }
                49 => self.list(input, config),
                _ => match input.below(10) {
                    0 => readpast_config_free(config),
                    1 => readpast_queue_free(queue),
                    2 => readpast_batch_free(batch),
                    3 => readpast_renewal_free(renewal),
                    4 => readpast_error_free(error),
                    5 => readpast_receipts_free(receipts),
                    6 => readpast_worker_free(readpast_worker { id: self.handle(input, WORKER) }),
                    7 => readpast_events_free(readpast_events { id: self.handle(input, EVENTS) }),
                    8 => readpast_text_free(readpast_text { id: self.handle(input, TEXT) }),
                    _ => free_all(self.handle(input, CONFIG)),
                },
            }
        }
    }
}
