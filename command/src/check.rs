//! `readpast check`: a plug-in for monitoring systems.

use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use crate::printable::printable;
use crate::{connection, duration};
use readpast::description::Storage;
use readpast::item::{Pause, PlaceAway, span_text};
use readpast::{ItemState, Queue, QueueStats, ask};
use serde_json::json;
use std::fmt::Write;

/// Compares figures of a queue with levels, as plug-ins of monitoring systems do
///
/// Prints one line, with the figures after a bar (Nagios, Icinga, Zabbix, Sensu). A level is LEVEL, above which the check is
/// critical, or WARNING,CRITICAL. Without a level it only checks that the queue can be reached. Exit status: 0 OK, 1 WARNING,
/// 2 CRITICAL, 3 UNKNOWN: the queue cannot be asked, or the arguments are wrong. A place of several that does not answer is
/// critical, beside the figures of the others. In a table that readpast
/// made it reads about 10,000 rows at most, or as many as a level says; a figure with a plus may be higher. It counts on, by a scan
/// as stats does, only if a level lies between what it saw and what there may be; and in a described table.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast check Notification --failed 10 --oldest 90s,5m --depth 1000")]
pub struct Args {
    /// The queue
    queue: String,
    /// Level of Failed items
    #[arg(long, value_name = "LEVEL", value_parser = counts)]
    failed: Option<Levels>,
    /// Level of the time that the oldest due item has waited: 90s, 5m, 1h
    #[arg(long, value_name = "LEVEL", value_parser = spans)]
    oldest: Option<Levels>,
    /// Level of items that are due and wait for a worker
    #[arg(long, value_name = "LEVEL", value_parser = counts)]
    depth: Option<Levels>,
    /// Level of items in flight whose lease has run out: their workers are gone
    #[arg(long, value_name = "LEVEL", value_parser = counts)]
    expired: Option<Levels>,
}

/// The rows of a look, and the most that it may have.
const LOOK: u32 = 10_000;
const LONGEST_LOOK: u32 = 1_000_000;

/// The levels above which a figure alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Levels {
    warning: Option<i64>,
    critical: i64,
}

impl Levels {
    fn parse(
        text: &str,
        number: impl Fn(&str) -> std::result::Result<i64, String>,
    ) -> std::result::Result<Self, String> {
        let Some((warning, critical)) = text.split_once(',') else {
            return Ok(Self { warning: None, critical: number(text)? });
        };
        let levels = Self { warning: Some(number(warning)?), critical: number(critical)? };
        if levels.warning > Some(levels.critical) {
            return Err("the warning comes first and is not above the critical level".to_owned());
        }
        Ok(levels)
    }

    fn judge(self, value: i64) -> Service {
        if value > self.critical {
            Service::Critical
        } else if self.warning.is_some_and(|warning| value > warning) {
            Service::Warning
        } else {
            Service::Ok
        }
    }
}

fn counts(text: &str) -> std::result::Result<Levels, String> {
    let number =
        |text: &str| text.parse::<u32>().map(i64::from).map_err(|_| "write whole numbers, like 10 or 5,10".to_owned());
    Levels::parse(text, number)
}

fn spans(text: &str) -> std::result::Result<Levels, String> {
    let ms = |text: &str| i64::try_from(duration::parse(text)?.as_millis()).map_err(|_| "that is too long".to_owned());
    Levels::parse(text, ms)
}

/// The status of a service, in the words and numbers of monitoring plug-ins; the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Service {
    Ok,
    Warning,
    Critical,
}

impl Service {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
        }
    }

    fn exit(self) -> Exit {
        Exit::Plugin(self as u8)
    }
}

/// One compared figure.
struct Figure {
    /// Its name in the performance data.
    label: &'static str,
    /// The figure for people, with its unit.
    text: String,
    value: i64,
    is_time: bool,
    levels: Option<Levels>,
    /// Whether the true figure may be higher.
    capped: bool,
}

impl Figure {
    /// Whether the levels decide, although it may be higher.
    fn is_decided(&self) -> bool {
        !self.capped || self.levels.is_none_or(|levels| self.value > levels.critical)
    }

    fn judge(&self) -> Service {
        self.levels.map_or(Service::Ok, |levels| levels.judge(self.value))
    }

    /// `'label'=value[unit];warning;critical;minimum`, times in seconds.
    fn performance(&self) -> String {
        let shown = |value: i64| match self.is_time {
            true => format!("{}.{:03}", value / 1000, value % 1000),
            false => value.to_string(),
        };
        let level = |value: Option<i64>| value.map(shown).unwrap_or_default();
        let unit = if self.is_time { "s" } else { "" };
        let (warning, critical) = (self.levels.and_then(|l| l.warning), self.levels.map(|l| l.critical));
        format!("{}={}{unit};{};{};0", self.label, shown(self.value), level(warning), level(critical))
    }
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let asked = connection::config(global, "5000")
        .and_then(|config| Ok(figures_of(&Queue::open(&config, &args.queue)?, args)?));
    let asked = match asked {
        Ok(asked) => asked,
        Err(failure) => return unknown(&failure.message(), out),
    };
    let worst = asked.judge();
    out.answer(
        || line(&args.queue, worst, &asked),
        || {
            let mut document = document(&args.queue, worst, &asked.figures);
            document["pauses"] = ask::pauses(&asked.pauses);
            document["away"] = ask::away(&asked.away);
            document
        },
    )?;
    Ok(worst.exit())
}

