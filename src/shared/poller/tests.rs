//! Handles that stand still, or panic, where a server would answer.

use super::*;
use crate::shared::poll_coordinator::before_recovery;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const LONG: Duration = Duration::from_secs(600);

/// A handle each look of which is announced, and then does as it receives: it is answered, or panics.
struct Stands {
    asked: Mutex<Sender<()>>,
    panics: Mutex<Receiver<bool>>,
    /// Has a worker that is to report soon.
    waits: bool,
}

impl AsksDue for Stands {
    fn due(
        &self,
        queues: &[AskedQueue],
        _: &mut KnownQueues,
        _: Option<&BellPull<'_>>,
    ) -> Result<Option<Vec<Option<Due>>>> {
        _ = self.asked.lock().send(());
        assert!(!self.panics.lock().recv().unwrap_or(false), "as it happens");
        Ok(Some(vec![Some(Due::Later(None)); queues.len()]))
    }

    fn doorbell(&self) -> Option<&Arc<LibpqLogin>> {
        None
    }

    fn taken_from(&self, _: &str) {}

    fn reported_along(&self) -> Option<SeenWorker> {
        self.waits.then(SeenWorker::default)
    }
}

struct Stage {
    poller: Arc<Poller>,
    of: Arc<OfQueue>,
    handle: Arc<Stands>,
    served: Arc<Served>,
    asked: Receiver<()>,
    panics: Sender<bool>,
}

fn stage(name: &str) -> Stage {
    let ((ask, asked), (panics, panic)) = (channel(), channel());
    let (poller, of) = (Poller::of(name, "s"), OfQueue::of(name, "s", "q"));
    let handle = Arc::new(Stands { asked: Mutex::new(ask), panics: Mutex::new(panic), waits: true });
    let asks = AskedQueue { stem: "q".to_owned(), recovery: before_recovery(LONG) };
    let served = poller.serve(asks, &of, Arc::downgrade(&handle) as Weak<dyn AsksDue>);
    of.polls.found_nothing("", of.polls.wakes(""), None);
    Stage { poller, of, handle, served, asked, panics }
}

impl Stage {
    /// A thread falls asleep over the queue.
    fn sleeps(&self) {
        assert!(self.of.polls.quiet_until("", LONG).is_some());
        self.of.polls.start_poller();
    }

    fn until(&self, is_so: impl Fn(&PollerState) -> bool) {
        let deadline = Instant::now() + LONG;
        while !is_so(&self.poller.state.lock()) {
            assert!(Instant::now() < deadline, "it takes too long");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn another_thread_looks_after_a_panic() {
    let stage = stage("a panic");
    stage.sleeps();
    stage.asked.recv_timeout(LONG).unwrap();
    stage.panics.send(true).unwrap();
    stage.until(|state| state.runs.is_none() && state.asks_on.is_none());
    stage.panics.send(false).unwrap();
    let again = Instant::now() + LONG;
    while stage.asked.try_recv().is_err() {
        assert!(Instant::now() < again, "no thread looks");
        stage.sleeps();
        thread::yield_now();
    }
}

#[test]
fn the_drop_of_a_handle_waits_for_a_look_on_its_connections() {
    let stage = stage("a drop");
    stage.sleeps();
    stage.asked.recv_timeout(LONG).unwrap();
    let (served, handle, panics) = (Arc::clone(&stage.served), &stage.handle, &stage.panics);
    let answered = Mutex::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            served.leave(Instant::now() + LONG);
            assert!(*answered.lock(), "it did not wait");
            assert_eq!(Arc::strong_count(handle), 1, "this thread closes its connections");
        });
        stage.until(|state| state.queues.is_empty());
        *answered.lock() = true;
        panics.send(false).unwrap();
    });
}

#[test]
fn the_thread_ends_with_the_last_open_handle() {
    let stage = stage("an end");
    stage.sleeps();
    stage.asked.recv_timeout(LONG).unwrap();
    stage.panics.send(false).unwrap();
    stage.served.leave(Instant::now() + LONG);
    stage.until(|state| state.runs.is_none());
}

#[test]
fn a_report_takes_along_the_other_workers_of_the_process() {
    let stage = stage("reports");
    assert_eq!(stage.served.reported_along(), [], "its own is reported anyhow");
    let asks = AskedQueue { stem: "r".to_owned(), recovery: before_recovery(LONG) };
    let (other, (ask, _asked), (_panics, panic)) = (OfQueue::of("reports", "s", "r"), channel(), channel());
    let handle = Arc::new(Stands { asked: Mutex::new(ask), panics: Mutex::new(panic), waits: false });
    let served = stage.poller.serve(asks, &other, Arc::downgrade(&handle) as Weak<dyn AsksDue>);
    assert_eq!(served.reported_along(), [SeenWorker::default()]);
    assert_eq!(stage.served.reported_along(), [], "nobody waits at the other");
}

#[test]
fn an_offer_to_keep_figures_takes_along_the_other_queues_of_the_process() {
    let stage = stage("minutes");
    let asks = AskedQueue { stem: "r".to_owned(), recovery: before_recovery(LONG) };
    let (other, (ask, _asked), (_panics, panic)) = (OfQueue::of("minutes", "s", "r"), channel(), channel());
    let handle = Arc::new(Stands { asked: Mutex::new(ask), panics: Mutex::new(panic), waits: true });
    let _served = stage.poller.serve(asks, &other, Arc::downgrade(&handle) as Weak<dyn AsksDue>);
    let along = || stage.served.offered_along().into_iter().map(|(stem, _)| stem).collect::<Vec<_>>();
    assert!(along().is_empty(), "no worker asks for its turn");
    assert!(other.minutes.next().is_some());
    assert_eq!((along(), along()), (vec!["r".to_owned()], vec![]));
}
