//! The doorbell: a connection of its own on which a process that sleeps is woken by others, by PostgreSQL's NOTIFY. It goes through
//! the libpq that psqlODBC has brought into the process, since ODBC knows no notifications. Without that there is no bell, and the
//! process looks from time to time.

mod libpq;

use crate::config::LibpqLogin;
use libpq::{Connection, Libpq};
use std::ffi::CString;
use std::time::Duration;

/// A connection that listens on a channel.
pub(crate) struct Bell {
    connection: Connection,
    /// The session, as the server numbers it.
    pub(crate) listener: i32,
}

impl Bell {
    /// Connects and listens; the error says why it cannot be.
    pub(crate) fn open(login: &LibpqLogin, channel: &str) -> Result<Self, String> {
        Self::listening(&login.parameters, channel).map_err(|why| login.redacted(&why))
    }

    fn listening(parameters: &[(String, String)], channel: &str) -> Result<Self, String> {
        let libpq = Libpq::of_this_process()?;
        let connection = Connection::open(libpq, parameters)?;
        let listen = CString::new(format!("LISTEN {channel}")).map_err(|_| "the channel has a NUL")?;
        connection.execute(&listen)?;
        let listener = connection.session();
        Ok(Self { connection, listener })
    }

    /// The texts of the notifications that come within `wait`, as soon as there is one. An error: the connection is lost.
    pub(crate) fn rings(&self, wait: Duration) -> Result<Vec<String>, String> {
        self.connection.notifications(wait)
    }
}
