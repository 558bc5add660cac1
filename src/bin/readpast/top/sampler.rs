//! The figures of each queue, taken on a thread of its own: keys work while the database is slow.

use crate::concerns::{self, Concern};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use readpast::config::Config;
use readpast::install::installed;
use readpast::{Queue, Watched};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// A queue with its newest figures.
#[derive(Clone)]
pub struct Sampled {
    pub queue: Queue,
    /// `None` until there are any.
    pub watched: Option<Watched>,
    /// Why there are no newer ones.
    pub trouble: Option<String>,
}

impl Sampled {
    pub fn concerns(&self) -> Vec<Concern> {
        concerns::of(self.trouble.as_deref(), self.watched.as_ref())
    }
}

/// The queues to look at.
#[derive(Clone)]
pub struct Sampler {
    queues: Vec<Queue>,
    most: u32,
}

impl Sampler {
    /// Opens the queues that were named, or all.
    pub fn open(config: Config, only: &[String], most: u32) -> Result<Self> {
        let names = if only.is_empty() {
            installed(&config)?.into_iter().map(|installed| installed.queue).collect()
        } else {
            only.to_owned()
        };
        let queues = names.iter().map(|name| Queue::open(&config, name)).collect::<readpast::Result<Vec<_>>>()?;
        Ok(Self { queues, most })
    }

    /// The figures as they are now.
    pub fn sample(&self) -> Vec<Sampled> {
        let look = |queue: &Queue| {
            let (watched, trouble) = match queue.watch(self.most) {
                Ok(watched) => (Some(watched), None),
                Err(error) => (None, Some(error.to_string())),
            };
            Sampled { queue: queue.clone(), watched, trouble }
        };
        self.queues.iter().map(look).collect()
    }

    /// Takes them again and again, until the answer is dropped.
    pub fn start(&self, every: Duration) -> Result<Samples> {
        let (send, found) = mpsc::channel();
        let (hurry, hurried) = mpsc::channel();
        let sampler = self.clone();
        let take = move || {
            loop {
                let begun = Instant::now();
                if send.send(sampler.sample()).is_err() {
                    return;
                }
                // A look that takes long is not taken all the time: the database has other work.
                match hurried.recv_timeout(every.max(begun.elapsed())) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let started = thread::Builder::new().name("figures".to_owned()).spawn(take);
        started.map_err(|error| Failure::Partly(format!("no thread for the figures: {error}"), Exit::Unavailable))?;
        Ok(Samples { found, hurry })
    }
}

/// The figures from the thread.
pub struct Samples {
    found: Receiver<Vec<Sampled>>,
    hurry: Sender<()>,
}

impl Samples {
    /// The newest figures, if there are any that were not taken yet.
    pub fn newest(&self) -> Option<Vec<Sampled>> {
        self.found.try_iter().last()
    }

    /// Has figures taken at once.
    pub fn hurry(&self) {
        // A thread that has ended takes none.
        let _ = self.hurry.send(());
    }
}
