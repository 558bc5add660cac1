//! Measurements on the server before the workers begin: a bare round trip, and a commit of one small row.

use super::Copy;
use crate::error::Result;
use crate::item::Value;
use crate::session::Session;
use std::time::{Duration, Instant};

/// The number of bare statements whose median counts.
const STATEMENTS: usize = 51;
/// The number of commits whose median counts.
const COMMITS: usize = 21;

/// A statement that reads nothing.
const NOTHING: &str = "stress/nothing";

/// The costs of calls on the idle server, and its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probe {
    /// The median time of a statement that reads nothing.
    pub round_trip: Option<Duration>,
    /// The median time of a statement that inserts one row and commits; its round trip is part of it.
    pub commit: Option<Duration>,
    /// Whether the server runs on this machine.
    pub is_near: Option<bool>,
}

/// Measures on the session. A figure that cannot be had is a line of `unread`.
pub(super) fn measure(session: &mut Session, copy: &Copy, unread: &mut Vec<String>) -> Probe {
    let mut keep =
        |what: &str, found: Result<Duration>| found.map_err(|error| unread.push(format!("{what}: {error}"))).ok();
    let nothing = session.dialect().query(NOTHING);
    let round_trip = keep("the round trip", nothing.and_then(|text| median(session, &text, STATEMENTS)));
    let commit = keep("the time of a commit", commit(session, copy));
    let near = session.dialect().query("stress/near").and_then(|text| session.execute(&text, &[]));
    let is_near = match near {
        Ok(rows) if rows.len() == 1 => match rows.value(0, 0) {
            Value::Integer(near) => Some(near == 1),
            _ => None,
        },
        Ok(_) => None,
        Err(error) => {
            unread.push(format!("the server's address: {error}"));
            None
        }
    };
    Probe { round_trip, commit, is_near }
}

/// One more bare statement, while the workers are at work.
pub(super) fn trip(session: &mut Session) -> Result<Duration> {
    let text = session.dialect().query(NOTHING)?;
    let begun = Instant::now();
    session.execute(&text, &[])?;
    Ok(begun.elapsed())
}

/// The table is dropped with the copy.
fn commit(session: &mut Session, copy: &Copy) -> Result<Duration> {
    let dialect = session.dialect();
    let table = dialect.exact(copy.schema(), "commit_probe")?;
    let text = |name: &str| dialect.statement(name, minijinja::context! { table => &table });
    session.execute(&text("stress/probe_table")?, &[])?;
    median(session, &text("stress/probe_commit")?, COMMITS)
}

/// The first execution warms up, and does not count.
fn median(session: &mut Session, statement: &str, count: usize) -> Result<Duration> {
    session.execute(statement, &[])?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        session.execute(statement, &[])?;
        times.push(begun.elapsed());
    }
    Ok(middle(times))
}

/// The median; zero of nothing.
pub(super) fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
