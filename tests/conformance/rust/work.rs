//! The verb `work`: a worker whose handler does what a script says.

use super::answer::Result;
use super::given;
use readpast::worker::{Event, Job, Stop, trace_panics};
use readpast::{Action, Queue, Settlement, Verdict, Worker};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub fn work(queue: &Queue, request: &Value) -> Result {
    trace_panics();
    let worker = Worker::new(queue).threads(given::number(request, "threads"));
    let mut worker = worker.batch_size(given::number(request, "batch"));
    worker = worker.until_empty(request["until"] == 0);
    if let Some(ms) = request["settle_timeout_ms"].as_u64() {
        worker = worker.settle_timeout(Duration::from_millis(ms));
    }
    let aside = Arc::new(Mutex::new(Value::Null));
    let kept = Arc::clone(&aside);
    worker = worker.observe(move |event| {
        if let Event::SetAside { key, .. } = event {
            *kept.lock().unwrap() = json!(key);
        }
    });
    let play = Play {
        script: &request["script"],
        until: given::number(request, "until").into(),
        handled: AtomicU64::new(0),
        at_once: AtomicU64::new(0),
        most_at_once: AtomicU64::new(0),
        stop: worker.stop_handle(),
    };
    worker.run(|job| play.handle(job))?;
    let [handled, most_at_once] = [play.handled, play.most_at_once].map(|count| count.load(Ordering::SeqCst));
    let aside = aside.lock().unwrap().clone();
    Ok(json!({"handled": handled, "most_at_once": most_at_once, "aside": aside}))
}

struct Play<'a> {
    script: &'a Value,
    until: u64,
    handled: AtomicU64,
    at_once: AtomicU64,
    most_at_once: AtomicU64,
    stop: Stop,
}

impl Play<'_> {
    fn handle(&self, job: &Job<'_>) -> Verdict {
        let line = &self.script[job.text("Payload").unwrap_or_default()];
        self.most_at_once.fetch_max(self.at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| follow(line, job)));
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        if self.handled.fetch_add(1, Ordering::SeqCst) + 1 == self.until {
            self.stop.stop();
        }
        // The panic goes on as if nobody had looked.
        verdict.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn follow(line: &Value, job: &Job<'_>) -> Verdict {
    let text = |name: &str| line[name].as_str();
    let action = match text("do") {
        None | Some("complete") => Action::Complete,
        Some("complete_partially") => Action::CompletePartially,
        Some("fail") => Action::Fail,
        Some("retry") => Action::Retry,
        Some("release") => Action::Release,
        Some("cancel") => Action::Cancel,
        Some("pause") => Action::Pause,
        Some("resume") => Action::Resume,
        Some("raise") => panic!("{}", given::text(line, "message")),
        Some("step") => {
            // A step that is refused leaves an item that is lost, which its settlement finds out too.
            let _ = job.step(given::text(line, "step"));
            return Verdict::complete();
        }
        Some("sleep") => {
            thread::sleep(Duration::from_millis(given::number(line, "ms").into()));
            return Verdict::complete();
        }
        Some(does @ ("wait_lost" | "progress")) => {
            if does == "progress" {
                let percent = i32::try_from(line["percent"].as_i64().unwrap()).unwrap();
                let reported = job.progress(percent - 1, "before").and_then(|()| job.progress(percent, text("text")));
                if let Err(error) = reported {
                    return Verdict::retry(error.to_string());
                }
            }
            while !job.is_lost() {
                thread::sleep(Duration::from_millis(10));
            }
            return Verdict::complete();
        }
        Some(other) => unreachable!("no handler can {other}"),
    };
    // The one thing that text in Rust can hold and none in a database.
    let spoilt =
        |name: &str| text(name).map(|given| format!("{given}{}", if text("spoil") == Some(name) { "\0" } else { "" }));
    let (response, error, values) = (spoilt("response"), spoilt("error"), given::values_of(line));
    Verdict::from(&Settlement {
        step: text("step"),
        response: response.as_deref(),
        error: error.as_deref(),
        delay_ms: line["delay_ms"].as_i64(),
        due: text("due"),
        set: values.set.as_deref(),
        then: values.then.as_deref(),
        ..Settlement::control(job.key(), None, action)
    })
}
