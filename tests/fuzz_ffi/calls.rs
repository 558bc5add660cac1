//! The calls that take much: items, settlements, workers, filters.

use super::input::Text;
use super::*;

impl World {
    pub(super) fn enqueue(&self, input: &mut Input, queue: readpast_queue) {
        let texts: Vec<_> =
            (0..6).map(|_| [input.queue_type(), input.text(), input.time(), input.json(), input.json()]).collect();
        let (count, delay, operation) = (input.elements(6), input.delay(), input.operation());
        let items = Memory::filled(input, 6, |i, struct_size| readpast_new_item {
            struct_size,
            r#type: texts[i][0].as_ptr(),
            step: texts[i][1].as_ptr(),
            delay_ms: delay,
            due: texts[i][2].as_ptr(),
            columns_json: texts[i][3].as_ptr(),
            traceparent: texts[i][1].as_ptr(),
            tracestate: texts[i][2].as_ptr(),
            after_json: texts[i][4].as_ptr(),
            on_failed: texts[i][1].as_ptr(),
        });
        let mut place = readpast_receipts { id: input.number() };
        let (from, to) = (items.first(input), input.maybe(&mut place));
        // SAFETY: there are six items, as large as they say, and a place for a handle or none.
        self.tell(input, |err| unsafe { readpast_queue_enqueue(queue, from, count, operation.as_ptr(), to, err) });
        if !to.is_null() {
            self.keep(input, RECEIPTS, place.id);
        }
    }

    /// No text is the name of the queue that is there: the other calls need it.
    pub(super) fn list(&self, input: &mut Input, config: readpast_config) {
        let mut place = readpast_text { id: input.number() };
        let (to, name) = (input.maybe(&mut place), input.text());
        // SAFETY: the text is text, and there is a place for a handle or none.
        unsafe {
            self.tell(input, |err| readpast_list(config, to, err));
            self.tell(input, |err| readpast_drop(config, name.as_ptr(), err));
        }
        if !to.is_null() {
            self.keep(input, TEXT, place.id);
        }
    }

    pub(super) fn settle(&self, input: &mut Input, queue: readpast_queue) {
        let texts: Vec<_> = (0..6)
            .map(|_| {
                let [key, token, due, set] = [input.key(), input.token(), input.time(), input.json()];
                [key, token, input.text(), input.text(), input.text(), due, set, input.json()]
            })
            .collect();
        let numbers: Vec<_> = (0..6).map(|_| (input.attempt(), input.action())).collect();
        let (count, delay, operation) = (input.elements(6), input.delay(), input.operation());
        let lengths = input.below(2) == 0;
        let settlements = Memory::filled(input, 6, |i, struct_size| readpast_settlement {
            struct_size,
            key: texts[i][0].as_ptr(),
            token: texts[i][1].as_ptr(),
            attempt: numbers[i].0,
            action: numbers[i].1,
            step: texts[i][2].as_ptr(),
            response: texts[i][3].as_ptr(),
            error: texts[i][4].as_ptr(),
            delay_ms: delay,
            due: texts[i][5].as_ptr(),
            step_length: texts[i][2].length(lengths),
            response_length: texts[i][3].length(lengths),
            error_length: texts[i][4].length(lengths),
            due_length: texts[i][5].length(lengths),
            set_json: texts[i][6].as_ptr(),
            set_json_length: texts[i][6].length(lengths),
            then_json: texts[i][7].as_ptr(),
            then_json_length: texts[i][7].length(lengths),
        });
        let mut outcomes = Memory::<readpast_outcome>::unset(input, 6);
        let (from, to) = (settlements.first(input), outcomes.place(input));
        let operation = operation.as_ptr();
        // SAFETY: there are six of each, as large as they say.
        unsafe {
            if input.below(2) == 0 {
                self.tell(input, |err| readpast_queue_settle(queue, from, count, operation, to, err));
                return;
            }
            let mut place = readpast_batch { id: input.number() };
            let (batch, max) = (input.maybe(&mut place), input.count(6));
            self.tell(input, |err| readpast_queue_settle_and_claim(queue, from, count, operation, max, to, batch, err));
            if !batch.is_null() {
                self.learn_keys(input, place);
                self.keep(input, BATCH, place.id);
            }
        }
    }

