//! The look at many queues at once.

use crate::error::{Error, ErrorKind, Result};
use crate::item::Value;
use crate::session::{Param, ReadCells, Session};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The server's answer about one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// The items of dead workers are to be looked for.
    Recovery,
    /// A claim may find something.
    Now,
    /// It may then, or not as things stand.
    Later(Option<Duration>),
}

/// A queue that is asked about.
#[derive(Debug, Clone)]
pub(crate) struct AskedQueue {
    /// Its name in the names of its objects.
    pub(crate) stem: String,
    /// Within this time one recovery is enough.
    pub(crate) recovery: Duration,
}

impl AskedQueue {
    fn recovery_ms(&self) -> i32 {
        i32::try_from(self.recovery.as_millis()).unwrap_or(i32::MAX)
    }
}

/// The queues that were asked about on each connection. A server that is asked about a queue for the first time plans the look, which
/// takes locks on all indexes of the table: so many new ones in one statement would fill its table of locks.
#[derive(Debug, Default)]
pub(crate) struct KnownQueues {
    /// By the time at which it was opened.
    by_connection: HashMap<Instant, HashSet<String>>,
}

impl KnownQueues {
    /// The most new queues in one statement.
    const MOST_NEW: usize = 16;
    /// The most queues in one statement.
    const MOST: usize = 256;
    /// Connections are closed, and others follow: more are not remembered.
    const MOST_CONNECTIONS: usize = 16;

    /// The length of the next statement about `queues`, on the connection that was opened then.
    pub(crate) fn next_part(&mut self, connection: Instant, queues: &[AskedQueue]) -> usize {
        if self.by_connection.len() >= Self::MOST_CONNECTIONS && !self.by_connection.contains_key(&connection) {
            self.by_connection.clear();
        }
        let stems = self.by_connection.entry(connection).or_default();
        let (mut count, mut new) = (0, 0);
        for queue in queues.iter().take(Self::MOST) {
            if !stems.contains(&queue.stem) {
                if new == Self::MOST_NEW {
                    break;
                }
                new += 1;
                stems.insert(queue.stem.clone());
            }
            count += 1;
        }
        count
    }
}

/// Asks about the queues; `None` about those that the login may not claim from.
pub(crate) fn due(
    session: &mut Session,
    statement: &Arc<str>,
    queues: &[AskedQueue],
    known: &mut KnownQueues,
) -> Result<Vec<Option<Due>>> {
    let mut answers = vec![None; queues.len()];
    let mut first = 0;
    while first < queues.len() {
        let count = known.next_part(session.opened(), &queues[first..]);
        let part: Vec<_> = queues[first..first + count]
            .iter()
            .map(|queue| serde_json::json!({ "queue": queue.stem, "recover": queue.recovery_ms() }))
            .collect();
        let part = serde_json::Value::from(part).to_string();
        let rows = session.call(statement, &[Param::Text(&part)], ReadCells::Table)?;
        for row in 0..rows.len() {
            let number = |column| match rows.value(row, column) {
                Value::Integer(number) => Some(number),
                _ => None,
            };
            let place = number(0).and_then(|place| usize::try_from(place).ok()).filter(|place| *place < count);
            let place = place.ok_or_else(|| {
                Error::new(ErrorKind::Protocol, "the server answered about a queue that was not asked about")
            })?;
            answers[first + place] = Some(match number(1) {
                Some(-1) => Due::Recovery,
                Some(0) => Due::Now,
                later => Due::Later(later.map(|ms| Duration::from_millis(ms.unsigned_abs()))),
            });
        }
        first += count;
    }
    Ok(answers)
}

/// Asks that who adds to one of these queues notifies the channel, on which this session listens.
pub(crate) fn sleep(
    session: &mut Session,
    statement: &str,
    stems: &[&str],
    channel: &str,
    listener: i32,
) -> Result<()> {
    let stems = serde_json::json!(stems).to_string();
    let params = [Param::Text(&stems), Param::Text(channel), Param::Integer(listener)];
    session.execute(statement, &params).map(drop)
}

/// Items for whose ends a process waits.
pub(crate) struct Awaited<'a> {
    /// The queue's name in the names of its objects.
    pub(crate) stem: &'a str,
    pub(crate) keys: &'a [String],
    pub(crate) channel: &'a str,
    /// The session that listens on it.
    pub(crate) listener: i32,
    /// The process rings itself, too, to prove the bell.
    pub(crate) rings: bool,
}

/// Asks that who settles one of the items notifies the channel.
pub(crate) fn await_ends(session: &mut Session, statement: &str, awaited: &Awaited<'_>) -> Result<()> {
    let keys = serde_json::json!(awaited.keys).to_string();
    let params = [
        Param::Text(awaited.stem),
        Param::Text(&keys),
        Param::Text(awaited.channel),
        Param::Integer(awaited.listener),
        Param::Integer(awaited.rings.into()),
    ];
    session.execute(statement, &params).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_queues_at_once_are_new_to_a_connection() {
        let queue = |number: usize| AskedQueue { stem: format!("q{number}"), recovery: Duration::ZERO };
        let queues: Vec<_> = (0..40).map(queue).collect();
        let (mut known, first, second) =
            (KnownQueues::default(), Instant::now(), Instant::now() + Duration::from_secs(1));
        let mut parts = |connection| {
            let (mut parts, mut rest) = (Vec::new(), queues.as_slice());
            while !rest.is_empty() {
                parts.push(known.next_part(connection, rest));
                rest = &rest[parts[parts.len() - 1]..];
            }
            parts
        };
        assert_eq!(parts(first), [16, 16, 8]);
        assert_eq!(parts(first), [40]);
        assert_eq!(parts(second), [16, 16, 8], "another connection");
        assert_eq!(parts(first), [40], "and the first one again");
    }
}
