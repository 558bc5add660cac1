//! Times as text: `2026-11-21T08:30:00.1234567`, all of datetime2(7), and one zero more than PostgreSQL has.

use super::pieces::write_utf16;
use odbc_api::sys::Timestamp;

/// The template of each time.
const FORM: [u8; TIME_BYTES] = *b"0000-00-00T00:00:00.0000000";

pub(super) const TIME_BYTES: usize = 27;

/// The length from the year to the second, which any server writes alike, but for the character between date and time.
const SECONDS: usize = 19;

/// Writes a time that the driver has read.
pub(super) fn write_time(text: &mut String, time: &Timestamp) {
    let mut out = FORM;
    let parts = [
        (0..4, u32::from(time.year.unsigned_abs())),
        (5..7, time.month.into()),
        (8..10, time.day.into()),
        (11..13, time.hour.into()),
        (14..16, time.minute.into()),
        (17..19, time.second.into()),
        (20..27, time.fraction / 100),
    ];
    for (place, mut value) in parts {
        for digit in out[place].iter_mut().rev() {
            *digit += (value % 10) as u8;
            value /= 10;
        }
    }
    text.push_str(str::from_utf8(&out).unwrap_or_default());
}

/// Writes a time as PostgreSQL sent it to a session in UTC: `2026-11-21 08:30:00.123456+00`, or without fraction or zone. Times
/// that do not fit the form stay as they were sent: those before the year 1 or after 9999, and the two infinities.
pub(super) fn write_sent_time(text: &mut String, units: &[u16]) {
    // All of it is ASCII.
    let mut bytes = [0; 40];
    for (byte, unit) in bytes.iter_mut().zip(units) {
        *byte = unit.to_le_bytes()[0];
    }
    match usual(&bytes[..units.len().min(bytes.len())]) {
        Some(out) => text.push_str(str::from_utf8(&out).unwrap_or_default()),
        None => write_utf16(text, units),
    }
}

fn usual(sent: &[u8]) -> Option<[u8; TIME_BYTES]> {
    let mut out = FORM;
    let (seconds, rest) = sent.split_at_checked(SECONDS)?;
    for (byte, place) in seconds.iter().zip(&mut out) {
        match *place {
            b'0' if byte.is_ascii_digit() => *place = *byte,
            b'T' if *byte == b' ' => {}
            same if same == *byte => {}
            _ => return None,
        }
    }
    let rest = rest.strip_suffix(b"+00").unwrap_or(rest);
    let fraction = rest.strip_prefix(b".").unwrap_or(rest);
    for (byte, place) in fraction.iter().zip(&mut out[SECONDS + 1..]) {
        *place = *byte;
    }
    fraction.iter().all(u8::is_ascii_digit).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_seven_digits() {
        let time = Timestamp { year: 2026, month: 1, day: 2, hour: 3, minute: 4, second: 5, fraction: 123_456_700 };
        let mut text = String::new();
        write_time(&mut text, &time);
        assert_eq!(text, "2026-01-02T03:04:05.1234567");
    }

    #[test]
    fn times_sent_as_text_have_the_same_form() {
        for (sent, meant) in [
            ("2026-01-02 03:04:05.123456+00", "2026-01-02T03:04:05.1234560"),
            ("2026-01-02 03:04:05.1+00", "2026-01-02T03:04:05.1000000"),
            ("2026-01-02 03:04:05+00", "2026-01-02T03:04:05.0000000"),
            ("2026-01-02 03:04:05.000001", "2026-01-02T03:04:05.0000010"),
            ("0001-01-01 00:00:00", "0001-01-01T00:00:00.0000000"),
            ("9999-12-31 23:59:59.999999+00", "9999-12-31T23:59:59.9999990"),
            ("0044-03-15 12:00:00+00 BC", "0044-03-15 12:00:00+00 BC"),
            ("-infinity", "-infinity"),
            ("infinity", "infinity"),
            ("10000-01-01 00:00:00+00", "10000-01-01 00:00:00+00"),
            ("294276-12-31 23:59:59.999999+00", "294276-12-31 23:59:59.999999+00"),
        ] {
            let mut text = String::new();
            write_sent_time(&mut text, &sent.encode_utf16().collect::<Vec<_>>());
            assert_eq!(text, meant, "{sent}");
        }
    }
}
