//! Log-ins that fail for other reasons than the server's word, and names that need quoting.

use readpast::config::Config;
use readpast::error::{Error, ErrorKind};
use readpast::queue::Queue;
use support::limit::{NEVER, within};
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Answer, LoginReply, ServerMessage, Type};

/// Opens the queue over this connection string, without trying again.
fn open(connection: &str) -> Result<Queue, Error> {
    let mut config = Config::new();
    config.set("connection", connection).unwrap();
    config.set("retry.budget_ms", "0").unwrap();
    Queue::open(&config, "Job")
}

#[track_caller]
fn assert_says(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} is missing in: {error}");
    }
}

#[test]
fn encryption_that_the_server_does_not_have() {
    let server = Server::start();
    let error = open(&server.peer.connection_string().replace("Encrypt=no", "Encrypt=yes")).unwrap_err();
    assert_says(
        &error,
        ErrorKind::Encryption,
        &["cannot connect", "ncryption not supported", "TrustServerCertificate"],
    );
    assert!(!error.is_retryable());
    assert!(server.peer.logins().is_empty(), "no password has gone out unencrypted");
}

/// The error that the driver has for a log-in that fails. On a machine that stalls it may be given up before that.
fn told_by_the_driver(mut fails: impl FnMut() -> Error) -> Error {
    within(NEVER, || {
        loop {
            let error = fails();
            if !error.message().contains("was given up") {
                break error;
            }
        }
    })
}

#[test]
fn a_server_that_is_not_there() {
    let server = Server::start();
    // Not that of a stopped peer, which another process may have been given by now. Nobody is given this one.
    let here = format!(",{}", server.peer.port());
    let mut config = server.config(&[("retry.budget_ms", "0"), ("login.timeout_ms", "1000")]);
    config.set("connection", &server.peer.connection_string().replace(&here, ",1")).unwrap();
    let error = told_by_the_driver(|| Queue::open(&config, "Job").unwrap_err());
    assert_says(&error, ErrorKind::Unreachable, &["cannot connect", "check that the server runs", "address and port"]);
}

#[test]
fn a_server_that_says_nothing() {
    let server = Server::start();
    let config = server.config(&[("retry.budget_ms", "0"), ("login.timeout_ms", "1000")]);
    let error = told_by_the_driver(|| {
        server.refuse_login(LoginReply::Silence);
        Queue::open(&config, "Job").unwrap_err()
    });
    assert_says(&error, ErrorKind::Unreachable, &["imeout expired", "check that the server runs"]);
}

#[test]
fn a_keyword_that_the_driver_does_not_know() {
    let server = Server::start();
    open(&format!("{}Colour=blue;", server.peer.connection_string())).unwrap();
}

#[test]
fn a_schema_may_have_any_name() {
    let name = "x]; DROP TABLE y; --'\"\u{43e}";
    let quoted = "[x]]; DROP TABLE y; --'\"\u{43e}]";
    let server = Server::start();
    let queue = server.open(&[("schema", name)]);
    server.fault("Stats_Job", Fault::Instead(Answer::new().columns([("Name", Type::Int)]).into()));
    queue.stats().unwrap();

    let requests = server.peer.requests();
    for (index, object) in [(1, "[QueueCatalog]"), (2, "[Stats_Job]")] {
        assert_eq!(requests[index].sql(), format!("{quoted}.{object}"));
    }
}

#[test]
fn a_schema_without_readpast() {
    let server = Server::start();
    let missing = ServerMessage::error(2812, "Could not find stored procedure 'readpast.QueueCatalog'.").state(62);
    server.fail("QueueCatalog", &missing);
    let error = Queue::open(&server.config(&[]), "Job").unwrap_err();
    assert_says(&error, ErrorKind::SchemaMissing, &["\"readpast\"", "install", "set \"schema\""]);
    server.fail(
        "QueueCatalog",
        &ServerMessage::error(229, "The EXECUTE permission was denied on 'QueueCatalog'.").class(14),
    );
    let error = Queue::open(&server.config(&[]), "Job").unwrap_err();
    assert_says(&error, ErrorKind::PermissionDenied, &["EXECUTE", "'QueueCatalog'", "grant"]);
}
