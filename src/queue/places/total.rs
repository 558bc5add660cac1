//! Calls to all places, whose answers are one.

use crate::error::{ErrorKind, Result};
use crate::item::{Filter, PauseEnd, QueueStats};
use crate::pool::Connections;
use crate::queue::Queue;
use crate::queue::handle::{Places, at};
use crate::queue::places::route::filter_at;

impl Places {
    /// The figures of all of them: [`QueueStats::add`] says how they add up.
    pub(in crate::queue) fn stats(&self) -> Result<QueueStats> {
        let mut total: Option<QueueStats> = None;
        for (name, queue) in self.all()? {
            let stats = queue.stats().map_err(|error| error.in_context(at(name)))?;
            match &mut total {
                Some(total) => total.add(&stats),
                None => total = Some(stats),
            }
        }
        Ok(total.unwrap_or_default())
    }

    pub(in crate::queue) fn connections(&self) -> Connections {
        self.open_ones().fold(Connections::default(), |total, (_, queue)| total.plus(&queue.connections()))
    }

    /// Makes a call that does up to `max` until so many are done.
    fn up_to(&self, max: u32, call: impl Fn(&Queue, u32) -> Result<u64>) -> Result<u64> {
        let mut done = 0;
        for (name, queue) in self.all()? {
            let left = u64::from(max).saturating_sub(done);
            if left == 0 {
                break;
            }
            let left = u32::try_from(left).unwrap_or(max);
            done += call(queue, left).map_err(|error| error.in_context(at(name)))?;
        }
        Ok(done)
    }

    pub(in crate::queue) fn recover(&self, max: u32) -> Result<u32> {
        let done = self.up_to(max, |queue, left| queue.recover(left).map(u64::from))?;
        Ok(u32::try_from(done).unwrap_or(max))
    }

    pub(in crate::queue) fn retain(&self, max: u32) -> Result<u64> {
        self.up_to(max, Queue::retain)
    }

    /// Keys of the filter are looked for at their places.
    pub(in crate::queue) fn purge(&self, filter: &Filter, max: u32) -> Result<u64> {
        filter.keys.iter().flatten().try_for_each(|key| self.number_of(key).map(drop))?;
        self.up_to(max, |queue, left| {
            let place = queue.any().terms.place().unwrap_or_default();
            filter_at(place, filter).map_or(Ok(0), |here| queue.purge(&here, left))
        })
    }

    pub(in crate::queue) fn pause(&self, kind: Option<&str>, end: PauseEnd, reason: Option<&str>) -> Result<()> {
        self.change(|queue| queue.pause_queue(kind, end, reason)).map(drop)
    }

    pub(in crate::queue) fn unpause(&self, kind: Option<&str>) -> Result<bool> {
        let was_paused = self.change(|queue| queue.resume_queue(kind))?;
        Ok(was_paused.into_iter().any(|(_, was_paused)| was_paused))
    }

    /// [`Queue::is_done`]: at any of them.
    pub(in crate::queue) fn is_done(&self, operation: &str) -> Result<bool> {
        let mut failure = None;
        for (number, name) in self.names().iter().enumerate() {
            let asked = self
                .open_at(number)
                .and_then(|queue| queue.is_done(operation).map_err(|error| error.in_context(at(name))));
            match asked {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::InvalidArgument => return Err(error),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        // Where one is silent, nobody knows.
        failure.map_or(Ok(false), Err)
    }
}
