//! The doorbell: a connection of its own on which a process that sleeps is woken by others, by PostgreSQL's NOTIFY. It goes through
//! the libpq that psqlODBC has brought into the process, since ODBC knows no notifications. Without that there is no bell, and the
//! process looks from time to time.

mod libpq;

use crate::config::LibpqLogin;
use crate::ident::{Identifier, QuoteStyle};
use crate::sync::{Mutex, PerProcess};
use libpq::{Connection, Libpq};
use std::ffi::CString;
use std::time::{Duration, Instant};

/// A log-in of which this was asked.
struct Asked {
    parameters: Vec<(String, String)>,
    at: Instant,
    answer: Result<(), String>,
}

/// How long an answer of [`is_direct`] holds: the workers that begin with a process ask once together.
const ANSWER_HOLDS: Duration = Duration::from_secs(10);

/// Whether the sessions of this log-in are the process's own. A pooler names another session than the one that the server has.
pub(crate) fn is_direct(login: &LibpqLogin) -> Result<(), String> {
    static ANSWERS: PerProcess<Mutex<Vec<Asked>>> = PerProcess::new();
    // Another that comes meanwhile waits for the answer.
    let mut answers = ANSWERS.get().lock();
    answers.retain(|asked| asked.at.elapsed() < ANSWER_HOLDS);
    if let Some(known) = answers.iter().find(|asked| asked.parameters == login.parameters) {
        return known.answer.clone();
    }
    let answer = ask_whether_direct(login);
    answers.push(Asked { parameters: login.parameters.clone(), at: Instant::now(), answer: answer.clone() });
    answer
}

fn ask_whether_direct(login: &LibpqLogin) -> Result<(), String> {
    let asked = || {
        let connection = Connection::open(Libpq::of_this_process()?, &login.parameters)?;
        let session = connection.session();
        let ask = format!(
            "DO $$ BEGIN IF pg_backend_pid() <> {session} THEN RAISE 'a pooler may share its sessions'; END IF; END $$"
        );
        connection.execute(&CString::new(ask).map_err(|_| "a number has a NUL")?)
    };
    asked().map_err(|why: String| login.redacted(&why))
}

/// A connection that listens on channels.
pub(crate) struct Bell {
    connection: Connection,
    /// The session, as the server numbers it.
    pub(crate) listener: i32,
}

impl Bell {
    /// Connects and listens; the error says why it cannot be.
    pub(crate) fn open(login: &LibpqLogin, channels: &[&str]) -> Result<Self, String> {
        Self::listening(&login.parameters, channels).map_err(|why| login.redacted(&why))
    }

    fn listening(parameters: &[(String, String)], channels: &[&str]) -> Result<Self, String> {
        let libpq = Libpq::of_this_process()?;
        let connection = Connection::open(libpq, parameters)?;
        for channel in channels {
            let channel = Identifier::new("a channel", channel).map_err(|why| why.to_string())?;
            let listen = format!("LISTEN {}", channel.quoted(QuoteStyle::DoubleQuotes));
            connection.execute(&CString::new(listen).map_err(|_| "the channel has a NUL")?)?;
        }
        let listener = connection.session();
        Ok(Self { connection, listener })
    }

    /// The channels and texts of the notifications that come within `wait`, as soon as there is one. An error: the connection is lost.
    pub(crate) fn rings(&self, wait: Duration) -> Result<Vec<(String, String)>, String> {
        self.connection.notifications(wait)
    }
}