    pub(super) fn work(&self, input: &mut Input, queue: readpast_queue) {
        let worker = readpast_worker { id: self.handle(input, WORKER) };
        let (key, text, attempt, wait) = (input.key(), input.text(), input.attempt(), input.wait());
        // SAFETY: texts are NULL or text, places are NULL or there, structs are as large as they say.
        unsafe {
            match input.below(11) {
                0 => {
                    let (until_empty, events) = (input.below(3) as i32, input.count(100));
                    let options = Memory::filled(input, 1, |_, struct_size| readpast_worker_options {
                        struct_size,
                        until_empty,
                        events,
                    });
                    let mut place = readpast_worker { id: input.number() };
                    let (from, to) = (options.first(input), input.maybe(&mut place));
                    self.tell(input, |err| readpast_worker_start(queue, from, to, err));
                    if !to.is_null() {
                        self.keep(input, WORKER, place.id);
                    }
                }
                1 | 2 => {
                    let mut place = readpast_batch { id: input.number() };
                    let (max, to) = (input.count(6), input.maybe(&mut place));
                    self.tell(input, |err| readpast_worker_take(worker, max, wait, to, err));
                    if !to.is_null() {
                        self.learn_keys(input, place);
                        self.keep(input, BATCH, place.id);
                    }
                }
                3 | 4 => {
                    let (error, due, set, then) = (input.text(), input.time(), input.json(), input.json());
                    let (action, delay_ms, lengths) = (input.action(), input.delay(), input.below(2) == 0);
                    let settlements = Memory::filled(input, 1, |_, struct_size| readpast_settlement {
                        struct_size,
                        key: key.as_ptr(),
                        token: ptr::null(),
                        attempt,
                        action,
                        step: text.as_ptr(),
                        response: text.as_ptr(),
                        error: error.as_ptr(),
                        delay_ms,
                        due: due.as_ptr(),
                        step_length: text.length(lengths),
                        response_length: text.length(!lengths),
                        error_length: error.length(lengths),
                        due_length: due.length(lengths),
                        set_json: set.as_ptr(),
                        set_json_length: set.length(lengths),
                        then_json: then.as_ptr(),
                        then_json_length: then.length(lengths),
                    });
                    let from = settlements.first(input);
                    self.tell(input, |err| readpast_worker_end(worker, from, 1, err));
                }
                5 => {
                    self.tell(input, |err| readpast_worker_step(worker, key.as_ptr(), attempt, text.as_ptr(), err));
                    let text = text.as_ptr();
                    self.tell(input, |err| readpast_worker_progress(worker, key.as_ptr(), attempt, attempt, text, err));
                }
                6 => {
                    let mut memory = Memory::<readpast_worker_figures>::unset(input, 1);
                    let to = memory.place(input);
                    self.tell(input, |err| readpast_worker_get_figures(worker, to, err));
                    self.tell(input, |err| readpast_worker_renew(worker, err));
                    let (mut news, seen) = (0, input.delay());
                    let to = input.maybe(&mut news);
                    self.tell(input, |err| readpast_worker_changes(worker, seen, wait, to, err));
                    assert!(news == 0 || news > seen, "{news} after {seen}");
                    let told = readpast_worker_is_lost(worker, key.as_ptr(), attempt);
                    assert!((0..=1).contains(&told) && (0..=1).contains(&readpast_worker_is_stopping(worker)));
                }
                7 => {
                    let mut descriptor = -1;
                    let to = input.maybe(&mut descriptor);
                    self.tell(input, |err| readpast_worker_want(worker, attempt, to, err));
                    self.tell(input, |err| readpast_worker_begin(worker, key.as_ptr(), attempt, err));
                }
                8 => {
                    let batch = readpast_batch { id: self.handle(input, BATCH) };
                    self.tell(input, |err| readpast_worker_give_back(worker, batch, err));
                }
                9 if input.below(4) == 0 => self.tell(input, |err| readpast_worker_stop(worker, err)),
                9 if input.below(8) == 0 => self.tell(input, |err| readpast_worker_abandon(worker, err)),
                _ if input.below(4) == 0 => self.tell(input, |err| readpast_worker_close(worker, wait, err)),
                _ => {}
            }
        }
    }

    pub(super) fn events(&self, input: &mut Input) {
        let worker = readpast_worker { id: self.handle(input, WORKER) };
        let events = readpast_events { id: self.handle(input, EVENTS) };
        let mut place = readpast_events { id: input.number() };
        let mut memory = Memory::<readpast_event>::unset(input, 1);
        let (max, wait, to) = (input.count(6), input.wait(), input.maybe(&mut place));
        let (at, event) = (input.index(), memory.place(input));
        // SAFETY: places are NULL or there, the struct is as large as it says.
        unsafe {
            self.tell(input, |err| readpast_worker_events(worker, max, wait, to, err));
            if !to.is_null() {
                self.keep(input, EVENTS, place.id);
            }
            self.tell(input, |err| readpast_events_get(events, at, event, err));
        }
        assert!(readpast_events_count(events) >= 0);
    }

