//! A thread that renews leases until the items are settled. The only thread that the library ever starts, and only for
//! who asks. Being native, it goes on while a host's garbage collector or interpreter lock holds everybody else.

use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Batch, Lease};
use crate::queue::{MAX_ITEMS, Queue};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Keeps the leases of a batch. Any thread may use it. Dropping it ends the renewals.
#[derive(Debug)]
pub struct Renewal {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Key and attempt of each item still in hand.
    held: Vec<(String, i32)>,
    lost: Vec<String>,
    stopped: bool,
}

impl Renewal {
    /// Renews the leases of all items of `batch` every `interval` until they are released. A third of
    /// [`Queue::lease`] is a good interval: it leaves room for two failures.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the interval is zero or the batch is empty.
    pub fn start(queue: &Queue, batch: &Batch, interval: Duration) -> Result<Self> {
        if interval.is_zero() || batch.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a renewal needs an interval above zero and items"));
        }
        let shared = Arc::new(Shared::default());
        shared.state.lock().held = batch.iter().map(|item| (item.key().to_owned(), item.attempt())).collect();
        let thread = std::thread::Builder::new()
            .name("readpast-renewal".to_owned())
            .spawn({
                let (shared, queue) = (Arc::clone(&shared), queue.clone());
                move || shared.run(&queue, interval)
            })
            .map_err(|error| Error::new(ErrorKind::Unavailable, format!("no thread could be started: {error}")))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Ends the renewal of one item; call it when settling it. `false` when it was not being renewed any more.
    #[expect(
        clippy::must_use_candidate,
        reason = "called to end the renewal; whether there still was one is news for few"
    )]
    pub fn release(&self, key: &str) -> bool {
        let mut state = self.shared.state.lock();
        let before = state.held.len();
        state.held.retain(|(held, _)| held != key);
        state.held.len() < before
    }

    /// The keys of the items that were found lost: work on them is in vain, and settling them will be refused.
    #[must_use]
    pub fn lost(&self) -> Vec<String> {
        self.shared.state.lock().lost.clone()
    }

    /// Whether this item was found lost.
    #[must_use]
    pub fn has_lost(&self, key: &str) -> bool {
        self.shared.state.lock().lost.iter().any(|lost| lost == key)
    }

    /// Ends the renewals and waits for the thread, which may be waiting for the server.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported by the panic hook; the leases then simply run out.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, queue: &Queue, interval: Duration) {
        loop {
            let held = {
                let mut state = self.state.lock();
                let deadline = Instant::now() + interval;
                while !state.stopped && !self.changed.wait_until(&mut state, deadline).timed_out() {}
                if state.stopped || state.held.is_empty() {
                    return;
                }
                state.held.clone()
            };
            for part in held.chunks(MAX_ITEMS as usize) {
                let leases: Vec<_> = part.iter().map(|(key, attempt)| Lease { key, attempt: *attempt }).collect();
                match queue.renew(&leases) {
                    Ok(outcomes) => {
                        let lost = part.iter().zip(outcomes).filter(|(_, outcome)| outcome.answer != Answer::Ok);
                        self.note_lost(lost.map(|((key, _), _)| key));
                    }
                    // Of a queue whose procedures keep no leases there is nothing to renew.
                    Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Unsupported) => return,
                    // The next round tries again; if the leases run out meanwhile, it finds out then.
                    Err(error) => log::warn!("leases were not renewed: {error}"),
                }
            }
        }
    }

    fn note_lost<'a>(&self, keys: impl Iterator<Item = &'a String>) {
        let mut state = self.state.lock();
        for key in keys {
            // One that was released meanwhile has been settled, which is why it is not held any more.
            let before = state.held.len();
            state.held.retain(|(held, _)| held != key);
            if state.held.len() < before {
                state.lost.push(key.clone());
            }
        }
    }
}
