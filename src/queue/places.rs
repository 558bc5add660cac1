//! One queue over several databases, its places: each is a queue of its own, whose name stands before its keys. Calls go to the places
//! that they are about; a place that is away holds up no other.

mod act;
mod away;
mod enqueue;
mod open;
mod rebalance;
mod route;
mod total;
mod watch;

pub use self::rebalance::Rebalanced;
use self::route::filter_at;
use super::handle::{Opened, PlaceList, Places, Queue, at};
use crate::calls::{Sessions, YieldsTo, check_count};
use crate::error::Result;
use crate::item::{Batch, Filter};
use crate::pool::closed;
use std::sync::atomic::Ordering;
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long a claim by hand waits at one place, before it waits at the next.
const SLICE: Duration = Duration::from_millis(100);

/// The last handle is dropped: the others have kept this one.
impl Drop for Places {
    fn drop(&mut self) {
        if self.parent.is_none() {
            self.list.close();
        }
    }
}

impl Places {
    pub(super) fn open(config: &crate::Config, name: &str) -> Result<Self> {
        Ok(Self::on(PlaceList::open(config, name)?, None, None))
    }

    /// Calls `woken` when a further place is open.
    pub(crate) fn watch(&self, woken: Weak<dyn Opened>) {
        self.list.watch(woken);
    }

    /// All of them, for what needs the answer of each.
    fn all<'p>(&'p self) -> Result<Vec<(&'p str, &'p Queue)>> {
        let names = self.names().iter().enumerate();
        let one = |(number, name): (usize, &'p String)| Ok((name.as_str(), self.open_at(number)?));
        names.map(one).collect()
    }

    /// The open places that are not away, each time another one first.
    fn in_turn(&self) -> Vec<(&str, &Queue)> {
        let mut ready: Vec<_> = self.open_ones().filter(|(_, queue)| !queue.any().shared.is_away()).collect();
        if ready.is_empty() {
            ready = self.open_ones().collect();
        }
        let first = self.list.turn.fetch_add(1, Ordering::Relaxed) % ready.len().max(1);
        ready.rotate_left(first);
        ready
    }

    /// [`Queue::claim`]: from the first of them that has something.
    pub(super) fn claim(&self, max: u32, wait: Duration) -> Result<Batch> {
        check_count("the number of items to claim", max)?;
        super::claim::check_wait(wait)?;
        let deadline = Instant::now() + wait;
        // All are asked once; then each waits for its own items for a while.
        let mut slice = Duration::ZERO;
        loop {
            let mut failure = None;
            for (name, queue) in self.in_turn() {
                let slice = slice.min(deadline.saturating_duration_since(Instant::now()));
                match queue.any().hasty().claim(max, slice, wait.is_zero()) {
                    Ok(batch) if batch.is_empty() => {}
                    Ok(batch) => return Ok(batch),
                    Err(error) if error.kind().is_transient() => failure = Some(error.in_context(at(name))),
                    Err(error) => return Err(error.in_context(at(name))),
                }
            }
            if Instant::now() >= deadline {
                return failure.map_or_else(|| Ok(Batch::default()), Err);
            }
            let any = self.any().any();
            if failure.is_some() && any.interrupt.wait(SLICE, YieldsTo::Interrupts) {
                return Err(any.called_off().unwrap_or_else(closed));
            }
            slice = SLICE;
        }
    }

    /// [`Queue::find`]: the next page that is not empty. A page is of one place; those of all follow each other by their names.
    pub(super) fn find(&self, filter: &Filter, after: Option<&str>, max: u32) -> Result<Batch> {
        let mut after = after.map(str::to_owned);
        loop {
            let Some((number, queue, filter)) = self.page(filter, after.as_deref())? else {
                return Ok(Batch::default());
            };
            let found = queue.find(&filter, self.behind(after.as_deref()), max)?;
            if !found.is_empty() {
                return Ok(found);
            }
            let Some(next) = self.start_behind(number) else { return Ok(found) };
            after = Some(next);
        }
    }

    /// [`Queue::look`]: the page of one place, and where the next begins.
    pub(super) fn look(
        &self,
        filter: &Filter,
        after: Option<&str>,
        max: u32,
        most: u32,
    ) -> Result<(Batch, Option<String>)> {
        let Some((number, queue, filter)) = self.page(filter, after)? else { return Ok((Batch::default(), None)) };
        let (found, further) = queue.look(&filter, self.behind(after), max, most)?;
        let is_over = further.is_none() && found.len() < max as usize;
        Ok((found, further.or_else(|| self.start_behind(number).filter(|_| is_over))))
    }

    /// The place of a page, with the filter for it. `None`: the filter has keys, and none from there on.
    fn page(&self, filter: &Filter, after: Option<&str>) -> Result<Option<(usize, &Queue, Filter)>> {
        let first = after.map_or(Ok(0), |key| self.number_of(key))?;
        for number in first..self.names().len() {
            if let Some(here) = filter_at(&self.names()[number], filter) {
                return Ok(Some((number, self.open_at(number)?, here)));
            }
        }
        Ok(None)
    }

    /// The key to go on after at a place; none at its start.
    fn behind<'k>(&self, after: Option<&'k str>) -> Option<&'k str> {
        after.filter(|key| !self.is_start(key))
    }

    /// Whether a page after this begins with the first item of a place.
    pub(super) fn is_start(&self, after: &str) -> bool {
        after.strip_suffix('/').is_some_and(|name| self.names().iter().any(|known| known == name))
    }

    /// The start of the place behind that with this number.
    fn start_behind(&self, number: usize) -> Option<String> {
        self.names().get(number + 1).map(|name| format!("{name}/"))
    }

    /// [`Queue::next_page`]: a page that is not full was the last of its place.
    pub(super) fn next_page(&self, last: &str, is_full: bool) -> Option<String> {
        if is_full { Some(last.to_owned()) } else { self.start_behind(self.number_of(last).ok()?) }
    }

    /// [`Queue::page_behind`].
    pub(super) fn page_behind(&self, after: Option<&str>) -> Option<String> {
        self.start_behind(after.map_or(Ok(0), |key| self.number_of(key)).ok()?)
    }

    pub(super) fn interrupt(&self) {
        let _guard = self.opening.lock();
        self.interrupted.store(true, Ordering::SeqCst);
        self.queues.iter().filter_map(OnceLock::get).for_each(Queue::interrupt);
    }

    pub(super) fn resume(&self) {
        let _guard = self.opening.lock();
        self.interrupted.store(false, Ordering::SeqCst);
        self.queues.iter().filter_map(OnceLock::get).for_each(Queue::resume);
    }

    pub(super) fn wake(&self) {
        self.open_ones().for_each(|(_, queue)| queue.wake());
    }

    /// Closes all of them, for all handles.
    pub(super) fn close(&self, patience: Duration) -> Result<()> {
        self.list.close();
        let deadline = Instant::now() + patience;
        let mut failure = None;
        for (name, queue) in self.open_ones() {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Err(error) = queue.close(left) {
                failure.get_or_insert(error.in_context(at(name)));
            }
        }
        failure.map_or(Ok(()), Err)
    }
}