    pub(super) fn renew(&self, input: &mut Input, queue: readpast_queue) {
        let keys: Vec<_> = (0..6).map(|_| (input.key(), input.attempt())).collect();
        let (count, reserved) = (input.elements(6), i32::from(input.below(8) == 0));
        let leases = Memory::filled(input, 6, |i, struct_size| readpast_lease {
            struct_size,
            key: keys[i].0.as_ptr(),
            attempt: keys[i].1,
            reserved,
        });
        let mut outcomes = Memory::<readpast_outcome>::unset(input, 6);
        let (from, to) = (leases.first(input), outcomes.place(input));
        // SAFETY: there are six of each, as large as they say.
        self.tell(input, |err| unsafe { readpast_queue_renew(queue, from, count, to, err) });
    }

    pub(super) fn find(&self, input: &mut Input, queue: readpast_queue) {
        let mut place = readpast_batch { id: input.number() };
        let (filter, after, max, to) = (input.filter(), input.key(), input.count(6), input.maybe(&mut place));
        // SAFETY: the filter is text, the key is NULL or text, the place is NULL or there.
        self.tell(input, |err| unsafe { readpast_queue_find(queue, filter.as_ptr(), after.as_ptr(), max, to, err) });
        if !to.is_null() {
            self.learn_keys(input, place);
            self.keep(input, BATCH, place.id);
        }
    }

    pub(super) fn ask(&self, input: &mut Input, queue: readpast_queue) {
        let mut place = readpast_text { id: input.number() };
        // The checks of `doctor` ask the catalog for much.
        let known = readpast::ask::QUESTIONS.get(input.below(readpast::ask::QUESTIONS.len() + 1));
        let known = known.filter(|question| question.name != "doctor");
        let what = known.map_or_else(|| input.text(), |question| Text::of(question.name));
        let arguments = input.arguments();
        let to = input.maybe(&mut place);
        // SAFETY: both are NULL or text that outlives the call, the place is NULL or there.
        self.tell(input, |err| unsafe { readpast_queue_ask(queue, what.as_ptr(), arguments.as_ptr(), to, err) });
        if !to.is_null() {
            assert!(!self.may_read || place.id == 0 || self.read(readpast_text_get(place)).is_some());
            self.keep(input, TEXT, place.id);
        }
    }

    pub(super) fn item(&self, input: &mut Input, batch: readpast_batch) {
        let mut memory = Memory::<readpast_item>::unset(input, 1);
        let (at, to) = (input.index(), memory.place(input));
        // SAFETY: the place is as large as it says.
        self.tell(input, |err| unsafe { readpast_batch_item(batch, at, to, err) });
    }

    pub(super) fn value(&self, input: &mut Input, batch: readpast_batch) {
        let mut memory = Memory::<readpast_value>::unset(input, 1);
        let (at, column, name, to) = (input.index(), input.index(), input.text(), memory.place(input));
        // SAFETY: the place is as large as it says, the name is NULL or text.
        self.tell(input, |err| unsafe {
            if column % 2 == 0 {
                readpast_batch_value(batch, at, column, to, err)
            } else {
                readpast_batch_value_by_name(batch, at, name.as_ptr(), to, err)
            }
        });
    }

    pub(super) fn error(&self, error: readpast_error) {
        self.read(readpast_error_message(error));
        self.read(readpast_error_sqlstate(error));
        self.read(readpast_error_operation(error));
        let _ = (readpast_error_native_code(error), readpast_error_is_retryable(error));
        assert!(readpast_error_status(error) <= READPAST_OK);
    }

    /// Takes the keys and tokens of a new batch for later settlements, so that some of them hold.
    pub(super) fn learn_keys(&self, input: &mut Input, batch: readpast_batch) {
        for i in 0..readpast_batch_count(batch) {
            let mut item = readpast_item {
                struct_size: size_of::<readpast_item>(),
                key: ptr::null(),
                token: ptr::null(),
                attempt: 0,
                column_count: 0,
                state: 0,
                reserved: 0,
                r#type: ptr::null(),
                step: ptr::null(),
                due: ptr::null(),
                enqueued: ptr::null(),
                lease_until: ptr::null(),
            };
            // SAFETY: the place can be written.
            let status = unsafe { readpast_batch_item(batch, i, &mut item, ptr::null_mut()) };
            assert_eq!(status, READPAST_OK, "nobody else knows this batch yet");
            // SAFETY: nobody else can have freed it.
            let (key, token) = unsafe { (CStr::from_ptr(item.key), CStr::from_ptr(item.token)) };
            input.learn(key, token, item.attempt);
        }
    }
}
