//! `datetime2`: a time of day in units of 10^-scale seconds and a day number counted from
//! 0001-01-01 (MS-TDS 2.2.5.5.1.8, "Date/Times").

use std::fmt;
use std::io;

use super::wire::malformed;

/// A point in time with a resolution of 100 ns, in no time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime2 {
    /// Days since 0001-01-01.
    pub days: u32,
    /// 100 ns units since midnight.
    pub ticks: u64,
}

const TICKS_PER_SECOND: u64 = 10_000_000;

impl DateTime2 {
    /// Reads `YYYY-MM-DD hh:mm:ss[.fffffff]` (or with a `T`); panics on anything else, as this is
    /// for literals in tests.
    pub fn parse(text: &str) -> DateTime2 {
        Self::try_parse(text).unwrap_or_else(|| panic!("not a datetime2 literal: {text:?}"))
    }

    fn try_parse(text: &str) -> Option<DateTime2> {
        let (date, time) = text.split_once([' ', 'T'])?;
        let date: Vec<u32> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [year, month, day] = date[..] else { return None };
        let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
        let clock: Vec<u64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [hour, minute, second] = clock[..] else { return None };
        if fraction.len() > 7 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let fraction: u64 = format!("{fraction:0<7}").parse().ok()?;
        let ticks = ((hour * 60 + minute) * 60 + second) * TICKS_PER_SECOND + fraction;
        Some(DateTime2 { days: day_number(year, month, day), ticks })
    }

    /// The value bytes, without the length byte.
    pub fn encode(self, scale: u8) -> Vec<u8> {
        let units = self.ticks / 10_u64.pow(u32::from(7 - scale));
        let mut bytes = units.to_le_bytes()[..time_length(scale)].to_vec();
        bytes.extend(&self.days.to_le_bytes()[..3]);
        bytes
    }

    /// The reverse of [`DateTime2::encode`].
    pub fn decode(bytes: &[u8], scale: u8) -> io::Result<DateTime2> {
        if scale > 7 || bytes.len() != time_length(scale) + 3 {
            return Err(malformed(format!("datetime2({scale}) of {} bytes", bytes.len())));
        }
        let (time, date) = bytes.split_at(time_length(scale));
        let little_endian = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let ticks = little_endian(time) * 10_u64.pow(u32::from(7 - scale));
        Ok(DateTime2 { days: little_endian(date) as u32, ticks })
    }
}

fn time_length(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

impl fmt::Display for DateTime2 {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = calendar_day(self.days);
        let (seconds, fraction) = (self.ticks / TICKS_PER_SECOND, self.ticks % TICKS_PER_SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:07}")
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of January of `year`, counted from 0001-01-01.
fn days_before(year: u32) -> u32 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

fn day_number(year: u32, month: u32, day: u32) -> u32 {
    days_before(year) + (1..month).map(|month| days_in_month(year, month)).sum::<u32>() + day - 1
}

fn calendar_day(days: u32) -> (u32, u32, u32) {
    let mut year = days / 366 + 1;
    while days_before(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - days_before(year);
    let mut month = 1;
    while rest >= days_in_month(year, month) {
        rest -= days_in_month(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}
