//! One ODBC connection and its prepared statements. Only this module and its children know ODBC.
//!
//! A thread of the connection's own (`own_thread`) makes every call to the driver, so that the caller can give it up when it does
//! not return. The thread works with a `link`.

mod attached;
mod behind;
mod bind;
mod diagnose;
mod fetch;
mod given_up;
mod link;
mod login;
mod own_thread;
mod pieces;
mod time;
mod unread;

pub(crate) use self::{attached::Attached, diagnose::MISSING_RIGHT, given_up::GivenUp};
pub use self::{bind::Param, fetch::ReadCells};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Rows;
use link::Link;
use own_thread::OwnThread;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How much longer than its time-out a call may take. At the time-out the server cancels the statement (PostgreSQL), or the
/// driver asks it to (SQL Server), and the answer has to come back. A connection that is silent for longer is given up.
const GRACE: Duration = Duration::from_secs(5);

/// An open connection. One thread at a time uses it; it may move between threads.
///
/// No call takes longer than the time-out of a log-in or a statement and a few seconds more, whatever the driver does.
/// A call that would is given up, and its connection with it: [`ErrorKind::ConnectionLost`].
pub struct Session {
    thread: OwnThread<Link>,
    dialect: Dialect,
    /// The text before the keys of answers, where this is one of several places.
    prefix: Option<Arc<str>>,
    /// The time limit of a call.
    limit: Duration,
    /// The time limit by the settings.
    longest: Duration,
    opened: Instant,
    fate: Fate,
    /// Since when it has had its worker's lock.
    pub(crate) lifeline: Option<Instant>,
}

/// The meaning of the errors so far for the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It may be used.
    Usable,
    /// It may not be used, which says nothing about others.
    Broken,
    /// It may not be used, and others to the same server are probably no better.
    ServerGone,
}

impl Session {
    /// Connects, finds out the server's dialect, and sets the session's options that readpast relies on.
    ///
    /// # Errors
    /// The kinds of a failed log-in; the message never holds the connection string.
    pub fn open(config: &Config) -> Result<Self> {
        Self::open_of(config, &Arc::default())
    }

    /// The same, with the counts for connections that are given up.
    pub(crate) fn open_of(config: &Config, given_up: &Arc<GivenUp>) -> Result<Self> {
        let text = config.connection_string()?;
        let guess = Dialect::guess(config.dialect(), &text);
        // The log-in is not even tried then: a library that the C library and the driver cannot load the first time, they never
        // load again.
        if let Some(error) = diagnose::out_of_descriptors() {
            return Err(error);
        }
        given_up::check(given_up)?;
        let mut thread = OwnThread::start(given_up)?;
        let connected = {
            // A log-in that is given up returns it, for the others.
            let _turn = login::turn(guess, config)?;
            let limit = login::limit(config);
            let config = config.clone();
            thread.ask(limit, move |link| {
                let link = link.insert(Link::open(&text, &config, guess)?);
                Ok(link.dialect())
            })
        };
        let dialect = connected.unwrap_or_else(|why| Err(diagnose::unanswered_login(why)))?;
        let limit = query_timeout(config) + GRACE;
        let prefix = config.key_prefix().map(Arc::from);
        let (opened, fate) = (Instant::now(), Fate::Usable);
        let mut session = Self { thread, dialect, prefix, limit, longest: limit, opened, fate, lifeline: None };
        let settings = dialect.session_settings(
            config.number("lock.timeout_ms"),
            config.number("query.timeout_ms"),
            config.application(),
        )?;
        session.execute(&settings, &[])?;
        Ok(session)
    }

    /// The server's dialect.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// When it was opened.
    #[must_use]
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Gives calls at most `limit` for their answers, instead of the settings' time, if that is longer; `None` ends it.
    pub(crate) fn limit_calls(&mut self, limit: Option<Duration>) {
        self.limit = limit.map_or(self.longest, |limit| limit.min(self.longest));
    }

