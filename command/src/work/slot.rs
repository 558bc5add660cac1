//! A slot for one command at a time: takes an item, runs the command, ends the item, again and again.

use super::child::Files;
use super::directive_file::DirectiveFolder;
use super::progress_file::ProgressFile;
use super::{Args, Control, Events, child, mapping};
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use readpast::engine::{Begin, Engine, Taken};
use readpast::{Action, Batch, Item, Queue, Settlement};
use std::io;
use std::time::Duration;

/// The resources of a slot.
pub struct Slot<'a> {
    pub queue: &'a Queue,
    pub engine: &'a Engine,
    pub args: &'a Args,
    pub control: &'a Control,
    pub events: &'a Events<'a>,
    pub folder: &'a DirectiveFolder,
}

impl Slot<'_> {
    /// Runs until there are no more items. One slot that cannot go on stops them all.
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
        let run = self.folder.next().and_then(|file| {
            let progress = self.queue.spec().progress.then(|| ProgressFile::beside(&file));
            let look = || {
                progress.iter().for_each(|file| file.look(self.engine, item.key(), item.attempt()));
                is_lost()
            };
            let files = Files { directive: &file, progress: progress.as_ref() };
            child::run(self.queue, self.args, self.control, item, files, shows, look)
        });
        let end = run.map_err(|error| {
            // The stop comes first, or the item would be claimed again at once.
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
            // Its new holder decides about it.
            None => self.release(item),
        }
        Ok(())
    }

    fn release(&self, item: &Item<'_>) {
        self.engine.end(&[Settlement::new(item, Action::Release)]);
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        let message = format!("the command {:?} cannot be run: {error}; its item was released", self.args.command[0]);
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => usage(message),
            _ => Failure::Partly(message, Exit::Unavailable),
        }
    }
}
