//! Figures of a queue from bounded looks.

use super::rates::{self, HourlyEvents, OfType};
use super::{ItemState, Pause, QueueStats};
use crate::error::{Error, Result};
use std::fmt;

/// Figures about a queue from looks of a bounded number of rows each, so that they cost the same in a queue of ten million items
/// as in an empty one. A figure that was not counted to its end says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// The figures, as in [`Queue::stats`](crate::Queue::stats), as far as the looks reach. The Completed items (in a described
    /// table: all ended or paused ones), the percentiles, means and arrivals cover only the newest items.
    pub stats: QueueStats,
    /// Which of the counts of `stats` stopped at the bound: there are as many or more.
    pub counts_capped: [bool; 9],
    /// Whether the waiting items were counted to their end. If not, [`QueueStats::due`] is a minimum, and the oldest due item is
    /// that of those the claim would take next.
    pub due_capped: bool,
    /// How many of the newest items the look saw.
    pub window: i64,
    /// Whether there are more than those.
    pub window_capped: bool,
    /// How many items were finished within the last minute, of those that the look saw.
    pub ended_last_minute: i64,
    /// The same as a rate: items a minute. When more were finished than the look saw, it is that of the newest of them.
    pub ended_per_minute: i64,
    /// How many items end in an hour, by the last one, of those that the look saw.
    pub ended_per_hour: Option<i64>,
    /// How many waiting items have their time of enqueueing, and within how many milliseconds they came.
    pub(crate) came: (i64, Option<i64>),
    /// How many of the items that came within the last hour are not scheduled for later, and when the first of them came.
    pub(crate) came_last_hour: Option<HourlyEvents>,
    /// The same of those that ended.
    pub(crate) ended_last_hour: Option<HourlyEvents>,
    /// How many items that wait are due later, but within an hour.
    pub due_within_hour: i64,
    /// The figures of each type, in the order of the description; none where the queue has one type.
    pub types: Vec<OfType>,
    /// Whether the arrivals of the last hour go beyond the newest items.
    pub arrivals_capped: bool,
    /// The workers with items in flight, at most 100, those with most of them first.
    pub workers: Vec<Holding>,
    /// The errors of failed items, and of those that wait for their next attempt; at most 50, the most frequent first.
    pub errors: Vec<Trouble>,
    /// Items that their table refuses to have claimed or recovered, at most 50, the oldest such first.
    pub refused: Vec<Refused>,
    /// The pauses in force, that of all of the queue first.
    pub pauses: Vec<Pause>,
    /// The places that did not answer: the other figures are those of the rest. None where the queue is in one database.
    pub away: Vec<PlaceAway>,
    /// For how long the oldest item that has room within the limits has been due, in milliseconds: `Some(None)` where none has, `None`
    /// where no limit is, or none was looked at.
    pub startable_ms: Option<Option<i64>>,
    /// The answer of [`startable`](Self::startable), where that is not by pauses and limits alone: each place has its own.
    pub(crate) startable: Option<(i64, Option<i64>)>,
}

/// A place without figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceAway {
    /// Its name.
    pub place: String,
    /// Why it has none; it names the place.
    pub error: Error,
}

impl fmt::Display for PlaceAway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no figures of {}", self.error)
    }
}

/// A place of a queue over several databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfPlace {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub watched: Result<Watched>,
}

/// An item that is set aside, since its table refused a claim or a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused {
    /// Its key.
    pub key: String,
    /// The refused call, and the reason: `claim: new row violates check constraint "positive"`.
    pub reason: String,
    /// The number of refusals.
    pub times: i64,
    /// Milliseconds until the next try; negative: it has been possible for so long.
    pub again_ms: Option<i64>,
}

/// A worker, and its items in flight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holding {
    /// Its name; empty where the table does not record it.
    pub worker: String,
    /// How many items it has in flight.
    pub items: i64,
    /// How long it has had the one that it began first, in milliseconds.
    pub longest_ms: Option<i64>,
}

/// Items with the same error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Failed or Error.
    pub state: Option<ItemState>,
    /// The first line of the error, 200 characters at most.
    pub text: String,
    /// How many of the items that the look saw have it.
    pub items: i64,
    /// The key of one of them.
    pub key: String,
}

/// One row of the procedure.
pub(crate) struct FigureRow<'a> {
    pub name: &'a str,
    pub value: Option<i64>,
    pub capped: bool,
    pub ms: Option<i64>,
    pub detail: &'a str,
    pub key: &'a str,
}