/// The figures, and what they must be read with.
struct Asked {
    figures: [Figure; 4],
    pauses: Vec<Pause>,
    away: Vec<PlaceAway>,
}

impl Asked {
    /// The worst of all: of a place that is away nobody knows how much waits there.
    fn judge(&self) -> Service {
        let of_places = if self.away.is_empty() { Service::Ok } else { Service::Critical };
        self.figures.iter().map(Figure::judge).fold(of_places, Service::max)
    }
}

/// Bounded looks cost the same, however many items there are; figures that they leave open are counted. In a described table they
/// need not reach the Failed items.
fn figures_of(queue: &Queue, args: &Args) -> readpast::Result<Asked> {
    let levels = [args.failed, args.depth, args.expired].into_iter().flatten();
    let highest = levels.map(|levels| levels.critical).max().unwrap_or(0);
    let most = u32::try_from(highest + 1).unwrap_or(u32::MAX).max(LOOK);
    let mut startable_ms = None;
    if matches!(queue.spec().storage, Storage::Own) && most <= LONGEST_LOOK {
        let watched = queue.watch(most)?;
        let (failed, expired) = (watched.is_capped(ItemState::Failed), watched.is_capped(ItemState::Processing));
        let figures = figures(args, &watched.stats, [failed, watched.due_capped, watched.due_capped, expired]);
        startable_ms = watched.startable_ms;
        let figures = quiet(within_limits(figures, startable_ms), &watched.pauses);
        if figures.iter().all(Figure::is_decided) {
            return Ok(Asked { figures, pauses: watched.pauses, away: watched.away });
        }
    }
    let (pauses, (stats, away)) = (queue.pauses()?, counted(queue)?);
    if startable_ms.is_none() && !queue.spec().limits.is_empty() {
        startable_ms = queue.watch(LOOK)?.startable_ms;
    }
    let figures = within_limits(figures(args, &stats, [false; 4]), startable_ms);
    Ok(Asked { figures: quiet(figures, &pauses), pauses, away })
}

/// Items without room within the limits wait for no worker: the oldest that has room counts; where none has, the number is no alarm.
fn within_limits(mut figures: [Figure; 4], startable_ms: Option<Option<i64>>) -> [Figure; 4] {
    let Some(oldest) = startable_ms else { return figures };
    for figure in &mut figures {
        match (figure.label, oldest) {
            ("oldest_due", _) => {
                figure.value = oldest.unwrap_or(0);
                figure.text = oldest.map_or_else(
                    || "none with room".to_owned(),
                    |ms| format!("the oldest with room due for {}", span_text(ms)),
                );
            }
            ("depth", None) => figure.levels = None,
            _ => {}
        }
    }
    figures
}

/// The counts of all places that answer, and the others.
fn counted(queue: &Queue) -> readpast::Result<(QueueStats, Vec<PlaceAway>)> {
    let places = queue.places();
    if places.len() < 2 {
        return Ok((queue.stats()?, Vec::new()));
    }
    let (mut total, mut away) = (None::<QueueStats>, Vec::new());
    for place in places {
        let at = |error: readpast::Error| error.in_context(format_args!("place {place}"));
        match (queue.at(&place).and_then(|one| one.stats().map_err(at)), &mut total) {
            (Ok(stats), Some(total)) => total.add(&stats),
            (Ok(stats), None) => total = Some(stats),
            (Err(error), _) => away.push(PlaceAway { place, error }),
        }
    }
    match total {
        Some(total) => Ok((total, away)),
        None => Err(away.remove(0).error),
    }
}

/// In a paused queue items wait, and nobody is to work on them: how many, and for how long, is no alarm.
fn quiet(mut figures: [Figure; 4], pauses: &[Pause]) -> [Figure; 4] {
    if pauses.iter().any(Pause::holds_all) {
        for figure in figures.iter_mut().filter(|figure| ["oldest_due", "depth"].contains(&figure.label)) {
            figure.levels = None;
        }
    }
    figures
}

/// Reports a failure where a monitoring system looks: in the one line of standard output.
fn unknown(message: &str, out: &Output) -> Result<Exit> {
    out.answer(
        || format!("READPAST UNKNOWN - {}", one_part(message)),
        || json!({"service": "UNKNOWN", "message": message}),
    )?;
    Ok(Exit::Plugin(3))
}

/// The answer to wrong arguments. It may get lost: the exit status says as much.
pub fn refused(message: &str, is_json: bool) -> Exit {
    let out = Output::new(is_json);
    let _ = unknown(message, &out).and_then(|_| out.flush());
    Exit::Plugin(3)
}

