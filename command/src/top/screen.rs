//! The model as lines of a terminal.

use super::model::{Model, View};
use crate::concerns;
use crate::format::{count, span};
use crate::printable::one_line;
use crate::stats::drawn::Pens;
use readpast::item::{RegisteredWorker, utc_text};
use readpast::{ItemState, Watched};
use std::time::SystemTime;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How a line looks. Each also says in words what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    Good,
    Bad,
    Quiet,
}

#[derive(Debug, Clone)]
pub struct Line {
    pub text: String,
    pub tone: Tone,
    pub is_selected: bool,
}

impl Line {
    fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone, is_selected: false }
    }

    fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }
}

/// The whole screen: the view, and below it the keys or what came of the last one.
pub fn lines(model: &mut Model, (width, height): (usize, usize)) -> Vec<Line> {
    let (mut lines, last) = of_view(model, width);
    let height = height.saturating_sub(1);
    model.room = (0, height.saturating_sub(HEADS));
    if let (View::Item { .. }, first) = model.view() {
        let (most, page) = (lines.len().saturating_sub(height), height.saturating_sub(ITEM_HEADS));
        model.room = (most, page);
        lines.drain(ITEM_HEADS.min(lines.len())..(ITEM_HEADS + first.min(most)).min(lines.len()));
    }
    fit(&mut lines, height);
    lines.push(last);
    for line in &mut lines {
        line.text = cut(&line.text, width);
    }
    lines
}

/// The lines of the open view, and the last line.
fn of_view(model: &Model, width: usize) -> (Vec<Line>, Line) {
    let (view, selected) = model.view();
    let lines = match view {
        View::Queues => queues(model, width),
        View::Queue { name } => queue(model, name, selected),
        View::Items { title, rows, .. } => {
            let mut lines = vec![
                head(model, title),
                Line::new(Tone::Bold, format!("{:<28} {:<10} {:>8}  ERROR", "KEY", "STATE", "ATTEMPTS")),
            ];
            lines.extend(rows.iter().enumerate().map(|(at, row)| {
                let state = row.state.map_or("", ItemState::as_str);
                let (key, error) = (column(&row.key, 28), one_line(&row.error));
                let text = format!("{key} {state:<10} {:>8}  {error}", row.attempt);
                Line { text, tone: tone(row.state), is_selected: at == selected }
            }));
            if rows.is_empty() {
                lines.push(Line::new(Tone::Quiet, "No item."));
            }
            lines
        }
        View::Item { name, key, state, text, .. } => {
            let state = state.map_or("gone", ItemState::as_str);
            let mut lines = vec![head(model, &format!("{name} {key} {state}"))];
            lines.extend(text.iter().map(Line::plain));
            lines
        }
    };
    let last = match (&model.asked, &model.message) {
        (Some(asked), _) => {
            Line::new(Tone::Bold, one_line(&format!("{} {}? y yes, any other key no", asked.verb.word(), asked.key)))
        }
        (None, Some(message)) => Line::new(Tone::Bold, one_line(message)),
        (None, None) if model.is_waiting() => Line::new(Tone::Quiet, "waiting for the database   Esc back   q quit"),
        (None, None) => Line::new(Tone::Quiet, keys(view)),
    };
    (lines, last)
}

/// As much of a line as has room. A wide character takes two columns, and a tab as many as the terminal likes.
fn cut(text: &str, width: usize) -> String {
    let mut left = width;
    let has_room = |c: &char| {
        let room = left.checked_sub(c.width().unwrap_or(0));
        left = room.unwrap_or(0);
        room.is_some()
    };
    text.replace('\t', "    ").chars().take_while(has_room).collect()
}

/// A text of others in a column of the screen.
fn column(text: &str, width: usize) -> String {
    let text = one_line(text);
    let blanks = width.saturating_sub(text.width());
    text + &" ".repeat(blanks)
}

/// Lines that stay at the head, of lists and of an item.
const HEADS: usize = 2;
const ITEM_HEADS: usize = 1;

/// Leaves out what does not fit, so that the selected line is there.
fn fit(lines: &mut Vec<Line>, height: usize) {
    let selected = lines.iter().position(|line| line.is_selected).unwrap_or(0);
    if selected >= height && height > HEADS {
        lines.drain(HEADS..=HEADS + selected - height);
    }
    lines.truncate(height);
}

fn keys(view: &View) -> &'static str {
    match view {
        View::Queues => "up down select   Enter open   f failed   w waiting   i in flight   q quit",
        View::Queue { .. } => {
            "up down select an error   Enter its items   f failed   w waiting   i in flight   Esc back   q quit"
        }
        View::Items { .. } => {
            "up down select   Enter open   r retry   p pause or resume   c cancel   Esc back   q quit"
        }
        View::Item { .. } => "up down scroll   r retry   p pause or resume   c cancel   Esc back   q quit",
    }
}

