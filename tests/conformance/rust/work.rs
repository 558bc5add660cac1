//! The verb `work`: a worker whose handler does what a script says.

use super::answer::Result;
use super::given;
use readpast::worker::{Job, Stop, trace_panics};
use readpast::{Queue, Verdict, Worker};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

pub fn work(queue: &Queue, request: &Value) -> Result {
    trace_panics();
    let worker = Worker::new(queue).threads(given::number(request, "threads"));
    let worker = worker.batch_size(given::number(request, "batch"));
    let play = Play {
        script: &request["script"],
        until: given::number(request, "until").into(),
        handled: AtomicU64::new(0),
        stop: worker.stop_handle(),
    };
    worker.run(|job| play.handle(job))?;
    Ok(json!({"handled": play.handled.load(Ordering::SeqCst)}))
}

struct Play<'a> {
    script: &'a Value,
    until: u64,
    handled: AtomicU64,
    stop: Stop,
}

impl Play<'_> {
    fn handle(&self, job: &Job<'_>) -> Verdict {
        let line = &self.script[job.text("Payload").unwrap_or_default()];
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| follow(line, job)));
        if self.handled.fetch_add(1, Ordering::SeqCst) + 1 >= self.until {
            self.stop.stop();
        }
        // The panic goes on as if nobody had looked.
        verdict.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn follow(line: &Value, job: &Job<'_>) -> Verdict {
    let text = |name: &str| line[name].as_str();
    let verdict = match text("do") {
        None | Some("complete") => Verdict::complete(),
        Some("complete_partially") => Verdict::complete_partially(),
        Some("fail") => Verdict::fail(text("error").unwrap_or_default()),
        Some("retry") => Verdict::retry(text("error").unwrap_or_default()),
        Some("release") => Verdict::release(),
        Some("cancel") => Verdict::cancel(),
        Some("pause") => Verdict::pause(),
        Some("raise") => panic!("{}", given::text(line, "message")),
        Some("step") => {
            // A step that is refused leaves an item that is lost, which its settlement finds out too.
            let _ = job.step(given::text(line, "step"));
            Verdict::complete()
        }
        Some("sleep") => {
            thread::sleep(Duration::from_millis(given::number(line, "ms").into()));
            Verdict::complete()
        }
        Some(other) => unreachable!("no handler can {other}"),
    };
    let verdict = match line["delay_ms"].as_u64() {
        Some(ms) => verdict.after(Duration::from_millis(ms)),
        None => verdict,
    };
    match text("response") {
        Some(response) => verdict.response(response),
        None => verdict,
    }
}
