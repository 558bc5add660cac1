//! Figures over time as a picture: an SVG that stands in the page. Shapes and numbers alone come from here; no text of a user's.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// More than this between two samples is a gap, and no line goes across it.
const GAPS: f64 = 4.0;

/// One line of a chart.
pub struct Line {
    /// Its name in the legend, and its class in the style sheet.
    pub name: &'static str,
    pub class: &'static str,
    /// Its values; none where nothing was known.
    pub values: Vec<Option<i64>>,
}

impl Line {
    fn now(&self, words: fn(i64) -> String) -> String {
        self.values.last().copied().flatten().map_or_else(|| "–".to_owned(), words)
    }
}

/// Lines over the same times, from zero up; the newest at the right. `words` says a value.
#[allow(clippy::cast_precision_loss, reason = "a pixel is as near as it gets")]
pub fn draw(title: &str, times: &[SystemTime], lines: &[Line], every: Duration, words: fn(i64) -> String) -> String {
    let most = lines.iter().flat_map(|line| &line.values).flatten().copied().max().unwrap_or(0).max(1);
    let top = round_up(most);
    let mut out = String::new();
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return out };
    let whole = seconds(*first, *last).max(1.0);
    let x = |at: SystemTime| seconds(*first, at) / whole * WIDTH;
    let y = |value: i64| HEIGHT - value as f64 / top as f64 * HEIGHT;
    let said: Vec<_> = lines.iter().map(|line| format!("{} now {}", line.name, line.now(words))).collect();
    let label = format!("{title}, the last {}: {}; at most {}", span(whole), said.join(", "), words(most));
    let half = if top % 2 == 0 { words(top / 2) } else { String::new() };
    let _ = write!(
        out,
        "<div class=\"plot\" aria-hidden=\"true\"><span>{2}</span><span>{half}</span></div><svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">\
         <line class=\"grid\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{0}\" y2=\"{0}\"/><line class=\"grid\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{1}\" y2=\"{1}\"/>",
        HEIGHT / 2.0,
        HEIGHT,
        words(top),
    );
    let wide = GAPS * every.as_secs_f64();
    for line in lines {
        let mut path = String::new();
        let mut before: Option<SystemTime> = None;
        let known = times.iter().zip(&line.values).filter_map(|(at, value)| Some((at, (*value)?)));
        for (at, value) in known {
            let joined = before.is_some_and(|before| seconds(before, *at) <= wide);
            let _ = write!(path, "{}{:.1} {:.1}", if joined { "L" } else { "M" }, x(*at), y(value));
            before = Some(*at);
        }
        let _ = write!(out, "<path class=\"line {}\" d=\"{path}\"/>", line.class);
    }
    out.push_str("</svg>");
    let legend = lines.iter().fold(String::new(), |mut legend, line| {
        let now = line.now(words);
        let _ = write!(legend, "<li class=\"{}\">{} <b>{now}</b></li>", line.class, line.name);
        legend
    });
    format!(
        "<figure><figcaption>{title} <small>the last {}</small></figcaption><div class=\"drawn\">{out}</div><ul class=\"legend\">{legend}</ul></figure>",
        span(whole)
    )
}

fn seconds(from: SystemTime, to: SystemTime) -> f64 {
    to.duration_since(from).unwrap_or_default().as_secs_f64()
}

#[allow(clippy::cast_possible_truncation, reason = "an hour or so, in minutes")]
fn span(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{} s", seconds as i64),
        ..7200.0 => format!("{} min", (seconds / 60.0) as i64),
        _ => format!("{} h", (seconds / 3600.0).round() as i64),
    }
}

/// The next of 1, 2, 5, 10, 20 ...: a scale that does not jump with each look.
fn round_up(most: i64) -> i64 {
    let mut step = 1_i64;
    loop {
        for factor in [1, 2, 5] {
            let top = step.saturating_mul(factor);
            if top >= most {
                return top;
            }
        }
        step = step.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    fn words(value: i64) -> String {
        value.to_string()
    }

    #[test]
    fn a_gap_is_not_bridged() {
        let line = Line { name: "due", class: "due", values: vec![Some(0), Some(5), Some(10)] };
        let svg = draw("Backlog", &[at(0), at(5), at(100)], &[line], Duration::from_secs(5), words);
        assert!(svg.contains("d=\"M0.0 120.0L30.0 60.0M600.0 0.0\""), "{svg}");
        assert!(svg.contains("due now 10; at most 10"), "{svg}");
        assert!(svg.contains("<span>10</span><span>5</span>"), "what its height means: {svg}");
    }

    #[test]
    fn unknown_values_are_not_drawn() {
        let line = Line { name: "p90", class: "due", values: vec![None, Some(10), None] };
        let svg = draw("Times", &[at(0), at(5), at(10)], &[line], Duration::from_secs(5), words);
        assert!(svg.contains("d=\"M300.0 0.0\"") && svg.contains("<b>–</b>"), "{svg}");
    }

    #[test]
    fn nothing_known_is_nothing_drawn() {
        assert_eq!(draw("Backlog", &[], &[], Duration::from_secs(5), words), "");
    }

    #[test]
    fn scales_are_round() {
        let found = [1, 2, 3, 5, 6, 11, 99, 101, i64::MAX].map(round_up);
        assert_eq!(found, [1, 2, 5, 5, 10, 20, 100, 200, i64::MAX]);
    }
}
