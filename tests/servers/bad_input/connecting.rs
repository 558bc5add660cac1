//! Connection strings and servers that are not what they should be.

use super::assert_says;
use readpast::config::Config;
use readpast::error::{Error, ErrorKind};
use readpast::queue::Queue;
use support::scratch::{Scratch, administer, changed, config, server};

/// Opens the queue over this connection string, without trying again.
fn open(connection: &str) -> Result<Queue, Error> {
    Queue::open(&config(connection, &[("retry.budget_ms", "0")]), "Job")
}

#[test]
fn no_connection_string() {
    assert_says(
        Queue::open(&Config::new(), "Job"),
        ErrorKind::InvalidConfig,
        &["connection string is empty", "Driver="],
    );
    for text in ["", "  ", ";;"] {
        assert_says(Config::new().set("connection", text), ErrorKind::InvalidConfig, &["empty", "set \"connection\""]);
    }
}

#[test]
fn malformed_connection_strings() {
    for (text, words) in [
        ("Server=x;Uid=y;", ["neither Driver nor DSN", "begin it with"]),
        ("Driver={X};Server", ["without \"=\" after \"driver\"", "Key=Value"]),
        ("Driver={X;Uid=y;Pwd=z", ["\"driver\"", "brace"]),
        ("Driver={X};=y", ["without a key", "Key=Value"]),
        ("Driver={X};Pwd=a\0b", ["U+0000", "remove"]),
    ] {
        assert_says(Config::new().set("connection", text), ErrorKind::InvalidConfig, &words);
    }
}

#[test]
fn a_driver_that_is_not_installed() {
    let remedy = "install the ODBC driver";
    assert_says(open("Driver={Nonesuch 7};Server=x;"), ErrorKind::DriverMissing, &["Nonesuch 7", remedy]);
    assert_says(open("Driver={PostgreSQL Nonesuch};Server=x;"), ErrorKind::DriverMissing, &["Nonesuch", remedy]);
    assert_says(open("DSN=nonesuch;"), ErrorKind::DriverMissing, &["data source name", remedy]);
}

#[test]
fn a_server_that_is_not_there() {
    // A port that no system gives to anybody, and a name that cannot exist.
    let down = open(&changed(&server(), &[("Port", "1")]));
    assert_says(down, ErrorKind::Unreachable, &["127.0.0.1", "port 1", "refused", "check that the server runs"]);
    let unknown = open(&changed(&server(), &[("Server", "readpast.invalid")]));
    assert_says(unknown, ErrorKind::Unreachable, &["readpast.invalid", "address and port"]);
}

#[test]
fn a_wrong_password_and_an_unknown_user() {
    let wrong = open(&changed(&server(), &[("Pwd", "s3cret")]));
    let shown = format!("{wrong:?}");
    assert_says(
        wrong,
        ErrorKind::Authentication,
        &["password authentication failed", "\"readpast\"", "check user name"],
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    let nobody = open(&changed(&server(), &[("Uid", "readpast_nobody")]));
    assert_says(nobody, ErrorKind::Authentication, &["readpast_nobody", "check user name and password"]);
}

/// libpq quotes what it takes for an option's name; here that is the second half of a password.
#[test]
fn a_password_in_pqopt_without_the_quotes_that_its_blank_needs() {
    let error = open(&changed(&server(), &[("pqopt", "{password=abc secretpw}")])).unwrap_err();
    assert!(error.message().contains("missing \"=\" after \"(hidden)\""), "{error}");
    assert!(!format!("{error} {error:?}").contains("secretpw"), "{error:?}");
}

#[test]
fn a_user_who_may_not_log_in() {
    let mut scratch = Scratch::empty();
    let role = scratch.role();
    administer(&format!("ALTER ROLE {role} NOLOGIN"));
    let refused = open(&changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]));
    assert_says(refused, ErrorKind::Authentication, &[&role, "not permitted to log in"]);
}

#[test]
fn a_database_that_is_not_there_or_not_for_this_user() {
    let missing = open(&changed(&server(), &[("Database", "nonesuch")]));
    assert_says(missing, ErrorKind::DatabaseMissing, &["\"nonesuch\" does not exist", "or create it"]);

    let mut scratch = Scratch::empty();
    let role = scratch.role();
    administer(&format!("REVOKE CONNECT ON DATABASE {} FROM public", scratch.name));
    let denied = open(&changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]));
    assert_says(denied, ErrorKind::PermissionDenied, &[&scratch.name, "CONNECT", "grant"]);

    administer(&format!("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false", scratch.name));
    assert_says(open(&scratch.connection()), ErrorKind::DatabaseMissing, &[&scratch.name, "accepting connections"]);
}

#[test]
fn encryption_that_the_server_does_not_have() {
    let refused = open(&changed(&server(), &[("SSLmode", "require")]));
    assert_says(refused, ErrorKind::Encryption, &["SSL", "SSLmode"]);
}

/// Other users go away: this passes, and the error is one to try again.
#[test]
fn a_server_that_is_full() {
    let mut scratch = Scratch::empty();
    let role = scratch.role();
    administer(&format!("ALTER ROLE {role} CONNECTION LIMIT 0"));
    let full = open(&changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]));
    assert_says(full, ErrorKind::Unavailable, &["too many connections"]);
    administer(&format!("ALTER DATABASE {} CONNECTION LIMIT 0", scratch.name));
    administer(&format!("ALTER ROLE {role} CONNECTION LIMIT -1"));
    let full = open(&changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]));
    assert_says(full, ErrorKind::Unavailable, &["too many connections for database"]);
}

/// A permanent error comes at once: this test would take minutes otherwise.
#[test]
fn a_permanent_error_is_not_tried_again() {
    let budget = [("retry.budget_ms", "3600000"), ("retry.first_ms", "60000"), ("retry.longest_ms", "60000")];
    for change in [("Pwd", "s3cret"), ("Uid", "readpast_nobody"), ("Database", "nonesuch"), ("SSLmode", "require")] {
        let error = Queue::open(&config(&changed(&server(), &[change]), &budget), "Job").unwrap_err();
        assert!(!error.is_retryable(), "{error}");
    }
}
