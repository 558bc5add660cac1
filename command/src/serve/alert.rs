//! Alerts: rules that the figures are held against. Each reports once when it begins to hold for a queue, and once when it ends.

mod notify;
mod rules;

pub use rules::Rules;

use super::App;
use crate::output::note;
use crate::sampler::Sample;
use crate::signals::Stop;
use readpast::ItemState;
use readpast::item::utc_text;
use rules::{Condition, Rule};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How a rule stands with a queue.
struct Standing {
    /// Since when the condition has been met without a break.
    met: Option<SystemTime>,
    /// The last notification: since when the rule held.
    fired: Option<SystemTime>,
}

/// A notification to send.
struct News {
    key: (usize, String),
    fires: Option<SystemTime>,
    text: Value,
}

/// Holds the figures against the rules until it is to stop, on a thread of its own: a receiver may be slow.
pub fn watch(app: &Arc<App>, rules: Rules, stop: Stop) -> std::io::Result<()> {
    let app = Arc::clone(app);
    let work = move || {
        let mut standings = HashMap::new();
        // Reported once, and not with every try.
        let (mut trouble, mut missed) = (None, HashSet::new());
        while stop.signal().is_none() {
            miss(&app, &rules, &mut missed);
            for news in look(&app, &rules, &mut standings) {
                match notify::notify(&rules.to, &news.text) {
                    Ok(()) => {
                        trouble = None;
                        if let Some(standing) = standings.get_mut(&news.key) {
                            standing.fired = news.fires;
                        }
                    }
                    // It stands as it stood: the next round reports again.
                    Err(why) => {
                        if trouble.as_ref() != Some(&why) {
                            note(&format!("an alert could not be sent, and will be sent again: {why}"));
                        }
                        trouble = Some(why);
                    }
                }
            }
            let until = Instant::now() + app.every;
            while stop.signal().is_none() && Instant::now() < until {
                thread::sleep(Duration::from_millis(50));
            }
        }
    };
    thread::Builder::new().name("alerts".to_owned()).spawn(work).map(drop)
}

/// Reports a rule whose queue is not shown, since it has no effect: its name may be misspelt, or the queue comes later.
fn miss(app: &App, rules: &Rules, missed: &mut HashSet<usize>) {
    for (number, rule) in rules.all.iter().enumerate() {
        let Some(queue) = rule.queue().filter(|queue| app.queues.find(queue).is_none()) else {
            missed.remove(&number);
            continue;
        };
        if missed.insert(number) {
            let (name, place) = (&rule.name, number + 1);
            note(&format!(
                "the alert {name} (rule {place}) is for {queue}, and no such queue is shown: it tells nothing"
            ));
        }
    }
}

/// The rules that began or ceased to hold. Where there are no fresh figures nothing is known, and so nothing changes.
fn look(app: &App, rules: &Rules, standings: &mut HashMap<(usize, String), Standing>) -> Vec<News> {
    let mut found = Vec::new();
    let samplers = app.queues.all();
    for (number, rule) in rules.all.iter().enumerate() {
        for sampler in samplers.iter().filter(|sampler| rule.is_for(sampler.queue.name())) {
            let history = sampler.history();
            let (Some(latest), None) = (history.samples.last(), &history.trouble) else { continue };
            let value = measured(&rule.condition, &history.samples);
            let key = (number, sampler.queue.name().to_owned());
            let standing = standings.entry(key.clone()).or_insert(Standing { met: None, fired: None });
            standing.met = rule.condition.is_met(value).then(|| standing.met.unwrap_or(latest.at));
            let holds = standing.met.filter(|since| latest.at.duration_since(*since).unwrap_or_default() >= rule.lasts);
            if holds.is_some() != standing.fired.is_some() {
                found.push(notification(app, rule, key, holds, Some(value), latest.at));
            }
        }
        let is_gone = |queue: &str| !samplers.iter().any(|sampler| sampler.queue.name() == queue);
        let over = standings
            .iter()
            .filter(|((at, queue), standing)| *at == number && standing.fired.is_some() && is_gone(queue));
        found.extend(over.map(|(key, _)| notification(app, rule, key.clone(), None, None, SystemTime::now())));
    }
    // A queue that is gone is forgotten once its end was reported.
    standings.retain(|(_, queue), standing| {
        standing.fired.is_some() || samplers.iter().any(|sampler| sampler.queue.name() == queue)
    });
    found
}

