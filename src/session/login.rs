//! Logging in, and what of it drivers and driver managers cannot do on two threads at once.

use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex, PerProcess};
use odbc_api::{Connection, ConnectionOptions, Environment, Error as OdbcError};
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The environment of the process.
///
/// Allocated on one thread, while all others wait: that is the first time unixODBC looks into `odbcinst.ini`, and it keeps
/// the file's place in two variables that no lock protects, with "it is set" written before what is set. A thread that comes
/// between reads the folder instead of the file and finds no driver in it; for the next 20 seconds unixODBC gives that answer
/// to the whole process. (2.3.14 still does. odbc-api's own function lets several threads allocate at once.)
fn environment() -> Result<&'static Environment, OdbcError> {
    static FIRST: PerProcess<Mutex<()>> = PerProcess::new();
    static READY: OnceLock<&'static Environment> = OnceLock::new();

    if let Some(environment) = READY.get() {
        return Ok(environment);
    }
    let _turn = FIRST.get().lock();
    let environment = odbc_api::environment()?;
    Ok(READY.get_or_init(|| environment))
}

/// Connects with a connection string that a driver takes.
pub(super) fn connect(text: &str, config: &Config) -> Result<Connection<'static>, OdbcError> {
    let options =
        ConnectionOptions { login_timeout_sec: Some(timeout(config).as_secs() as u32), ..ConnectionOptions::default() };
    environment()?.connect_with_connection_string(text, options)
}

/// The longest that a driver waits for a log-in; drivers count in seconds.
pub(super) fn timeout(config: &Config) -> Duration {
    Duration::from_secs(config.number("login.timeout_ms").div_ceil(1000).into())
}

/// The right to log in, where only one thread at a time may:
///
/// - psqlODBC reads the process's locale while it logs in, and sets it: two log-ins at once read what the other has freed
///   (seen with 13.02 and an address sanitizer).
/// - unixODBC before 2.3.13 looks up a data source by setting, for the whole process, which file it reads: of two look-ups
///   at once, one may search the other's file, and remember for 20 seconds that the data source is not there.
///
/// Whoever gives up a log-in gives this back, or nobody would be let in any more. psqlODBC reads the locale in a moment without
/// a round trip, so a log-in that hangs is not in it; should it ever go on, it may read the locale beside another.
pub(super) fn turn(dialect: Dialect, config: &Config) -> Result<Option<Turn>> {
    // The child of a fork has its own: in the parent somebody may be logging in.
    static LOG_IN: PerProcess<LogIn> = PerProcess::new();

    let by_name = ["dsn", "filedsn"].iter().any(|key| config.connection_value(key).is_some());
    if dialect != Dialect::Postgres && !by_name {
        return Ok(None);
    }
    // A server that does not answer holds the turn for as long as one log-in may take; many who wait must not wait for the sum.
    let patience = config.duration("login.timeout_ms");
    LOG_IN.get().take(Instant::now() + patience).map(Some).ok_or_else(|| {
        let message = format!(
            "cannot connect: other log-ins of this process, which take turns, took longer than {} ms; check that the server \
             answers, or raise \"login.timeout_ms\"",
            patience.as_millis()
        );
        Error::new(ErrorKind::Unreachable, message)
    })
}

/// What one thread at a time has.
#[derive(Debug, Default)]
struct LogIn {
    is_taken: Mutex<bool>,
    given_back: Condvar,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn(&'static LogIn);

impl LogIn {
    /// `None` when it is not to be had until `deadline`.
    fn take(&'static self, deadline: Instant) -> Option<Turn> {
        let mut is_taken = self.is_taken.lock();
        while *is_taken {
            if self.given_back.wait_until(&mut is_taken, deadline).timed_out() && *is_taken {
                return None;
            }
        }
        *is_taken = true;
        Some(Turn(self))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.is_taken.lock() = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(connection: &str) -> Config {
        let mut config = Config::new();
        config.set("connection", connection).unwrap();
        config.set("login.timeout_ms", "1000").unwrap();
        config
    }

    #[test]
    fn those_who_must_take_turns_do_and_do_not_wait_for_ever() {
        let by_driver = config("Driver={ODBC Driver 18 for SQL Server};Server=x;");
        let first = turn(Dialect::SqlServer, &config("DSN=Jobs;")).unwrap();
        assert!(first.is_some());
        assert!(turn(Dialect::SqlServer, &by_driver).unwrap().is_none(), "needs none");
        for (dialect, config) in [(Dialect::SqlServer, &config("FileDSN=/x;")), (Dialect::Postgres, &by_driver)] {
            let error = turn(dialect, config).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unreachable);
            assert!(error.message().contains("1000 ms") && error.message().contains("login.timeout_ms"), "{error}");
        }
    }
}
