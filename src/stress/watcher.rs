//! The server's figures during the run: the waits of its sessions, and the deadlocks. A figure that this login may not read is
//! reported as such.

use super::probe::{self, Probe};
use super::{Copy, Limit, wait_class};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::item::Value;
use crate::session::{Param, Session};
use std::collections::BTreeMap;
use std::time::Duration;

/// A kind of wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wait {
    /// The server's name for it.
    pub name: String,
    /// How often; in PostgreSQL how many samples found a session at it.
    pub count: i64,
    /// How long altogether, in milliseconds, where the server counts that.
    pub ms: Option<i64>,
}

/// The observed figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The waits of the run's sessions, the most first.
    pub sessions: Vec<Wait>,
    /// The number of samples behind them, where the server counts nothing by itself.
    pub samples: Option<i64>,
    /// The growth in the figures of all sessions of the server, or of the database.
    pub server: Vec<Wait>,
    /// Deadlock graphs of the copy's statements, as XML.
    pub graphs: Vec<String>,
    /// Measurements before the workers began.
    pub probe: Probe,
    /// The median time of a bare statement while they were at work.
    pub trip: Option<Duration>,
    /// The server's processors, where it counts the time on them.
    pub processors: Option<i64>,
    /// Milliseconds of the run's sessions on them.
    pub on_processors: Option<i64>,
    /// Figures that could not be read, and why.
    pub unread: Vec<String>,
}

/// The beginnings of lines in `unread`.
const SESSION_WAITS: &str = "waits of the sessions";
const PROCESSOR_TIME: &str = "processor time of the sessions";

impl Observed {
    /// The time of a bare statement: the smaller median, since load and chance only add to it.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        [self.probe.round_trip, self.trip].into_iter().flatten().min()
    }

    /// Whether the waits of the run's sessions could be read.
    #[must_use]
    pub fn sees_waits(&self) -> bool {
        !self.unread.iter().any(|line| line.starts_with(SESSION_WAITS))
    }

    /// The share of the limit that each wait of the sessions is a sign of: milliseconds where the server counts them, else
    /// samples.
    pub(super) fn amount(&self, dialect: Dialect, limit: Limit) -> i64 {
        let of = |wait: &&Wait| wait_class::of(dialect, &wait.name) == limit;
        self.sessions.iter().filter(of).map(|wait| wait.ms.unwrap_or(wait.count)).sum()
    }
}

/// Looks at the server from a connection of its own.
pub struct Watcher {
    session: Session,
    dialect: Dialect,
    application: String,
    schema: String,
    sessions: BTreeMap<String, Wait>,
    samples: i64,
    server: BTreeMap<String, Wait>,
    probe: Probe,
    trips: Vec<Duration>,
    processors: [Option<i64>; 2],
    unread: Vec<String>,
}

impl Watcher {
    /// Measures the idle server, and begins to look. The sessions of the run are those whose setting `application` is `application`.
    ///
    /// # Errors
    /// Those of a connection.
    pub fn start(copy: &Copy, application: &str) -> Result<Self> {
        let mut session = Session::open(copy.config())?;
        let mut unread = Vec::new();
        let probe = probe::measure(&mut session, copy, &mut unread);
        let mut watcher = Self {
            dialect: session.dialect(),
            session,
            application: application.to_owned(),
            schema: copy.schema().to_owned(),
            sessions: BTreeMap::new(),
            samples: 0,
            server: BTreeMap::new(),
            probe,
            trips: Vec::new(),
            processors: [None; 2],
            unread,
        };
        watcher.server = watcher.ask("stress/server", "waits of all sessions", false);
        Ok(watcher)
    }

    /// Looks once. SQL Server counts by itself, as long as a session is open; PostgreSQL shows the moment.
    pub fn look(&mut self) {
        // A session that fails is reported by the queries below.
        self.trips.extend(probe::trip(&mut self.session).ok());
        self.look_at_processors();
        if self.is_unread(SESSION_WAITS) {
            return;
        }
        let found = self.ask("stress/waits", SESSION_WAITS, true);
        self.samples += 1;
        for (name, wait) in found {
            let known = self.sessions.entry(name).or_insert_with(|| Wait { count: 0, ms: None, ..wait.clone() });
            match self.dialect {
                Dialect::Postgres => known.count += wait.count,
                // A session that has ended leaves no figures.
                Dialect::SqlServer => {
                    known.count = known.count.max(wait.count);
                    known.ms = known.ms.max(wait.ms);
                }
            }
        }
    }

