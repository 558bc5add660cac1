//! Log-ins, and the parts of them that drivers and driver managers cannot do on two threads at once.

use super::GRACE;
use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex, PerProcess};
use odbc_api::{Connection, ConnectionOptions, Environment, Error as OdbcError};
use std::{
    collections::VecDeque,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The environment of the process.
///
/// One thread allocates it, while all others wait: unixODBC then reads `odbcinst.ini` for the first time, and keeps the file's
/// place in two variables without a lock, with "it is set" written before the place. A thread that comes between reads the folder
/// instead of the file and finds no driver in it; for the next 20 seconds unixODBC gives that answer to the whole process.
/// (2.3.14 still does. odbc-api's own function lets several threads allocate at once.)
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
fn timeout(config: &Config) -> Duration {
    Duration::from_secs(config.number("login.timeout_ms").div_ceil(1000).into())
}

/// When a log-in is given up, should the driver not end it.
pub(super) fn limit(config: &Config) -> Duration {
    timeout(config) + GRACE
}

/// The turn to log in, where only one thread at a time may:
///
/// - psqlODBC reads the process's locale while it logs in, and sets it: two log-ins at once read memory that the other has freed
///   (seen with 13.02 and an address sanitizer).
/// - unixODBC before 2.3.13 looks up a data source by setting, for the whole process, which file it reads: of two look-ups at
///   once, one may search the other's file, and remember for 20 seconds that the data source is missing.
///
/// An abandoned log-in returns its turn; otherwise all later ones would wait for ever. psqlODBC reads the locale in a moment
/// without a round trip, so a hanging log-in is not in that part; should it ever go on, it may read the locale beside another.
pub(super) fn turn(dialect: Dialect, config: &Config) -> Result<Option<LoginTurn>> {
    // The child of a fork has its own: a thread of the parent may be logging in.
    static LOG_IN: PerProcess<LogIn> = PerProcess::new();

    let by_name = ["dsn", "filedsn"].iter().any(|key| config.connection_value(key).is_some());
    if dialect != Dialect::Postgres && !by_name {
        return Ok(None);
    }
    // A hanging log-in is given up before later ones fail, whatever servers they are for. Many waiters for many such log-ins must
    // not wait for the sum.
    let patience = limit(config);
    LOG_IN.get().take(Instant::now() + patience).map(Some).ok_or_else(|| {
        let message = format!(
            "cannot connect: other log-ins of this process, which take turns, took longer than {} ms; check that their servers \
             answer, or raise \"login.timeout_ms\"",
            patience.as_millis()
        );
        Error::new(ErrorKind::Unreachable, message)
    })
}

/// A lock that threads get in the order in which they came: a thread that tries again at once must not keep others out.
#[derive(Debug, Default)]
struct LogIn {
    line: Mutex<LoginQueue>,
    moved: Condvar,
}

/// The waiting threads. The first has the turn.
#[derive(Debug, Default)]
struct LoginQueue {
    numbers: VecDeque<u64>,
    next: u64,
}

/// Returns the turn when it is dropped.
#[derive(Debug)]
pub(super) struct LoginTurn(&'static LogIn);

impl LogIn {
    /// Takes the turn. `None`: it was not free until `deadline`.
    fn take(&'static self, deadline: Instant) -> Option<LoginTurn> {
        let mut line = self.line.lock();
        let mine = line.next;
        line.next += 1;
        line.numbers.push_back(mine);
        while line.numbers.front() != Some(&mine) {
            if self.moved.wait_until(&mut line, deadline).timed_out() && line.numbers.front() != Some(&mine) {
                line.numbers.retain(|&number| number != mine);
                return None;
            }
        }
        Some(LoginTurn(self))
    }
}

impl Drop for LoginTurn {
    fn drop(&mut self) {
        self.0.line.lock().numbers.pop_front();
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, thread};

    fn config(connection: &str) -> Config {
        let mut config = Config::new();
        config.set("connection", connection).unwrap();
        config.set("login.timeout_ms", "1000").unwrap();
        config
    }

    #[test]
    fn log_ins_take_turns_and_do_not_wait_for_ever() {
        let by_driver = config("Driver={ODBC Driver 18 for SQL Server};Server=x;");
        let first = turn(Dialect::SqlServer, &config("DSN=Jobs;")).unwrap();
        assert!(first.is_some());
        assert!(turn(Dialect::SqlServer, &by_driver).unwrap().is_none(), "needs none");
        let by_file = config("FileDSN=/x;");
        thread::scope(|scope| {
            for (dialect, config) in [(Dialect::SqlServer, &by_file), (Dialect::Postgres, &by_driver)] {
                scope.spawn(move || {
                    let began = Instant::now();
                    let error = turn(dialect, config).unwrap_err();
                    assert!(began.elapsed() >= limit(config), "the first might have been given up by then");
                    assert_eq!(error.kind(), ErrorKind::Unreachable);
                    assert!(error.message().contains("6000 ms"), "{error}");
                    assert!(error.message().contains("login.timeout_ms"), "{error}");
                });
            }
        });
    }

    #[test]
    fn turns_are_had_in_the_order_in_which_they_were_asked_for() {
        let log_in: &'static LogIn = Box::leak(Box::default());
        let waiting = |most: usize| {
            while log_in.line.lock().numbers.len() < most {
                thread::yield_now();
            }
        };
        let far = Instant::now() + Duration::from_secs(3600);
        let held = log_in.take(far).unwrap();
        assert!(log_in.take(Instant::now()).is_none(), "and leaves the line");
        let (sender, receiver) = mpsc::channel();
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let sender = sender.clone();
                let thread = thread::spawn(move || {
                    let _turn = log_in.take(far).unwrap();
                    sender.send(number).unwrap();
                });
                waiting(number + 2);
                thread
            })
            .collect();
        drop(held);
        // A thread that wants its turn again comes behind the others.
        drop(log_in.take(far).unwrap());
        sender.send(8).unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), (0..=8).collect::<Vec<_>>());
    }
}
