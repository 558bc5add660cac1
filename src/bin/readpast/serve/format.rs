//! Figures as people read them.

use readpast::item::{Trend, span_text};
use readpast::{ItemState, Watched};
use serde_json::{Value, json};

/// `12,345`, and `10,000+` where it was not counted to the end.
pub fn count(value: i64, capped: bool) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::from(if value < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if capped { out + "+" } else { out }
}

/// A span of time, or a dash where there is none.
pub fn span(ms: Option<i64>) -> String {
    ms.map_or_else(|| "–".to_owned(), span_text)
}

/// Other people's text: what turns text around, or is no character, is shown as what it is not.
pub fn plain(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace("\r\n", "\n").chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// What is due for longer than this wants somebody to look, although there are workers: it may wait for one that is stuck.
const LATE_MS: i64 = 10 * 60_000;

/// Whether a queue wants somebody to look after it, and why; nothing where all is well.
pub fn concerns(watched: &Watched) -> Vec<String> {
    let stats = &watched.stats;
    let mut found = Vec::new();
    let failed = stats.count(ItemState::Failed);
    if failed > 0 {
        found.push(format!("{} failed", count(failed, watched.is_capped(ItemState::Failed))));
    }
    if stats.expired > 0 {
        found.push(format!("{} held by workers that are gone", count(stats.expired, false)));
    }
    if !watched.refused.is_empty() {
        let count = count(i64::try_from(watched.refused.len()).unwrap_or(i64::MAX), false);
        let first = &watched.refused[0];
        found.push(format!("{count} that the table refuses ({}: {})", first.key, first.reason));
    }
    if stats.due > 0 && stats.claimed == 0 && stats.oldest_due_ms.is_some_and(|ms| ms > 60_000) {
        found.push("items are due and no worker holds any".to_owned());
    } else if let Some(ms) = stats.oldest_due_ms.filter(|ms| *ms > LATE_MS) {
        found.push(format!("an item has been due for {}", span_text(ms)));
    }
    found
}

/// Where a queue is going, for a page.
pub fn trend(trend: &Trend) -> Value {
    let shown = |value: Option<i64>| value.map(|value| count(value, false));
    json!({
        "depth": shown(trend.depth_in_an_hour),
        "arrivals": shown(trend.arrivals_per_hour),
        "ended": shown(trend.ended_per_hour),
        "catch_up": shown(trend.workers_to_catch_up),
        "needed": shown(trend.workers_needed),
        "counted": trend.counted,
        "window": trend.window_ms.map(span_text),
    })
}

/// The figures of a queue for a page.
pub fn figures(watched: &Watched) -> Value {
    let stats = &watched.stats;
    let states: Vec<_> = ItemState::ALL
        .iter()
        .map(|state| {
            let capped = watched.is_capped(*state);
            json!({"name": state.as_str(), "count": count(stats.count(*state), capped), "some": stats.count(*state) > 0})
        })
        .collect();
    let percentiles = |values: [Option<i64>; 3]| values.map(span).to_vec();
    let workers: Vec<_> = watched
        .workers
        .iter()
        .map(|holding| {
            let name = if holding.worker.is_empty() { "(unknown)".to_owned() } else { plain(&holding.worker) };
            json!({"name": name, "items": count(holding.items, false), "longest": span(holding.longest_ms)})
        })
        .collect();
    // The procedure names so many of them.
    let holders = match workers.len() {
        1 => "1 worker".to_owned(),
        100 => "100 workers or more".to_owned(),
        many => format!("{many} workers"),
    };
    let errors: Vec<_> = watched
        .errors
        .iter()
        .map(|trouble| {
            let state = trouble.state.map_or("", ItemState::as_str);
            json!({"state": state, "text": trouble.text, "shown": plain(&trouble.text), "items": count(trouble.items, false), "key": trouble.key})
        })
        .collect();
    let types: Vec<_> = watched
        .types
        .iter()
        .map(|of| {
            json!({
                "name": plain(&of.name),
                "due": count(of.due, of.capped),
                "oldest": span(of.oldest_due_ms),
                "in_flight": count(of.in_flight, false),
                "per_hour": of.ended_per_hour.map(|n| count(n, false)),
                "arrivals": of.arrivals_last_hour.map(|n| count(n, of.capped)),
                "needed": of.workers_needed.map(|n| count(n, false)),
            })
        })
        .collect();
    json!({
        "types": types,
        "states": states,
        "waiting": count(stats.count(ItemState::Pending) + stats.count(ItemState::Error), watched.due_capped),
        "due": count(stats.due, watched.due_capped),
        "oldest": span(stats.oldest_due_ms),
        "in_flight": count(stats.count(ItemState::Processing), watched.is_capped(ItemState::Processing)),
        "expired": stats.expired,
        "failed": count(stats.count(ItemState::Failed), watched.is_capped(ItemState::Failed)),
        "per_minute": count(watched.ended_per_minute, false),
        "arrivals": stats.arrivals_last_hour.map(|n| count(n, watched.arrivals_capped)),
        "needed": stats.workers_needed.map(|n| count(n, false)),
        "wait": percentiles(stats.wait_ms),
        "claimed": percentiles(stats.claimed_ms),
        "sample": count(stats.sample, false),
        "window": count(watched.window, false),
        "window_capped": watched.window_capped,
        "workers": workers,
        "holders": holders,
        "errors": errors,
        "concerns": concerns(watched),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000")] {
            assert_eq!(count(value, false), text);
        }
        assert_eq!(count(10_000, true), "10,000+");
    }

    #[test]
    fn what_is_idle_is_no_concern_and_what_is_stuck_is() {
        let mut watched = Watched::default();
        assert_eq!(concerns(&watched), Vec::<String>::new());
        (watched.stats.due, watched.stats.oldest_due_ms) = (1, Some(61_000));
        assert_eq!(concerns(&watched).len(), 1);
        watched.stats.claimed = 1;
        assert!(concerns(&watched).is_empty());
        watched.stats.oldest_due_ms = Some(11 * 60_000);
        assert_eq!(concerns(&watched), ["an item has been due for 11 m 00 s"]);
        watched.stats.oldest_due_ms = Some(61_000);
        (watched.stats.counts[3], watched.stats.expired) = (2, 3);
        assert_eq!(concerns(&watched), ["2 failed", "3 held by workers that are gone"]);
    }
}
