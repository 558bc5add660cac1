//! The figures of a queue over several databases, from those of each.

use super::rates::{HOUR_MS, HourlyEvents, OfType, sum};
use super::watched::{OfPlace, PlaceAway, Watched};
use super::{Holding, Pause, Trouble};
use crate::error::Result;
use std::cmp::Reverse;

impl Watched {
    /// The figures of all places that answer; the others are named in [`away`](Self::away). The failure of the first, if none answers.
    pub(crate) fn of_places(places: &[OfPlace]) -> Result<Self> {
        let mut total: Option<Self> = None;
        let (mut pauses, mut away) = (Vec::new(), Vec::new());
        let mut startable = (0, None);
        for OfPlace { name, watched } in places {
            match watched {
                Ok(watched) => {
                    let (due, oldest) = watched.startable();
                    startable = (startable.0 + due, startable.1.max(oldest));
                    pauses.push((name.as_str(), watched.pauses.as_slice()));
                    match &mut total {
                        Some(total) => total.add(watched),
                        None => total = Some(watched.clone()),
                    }
                }
                Err(error) => away.push(PlaceAway { place: name.clone(), error: error.clone() }),
            }
        }
        let Some(total) = total else {
            return away.into_iter().next().map_or_else(|| Ok(Self::default()), |away| Err(away.error));
        };
        Ok(Self { pauses: Pause::of_places(&pauses), away, startable: Some(startable), ..total }.conclude())
    }

    /// Adds the figures of another database, besides its pauses.
    fn add(&mut self, other: &Self) {
        self.stats.add(&other.stats);
        self.counts_capped.iter_mut().zip(other.counts_capped).for_each(|(one, other)| *one |= other);
        self.due_capped |= other.due_capped;
        self.window += other.window;
        self.window_capped |= other.window_capped;
        self.ended_last_minute += other.ended_last_minute;
        self.ended_per_minute += other.ended_per_minute;
        self.ended_per_hour = sum(self.ended_per_hour, other.ended_per_hour);
        self.came = came(self.came, other.came);
        let both = |one: Option<HourlyEvents>, other: Option<HourlyEvents>| Some(one?.plus(other?));
        self.came_last_hour = both(self.came_last_hour, other.came_last_hour);
        self.ended_last_hour = both(self.ended_last_hour, other.ended_last_hour);
        self.due_within_hour += other.due_within_hour;
        self.startable_ms = self.startable_ms.max(other.startable_ms);
        self.arrivals_capped |= other.arrivals_capped;
        merge(&mut self.types, &other.types, |one, other| one.name == other.name, OfType::add);
        merge(&mut self.workers, &other.workers, |one, other| one.worker == other.worker, Holding::add);
        self.workers.sort_by_key(|holding| Reverse(holding.items));
        self.workers.truncate(100);
        let is_same = |one: &Trouble, other: &Trouble| one.state == other.state && one.text == other.text;
        merge(&mut self.errors, &other.errors, is_same, |one, other| one.items += other.items);
        self.errors.sort_by_key(|trouble| Reverse(trouble.items));
        self.errors.truncate(50);
        self.refused.extend(other.refused.iter().cloned());
        self.refused.truncate(50);
    }
}

impl Holding {
    fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }
}

/// Adds each of `more` to the one that is the same, or to the end.
fn merge<T: Clone>(all: &mut Vec<T>, more: &[T], is_same: impl Fn(&T, &T) -> bool, add: impl Fn(&mut T, &T)) {
    for other in more {
        match all.iter_mut().find(|one| is_same(one, other)) {
            Some(one) => add(one, other),
            None => all.push(other.clone()),
        }
    }
}