fn notification(
    app: &App,
    rule: &Rule,
    key: (usize, String),
    fires: Option<SystemTime>,
    value: Option<i64>,
    at: SystemTime,
) -> News {
    let text = json!({
        "alert": rule.name,
        "state": if fires.is_some() { "firing" } else { "cleared" },
        "schema": app.schema,
        "queue": key.1,
        "condition": rule.condition.word(),
        "value": value,
        "limit": rule.condition.limit(),
        "text": rule.condition.text(&key.1, value, fires.is_some()),
        "at": utc_text(at),
        "since": fires.map(utc_text),
    });
    News { key, fires, text }
}

/// The figure that a condition speaks of.
fn measured(condition: &Condition, samples: &[Arc<Sample>]) -> i64 {
    let Some(latest) = samples.last() else { return 0 };
    let stats = &latest.watched.stats;
    // Paused items, and those without room, wait for no worker.
    let (due, oldest) = latest.watched.startable();
    match condition {
        Condition::Depth(_) => due,
        Condition::Oldest(_) => oldest.unwrap_or(0),
        Condition::NoWorker(_) if stats.claimed > 0 => 0,
        Condition::NoWorker(_) => oldest.unwrap_or(0),
        Condition::FailedPerMinute(_) => failed_per_minute(samples),
    }
}

/// How many items have become Failed within a minute. What is purged or redriven meanwhile takes nothing away. Where the last
/// two samples are farther apart it is a minute's share of what came between them, rounded up: one failure is not none.
fn failed_per_minute(samples: &[Arc<Sample>]) -> i64 {
    const MINUTE: Duration = Duration::from_secs(60);

    let [.., before, latest] = samples else { return 0 };
    let age = |sample: &Sample| latest.at.duration_since(sample.at).ok();
    let failed = |sample: &Sample| sample.watched.stats.count(ItemState::Failed);
    let newly = |pair: &[Arc<Sample>]| (failed(&pair[1]) - failed(&pair[0])).max(0);
    if let Some(apart) = age(before).filter(|apart| *apart > MINUTE) {
        let apart = i64::try_from(apart.as_millis()).unwrap_or(i64::MAX);
        let millis = newly(&samples[samples.len() - 2..]).saturating_mul(60_000);
        return millis / apart + i64::from(millis % apart > 0);
    }
    samples.windows(2).filter(|pair| age(&pair[0]).is_some_and(|age| age <= MINUTE)).map(newly).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use readpast::Watched;

    fn look(second: u64, failed: i64) -> Arc<Sample> {
        let mut watched = Watched::default();
        watched.stats.counts[3] = failed;
        Arc::new(Sample { watched, at: SystemTime::UNIX_EPOCH + Duration::from_secs(second), took: Duration::ZERO })
    }

    #[test]
    fn failures_are_counted_over_a_minute_whatever_is_purged() {
        let samples = [look(0, 5), look(30, 9), look(60, 10), look(90, 0), look(100, 3)];
        assert_eq!(failed_per_minute(&samples[..2]), 4);
        assert_eq!(failed_per_minute(&samples[..3]), 5);
        assert_eq!(failed_per_minute(&samples), 3, "what was before the minute does not count");
        assert_eq!(failed_per_minute(&samples[..1]), 0);
        assert_eq!(failed_per_minute(&[]), 0);
    }

    #[test]
    fn failures_are_counted_however_seldom_somebody_looks() {
        assert_eq!(failed_per_minute(&[look(0, 0), look(61, 7)]), 7);
        assert_eq!(failed_per_minute(&[look(0, 0), look(10, 9), look(310, 19)]), 2);
        assert_eq!(failed_per_minute(&[look(0, 0), look(3600, 1)]), 1, "one is not none");
        assert_eq!(failed_per_minute(&[look(0, 5), look(3600, 1)]), 0);
    }
}
