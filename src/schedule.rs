//! Rules of schedules: which time comes next. The database keeps the times; this knows calendars.
//!
//! The zones are those of the library, so that all processes of one version read a rule alike, on systems without zones too.

mod rule;

pub(crate) use rule::Rule;