fn head(model: &Model, title: &str) -> Line {
    let time = utc_text(SystemTime::now());
    let time = time.get(11..19).unwrap_or_default();
    Line::new(
        Tone::Bold,
        one_line(&format!(
            "readpast top  {title}  {time} UTC, every {}",
            span(i64::try_from(model.every.as_millis()).ok())
        )),
    )
}

/// All queues, those reasons first that need a person.
pub fn queues(model: &Model, width: usize) -> Vec<Line> {
    let selected = model.view().1;
    let all: Vec<_> = model.queues.iter().map(|sampled| (sampled, sampled.concerns())).collect();
    let mut reasons: Vec<_> = all
        .iter()
        .flat_map(|(sampled, concerns)| {
            concerns.iter().map(|concern| (concern.kind, sampled.queue().name(), &concern.text))
        })
        .collect();
    reasons.sort();
    let mut lines = Vec::new();
    if !model.every.is_zero() {
        lines.push(head(model, &model.schema));
    }
    let name = model.queues.iter().map(|sampled| sampled.queue().name().width()).max().unwrap_or(0).clamp(5, 40);
    lines.push(Line::new(
        Tone::Bold,
        format!(
            "{:<name$}  {:<9} {:>9} {:>10} {:>9} {:>10} {:>8} {:>11}",
            "QUEUE", "STATUS", "BACKLOG", "OLDEST", "IN FLIGHT", "PER MINUTE", "FAILED", "LATENCY P90"
        ),
    ));
    for (at, (sampled, concerns)) in all.iter().enumerate() {
        let start = format!("{}  {:<9}", column(sampled.queue().name(), name), concerns::status(concerns));
        let text = match sampled.watched() {
            None => format!("{start} no figures yet"),
            Some(watched) => format!("{start} {}", figures(watched)),
        };
        let tone = if concerns.is_empty() { Tone::Good } else { Tone::Bad };
        lines.push(Line { text, tone, is_selected: at == selected && !model.every.is_zero() });
    }
    if model.queues.is_empty() {
        lines.push(Line::plain(if model.every.is_zero() {
            "No queue is installed."
        } else {
            "The first figures are being taken."
        }));
    }
    if !reasons.is_empty() {
        lines.push(Line::plain(""));
        lines.push(Line::new(Tone::Bold, "NEEDS ATTENTION"));
        lines.extend(
            reasons
                .into_iter()
                .map(|(_, queue, text)| Line::new(Tone::Bad, cut(&one_line(&format!("{queue}: {text}")), width))),
        );
    }
    lines
}

fn figures(watched: &Watched) -> String {
    let stats = &watched.stats;
    let of = |state| count(stats.count(state), watched.is_capped(state));
    format!(
        "{:>9} {:>10} {:>9} {:>10} {:>8} {:>11}",
        count(stats.due, watched.due_capped),
        span(stats.oldest_due_ms),
        of(ItemState::Processing),
        count(watched.ended_per_minute, false),
        of(ItemState::Failed),
        span(stats.claimed_ms[1]),
    )
}

/// One queue: its states with bars, its workers and its errors.
fn queue(model: &Model, name: &str, selected: usize) -> Vec<Line> {
    let mut lines = vec![head(model, name)];
    let Some(sampled) = model.sampled(name) else { return lines };
    lines.extend(sampled.concerns().iter().map(|concern| Line::new(Tone::Bad, one_line(&concern.text))));
    let Some(watched) = sampled.watched() else { return lines };
    let stats = &watched.stats;
    let oldest = span(stats.oldest_due_ms);
    lines.push(Line::plain(format!(
        "backlog {} (oldest {oldest})   {} per minute   workers needed {}   latency p50 {} p90 {} p99 {}",
        count(stats.due, watched.due_capped),
        count(watched.ended_per_minute, false),
        stats.workers_needed.map_or_else(|| "–".to_owned(), |needed| count(needed, false)),
        span(stats.claimed_ms[0]),
        span(stats.claimed_ms[1]),
        span(stats.claimed_ms[2]),
    )));
    let (pens, most) = (Pens::of_environment(), stats.counts.iter().copied().max().unwrap_or(0));
    for state in ItemState::ALL.into_iter().filter(|state| stats.count(*state) > 0) {
        let items = count(stats.count(state), watched.is_capped(state));
        lines.push(Line::new(
            tone(Some(state)),
            format!("{:<20}{items:>12}  {}", state.as_str(), pens.bar(stats.count(state), most)),
        ));
    }
    lines.extend(workers(watched, &sampled.workers));
    lines.push(Line::new(Tone::Bold, format!("{:>8}  {:<10} TOP ERRORS", "ITEMS", "STATE")));
    lines.extend(watched.errors.iter().enumerate().map(|(at, error)| {
        let state = error.state.map_or("", ItemState::as_str);
        let text = format!("{:>8}  {state:<10} {}", count(error.items, false), one_line(&error.text));
        Line { text, tone: tone(error.state), is_selected: at == selected }
    }));
    lines
}