/// Whether a monitoring system waits for the answer to these arguments, which clap did not understand.
pub fn is_meant(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> bool {
    arguments.into_iter().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "check")
}

fn figures(args: &Args, stats: &QueueStats, capped: [bool; 4]) -> [Figure; 4] {
    let failed = stats.count(ItemState::Failed);
    let oldest = stats.oldest_due_ms.unwrap_or(0);
    let count = |label, value, what: &str, levels, capped| Figure {
        label,
        text: format!("{value}{} {what}", if capped { "+" } else { "" }),
        value,
        is_time: false,
        levels,
        capped,
    };
    let waits = match stats.oldest_due_ms {
        Some(ms) => format!("the oldest due for {}", span_text(ms)),
        None => "none due".to_owned(),
    };
    [
        count("failed", failed, "failed", args.failed, capped[0]),
        Figure {
            label: "oldest_due",
            text: waits,
            value: oldest,
            is_time: true,
            levels: args.oldest,
            capped: capped[1],
        },
        count("depth", stats.due, "due", args.depth, capped[2]),
        count("lease_expired", stats.expired, "with a lease run out", args.expired, capped[3]),
    ]
}

/// Alarms come first: a pager shows the beginning.
fn line(queue: &str, worst: Service, Asked { figures, pauses, away }: &Asked) -> String {
    let mut sorted: Vec<_> = figures.iter().collect();
    sorted.sort_by_key(|figure| std::cmp::Reverse(figure.judge()));
    let mut line = format!("READPAST {} - {}: ", worst.word(), one_part(queue));
    away.iter().for_each(|away| line += &format!("{} (critical), ", one_part(&away.to_string())));
    for (i, figure) in sorted.iter().enumerate() {
        let _ = write!(line, "{}{}", if i > 0 { ", " } else { "" }, figure.text);
        if let (Some(levels), true) = (figure.levels, figure.judge() > Service::Ok) {
            let level = if figure.judge() == Service::Critical { levels.critical } else { levels.warning.unwrap_or(0) };
            let level = if figure.is_time { span_text(level) } else { level.to_string() };
            let _ = write!(line, " ({}: above {level})", figure.judge().word().to_lowercase());
        }
    }
    pauses.iter().for_each(|pause| line += &format!("; {}", one_part(&pause.to_string())));
    let performance: Vec<_> = figures.iter().map(Figure::performance).collect();
    format!("{line} | {}", performance.join(" "))
}

fn document(queue: &str, worst: Service, figures: &[Figure]) -> serde_json::Value {
    let of = |figure: &Figure| {
        let unit = if figure.is_time { "ms" } else { "items" };
        json!({"name": figure.label, "value": figure.value, "unit": unit, "service": figure.judge().word(), "capped": figure.capped})
    };
    json!({"service": worst.word(), "queue": queue, "figures": figures.iter().map(of).collect::<Vec<_>>()})
}

/// A bar or a line's end would begin another part.
fn one_part(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_one_or_two() {
        assert_eq!(counts("10"), Ok(Levels { warning: None, critical: 10 }));
        assert_eq!(spans("90s,5m"), Ok(Levels { warning: Some(90_000), critical: 300_000 }));
        for wrong in ["", "x", "-1", "1,", "10,5", "1,2,3", "5m"] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
        assert!(spans("5m,1m").is_err() && spans("5x").is_err());
    }

    #[test]
    fn a_level_is_passed_when_a_figure_is_above_it() {
        let levels = Levels { warning: Some(5), critical: 10 };
        let judged = [0, 5, 6, 10, 11].map(|value| levels.judge(value));
        assert_eq!(judged, [Service::Ok, Service::Ok, Service::Warning, Service::Warning, Service::Critical]);
        assert_eq!(Levels { warning: None, critical: 0 }.judge(1), Service::Critical);
    }

    #[test]
    fn a_capped_figure_decides_only_above_the_level() {
        let stats = |failed| {
            let mut stats = QueueStats { due: 5, ..QueueStats::default() };
            stats.counts[3] = failed;
            stats
        };
        let args = |failed| Args {
            queue: "Q".to_owned(),
            failed: Some(Levels { warning: None, critical: failed }),
            oldest: None,
            depth: None,
            expired: None,
        };
        let decided =
            |level, failed, capped| figures(&args(level), &stats(failed), capped).iter().all(Figure::is_decided);
        assert!(decided(10, 3, [false; 4]), "counted to the end");
        assert!(decided(10, 11, [true; 4]), "already too many; the others are not needed");
        assert!(!decided(10, 3, [true, false, false, false]), "there may be more than ten");
        assert_eq!(figures(&args(10), &stats(11), [true; 4])[0].text, "11+ failed");
    }

    #[test]
    fn nothing_breaks_the_line() {
        assert_eq!(one_part("a | b\nc\u{1b}[0m"), "a / b c\u{fffd}[0m");
    }
}
