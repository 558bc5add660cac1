//! `readpast stats`.

pub mod drawn;
mod rates;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::{Output, try_note};
use crate::printable::one_line;
use crate::{connection, duration};
use drawn::{LINE, Pens, TerminalSize};
use rates::{By, RateOptions, Rates};
use readpast::ask::{self, Longer};
use readpast::item::{Pause, span_text, utc_text};
use readpast::{ItemState, Queue, QueueStats};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};
use std::{iter, thread};

/// Shows figures about a queue
///
/// Counting costs the server a scan of the queue's table. The number of workers needed follows from the arrivals of the last hour and
/// the mean time claimed (Little's law), with a fifth of their time to spare. --watch adds the time, and to each count its change since the last
/// look and per second; on a terminal also bars and the course so far.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast stats Notification
  readpast stats Notification --watch 5s --trend")]
pub struct Args {
    /// The queue
    queue: String,
    /// Shows the figures repeatedly, every 2 s or as given (5s, 1m), at least 1s
    #[arg(long, short, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "2s", allow_negative_numbers = true, value_parser = interval)]
    watch: Option<Duration>,
    /// Also counts items whose last attempt took longer than this (90s, 5m), or that are in work for longer; `show` lists them. It reads
    /// each of them
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse)]
    longer_than: Option<Duration>,
    /// Also shows each type: its due items and the oldest, rates, and how many workers it needs
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Also shows the trend: how many items will wait in an hour at the current rates, and how many workers that takes. For a queue
    /// that deletes completed items it takes two looks, 5 s apart or as given
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "5s", allow_negative_numbers = true, value_parser = rates::pause)]
    trend: Option<Duration>,
}

/// Each look is a scan of the table: not more of them than a person can read.
const SHORTEST: Duration = Duration::from_secs(1);

fn interval(text: &str) -> std::result::Result<Duration, String> {
    let interval = duration::parse(text)?;
    if interval < SHORTEST {
        Err("each look scans the table; the shortest interval is 1s".to_owned())
    } else {
        Ok(interval)
    }
}

/// Figures, and the time of their look.
struct StatsSample {
    stats: QueueStats,
    pauses: Vec<Pause>,
    /// How many items ran long, if requested.
    longer: Option<Longer>,
    /// Figures and trend of each type, if requested.
    rates: Option<Rates>,
    at: Instant,
    time: SystemTime,
}

impl StatsSample {
    fn take(queue: &Queue, args: &Args, before: Option<&Self>) -> readpast::Result<Self> {
        let asked = RateOptions { by: args.by, trend: args.trend };
        let rates = Rates::take(queue, asked, before.and_then(|before| before.rates.as_ref()))?;
        let (stats, pauses) = (queue.stats()?, queue.pauses()?);
        let longer = args.longer_than.map(|than| Longer::count(queue, duration::ms(than))).transpose()?;
        Ok(Self { stats, pauses, longer, rates, at: Instant::now(), time: SystemTime::now() })
    }
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let queue = Queue::open(&connection::config(global, "5000")?, &args.queue)?;
    let mut before: Option<StatsSample> = None;
    let mut drawing = (args.watch.is_some() && out.is_terminal() && !out.is_json()).then(Drawing::new);
    loop {
        let begun = Instant::now();
        let look = match (StatsSample::take(&queue, args, before.as_ref()), args.watch) {
            (Ok(look), _) => look,
            // With `--watch`, the command goes on after a retryable error.
            (Err(error), Some(pause)) if error.is_retryable() => {
                // A closed standard error ends the watch: no figures, whose reader would be missed, are written.
                try_note(&error.to_string()).map_err(|_| Failure::Closed)?;
                thread::sleep(pause);
                continue;
            }
            (Err(error), _) => return Err(error.into()),
        };
        let watched = args.watch.map(|pause| (pause, before.as_ref()));
        if let Some(drawing) = &mut drawing {
            drawing.add(&look, before.as_ref());
        }
        let text = || match &drawing {
            // It writes over the old page, line by line, and clears the rest: nothing flickers.
            Some(drawing) => {
                let room = TerminalSize::now();
                let pens = room.has_bars().then_some(&drawing.pens);
                let text = table(queue.name(), &look, watched, pens);
                let lines = drawing.lines(room.cells()).join("\n");
                format!("\x1b[H{}\n\x1b[J", room.rows(&format!("{text}\n{lines}")).join("\n")).replace('\n', "\x1b[K\n")
            }
            None => table(queue.name(), &look, watched, None) + "\n",
        };
        if out.is_json() {
            out.answer(String::new, || document(queue.name(), &look))?;
        } else {
            out.text(&text())?;
        }
        out.flush()?;
        match args.watch {
            // A slow look is not repeated all the time: the server has other work.
            Some(pause) => thread::sleep(pause.max(begun.elapsed())),
            None => return Ok(Exit::Done),
        }
        before = Some(look);
    }
}