    /// Whether an error has made it useless.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.fate != Fate::Usable
    }

    /// The meaning of the errors on it so far, for it and for others.
    #[must_use]
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Executes `text` with a statement that stays on the connection for the next time, and returns its rows once the server has
    /// reported success: rows of a result that an error follows may be wrong.
    pub fn call(&mut self, text: &Arc<str>, params: &[Param<'_>], shape: ReadCells) -> Result<Rows> {
        let (text, bound) = (Arc::clone(text), bind::all(params));
        let mut rows = self.ask(move |link| link.call(&text, &bound, shape))?;
        if let (Some(rows), Some(prefix), true) = (&mut rows, &self.prefix, shape.has_answers()) {
            rows.put_before_keys(prefix);
        }
        rows.ok_or_else(|| {
            // The results behind the count are still unread.
            self.fate = Fate::ServerGone;
            Error::new(ErrorKind::Protocol, "the procedure answered without rows; it must select its answer")
        })
    }

    /// Executes `text` once, without keeping the statement, and returns its rows if it has any.
    pub fn execute(&mut self, text: &str, params: &[Param<'_>]) -> Result<Rows> {
        let (text, bound) = (text.to_owned(), bind::all(params));
        self.ask(move |link| link.execute(&text, &bound))
    }

    /// Executes `text` once and returns the rows of every result that has columns, in their order.
    pub fn results(&mut self, text: &str, params: &[Param<'_>]) -> Result<Vec<Rows>> {
        let (text, bound) = (text.to_owned(), bind::all(params));
        self.ask(move |link| link.results(&text, &bound))
    }

    /// The same of rows with the answer columns.
    pub(crate) fn results_with_keys(&mut self, text: &str, params: &[Param<'_>]) -> Result<Vec<Rows>> {
        let mut results = self.results(text, params)?;
        if let Some(prefix) = &self.prefix {
            results.iter_mut().for_each(|rows| rows.put_before_keys(prefix));
        }
        Ok(results)
    }

    /// Runs `work` in a transaction, which commits when it succeeds and rolls back when it fails.
    pub fn transaction<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.ask(|link| link.begin())?;
        let result = work(self).and_then(|value| self.ask(|link| link.commit()).map(|()| value));
        if self.ask(|link| link.end()).is_err() {
            self.fate = Fate::ServerGone;
        }
        result
    }

    /// Begins to close the connection; dropping the session waits a moment until it is closed. For a caller that closes several.
    pub(crate) fn begin_to_close(&mut self) {
        self.thread.begin_to_end();
    }

    fn is_dead(&mut self) -> bool {
        self.thread.ask(self.limit, |link| link.as_ref().is_none_or(Link::is_dead)).unwrap_or(true)
    }

    /// Runs `work` on the connection's thread.
    fn ask<T: Send + 'static>(&mut self, work: impl FnOnce(&mut Link) -> Result<T> + Send + 'static) -> Result<T> {
        let answer = self.thread.ask(self.limit, |link| match link {
            Some(link) => work(link),
            None => Err(Error::new(ErrorKind::Closed, "the connection is closed")),
        });
        let result = answer.unwrap_or_else(|why| Err(diagnose::unanswered(why, self.limit)));
        result.inspect_err(|error| {
            let fate = match error.kind() {
                kind if kind.breaks_connection() => Fate::ServerGone,
                // A server that throttles may end the session that it throttles (40501, 40549). To leave the others too would
                // only be more log-ins for it to serve. The driver knows without asking the server.
                ErrorKind::Busy if self.is_dead() => Fate::Broken,
                _ => Fate::Usable,
            };
            self.fate = self.fate.max(fate);
        })
    }
}

/// The longest that a driver waits for an answer; drivers count in seconds.
fn query_timeout(config: &Config) -> Duration {
    Duration::from_secs(config.number("query.timeout_ms").div_ceil(1000).into())
}
