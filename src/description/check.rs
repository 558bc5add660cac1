//! Checks that a description is consistent and possible, for one that was read and for one that a program built. A mistake names
//! its place.

mod claimed_by;
mod columns;
mod limits;
mod options;
mod rows;
mod spread;
mod states;
mod subtypes;
mod table;

use super::{QueueSpec, Storage};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QueueName};
use std::fmt;
use std::ops::RangeInclusive;

/// PostgreSQL keeps so many bytes of a name.
const MAX_NAME_BYTES: usize = 63;

/// SQL Server keeps so many characters of one.
const MAX_NAME_CHARS: usize = 128;

/// A day: longer than any lease or pause between attempts should be.
const DAY_MS: i32 = 86_400_000;

// The ranges of a description's numbers; factor and jitter in hundredths.
/// Seconds; 20,000 days at most.
pub(super) const RETENTION: RangeInclusive<i32> = 1..=20_000 * 86_400;
pub(crate) const ATTEMPTS: RangeInclusive<i32> = 1..=i32::MAX;
pub(crate) const LEASE_MS: RangeInclusive<i32> = 10..=DAY_MS;
/// A claim that finds nothing has asked each of them.
pub(super) const SHARDS: RangeInclusive<i32> = 2..=64;
pub(super) const BACKOFF_FIRST_MS: RangeInclusive<i32> = 1..=DAY_MS;
pub(super) const BACKOFF_CAP_MS: RangeInclusive<i32> = 1..=i32::MAX;
pub(super) const BACKOFF_FACTOR: RangeInclusive<i32> = 100..=10_000;
pub(super) const BACKOFF_JITTER: RangeInclusive<i32> = 0..=100;

/// A step on the way to a value of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Nth(usize),
}

/// A mistake and its place.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) place: Vec<Step>,
    pub(super) why: String,
}

pub(super) type Checked = std::result::Result<(), Mistake>;

/// A place in a description.
#[derive(Debug, Clone, Default)]
pub(super) struct DescriptionPath(Vec<Step>);

impl DescriptionPath {
    pub(super) fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_owned()))
    }

    fn nth(&self, number: usize) -> Self {
        self.step(Step::Nth(number))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    fn refuse(&self, why: impl Into<String>) -> Checked {
        Err(Mistake { place: self.0.clone(), why: why.into() })
    }

    /// Refuses a rule that does not hold.
    fn need(&self, holds: bool, why: impl FnOnce() -> String) -> Checked {
        if holds { Ok(()) } else { self.refuse(why()) }
    }

    /// Checks a number against its range.
    pub(super) fn number(&self, number: i32, range: &RangeInclusive<i32>) -> Checked {
        let why = || format!("must be a whole number from {} to {}, not {number}", range.start(), range.end());
        self.need(range.contains(&number), why)
    }

    /// Checks a number in hundredths.
    pub(super) fn hundredths(&self, number: i32, range: &RangeInclusive<i32>) -> Checked {
        let shown = |number: i32| f64::from(number) / 100.0;
        let (least, most) = (shown(*range.start()), shown(*range.end()));
        let why = || format!("must be a number from {least} to {most}, not {}", shown(number));
        self.need(range.contains(&number), why)
    }

    /// Checks a name that becomes part of other names, of parameters and of paths in JSON: a letter first, then letters, digits
    /// and underscores.
    fn word(&self, name: &Identifier) -> Checked {
        self.need(QueueName::new(name.as_str()).is_ok(), || {
            format!(
                "the name {:?} is not allowed; use a letter first, then letters, digits and underscores (ASCII), 40 at most",
                name.as_str()
            )
        })
    }

    /// Checks that no name stands twice in the list.
    fn distinct(&self, names: &[Identifier]) -> Checked {
        for (i, name) in names.iter().enumerate() {
            let again = names[..i].iter().any(|other| same_name(other, name));
            self.nth(i).need(!again, || format!("{:?} stands in the list already", name.as_str()))?;
        }
        Ok(())
    }

    /// Checks that a column is among `known`.
    fn column(&self, name: &Identifier, known: &[&Identifier]) -> Checked {
        self.need(known.contains(&name), || {
            let known: Vec<_> = known.iter().map(|name| name.as_written()).collect();
            format!("there is no column {:?}; there are {}", name.as_written(), known.join(", "))
        })
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.place.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Nth(number) => write!(f, "[{number}]")?,
            }
        }
        write!(f, ": {}", self.why)
    }
}

impl QueueSpec {
    /// Checks a description that a program built. The parser has checked one that was read.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names the key of a value that contradicts the rest, or is impossible.
    pub fn check(&self) -> Result<()> {
        mistake(self).map_err(|mistake| Error::new(ErrorKind::InvalidArgument, mistake.to_string()))
    }
}

/// The first mistake of a description.
pub(super) fn mistake(spec: &QueueSpec) -> Checked {
    columns::check(spec)?;
    if let Storage::Table(table) = &spec.storage {
        table::check(spec, table)?;
        claimed_by::check(spec, table)?;
    }
    if let Storage::Procedures(_) = spec.storage {
        // The procedures decide the rest.
        return Ok(());
    }
    subtypes::check(spec)?;
    options::check(spec)
}

/// Whether the servers might take two names for one.
fn same_name(one: &Identifier, other: &Identifier) -> bool {
    one.as_str().to_lowercase() == other.as_str().to_lowercase()
}
