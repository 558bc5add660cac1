//! The short number of an item whose key is a time: day, time of day and fraction as digits, which can be spoken on the telephone
//! and stand in an address. Year and month are left out: people rarely talk about an older item.

use super::{ColumnKind, QueueSpec, Storage};
use crate::item::{is_utc, normalize_utc, utc_ms, utc_text};
use std::cmp::Ordering;
use std::time::{Duration, UNIX_EPOCH};

/// The fewest digits: down to the second. The most: a tenth of a microsecond, as fine as a key.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=15;

/// How far a key may be ahead of the clock: keys of items that come at once count on within a hundredth of a second.
const AHEAD: Duration = Duration::from_secs(1);

impl QueueSpec {
    /// The short number of the item with this key, in groups: `2722 1110 54 0003` for `2026-11-27T22:11:10.5400030`. `None` where
    /// the key of an item is not a single time. [`Queue::whole_key`](crate::Queue::whole_key) takes it.
    ///
    /// The zeros at its end stay, but for the last digit, which only SQL Server has: without them the number would mean all items
    /// whose numbers begin with it, and the first of many that come at once could not be named.
    #[must_use]
    pub fn short_number(&self, key: &str) -> Option<String> {
        if !self.has_time_key() {
            return None;
        }
        let digits = digits_of(key)?;
        let number = digits.get(6..)?;
        let number = number.strip_suffix('0').unwrap_or(number);
        Some([number.get(..4)?, number.get(4..8)?, number.get(8..10)?, number.get(10..)?].join(" "))
    }

    /// The short number in `given`; `None` where it is none, or is a key.
    pub(crate) fn read_number(&self, given: &str) -> Option<ShortNumber> {
        if !self.has_time_key() || is_utc(given) {
            return None;
        }
        let digits: String = given.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
        let is_number = DIGITS.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        // Some month has the day.
        (is_number && time_of("200001", &digits).is_some()).then_some(ShortNumber(digits))
    }

    fn has_time_key(&self) -> bool {
        match &self.storage {
            Storage::Own => true,
            Storage::Procedures(_) => false,
            Storage::Table(table) => matches!(table.key.as_slice(), [column] if column.kind == ColumnKind::Timestamp),
        }
    }
}

/// Digits from the day on: all times that begin with them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShortNumber(String);

/// Keys from a time on, up to one unit of the last given digit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// A time just before the first of them, to go on after.
    pub(crate) after: String,
    /// Their month.
    pub(crate) month: String,
    /// The digits with which all of them begin.
    begin: String,
}

impl ShortNumber {
    /// The times of the number: in the latest month in which the first of them has passed.
    pub(crate) fn span(&self, now_ms: i64) -> Option<Span> {
        let now = digits_of(&text_of(now_ms + i64::try_from(AHEAD.as_millis()).ok()?, 0)?)?;
        let (mut year, mut month): (u32, u32) = (now.get(..4)?.parse().ok()?, now.get(4..6)?.parse().ok()?);
        // One of two months that follow each other has 31 days, and this one may be too early.
        for _ in 0..3 {
            let of = format!("{year:04}{month:02}");
            if let Some(from) = time_of(&of, &self.0).filter(|from| digits_of(from).is_some_and(|from| from <= now)) {
                let tenths = from.get(23..)?.parse::<i64>().ok()?;
                // A microsecond before: psqlODBC's server has nothing finer.
                let after = if tenths >= 10 {
                    text_of(utc_ms(&from)?, tenths - 10)
                } else {
                    text_of(utc_ms(&from)? - 1, tenths + 9990)
                };
                let begin = of + &self.0;
                return Some(Span { after: after?, month: format!("{year:04}-{month:02}"), begin });
            }
            (year, month) = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
        }
        None
    }
}

impl Span {
    /// Whether a key comes before them, is one of them, or comes after them.
    pub(crate) fn order(&self, key: &str) -> Option<Ordering> {
        Some(digits_of(key)?.get(..self.begin.len())?.cmp(&self.begin))
    }
}

/// All digits of a time, from the year on.
fn digits_of(time: &str) -> Option<String> {
    Some(normalize_utc(time)?.chars().filter(char::is_ascii_digit).collect())
}

/// The first time that begins with these digits: year and month, and from the day on.
fn time_of(month: &str, digits: &str) -> Option<String> {
    let part = |range: std::ops::Range<usize>| digits.get(range);
    let fraction = digits.get(8..).filter(|fraction| !fraction.is_empty()).unwrap_or("0");
    normalize_utc(&format!(
        "{}-{}-{}T{}:{}:{}.{fraction}",
        month.get(..4)?,
        month.get(4..)?,
        part(0..2)?,
        part(2..4)?,
        part(4..6)?,
        part(6..8)?
    ))
}

