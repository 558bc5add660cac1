//! Looks at all places, which are made at once: a place that is away has no figures, and hides no other.

use crate::error::Result;
use crate::item::{Minute, OfPlace, Pause, RegisteredWorker, Watched};
use crate::queue::Queue;
use crate::queue::handle::{Places, at};
use crate::threads;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// The workers that one place names.
const MOST_WORKERS: usize = 1000;

impl Places {
    /// The answer of each place, in the order of their names. One that is known to be away is not asked: a thread tries it.
    fn each<R: Send>(&self, call: impl Fn(&Queue) -> Result<R> + Sync) -> Vec<(&str, Result<R>)> {
        let one = |number: &usize| {
            let queue = self.open_at(*number)?;
            let shared = &queue.any().shared;
            let away = if shared.is_away() { shared.outage.why() } else { None };
            away.map_or_else(|| call(queue), Err).map_err(|error| error.in_context(at(&self.names()[*number])))
        };
        let numbers: Vec<_> = (0..self.names().len()).collect();
        self.names().iter().map(String::as_str).zip(threads::each(&numbers, one)).collect()
    }

    /// The answers of the places that answer; the failure of the first, if none does.
    pub(in crate::queue) fn answers<R: Send>(
        &self,
        call: impl Fn(&Queue) -> Result<R> + Sync,
    ) -> Result<Vec<(&str, R)>> {
        let (mut answers, mut failure) = (Vec::new(), None);
        for (name, answer) in self.each(call) {
            match answer {
                Ok(answer) => answers.push((name, answer)),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        failure.filter(|_| answers.is_empty()).map_or(Ok(answers), Err)
    }

    /// [`Queue::watch_places`]: all together, and each.
    pub(in crate::queue) fn look_at_each(&self, most: u32) -> Result<(Watched, Vec<OfPlace>)> {
        let each = self.each(|queue| queue.watch(most)).into_iter();
        let each: Vec<_> = each.map(|(name, watched)| OfPlace { name: name.to_owned(), watched }).collect();
        Ok((Watched::of_places(&each)?, each))
    }

    /// The pauses of the places that answer.
    pub(in crate::queue) fn pauses(&self) -> Result<Vec<Pause>> {
        self.answers(Queue::pauses).map(|each| Pause::of_places(&each))
    }

    /// [`Queue::workers`]: each once, as the place has it where it was last.
    pub(in crate::queue) fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        let mut all: Vec<_> = self.answers(Queue::workers)?.into_iter().flat_map(|(_, workers)| workers).collect();
        all.sort_by_key(|worker| worker.seen_ms);
        let mut known = BTreeSet::new();
        all.retain(|worker| known.insert((worker.worker.clone(), worker.host.clone(), worker.process)));
        all.truncate(MOST_WORKERS);
        Ok(all)
    }

    /// [`Queue::minutes`]: those of the same time together.
    pub(in crate::queue) fn minutes(&self, since: SystemTime) -> Result<Vec<Minute>> {
        let mut all = BTreeMap::<SystemTime, Minute>::new();
        for minute in self.answers(|queue| queue.minutes(since))?.into_iter().flat_map(|(_, minutes)| minutes) {
            all.entry(minute.at).and_modify(|total| total.add(&minute)).or_insert(minute);
        }
        Ok(all.into_values().collect())
    }

    /// Makes a change at all places. The error says at which it is made; a repetition completes it.
    pub(in crate::queue) fn change<R: Send>(
        &self,
        call: impl Fn(&Queue) -> Result<R> + Sync,
    ) -> Result<Vec<(&str, R)>> {
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        for (name, answer) in self.each(call) {
            match answer {
                Ok(answer) => done.push((name, answer)),
                Err(error) => failed.push((name, error)),
            }
        }
        let names = |of: Vec<&str>| of.join(", ");
        let not = failed.iter().map(|(name, _)| *name).collect();
        match failed.first() {
            None => Ok(done),
            Some((_, error)) if done.is_empty() => Err(error.clone()),
            Some((_, error)) => {
                let made = names(done.iter().map(|(name, _)| *name).collect());
                let context = format!("it is changed at {made}, and not at {}; a repetition completes it", names(not));
                Err(error.clone().in_context(context))
            }
        }
    }
}