/// The course so far, for a watch on a terminal.
struct Drawing {
    pens: Pens,
    due: VecDeque<f64>,
    /// Items that ended per second, from the second look on.
    ended: VecDeque<f64>,
}

impl Drawing {
    fn new() -> Self {
        Self { pens: Pens::of_environment(), due: VecDeque::new(), ended: VecDeque::new() }
    }

    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    fn add(&mut self, look: &StatsSample, before: Option<&StatsSample>) {
        self.due.push_back(look.stats.due as f64);
        if let Some(before) = before {
            let ended = |look: &StatsSample| -> i64 {
                ItemState::ALL
                    .into_iter()
                    .filter(|state| state.is_finished())
                    .map(|state| look.stats.count(state))
                    .sum()
            };
            let seconds = look.at.saturating_duration_since(before.at).as_secs_f64().max(0.001);
            // A purge does not count as negative ends.
            self.ended.push_back((ended(look) - ended(before)).max(0) as f64 / seconds);
        }
        for values in [&mut self.due, &mut self.ended] {
            while values.len() > LINE {
                values.pop_front();
            }
        }
    }

    fn lines(&self, cells: usize) -> Vec<String> {
        let shown = [("due", &self.due, ""), ("ended", &self.ended, "/s")].into_iter().map(|(name, values, unit)| {
            let values: Vec<_> = values.iter().copied().collect();
            let (now, most) = (values.last().copied().unwrap_or(0.0), values.iter().copied().fold(0.0, f64::max));
            let digits = usize::from(!unit.is_empty());
            let line = self.pens.line(&values, cells);
            format!("  {name:<8}{line}  {now:.digits$}{unit}, {most:.digits$}{unit} at most")
        });
        shown.collect()
    }
}

const PERCENTILES: [&str; 3] = ["p50", "p90", "p99"];

