//! One of the commands at a time: claims, runs, settles, again and again.

use super::child::{self, Why};
use super::judge::{self, Verdict};
use super::{Args, Control, Events, settle};
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use readpast::{Action, Batch, ErrorKind, Item, Queue, Renewal};
use std::io;
use std::time::Duration;

/// Between two looks at a database that is out of reach.
const PAUSE: Duration = Duration::from_secs(5);

/// The longest wait of one claim. It is called off by a signal, so that it may be long.
const WAIT: Duration = Duration::from_secs(3600);

/// What a slot works with.
pub struct Slot<'a> {
    pub queue: &'a Queue,
    pub args: &'a Args,
    pub control: &'a Control,
    pub events: &'a Events<'a>,
    pub renew_every: Duration,
}

impl Slot<'_> {
    /// Until there is nothing more to do. One slot that cannot go on stops them all.
    pub fn run(&self) -> Result<()> {
        let result = self.take_and_work();
        if result.is_err() {
            self.control.drain();
        }
        result
    }

    fn take_and_work(&self) -> Result<()> {
        let mut batch = Batch::default();
        loop {
            if batch.is_empty() {
                match self.claim()? {
                    Some(claimed) => batch = claimed,
                    None => return Ok(()),
                }
            }
            if !batch.is_empty() {
                batch = self.work(&batch)?;
            }
        }
    }

    /// The next items, or none yet; `None` when it is time to end.
    fn claim(&self) -> Result<Option<Batch>> {
        if self.control.is_draining() {
            return Ok(None);
        }
        let wait = if self.args.until_empty { Duration::ZERO } else { WAIT };
        match self.queue.claim(self.args.batch, wait) {
            Ok(batch) if batch.is_empty() && self.args.until_empty => Ok(None),
            Ok(batch) => Ok(Some(batch)),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Closed) => Ok(None),
            // A database that is away comes back, and workers are there to wait for it.
            Err(error) if !self.args.until_empty && (error.is_retryable() || error.kind() == ErrorKind::Storage) => {
                self.events.trouble(&error);
                self.control.pause(PAUSE);
                Ok(Some(Batch::default()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Works on a batch, item by item. The last settle brings the next batch with it.
    fn work(&self, batch: &Batch) -> Result<Batch> {
        let renewal = Renewal::start(self.queue, batch, self.renew_every)?;
        let mut next = Batch::default();
        for (index, item) in batch.iter().enumerate() {
            if self.control.is_draining() {
                settle::release(self.queue, self.control, self.events, batch.iter().skip(index))?;
                return Ok(next);
            }
            let is_lost = || renewal.lost().iter().any(|key| key == item.key());
            if is_lost() {
                self.events.lost_item(&item)?;
                continue;
            }
            let end = match child::run(self.queue, self.args, self.control, &item, self.events.shows_stderr(), is_lost)
            {
                Ok(end) => end,
                Err(error) => {
                    settle::release(self.queue, self.control, self.events, batch.iter().skip(index))?;
                    return Err(self.cannot_start(&error));
                }
            };
            let Some(verdict) = judge::verdict(&end, self.args) else {
                self.events.lost_item(&item)?;
                continue;
            };
            // From here the settle is the item's only fate: a renewal beside it would find it gone.
            renewal.release(item.key());
            let is_last = index + 1 == batch.len();
            let max = if is_last && !self.control.is_draining() { self.args.batch } else { 0 };
            next = self.settle(&item, &end, &verdict, max)?;
        }
        Ok(next)
    }

    fn settle(&self, item: &Item<'_>, end: &child::End, verdict: &Verdict, max: u32) -> Result<Batch> {
        let (verdict, outcome, next) = settle::one(self.queue, self.control, self.events, item, verdict, max)?;
        if end.why == Some(Why::Terminated) && verdict.action == Action::Release {
            self.events.released(1);
        }
        self.events.settled(item, end, &verdict, &outcome)?;
        Ok(next)
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        let message = format!("the command {:?} cannot be run: {error}; its item is given back", self.args.command[0]);
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => usage(message),
            _ => Failure::Partly(message, Exit::Unavailable),
        }
    }
}