/// The waiting items of both, within a time that gives the sum of their rates.
fn came(one: (i64, Option<i64>), other: (i64, Option<i64>)) -> (i64, Option<i64>) {
    match (one, other) {
        ((0, _), some) | (some, (0, _)) => some,
        ((ours, Some(our_ms)), (theirs, Some(their_ms))) if our_ms > 0 && their_ms > 0 => {
            let rate = ours.saturating_mul(HOUR_MS) / our_ms + theirs.saturating_mul(HOUR_MS) / their_ms;
            (ours + theirs, Some((ours + theirs).saturating_mul(HOUR_MS) / rate.max(1)))
        }
        ((ours, _), (theirs, _)) => (ours + theirs, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::item::{FigureRow, ItemState};

    const MINUTE: i64 = 60_000;

    /// The figures of a place from rows of its procedure.
    fn place(name: &str, rows: &[(&str, i64, Option<i64>, bool, &str)]) -> OfPlace {
        let mut watched = Watched::default();
        for (name, value, ms, capped, text) in rows.iter().copied() {
            let (detail, key) = if name == "pause" { ("{}", text) } else { (text, "k") };
            watched.record(&FigureRow { name, value: Some(value), capped, ms, detail, key });
        }
        OfPlace { name: name.to_owned(), watched: Ok(watched.conclude()) }
    }

    #[test]
    fn counts_add_up_and_the_worst_time_counts() {
        let north = place(
            "north",
            &[
                ("count.Failed", 3, None, true, ""),
                ("due.count", 4, None, false, ""),
                ("due.oldest_ms", 900, None, false, ""),
                ("arrivals.last_hour", 100, None, false, ""),
                ("worker", 2, Some(50), false, "w1"),
                ("error.Failed", 3, None, false, "no route"),
                ("type.due", 4, Some(900), false, "A"),
                ("type.arrivals", 30, None, false, "A"),
                ("type.claimed_mean_ms", 100, None, false, "A"),
            ],
        );
        let south = place(
            "south",
            &[
                ("count.Failed", 5, None, false, ""),
                ("due.count", 6, None, true, ""),
                ("due.oldest_ms", 70, None, false, ""),
                ("arrivals.last_hour", 20, None, false, ""),
                ("worker", 1, Some(80), false, "w1"),
                ("worker", 9, Some(10), false, "w2"),
                ("error.Failed", 4, None, false, "no route"),
                ("error.Failed", 8, None, false, "full"),
                ("type.due", 6, Some(70), true, "A"),
                ("type.arrivals", 10, None, false, "A"),
                ("type.claimed_mean_ms", 500, None, false, "A"),
            ],
        );
        let all = Watched::of_places(&[north, south]).unwrap();
        assert_eq!((all.stats.count(ItemState::Failed), all.is_capped(ItemState::Failed)), (8, true));
        assert_eq!((all.stats.due, all.due_capped, all.stats.oldest_due_ms), (10, true, Some(900)));
        assert_eq!(all.stats.arrivals_last_hour, Some(120));
        let workers: Vec<_> = all.workers.iter().map(|of| (of.worker.as_str(), of.items, of.longest_ms)).collect();
        assert_eq!(workers, [("w2", 9, Some(10)), ("w1", 3, Some(80))]);
        let errors: Vec<_> = all.errors.iter().map(|of| (of.text.as_str(), of.items)).collect();
        assert_eq!(errors, [("full", 8), ("no route", 7)]);
        let [of] = all.types.as_slice() else { panic!("{:?}", all.types) };
        assert_eq!((of.due, of.oldest_due_ms, of.claimed_mean_ms, of.capped), (10, Some(900), Some(200), true));
        assert_eq!(all.startable(), (10, Some(900)));
    }

    #[test]
    fn rates_add_up_whatever_the_time_of_each() {
        // 10 in a minute are 600 an hour, 10 in an hour 10.
        let of = |ms| [("came.waiting", 10, Some(ms), false, "")];
        let all = Watched::of_places(&[place("a", &of(MINUTE)), place("b", &of(60 * MINUTE))]).unwrap();
        assert_eq!(all.came.0 * HOUR_MS / all.came.1.unwrap(), 610);
        // A look that stopped at its bound saw 10,000 in half an hour, the other all of an hour.
        let came = |items, ms, capped| [("came.last_hour", items, Some(ms), capped, "")];
        let half = place("a", &came(10_000, 30 * MINUTE, true));
        let whole = place("b", &came(100, 60 * MINUTE, false));
        let all = Watched::of_places(&[half, whole]).unwrap().came_last_hour.unwrap();
        assert_eq!((all.items, all.capped, all.per_hour(HOUR_MS) / 10), (10_100, true, 2_010));
    }

    #[test]
    fn a_pause_of_one_place_leaves_the_others_due() {
        let due = |items| ("due.count", items, None, false, "");
        let paused = |at, items| place(at, &[due(items), ("pause", 0, None, false, "")]);
        let one = Watched::of_places(&[paused("a", 5), place("b", &[due(2)])]).unwrap();
        assert_eq!((one.is_paused(), one.startable()), (false, (2, None)));
        assert_eq!(one.pauses[0].to_string(), "the queue is paused at a since 1970-01-01T00:00:00Z by ");
        let both = Watched::of_places(&[paused("a", 5), paused("b", 2)]).unwrap();
        assert_eq!((both.is_paused(), both.startable(), both.pauses.len()), (true, (0, None), 1));
    }

    #[test]
    fn a_place_without_figures_hides_no_other() {
        let away = |name: &str| {
            let error = Error::new(ErrorKind::Unreachable, "nobody answers").in_context(format_args!("place {name}"));
            OfPlace { name: name.to_owned(), watched: Err(error) }
        };
        let one = Watched::of_places(&[away("a"), place("b", &[("due.count", 2, None, false, "")])]).unwrap();
        assert_eq!((one.stats.due, one.away[0].place.as_str()), (2, "a"));
        let none = Watched::of_places(&[away("a"), away("b")]).unwrap_err();
        assert!(none.kind() == ErrorKind::Unreachable && none.message().contains("place a"), "{none}");
        // A look at other places shows no change.
        let waiting = |of: &[OfPlace]| Watched { came: (5, Some(MINUTE)), ..Watched::of_places(of).unwrap() };
        let whole = [place("a", &[]), place("b", &[("due.count", 2, None, false, "")])];
        let ended = |earlier: &Watched| {
            waiting(&whole).trend(Some((earlier, std::time::Duration::from_secs(60)))).ended_per_hour
        };
        assert_eq!((ended(&waiting(&whole)), ended(&one)), (Some(300), None));
    }
}