/// The figures for a person. Watched, they have the pause between two looks, and the look before. With `pens` each count has a
/// bar beside it.
fn table(
    queue: &str,
    look: &StatsSample,
    watched: Option<(Duration, Option<&StatsSample>)>,
    pens: Option<&Pens>,
) -> String {
    let stats = &look.stats;
    let most = ItemState::ALL.into_iter().map(|state| stats.count(state)).max().unwrap_or(0);
    let mut lines = match watched {
        None => vec![format!("queue {queue}")],
        Some((pause, _)) => {
            let time = utc_text(look.time);
            let (day, time) = time.split_once('T').unwrap_or((&time, ""));
            let every = span_text(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
            let heading = format!("  {:<20}{:>12}{:>12}{:>12}", "", "items", "change", "per second");
            vec![format!("queue {queue}   {day} {} UTC, every {every}", time.get(..8).unwrap_or(time)), heading]
        }
    };
    lines.extend(look.pauses.iter().map(|pause| format!("  {pause}")));
    let row = |name: &str, figure: &dyn Fn(&StatsSample) -> i64| {
        let before = watched.and_then(|(_, before)| before);
        let change = before.map_or_else(String::new, |before| {
            let change = figure(look) - figure(before);
            let seconds = look.at.saturating_duration_since(before.at).as_secs_f64();
            if change == 0 || seconds <= 0.0 {
                return format!("{:>12}{:>12}", "-", "-");
            }
            #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
            let rate = change as f64 / seconds;
            format!("{change:>+12}{rate:>+12.1}")
        });
        let bar = pens.map_or_else(String::new, |pens| pens.bar(figure(look), most));
        // The bars stay in one column, also while there are no changes to show.
        let change = if bar.is_empty() { change } else { format!("{change:<24}  {bar}") };
        format!("  {name:<20}{:>12}{change}", figure(look))
    };
    for state in ItemState::ALL {
        lines.push(row(state.as_str(), &|look| look.stats.count(state)));
    }
    let oldest = stats.oldest_due_ms.map_or_else(String::new, |ms| format!("   the oldest for {}", span_text(ms)));
    lines.push(row("due now", &|look| look.stats.due) + &oldest);
    lines.push(row("lease run out", &|look| look.stats.expired));
    if let Some(longer) = &look.longer {
        let states: Vec<_> = longer.counts.iter().map(|(state, count)| format!("{state} {count}")).collect();
        let states = if states.is_empty() { String::new() } else { format!("   ({})", states.join(", ")) };
        let name = format!("longer than {}", span_text(longer.than_ms));
        lines.push(row(&name, &|look| look.longer.as_ref().map_or(0, Longer::all)) + &states);
    }
    for (name, values) in [("waited", stats.wait_ms), ("took", stats.claimed_ms)] {
        let shown: Vec<_> = PERCENTILES
            .iter()
            .zip(values)
            .filter_map(|(label, value)| Some(format!("{label} {}", span_text(value?))))
            .collect();
        if !shown.is_empty() {
            lines.push(format!("  {name:<8}{}   (newest {} items)", shown.join("   "), stats.sample));
        }
    }
    lines.extend(steps(stats));
    lines.extend(look.rates.iter().flat_map(Rates::lines));
    lines.push(workers(stats));
    lines.iter().map(|line| one_line(line)).collect::<Vec<_>>().join("\n")
}

/// How many items are at each step, with the states that any of them is in.
fn steps(stats: &QueueStats) -> Vec<String> {
    let states: Vec<_> =
        ItemState::ALL.into_iter().filter(|state| stats.steps.iter().any(|step| step.count(*state) > 0)).collect();
    if states.is_empty() {
        return Vec::new();
    }
    let row = |name: &str, cell: &dyn Fn(ItemState) -> String| {
        let cells = states.iter().map(|state| format!("{:>1$}", cell(*state), state.as_str().len().max(9) + 3));
        format!("  {name:<20}{}", cells.collect::<String>())
    };
    let heading = row("at the step", &|state| state.as_str().to_owned());
    let named = |step: &str| if step.is_empty() { "(another, or none)".to_owned() } else { step.to_owned() };
    let counted = stats.steps.iter().map(|step| row(&named(&step.step), &|state| step.count(state).to_string()));
    iter::once(heading).chain(counted).collect()
}

/// How many workers there are, and how many are needed.
fn workers(stats: &QueueStats) -> String {
    let claimed = format!("  {:<8}{} items", "claimed", stats.claimed);
    match (stats.workers_needed, stats.arrivals_last_hour) {
        (Some(needed), Some(arrivals)) => {
            let mean = |ms: Option<i64>, word: &str| {
                ms.map_or_else(String::new, |ms| format!(", {word} {} on average", span_text(ms)))
            };
            let (wait, run) = (mean(stats.wait_mean_ms, "waiting"), mean(stats.claimed_mean_ms, "claim to end"));
            format!("{claimed}, workers needed {needed}   ({arrivals} arrivals in the last hour{wait}{run})")
        }
        _ => format!("{claimed}   (workers needed: unknown, since the table does not record arrivals)"),
    }
}

fn document(queue: &str, look: &StatsSample) -> Value {
    let mut document = ask::stats(queue, look.time, &look.stats);
    document.insert("pauses".to_owned(), ask::pauses(&look.pauses));
    document.extend(look.rates.iter().flat_map(Rates::document));
    document.extend(look.longer.as_ref().map(|longer| ("longer".to_owned(), longer.document())));
    document.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(pending: i64, completed: i64, at: Instant) -> StatsSample {
        let mut stats = QueueStats { due: pending, ..QueueStats::default() };
        (stats.counts[0], stats.counts[4]) = (pending, completed);
        StatsSample { stats, pauses: Vec::new(), longer: None, rates: None, at, time: SystemTime::UNIX_EPOCH }
    }

    #[test]
    fn a_watch_shows_the_time_and_the_changes() {
        let begun = Instant::now();
        let (first, second) = (look(100, 5, begun), look(80, 30, begun + Duration::from_secs(4)));
        let every = Duration::from_secs(2);
        let text = table("Mail", &first, Some((every, None)), None);
        assert!(text.starts_with("queue Mail   1970-01-01 00:00:00 UTC, every 2.0 s\n"), "{text}");
        let text = table("Mail", &second, Some((every, Some(&first))), None);
        for line in [
            "  Pending                       80         -20        -5.0",
            "  Completed                     30         +25        +6.2",
            "  Failed                         0           -           -",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        assert!(table("Mail", &second, None, None).starts_with("queue Mail\n  Pending                       80\n"));
    }

    #[test]
    fn on_a_terminal_there_are_bars_and_lines() {
        let begun = Instant::now();
        let (first, second) = (look(100, 5, begun), look(50, 25, begun + Duration::from_secs(4)));
        let mut drawing = Drawing { pens: Pens::PLAIN, ..Drawing::new() };
        drawing.add(&first, None);
        drawing.add(&second, Some(&first));
        assert_eq!(drawing.lines(LINE), ["  due     #=  50, 100 at most", "  ended   #  5.0/s, 5.0/s at most"]);
        let text = table("Mail", &second, Some((Duration::from_secs(4), Some(&first))), Some(&drawing.pens));
        for line in [
            "  Pending                       50         -50       -12.5  ##################",
            "  Completed                     25         +20        +5.0  #########",
            "  Failed                         0           -           -",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn scans_have_a_pause_between_them() {
        for text in ["0", "0s", "999ms", "soon"] {
            assert!(interval(text).is_err(), "{text}");
        }
        assert_eq!(interval("1"), Ok(SHORTEST));
    }
}