impl FigureRow<'_> {
    fn observed(&self) -> HourlyEvents {
        HourlyEvents { items: self.value.unwrap_or(0), capped: self.capped, ms: self.ms }
    }
}

impl Watched {
    /// Whether the count of a state stopped at the bound.
    #[must_use]
    pub fn is_capped(&self, state: ItemState) -> bool {
        ItemState::ALL.iter().position(|s| *s == state).is_some_and(|i| self.counts_capped[i])
    }

    /// Whether there may be more workers than `workers` names: a look names at most 100.
    #[must_use]
    pub fn are_workers_capped(&self) -> bool {
        self.workers.len() >= 100
    }

    /// Whether all of the queue is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pauses.iter().any(Pause::holds_all)
    }

    /// How many items are due that wait for a worker, and how long the oldest of them has been: without those that wait for the end of a
    /// pause, and none where none has room within the limits. Where some have room, the number is that of all.
    #[must_use]
    pub fn startable(&self) -> (i64, Option<i64>) {
        if let Some(of_places) = self.startable {
            return of_places;
        }
        let (due, oldest) = self.unpaused();
        match self.startable_ms {
            Some(None) => (0, None),
            // The oldest may be of a type that is paused.
            Some(with_room) => (due, oldest.min(with_room)),
            None => (due, oldest),
        }
    }

    fn unpaused(&self) -> (i64, Option<i64>) {
        if self.is_paused() {
            return (0, None);
        }
        let is_free = |of: &&OfType| !self.pauses.iter().any(|pause| pause.holds(Some(&of.name)));
        if self.pauses.is_empty() || self.types.is_empty() {
            return (self.stats.due, self.stats.oldest_due_ms);
        }
        let free: Vec<_> = self.types.iter().filter(is_free).collect();
        (free.iter().map(|of| of.due).sum(), free.iter().filter_map(|of| of.oldest_due_ms).max())
    }

    /// How many workers keep up, as in [`QueueStats::workers_needed`].
    fn needed(&self) -> Option<i64> {
        let stats = &self.stats;
        let arrivals = stats.arrivals_last_hour?;
        // Items that are scheduled for later need no worker until then.
        let busy = stats.due + stats.count(ItemState::Processing) > 0;
        let later = stats.arrivals_last_hour.zip(self.came_last_hour).map_or(0, |(all, came)| all - came.items);
        Some(rates::needed(arrivals - later.max(0), stats.claimed_mean_ms.unwrap_or(0), busy))
    }

    /// Adds one row; an unknown name is one of a later version of the library.
    pub(crate) fn record(&mut self, figure: &FigureRow<'_>) {
        match figure.name.split_once('.') {
            None if figure.name == "worker" => self.workers.push(Holding {
                worker: figure.detail.to_owned(),
                items: figure.value.unwrap_or(0),
                longest_ms: figure.ms,
            }),
            None if figure.name == "refused" => self.refused.push(Refused {
                key: figure.key.to_owned(),
                reason: figure.detail.to_owned(),
                times: figure.value.unwrap_or(0),
                again_ms: figure.ms,
            }),
            None if figure.name == "pause" => {
                let pause = Pause::of_look(figure.key, figure.value.unwrap_or(0), figure.ms, figure.detail);
                let place = self.pauses.iter().position(|other| other.kind > pause.kind).unwrap_or(self.pauses.len());
                self.pauses.insert(place, pause);
            }
            Some(("error", state)) => self.errors.push(Trouble {
                state: state.parse().ok(),
                text: figure.detail.to_owned(),
                items: figure.value.unwrap_or(0),
                key: figure.key.to_owned(),
            }),
            Some(("window", "items")) => {
                (self.window, self.window_capped) = (figure.value.unwrap_or(0), figure.capped);
            }
            Some(("type", what)) => {
                let name = figure.detail.trim_end();
                let place = self.types.iter().position(|of| of.name == name).unwrap_or_else(|| {
                    self.types.push(OfType { name: name.to_owned(), ..OfType::default() });
                    self.types.len() - 1
                });
                self.types[place].record(what, figure.value.unwrap_or(0), figure.ms, figure.capped);
            }
            Some(("came", "waiting")) => self.came = (figure.value.unwrap_or(0), figure.ms),
            Some(("due", "startable_ms")) => self.startable_ms = Some(figure.value),
            Some(("due", "within_hour")) => self.due_within_hour = figure.value.unwrap_or(0),
            Some(("came", "last_hour")) => self.came_last_hour = Some(figure.observed()),
            Some(("ended", "last_hour")) => {
                self.ended_last_hour = Some(figure.observed());
                self.ended_per_hour = Some(rates::per_hour(figure.value.unwrap_or(0), figure.ms, figure.capped));
            }
            Some(("ended", "last_minute")) => {
                let items = figure.value.unwrap_or(0);
                self.ended_last_minute = items;
                self.ended_per_minute = match figure.ms {
                    Some(ms) if figure.capped => items.saturating_mul(60_000) / ms.max(1),
                    _ => items,
                };
            }
            _ => {
                self.stats.record(figure.name, figure.value);
                match figure.name.split_once('.') {
                    Some(("count", state)) => {
                        if let Some(i) = ItemState::ALL.iter().position(|s| s.as_str() == state) {
                            self.counts_capped[i] = figure.capped;
                        }
                    }
                    Some(("due", "count")) => self.due_capped = figure.capped,
                    Some(("arrivals", "last_hour")) => {
                        self.arrivals_capped = figure.capped && figure.value >= Some(self.window);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Derives the other figures, once all rows are there.
    pub(crate) fn conclude(mut self) -> Self {
        self.stats.workers_needed = self.needed();
        let (tells_arrivals, tells_ended) = (self.stats.arrivals_last_hour.is_some(), self.ended_per_hour.is_some());
        self.types.iter_mut().for_each(|of| of.conclude(tells_arrivals, tells_ended));
        self
    }
}

impl From<QueueStats> for Watched {
    /// The figures of a queue that can only be counted whole.
    fn from(stats: QueueStats) -> Self {
        Self { window: stats.counts.iter().sum(), stats, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: i64, capped: bool) -> FigureRow<'_> {
        FigureRow { name, value: Some(value), capped, ms: None, detail: "", key: "" }
    }

    #[test]
    fn paused_items_wait_for_nobody() {
        let mut watched = Watched::default();
        for (name, kind, value, ms) in [
            ("due.count", "", 5, None),
            ("due.oldest_ms", "", 900, None),
            ("type.due", "A", 3, Some(900)),
            ("type.due", "B", 2, Some(70)),
        ] {
            watched.record(&FigureRow { name, value: Some(value), capped: false, ms, detail: kind, key: "" });
        }
        assert_eq!(watched.unpaused(), (5, Some(900)));
        let pause =
            |kind| FigureRow { name: "pause", value: Some(1), capped: false, ms: None, detail: "{}", key: kind };
        watched.record(&pause("A"));
        assert_eq!((watched.unpaused(), watched.is_paused()), ((2, Some(70)), false));
        watched.record(&pause(""));
        assert_eq!((watched.unpaused(), watched.is_paused()), ((0, None), true));
        assert_eq!(watched.pauses.iter().map(|pause| pause.kind.as_deref()).collect::<Vec<_>>(), [None, Some("A")]);
    }

    #[test]
    fn needed_workers_are_rounded_up_and_at_least_one() {
        let needed = |arrivals, mean, pending| {
            let mut watched = Watched::default();
            for (name, value) in [("arrivals.last_hour", arrivals), ("claimed.mean_ms", mean), ("due.count", pending)] {
                watched.record(&figure(name, value, false));
            }
            watched.conclude().stats.workers_needed
        };
        assert_eq!(needed(90, 180_000, 5), Some(6));
        assert_eq!((needed(0, 0, 0), needed(0, 0, 1), needed(1, 1, 0)), (Some(0), Some(1), Some(1)));
        assert_eq!(Watched::default().conclude().stats.workers_needed, None, "the arrivals are unknown");
    }

    #[test]
    fn fast_ends_are_a_rate() {
        let mut watched = Watched::default();
        watched.record(&FigureRow { ms: Some(5_000), ..figure("ended.last_minute", 10_000, true) });
        assert_eq!((watched.ended_last_minute, watched.ended_per_minute), (10_000, 120_000));
        watched.record(&FigureRow { ms: Some(5_000), ..figure("ended.last_minute", 9, false) });
        assert_eq!(watched.ended_per_minute, 9);
    }

    #[test]
    fn capped_counts_say_so() {
        let mut watched = Watched::default();
        watched.record(&figure("count.Failed", 10, true));
        watched.record(&figure("window.items", 10, true));
        watched.record(&figure("a figure of a later version", 1, false));
        assert!(
            watched.is_capped(ItemState::Failed) && !watched.is_capped(ItemState::Pending) && watched.window_capped
        );
    }
}
