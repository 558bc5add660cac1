//! Handlers that are futures, on the runtime of the program.

mod spans;
mod typed;

use super::given::Given;
use readpast::worker::{AsyncJob, IntoVerdict};
use readpast::{
    Action, Answer, Columns, Config, ErrorKind, ItemState, Queue, QueueSpec, Settlement, Verdict, Worker, install,
};
use serde::Deserialize;
use std::error::Error;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::both::Database;
use support::limit::{NEVER, until};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, Notify, oneshot};

#[path = "../../../bindings/rust/examples/async_worker.rs"]
#[allow(dead_code, reason = "the program's main")]
mod example;

/// A runtime of one thread.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Waits on a thread for blocking work.
async fn until_there(what: &'static str, condition: impl Fn() -> bool + Send + 'static) {
    tokio::task::spawn_blocking(move || until(what, condition)).await.unwrap();
}

/// Works until no item is left that may be tried again.
fn work_all<F: Future<Output: IntoVerdict> + Send + 'static>(
    given: &Given,
    worker: Worker,
    handler: impl Fn(AsyncJob) -> F + Send + Sync + 'static,
) {
    let (queue, stop) = (given.queue.clone(), worker.stop_handle());
    let open = [ItemState::Pending, ItemState::Processing, ItemState::Error];
    let all_ended = move || {
        // One look: an item moves from one of them to another.
        let stats = queue.stats().unwrap();
        open.iter().all(|state| stats.count(*state) == 0)
    };
    runtime().block_on(async {
        let stopping = tokio::spawn(async move {
            until_there("an end of all items", all_ended).await;
            stop.stop();
        });
        worker.run_async(handler).await.unwrap();
        stopping.await.unwrap();
    });
}

/// Set when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Reports that it has begun, and never ends.
async fn never_ends(begun: Arc<Notify>, dropped: Dropped) {
    begun.notify_one();
    let _dropped = dropped;
    pending::<()>().await;
}

#[test]
fn as_many_futures_run_at_once_as_there_are_threads_all_on_the_callers() {
    let payloads: Vec<_> = (0..40).map(|number| number.to_string()).collect();
    for given in Given::each(&payloads.iter().map(String::as_str).collect::<Vec<_>>(), &[]) {
        let (at_work, most, here) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), thread::current().id());
        let (all, counted) = (Arc::new(Barrier::new(8)), (Arc::clone(&at_work), Arc::clone(&most)));
        let worker = Worker::new(&given.queue).threads(8).until_empty(true);
        let work = worker.run_async(move |_| {
            let (all, (at_work, most)) = (Arc::clone(&all), counted.clone());
            async move {
                most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                assert_eq!(thread::current().id(), here);
                all.wait().await;
                // Time in which more would begin, if more could.
                tokio::time::sleep(Duration::from_millis(20)).await;
                at_work.fetch_sub(1, Ordering::SeqCst);
            }
        });
        runtime().block_on(work).unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 8);
        assert_eq!(given.queue.stats().unwrap().count(ItemState::Completed), 40);
    }
}

#[derive(Deserialize)]
struct Work {
    number: u8,
}

async fn decide(job: AsyncJob) -> Result<Verdict, Box<dyn Error + Send + Sync>> {
    tokio::task::yield_now().await;
    match job.text("Payload").unwrap() {
        "panics" => panic!("it is bad"),
        "step" => assert_eq!(job.step("rendered").await, Ok(Answer::Ok)),
        "fails" => return Ok(Verdict::fail("no such address")),
        "has no column" => assert_eq!(job.in_column::<Work>("Nonesuch")?.number, 0),
        _ => {
            let work: Work = job.in_column("Payload")?;
            return Ok(Verdict::complete().response(format!("number {}", work.number)));
        }
    }
    Ok(().into())
}

