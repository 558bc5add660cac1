//! How far the work on an item is.

use std::fmt;

/// The most characters of a text, in units of UTF-16.
const LONGEST: usize = 200;

/// How far an item is, as its handler last reported it in the attempt that began last: while it runs, and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The item.
    pub key: String,
    /// From 0 to 100. `None` where only a text was reported.
    pub percent: Option<i32>,
    /// A line of text.
    pub text: Option<String>,
    /// When the database received it, in UTC, like `2026-11-21T08:30:00.1234567`.
    pub reported: String,
}

/// A report of how far an item is, for [`Queue::report_progress`](crate::Queue::report_progress).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressReport<'a> {
    /// The item.
    pub key: &'a str,
    /// The token of its claim, or of its newest step.
    pub token: &'a str,
    /// The attempt.
    pub attempt: i32,
    /// From 0 to 100; what is above counts as 100, and what is below as none.
    pub percent: Option<i32>,
    /// A line of text; it is cut after 200 characters (units of UTF-16, never within a character).
    pub text: Option<&'a str>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(percent) = self.percent {
            write!(f, "{percent} %, ")?;
        }
        if let Some(text) = &self.text {
            write!(f, "{text}, ")?;
        }
        let second = self.reported.get(..19).unwrap_or(&self.reported);
        write!(f, "reported {second}Z")
    }
}

/// The percentage that is kept.
pub(crate) fn kept_percent(given: Option<i32>) -> Option<i32> {
    given.filter(|percent| *percent >= 0).map(|percent| percent.min(100))
}

/// The text that is kept: on one line, and no longer than its column; `None` of an empty one.
pub(crate) fn kept_text(given: &str) -> Option<String> {
    let mut units = 0;
    let kept = given.chars().take_while(|c| {
        units += c.len_utf16();
        units <= LONGEST
    });
    Some(kept.map(|c| if c.is_control() { ' ' } else { c }).collect::<String>()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_stays_on_its_line() {
        assert_eq!(kept_text("page 42 of 100").as_deref(), Some("page 42 of 100"));
        assert_eq!(kept_text(""), None);
        assert_eq!(kept_text("a\0b\nc").as_deref(), Some("a b c"));
        assert_eq!(kept_text(&"\u{e9}".repeat(201)), Some("\u{e9}".repeat(200)));
        let pairs = format!("a{}", "\u{1f600}".repeat(100));
        assert_eq!(kept_text(&pairs), Some(format!("a{}", "\u{1f600}".repeat(99))), "the last would take two units");
    }

    #[test]
    fn a_percentage_is_one_of_0_to_100_or_none() {
        for (given, kept) in
            [(None, None), (Some(-1), None), (Some(0), Some(0)), (Some(100), Some(100)), (Some(i32::MAX), Some(100))]
        {
            assert_eq!(kept_percent(given), kept);
        }
    }

    #[test]
    fn it_has_words() {
        let all = Progress {
            key: "k".to_owned(),
            percent: Some(42),
            text: Some("page 42".to_owned()),
            reported: "2026-11-21T08:30:00.1234567".to_owned(),
        };
        assert_eq!(all.to_string(), "42 %, page 42, reported 2026-11-21T08:30:00Z");
        let little = Progress { percent: None, text: None, ..all };
        assert_eq!(little.to_string(), "reported 2026-11-21T08:30:00Z");
    }
}
