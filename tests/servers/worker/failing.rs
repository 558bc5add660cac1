//! Handlers that fail, panic, or say what cannot be stored.

use super::given::{Given, payload};
use readpast::{ItemState, Verdict, Worker, worker::trace_panics};
use std::error::Error;
use std::fmt;
use std::time::Duration;

#[derive(Debug)]
struct NotSent(std::num::ParseIntError);

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message was not sent")
    }
}

impl Error for NotSent {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Whether it is to be tried again. It is due at once, and may have been claimed and given back before the worker had stopped.
fn waits(state: ItemState) -> bool {
    matches!(state, ItemState::Error | ItemState::Pending)
}

#[test]
fn an_error_is_recorded_with_its_sources_and_the_item_tried_again() {
    for given in Given::each(&["a", "b"], &[]) {
        let worker = Worker::new(&given.queue);
        given.run_until(4, worker, |job| match payload(job) {
            "a" => Err(NotSent("x".parse::<i32>().unwrap_err())),
            _ => Ok(()),
        });
        let [a, b] = ["a", "b"].map(|payload| given.find(payload));
        assert_eq!((a.state, a.attempt), (ItemState::Failed, 3), "{a:?}");
        assert_eq!(a.error.as_deref(), Some("the message was not sent\ncaused by: invalid digit found in string"));
        assert_eq!((b.state, b.attempt, b.error), (ItemState::Completed, 1, None));
    }
}

#[test]
fn a_panic_is_recorded_with_its_place_and_the_worker_goes_on() {
    trace_panics();
    for given in Given::each(&["text", "no text", "good"], &[]) {
        let worker = Worker::new(&given.queue).batch_size(3);
        given.run_until(3, worker, |job| match payload(job) {
            "text" => panic!("{} is too much", job.key()),
            "no text" => std::panic::panic_any(7),
            _ => {}
        });
        let [text, no_text, good] = ["text", "no text", "good"].map(|payload| given.find(payload));
        assert_eq!(good.state, ItemState::Completed);
        assert!(waits(text.state) && waits(no_text.state), "{text:?} {no_text:?}");
        let error = text.error.unwrap();
        assert!(
            error.starts_with("panicked: ") && error.contains(" is too much\nat tests/servers/worker/failing.rs:"),
            "{error}"
        );
        let error = no_text.error.unwrap();
        assert!(error.starts_with("panicked: with a value that is not text\nat tests/"), "{error}");
    }
}

#[test]
fn a_text_that_cannot_be_stored_is_left_out_and_holds_up_nobody() {
    for given in Given::each(&["nul", "step", "due", "good"], &[]) {
        let worker = Worker::new(&given.queue).batch_size(4);
        given.run_until(4, worker, |job| match payload(job) {
            "nul" => Verdict::complete().response("a\0b"),
            "step" => Verdict::fail("no use").step("s".repeat(61)),
            "due" => Verdict::retry("later").due("tomorrow"),
            _ => Verdict::complete().response("done"),
        });
        let nul = given.find("nul");
        assert_eq!((nul.state, nul.response), (ItemState::Completed, None), "what is done stays done");
        assert!(nul.error.unwrap().contains("the response contains U+0000"));
        let step = given.find("step");
        assert_eq!((step.state, step.step), (ItemState::Failed, None));
        assert!(step.error.unwrap().starts_with("no use; a part of the result was refused: "));
        let due = given.find("due");
        assert!(waits(due.state), "{due:?}");
        assert!(due.error.unwrap().contains("tomorrow"));
        assert_eq!(given.find("good").response.as_deref(), Some("done"));
    }
}

#[test]
fn errors_of_any_length_and_content_are_stored() {
    for given in Given::each(&["long"], &[]) {
        given.run_until(1, Worker::new(&given.queue), |_| Err::<(), _>("\0\u{1f600}".repeat(20_000)));
        let error = given.find("long").error.unwrap();
        assert_eq!(error.chars().count(), 16_000);
        assert!(error.starts_with("\u{fffd}\u{1f600}\u{fffd}"));
    }
}

#[test]
fn verdicts_are_what_becomes_of_the_item() {
    let payloads = ["partially", "fail", "retry", "release", "cancel", "pause"];
    for given in Given::each(&payloads, &[]) {
        let worker = Worker::new(&given.queue).batch_size(6);
        let hour = Duration::from_secs(3600);
        given.run_until(6, worker, |job| match payload(job) {
            "partially" => Verdict::complete_partially().response("half").step("second"),
            "fail" => Verdict::fail("never"),
            "retry" => Verdict::retry("not now").after(hour),
            "release" => Verdict::release().after(hour),
            "cancel" => Verdict::cancel(),
            _ => Verdict::pause(),
        });
        let states = payloads.map(|payload| given.find(payload).state);
        use ItemState::{Cancelled, Error, Failed, PartiallyCompleted, Paused, Pending};
        assert_eq!(states, [PartiallyCompleted, Failed, Error, Pending, Cancelled, Paused]);
        let half = given.find("partially");
        assert_eq!((half.response.as_deref(), half.step.as_deref()), (Some("half"), Some("second")));
        assert_eq!(given.queue.stats().unwrap().due, 0, "what was put off is not due");
    }
}