#[test]
fn a_verdict_a_panic_a_step_and_typed_work_are_those_of_threads() {
    let payloads = ["panics", "step", "fails", r#"{"number": 7}"#, r#"{"number": 700}"#, "has no column"];
    for given in Given::each(&payloads, &[]) {
        work_all(&given, Worker::new(&given.queue).threads(2), decide);
        let found = |payload| {
            let found = given.find(payload);
            (found.state, found.error.unwrap_or_default())
        };
        let (state, error) = found("panics");
        assert!(state == ItemState::Failed && error.starts_with("panicked: it is bad"), "{error}");
        assert_eq!((found("step").0, given.find("step").step.as_deref()), (ItemState::Completed, Some("rendered")));
        assert_eq!(found("fails"), (ItemState::Failed, "no such address".to_owned()));
        assert_eq!(given.find(r#"{"number": 7}"#).response.as_deref(), Some("number 7"));
        let (state, error) = found(r#"{"number": 700}"#);
        assert!(state == ItemState::Failed && error.starts_with("the item carries no Work: "), "{error}");
        assert_eq!(given.find(r#"{"number": 700}"#).attempt, 1, "no other attempt reads it");
        let (state, error) = found("has no column");
        assert!(state == ItemState::Failed && error.contains("have no column"), "{error}");
    }
}

#[test]
fn an_error_is_the_items_with_its_sources() {
    for given in Given::each(&["a"], &[]) {
        let handler = |_| async { Err::<(), _>(io::Error::other("451 greylisted")) };
        work_all(&given, Worker::new(&given.queue), handler);
        assert_eq!(given.find("a").error.as_deref(), Some("451 greylisted"));
    }
}

#[test]
fn a_stop_waits_for_futures() {
    for given in Given::each(&["a"], &[]) {
        let worker = Worker::new(&given.queue);
        let stop = worker.stop_handle();
        let (begun, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, ends) = (Arc::clone(&begun), Arc::clone(&may_end));
        runtime().block_on(async move {
            let running = tokio::spawn(async move {
                let handler = move |job: AsyncJob| {
                    let (begun, may_end) = (Arc::clone(&begins), Arc::clone(&ends));
                    async move {
                        begun.notify_one();
                        may_end.notified().await;
                        assert!(job.is_stopping() && !job.is_lost());
                    }
                };
                worker.run_async(handler).await
            });
            begun.notified().await;
            stop.stop();
            assert!(stop.is_stopped() && !running.is_finished());
            may_end.notify_one();
            running.await.unwrap().unwrap();
        });
        assert_eq!(given.find("a").state, ItemState::Completed);
    }
}

#[test]
fn a_future_that_never_ends_is_dropped_after_the_stop_and_its_attempt_does_not_count() {
    for given in Given::each(&["a"], &[]) {
        let worker = Worker::new(&given.queue).stop_timeout(Duration::from_millis(50));
        let stop = worker.stop_handle();
        let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (begins, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
        let work = worker.run_async(move |_| never_ends(Arc::clone(&begins), Dropped(Arc::clone(&drops))));
        runtime().block_on(async {
            let stopping = tokio::spawn(async move {
                begun.notified().await;
                stop.stop();
            });
            work.await.unwrap();
            stopping.await.unwrap();
        });
        assert!(dropped.load(Ordering::SeqCst));
        let found = given.find("a");
        assert_eq!((found.state, found.attempt), (ItemState::Pending, 0));
    }
}

#[test]
fn a_run_that_is_dropped_or_ends_with_its_runtime_gives_its_items_back() {
    for ends_runtime in [false, true] {
        for given in Given::each(&["a"], &[]) {
            let worker = Worker::new(&given.queue);
            let stop = worker.stop_handle();
            let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
            let (begins, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
            let runtime = runtime();
            let handler = move |_| never_ends(Arc::clone(&begins), Dropped(Arc::clone(&drops)));
            let running = runtime.spawn(async move { worker.run_async(handler).await });
            runtime.block_on(begun.notified());
            if !ends_runtime {
                running.abort();
                let there = Arc::clone(&dropped);
                runtime.block_on(until_there("the end of the future", move || there.load(Ordering::SeqCst)));
            }
            drop(runtime);
            assert!(dropped.load(Ordering::SeqCst) && stop.is_stopped());
            until("that the item is back", || given.find("a").state == ItemState::Pending);
            assert_eq!(given.find("a").attempt, 0);
        }
    }
}

#[test]
fn a_future_whose_item_is_lost_is_dropped_and_the_one_beside_it_is_not() {
    let settings = [("lease.ms", "15000"), ("recover.interval_ms", "3600000")];
    for given in Given::each(&["doomed", "kept"], &settings) {
        let (queue, worker) = (given.queue.clone(), Worker::new(&given.queue).threads(2).settle_timeout(NEVER));
        let stop = worker.stop_handle();
        let (lost, loss) = oneshot::channel::<()>();
        let (lost, loss) = (Arc::new(Mutex::new(Some(lost))), Arc::new(Mutex::new(Some(loss))));
        let dropped = Arc::new(AtomicBool::new(false));
        let drops = Arc::clone(&dropped);
        let work = worker.run_async(move |job: AsyncJob| {
            let (queue, stop, dropped) = (queue.clone(), stop.clone(), Arc::clone(&drops));
            let is_doomed = job.text("Payload") == Some("doomed");
            let (lost, loss) =
                (is_doomed.then(|| lost.lock().unwrap().take()), loss.lock().unwrap().take_if(|_| !is_doomed));
            async move {
                let Some(loss) = loss else {
                    // It reports its end by being dropped.
                    let _reports = (lost, Dropped(dropped));
                    let terminate = [Settlement::control(job.key(), None, Action::Terminate)];
                    assert_eq!(queue.settle(&terminate, None).unwrap()[0].answer, Answer::Ok);
                    return pending().await;
                };
                assert!(loss.await.is_err());
                stop.stop();
            }
        });
        runtime().block_on(work).unwrap();
        assert!(dropped.load(Ordering::SeqCst));
        assert_eq!(given.find("doomed").state, ItemState::Terminated);
        assert_eq!(given.find("kept").state, ItemState::Completed);
    }
}

#[test]
fn a_failure_and_an_observers_panic_reach_the_caller() {
    for given in Given::each(&["a"], &[]) {
        let worker = Worker::new(&given.queue).observe(|_| panic!("the observer"));
        let panicked =
            runtime().block_on(async { tokio::spawn(async move { worker.run_async(|_| async {}).await }).await });
        assert_eq!(panicked.unwrap_err().into_panic().downcast_ref(), Some(&"the observer"));
        let worker = Worker::new(&given.queue);
        given.queue.close(NEVER).unwrap();
        let ended = runtime().block_on(worker.run_async(|_| async {}));
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Closed);
        let ended = runtime().block_on(Worker::new(&given.queue).threads(0).run_async(|_| async {}));
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn the_example_works() {
    for database in Database::each() {
        let config: Config = database.config(&[]);
        let spec = r#"{"queue": "Mail", "columns": [{"name": "Recipient", "type": "text(254)"}]}"#;
        install(&config, Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        let queue = Queue::open(&config, "Mail").unwrap();
        let columns = Columns::from_iter([("Recipient", "a@example.org")]);
        queue.enqueue(&[readpast::NewItem { columns, ..Default::default() }], None).unwrap();
        runtime().block_on(example::work(&queue)).unwrap();
        assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 1);
    }
}