    /// Reads the processor time of the sessions; the sum falls when one of them ends.
    fn look_at_processors(&mut self) {
        if self.is_unread(PROCESSOR_TIME) {
            return;
        }
        let params = [Param::Text(&self.application)];
        match self.dialect.query("stress/processor").and_then(|text| self.session.execute(&text, &params)) {
            Ok(rows) if rows.len() == 1 => {
                for (column, known) in self.processors.iter_mut().enumerate() {
                    if let Value::Integer(number) = rows.value(0, column) {
                        *known = (*known).max(Some(number));
                    }
                }
            }
            Ok(_) => {}
            Err(error) => self.unread.push(format!("{PROCESSOR_TIME}: {error}")),
        }
    }

    /// Whether a figure has failed once: it is not asked for again.
    fn is_unread(&self, name: &str) -> bool {
        self.unread.iter().any(|line| line.starts_with(name))
    }

    /// The sum of all looks.
    #[must_use]
    pub fn finish(mut self) -> Observed {
        let before = std::mem::take(&mut self.server);
        let after = self.ask("stress/server", "waits of all sessions", false);
        let grown = after.into_values().filter_map(|wait| {
            let (count, ms) = before.get(&wait.name).map_or((0, None), |wait| (wait.count, wait.ms));
            let grown = Wait { count: wait.count - count, ms: wait.ms.map(|now| now - ms.unwrap_or(0)), ..wait };
            (grown.count > 0).then_some(grown)
        });
        let mut server: Vec<_> = grown.collect();
        let graphs = self.graphs();
        let mut sessions: Vec<_> = std::mem::take(&mut self.sessions).into_values().collect();
        for waits in [&mut server, &mut sessions] {
            waits.sort_by_key(|wait| std::cmp::Reverse((wait.ms, wait.count)));
        }
        let samples = (self.dialect == Dialect::Postgres).then_some(self.samples);
        self.unread.dedup();
        let trip = (!self.trips.is_empty()).then(|| probe::middle(std::mem::take(&mut self.trips)));
        let [processors, on_processors] = self.processors;
        let (probe, unread) = (self.probe, self.unread);
        Observed { sessions, samples, server, graphs, probe, trip, processors, on_processors, unread }
    }

    fn ask(&mut self, query: &str, what: &str, of_sessions: bool) -> BTreeMap<String, Wait> {
        let params = [Param::Text(&self.application)];
        let params = if of_sessions { &params[..] } else { &[] };
        let found = self.dialect.query(query).and_then(|text| self.session.execute(&text, params));
        let rows = match found {
            Ok(rows) => rows,
            Err(error) => {
                self.unread.push(format!("{what}: {error}"));
                return BTreeMap::new();
            }
        };
        let number =
            |row, column| if let Value::Integer(number) = rows.value(row, column) { Some(number) } else { None };
        let wait = |row| match rows.value(row, 0) {
            Value::Text(name) => {
                let wait = Wait { name: name.to_owned(), count: number(row, 1).unwrap_or(0), ms: number(row, 2) };
                Some((name.to_owned(), wait))
            }
            _ => None,
        };
        (0..rows.len()).filter_map(wait).collect()
    }

    fn graphs(&mut self) -> Vec<String> {
        let query = self.dialect.query("stress/deadlocks");
        match query.and_then(|text| self.session.execute(&text, &[Param::Text(&self.schema)])) {
            Ok(rows) => {
                let text = |row| if let Value::Text(text) = rows.value(row, 0) { Some(text.to_owned()) } else { None };
                (0..rows.len()).filter_map(text).collect()
            }
            Err(error) => {
                self.unread.push(format!("the deadlock graphs of system_health: {error}"));
                Vec::new()
            }
        }
    }
}
