//! Reasons why a queue needs a person, in the order of urgency.

use crate::format::count;
use crate::printable::printable;
use readpast::item::{RegisteredWorker, span_text};
use readpast::{ItemState, Watched};
use serde_json::{Value, json};

/// An item that is due for longer than this needs attention although there are workers: it may wait for one that is stuck.
const LATE_MS: i64 = 10 * 60_000;
/// And where no worker holds any.
const UNATTENDED_MS: i64 = 60_000;

/// Why a queue needs attention. The order is that in which a person should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    NoFigures,
    PlaceAway,
    NoWorkers,
    Expired,
    Late,
    Refused,
    Failed,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoFigures => "no_figures",
            Self::PlaceAway => "place_away",
            Self::NoWorkers => "no_workers",
            Self::Expired => "leases_expired",
            Self::Late => "late",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concern {
    pub kind: Kind,
    pub text: String,
}

impl Concern {
    pub fn document(&self) -> Value {
        json!({"kind": self.kind.as_str(), "text": self.text})
    }
}

/// The reasons of a queue, the most pressing first; none where all is well. `trouble` is why there are no new figures.
pub fn of(trouble: Option<&str>, latest: Option<&Watched>, workers: &[RegisteredWorker]) -> Vec<Concern> {
    let mut found = Vec::new();
    if let Some(trouble) = trouble {
        found.push(Concern { kind: Kind::NoFigures, text: format!("no new figures: {}", printable(trouble)) });
    }
    found.extend(latest.into_iter().flat_map(|watched| of_figures(watched, workers)));
    found
}

/// `OK` or `Attention`.
pub fn status(concerns: &[Concern]) -> &'static str {
    if concerns.is_empty() { "OK" } else { "Attention" }
}

/// A queue with its concerns and its newest figures, as JSON: the same wherever it is shown.
pub fn document(queue: &str, concerns: &[Concern], trouble: Option<&str>, latest: Option<&Watched>) -> Value {
    json!({
        "queue": queue,
        "status": status(concerns),
        "concerns": concerns.iter().map(Concern::document).collect::<Vec<_>>(),
        "trouble": trouble,
        "figures": latest.map(readpast::ask::watched),
    })
}

fn of_figures(watched: &Watched, workers: &[RegisteredWorker]) -> Vec<Concern> {
    let stats = &watched.stats;
    let mut found = Vec::new();
    let mut add = |kind, text| found.push(Concern { kind, text });
    watched.away.iter().for_each(|away| add(Kind::PlaceAway, printable(&away.to_string())));
    // Paused items, and those without room, wait for no worker.
    let (due, oldest) = watched.startable();
    match oldest.filter(|_| due > 0) {
        Some(ms) if stats.claimed == 0 && ms > UNATTENDED_MS => {
            let there = attendance(workers);
            add(Kind::NoWorkers, format!("items are due for {} and no worker holds any{there}", span_text(ms)));
        }
        Some(ms) if ms > LATE_MS => add(Kind::Late, format!("an item has been due for {}", span_text(ms))),
        _ => {}
    }
    if stats.expired > 0 {
        add(Kind::Expired, format!("{} held by workers whose lease has expired", count(stats.expired, false)));
    }
    if let Some(first) = watched.refused.first() {
        let number = count(i64::try_from(watched.refused.len()).unwrap_or(i64::MAX), false);
        add(
            Kind::Refused,
            format!("{number} refused by the table ({}: {})", printable(&first.key), printable(&first.reason)),
        );
    }
    let failed = stats.count(ItemState::Failed);
    if failed > 0 {
        add(Kind::Failed, format!("{} failed", count(failed, watched.is_capped(ItemState::Failed))));
    }
    found.sort_by_key(|concern| concern.kind);
    found
}

/// A worker that has not reported for longer is not there: it reports every 30 seconds.
const GONE_MS: i64 = 90_000;

/// Whether a worker of the registry is there.
pub fn is_there(worker: &RegisteredWorker) -> bool {
    worker.seen_ms < GONE_MS
}

/// The registry in words, behind "no worker holds any".
fn attendance(workers: &[RegisteredWorker]) -> String {
    let there = workers.iter().filter(|worker| is_there(worker)).count();
    match (there, workers.first()) {
        (0, None) => String::new(),
        (0, Some(last)) => {
            let minute = last.seen_at.get(..16).unwrap_or_default().replace('T', " ");
            format!("; none has been there since {minute} UTC")
        }
        (1, _) => "; one is there".to_owned(),
        (there, _) => format!("; {there} are there"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(watched: &Watched) -> Vec<String> {
        of_figures(watched, &[]).into_iter().map(|concern| concern.text).collect()
    }

    pub fn pause() -> readpast::item::Pause {
        readpast::item::Pause {
            kind: None,
            place: None,
            since: "2026-11-18T11:06:40.0000000".to_owned(),
            until: None,
            who: "ann".to_owned(),
            login: "app".to_owned(),
            reason: Some("the bank is down".to_owned()),
        }
    }

    #[test]
    fn an_idle_queue_is_fine_and_a_stuck_one_needs_attention() {
        let mut watched = Watched::default();
        assert_eq!(texts(&watched), Vec::<String>::new());
        (watched.stats.due, watched.stats.oldest_due_ms) = (1, Some(61_000));
        assert_eq!(texts(&watched), ["items are due for 1 m 01 s and no worker holds any"]);
        watched.stats.claimed = 1;
        assert!(texts(&watched).is_empty());
        watched.stats.oldest_due_ms = Some(11 * 60_000);
        assert_eq!(texts(&watched), ["an item has been due for 11 m 00 s"]);
        watched.pauses.push(pause());
        assert!(texts(&watched).is_empty(), "it is paused");
    }

    #[test]
    fn the_registry_shows_since_when_nobody_is_there() {
        let mut watched = Watched::default();
        (watched.stats.due, watched.stats.oldest_due_ms) = (1, Some(61_000));
        let worker = |seen_ms| RegisteredWorker {
            worker: "w".to_owned(),
            host: "h".to_owned(),
            process: 1,
            version: "1".to_owned(),
            started_at: "2026-11-28T01:00:00.0000000".to_owned(),
            seen_at: "2026-11-28T02:14:30.0000000".to_owned(),
            seen_ms,
        };
        let text = |workers: &[RegisteredWorker]| of_figures(&watched, workers).remove(0).text;
        assert!(
            text(&[worker(90_000)]).ends_with("no worker holds any; none has been there since 2026-11-28 02:14 UTC")
        );
        assert!(text(&[worker(1), worker(90_000)]).ends_with("; one is there"));
        assert!(text(&[worker(1), worker(2)]).ends_with("; 2 are there"));
    }

    #[test]
    fn the_most_pressing_reason_comes_first() {
        let mut watched = Watched::default();
        (watched.stats.counts[3], watched.stats.expired) = (2, 3);
        (watched.stats.due, watched.stats.oldest_due_ms) = (1, Some(61_000));
        let kinds: Vec<_> = of_figures(&watched, &[]).into_iter().map(|concern| concern.kind).collect();
        assert_eq!(kinds, [Kind::NoWorkers, Kind::Expired, Kind::Failed]);
    }
}
