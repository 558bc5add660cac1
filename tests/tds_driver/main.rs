//! The behaviour of the Microsoft ODBC driver, as far as the library relies on it: every test drives the
//! real driver, through `odbc-api`, against the scripted server of `tds_peer`.

mod connecting;
mod failures;
mod prepared;
mod results;
mod timeouts;
mod transactions;
mod values;

use odbc_api::{Connection, ConnectionOptions, Environment, Error};
use std::sync::{Mutex, PoisonError};
use support::tds_peer::Peer;

/// The environment of the process. The first one is allocated alone, as in `src/session/login.rs`, which says why.
fn environment() -> Result<&'static Environment, Error> {
    static FIRST: Mutex<()> = Mutex::new(());
    let _turn = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    odbc_api::environment()
}

fn try_connect(peer: &Peer, options: ConnectionOptions) -> Result<Connection<'static>, Error> {
    environment()?.connect_with_connection_string(&peer.connection_string(), options)
}

fn connect(peer: &Peer) -> Connection<'static> {
    try_connect(peer, ConnectionOptions::default()).expect("the peer accepts the login")
}

/// SQLSTATE and native error of a failed ODBC call.
fn codes<T>(result: Result<T, Error>) -> (String, i32) {
    let (state, native, _message) = diagnostic(result);
    (state, native)
}

/// SQLSTATE, native error and message of a failed ODBC call.
fn diagnostic<T>(result: Result<T, Error>) -> (String, i32, String) {
    match result.err().expect("the call fails") {
        Error::Diagnostics { record, .. } => {
            let message = String::from_utf16_lossy(&record.message);
            (record.state.as_str().to_owned(), record.native_error, message)
        }
        other => panic!("a failure without diagnostics: {other:?}"),
    }
}

/// The answer of [`codes`], to compare with.
fn code(state: &str, native: i32) -> (String, i32) {
    (state.to_owned(), native)
}
