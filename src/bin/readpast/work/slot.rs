//! One of the commands at a time: takes an item, runs the command, ends the item, again and again.

use super::slip::Slips;
use super::{Args, Control, Events, child, mapping};
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use readpast::engine::{Begin, Engine, Taken};
use readpast::{Action, Batch, Item, Queue, Settlement};
use std::io;
use std::time::Duration;

/// What a slot works with.
pub struct Slot<'a> {
    pub queue: &'a Queue,
    pub engine: &'a Engine,
    pub args: &'a Args,
    pub control: &'a Control,
    pub events: &'a Events<'a>,
    pub slips: &'a Slips,
}

impl Slot<'_> {
    /// Until there is nothing more to do. One slot that cannot go on stops them all.
    pub fn run(&self) -> Result<()> {
        let result = self.take_and_work();
        if result.is_err() {
            self.engine.stop();
        }
        result
    }

    fn take_and_work(&self) -> Result<()> {
        loop {
            match self.engine.take(self.args.batch, Duration::MAX)? {
                Taken::Items(batch) => self.work_on(&batch)?,
                Taken::Nothing => {}
                Taken::Stopping => return Ok(()),
            }
        }
    }

    fn work_on(&self, batch: &Batch) -> Result<()> {
        let mut begun = batch.iter().filter(|item| self.engine.begin(item.key(), item.attempt()) == Begin::Ok);
        begun.try_for_each(|item| self.work(&item))
    }

    fn work(&self, item: &Item<'_>) -> Result<()> {
        let is_lost = || self.engine.is_lost(item.key(), item.attempt());
        let shows = self.events.shows();
        let run = self
            .slips
            .next()
            .and_then(|slip| child::run(self.queue, self.args, self.control, item, &slip, shows, is_lost));
        let end = run.map_err(|error| {
            // First, or it would be claimed again at once.
            self.engine.stop();
            self.release(item);
            self.cannot_start(&error)
        })?;
        match mapping::verdict(&end, self.args) {
            Some(verdict) => {
                self.events.expect(item, &end, &verdict);
                if is_lost() {
                    self.events.forget(item);
                }
                self.engine.end(&[verdict.settlement(item)]);
            }
            // Whoever has it now says what becomes of it.
            None => self.release(item),
        }
        Ok(())
    }

    fn release(&self, item: &Item<'_>) {
        self.engine.end(&[Settlement::new(item, Action::Release)]);
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        let message = format!("the command {:?} cannot be run: {error}; its item was given back", self.args.command[0]);
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => usage(message),
            _ => Failure::Partly(message, Exit::Unavailable),
        }
    }
}