/// Milliseconds since 1970, and the digits of the fraction that follow them.
fn text_of(ms: i64, rest: i64) -> Option<String> {
    let text = utc_text(UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).ok()?));
    Some(format!("{}{rest:04}", text.get(..23)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> QueueSpec {
        QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap()
    }

    fn span(given: &str, now: &str) -> Span {
        own().read_number(given).unwrap().span(utc_ms(now).unwrap()).unwrap()
    }

    #[test]
    fn a_key_that_is_a_time_has_a_number() {
        for (key, number) in [
            ("2026-11-27T22:11:10.5400030", "2722 1110 54 0003"),
            ("2026-11-27T22:11:10.5400000", "2722 1110 54 0000"),
            ("2026-11-01T00:00:00.1234567", "0100 0000 12 34567"),
        ] {
            assert_eq!(own().short_number(key).as_deref(), Some(number));
        }
        assert_eq!(own().short_number("x"), None);
        let described = |key: &str| {
            let text = format!(
                "queue = 'Q'\ncolumns = []\n[table]\nname = 't'\nkey = [{key}]\n[table.states]\nPending = {{ s = 0 }}\nProcessing = {{ s = 1 }}\n\
                 Completed = {{ s = 2 }}\n"
            );
            QueueSpec::from_toml(&text).unwrap()
        };
        let key = "2026-11-27T22:11:10.5400030";
        assert!(described("{ name = 'id', type = 'timestamp' }").short_number(key).is_some());
        for other in [
            "{ name = 'id', type = 'text(30)' }",
            "{ name = 'a', type = 'timestamp' }, { name = 'b', type = 'bigint' }",
        ] {
            let spec = described(other);
            assert_eq!((spec.short_number(key), spec.read_number("2722111054")), (None, None), "{other}");
        }
    }

    #[test]
    fn digits_are_read_with_spaces_and_dashes() {
        for given in ["2722111054", "2722 1110 54", "27-22-11-10-54", " 2722\u{a0}1110 54 "] {
            assert_eq!(own().read_number(given), Some(ShortNumber("2722111054".to_owned())), "{given:?}");
        }
        for other in [
            "",
            "2026",
            "2722111",
            "2724111054",
            "0022111054",
            "3222111054",
            "2722611054",
            "2722116054",
            "2722111054000300",
            "2722111054x",
            "2026-11-21",
            "2026-11-27T22:11:10.5400030",
        ] {
            assert_eq!(own().read_number(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_number_means_the_latest_month_in_which_it_has_passed() {
        for (given, now, month, after) in [
            ("2722 1110 54", "2026-11-28", "2026-11", "2026-11-27T22:11:10.5399990"),
            ("2722 1110 54", "2026-11-27T22:11:10.530", "2026-11", "2026-11-27T22:11:10.5399990"),
            ("2722 1110 54", "2026-11-27T22:11:09", "2026-10", "2026-10-27T22:11:10.5399990"),
            ("2722 1110 54 00031", "2026-11-28", "2026-11", "2026-11-27T22:11:10.5400021"),
            ("0100 0000", "2026-01-01", "2026-01", "2025-12-31T23:59:59.9999990"),
            ("3100 0000", "2026-11-28", "2026-10", "2026-10-30T23:59:59.9999990"),
            ("3100 0000", "2026-05-01", "2026-03", "2026-03-30T23:59:59.9999990"),
            ("3000 0000", "2026-03-01", "2026-01", "2026-01-29T23:59:59.9999990"),
            ("2900 0000", "2028-03-01", "2028-02", "2028-02-28T23:59:59.9999990"),
            ("3100 0000", "2026-01-02", "2025-12", "2025-12-30T23:59:59.9999990"),
        ] {
            let span = span(given, now);
            assert_eq!((span.month.as_str(), span.after.as_str()), (month, after), "{given} at {now}");
        }
    }

    #[test]
    fn a_span_is_one_unit_of_the_last_digit() {
        let span = span("2722 1110 54", "2026-11-28");
        for (key, order) in [
            ("2026-11-27T22:11:10.5399999", Ordering::Less),
            ("2026-11-27T22:11:10.5400000", Ordering::Equal),
            ("2026-11-27T22:11:10.5499999", Ordering::Equal),
            ("2026-11-27T22:11:10.5500000", Ordering::Greater),
        ] {
            assert_eq!(span.order(key), Some(order), "{key}");
        }
    }

    #[test]
    fn the_number_of_each_key_means_this_key() {
        for key in ["2026-11-27T22:11:10.5400030", "2026-10-31T00:00:00.0000000", "2026-11-01T23:59:59.9999999"] {
            let span = span(&own().short_number(key).unwrap(), "2026-11-28");
            assert_eq!(span.order(key), Some(Ordering::Equal));
            assert!(span.after.as_str() < key);
        }
    }
}