/// The workers: those that hold items, then idle ones; with none, since when.
fn workers(watched: &Watched, registered: &[RegisteredWorker]) -> Vec<Line> {
    /// Workers that are shown.
    const MOST: usize = 10;
    let head = format!("{:<40} {:>8} {:>14}  {:<10} LAST SEEN", "WORKERS", "ITEMS", "LONGEST HELD", "VERSION");
    let mut lines = vec![Line::new(Tone::Bold, head)];
    let line = |name: &str, items: i64, longest: Option<i64>, of: Option<&RegisteredWorker>| {
        let name = column(if name.is_empty() { "(unknown)" } else { name }, 40);
        let (version, seen) = of.map_or(("", None), |of| (of.version.as_str(), Some(of.seen_ms)));
        let seen = seen.map_or_else(String::new, |ms| format!("{} ago", span(Some(ms))));
        let items = if items > 0 { count(items, false) } else { "idle".to_owned() };
        Line::plain(format!("{name} {items:>8} {:>14}  {} {seen}", span(longest), column(version, 10)))
    };
    for holding in &watched.workers {
        let of = registered.iter().find(|of| of.worker == holding.worker);
        lines.push(line(&holding.worker, holding.items, holding.longest_ms, of));
    }
    let holds = |of: &&RegisteredWorker| watched.workers.iter().any(|holding| holding.worker == of.worker);
    for of in registered.iter().filter(|of| concerns::is_there(of) && !holds(of)) {
        lines.push(line(&of.worker, 0, None, Some(of)));
    }
    lines.truncate(1 + MOST);
    if lines.len() == 1 {
        let since = registered.first().map_or_else(String::new, |last| {
            format!(" since {} UTC", last.seen_at.get(..16).unwrap_or_default().replace('T', " "))
        });
        lines.push(Line::new(Tone::Quiet, format!("none{since}")));
    }
    lines
}

fn tone(state: Option<ItemState>) -> Tone {
    match state {
        Some(ItemState::Failed) => Tone::Bad,
        Some(ItemState::Completed) => Tone::Good,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Key;
    use super::*;

    #[test]
    fn a_line_is_cut_by_its_columns() {
        for (text, width, shown) in [
            ("abc", 2, "ab"),
            ("漢字かな", 5, "漢字"),
            ("a漢字", 4, "a漢"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("a\tb", 4, "a   "),
            ("🚀🚀", 3, "🚀"),
        ] {
            assert_eq!(cut(text, width), shown, "{text:?}");
            assert!(cut(text, width).width() <= width);
        }
        assert_eq!(column("漢字", 6), "漢字  ");
    }

    #[test]
    fn a_long_item_is_scrolled_to_its_end_and_no_further() {
        let text = (0..30).map(|line| format!("line {line}")).collect();
        let view = View::Item { name: "Q".to_owned(), key: "k".to_owned(), state: None, token: None, text };
        let mut model = Model::new("s", std::time::Duration::from_secs(1));
        model.views.push((view, 0));
        let shown = |model: &mut Model| -> Vec<String> {
            let lines = lines(model, (80, 12));
            assert_eq!(lines.len(), 12);
            assert!(lines[0].text.starts_with("readpast top"), "{lines:?}");
            lines[1..11].iter().map(|line| line.text.clone()).collect()
        };
        assert_eq!(shown(&mut model)[0], "line 0");
        let _ = model.press(Key::Down);
        assert_eq!(shown(&mut model)[0], "line 1");
        let _ = model.press(Key::PageDown);
        assert_eq!(shown(&mut model)[0], "line 11");
        for _ in 0..3 {
            let _ = model.press(Key::PageDown);
            assert!(shown(&mut model).len() == 10);
        }
        assert_eq!(shown(&mut model)[9], "line 29");
        let _ = model.press(Key::Up);
        assert_eq!(shown(&mut model)[9], "line 28");
    }

    #[test]
    fn the_selected_line_is_always_there() {
        let of = |selected: usize| -> Vec<Line> {
            let line = |at: usize| Line { text: at.to_string(), tone: Tone::Plain, is_selected: at == selected };
            (0..20).map(line).collect()
        };
        for selected in 0..20 {
            let mut lines = of(selected);
            fit(&mut lines, 6);
            assert_eq!(lines.len(), 6);
            assert!(lines.iter().any(|line| line.is_selected), "{selected}: {lines:?}");
            assert_eq!(lines[0].text, "0", "the head stays");
        }
        let mut lines = of(19);
        fit(&mut lines, 0);
        assert!(lines.is_empty(), "whatever a terminal says of itself");
    }
}
