//! Passwords stay where they are: in no error, no `Debug` output and no line of a log, at its most talkative.

use super::take;
use readpast::config::Config;
use readpast::queue::Queue;
use std::sync::Mutex;
use support::scripted::server::{Fault, Server};
use support::tds_peer::{LoginReply, Reply, ServerMessage};

static LOG: Log = Log(Mutex::new(String::new()));

/// Keeps everything that this process logs.
struct Log(Mutex<String>);

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}: {}\n", record.level(), record.target(), record.args());
        self.0.lock().unwrap().push_str(&line);
    }

    fn flush(&self) {}
}

/// A configuration whose password holds what connection strings must quote.
fn config(server: &Server, password: &str) -> Config {
    let mut config = server.config(&[]);
    let quoted = format!("Pwd={{{}}};", password.replace('}', "}}"));
    config.set("connection", &server.peer.connection_string().replace("Pwd=x;", &quoted)).unwrap();
    config
}

#[test]
fn a_password_is_never_shown() {
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let server = Server::start();
    let config = config(&server, "Tr0ub4dor;}&3");
    server.refuse_login(LoginReply::Refuse(ServerMessage::login_failed("sa")));
    let refused = Queue::open(&config, "Job").unwrap_err();
    let queue = Queue::open(&config, "Job").unwrap();
    server.fault("[Next_Job", Fault::Instead(Reply::cut_before()));
    server.fault("[Next_Job", Fault::Instead(Reply::deadlock()));
    take(&queue, 1);
    let malformed = Config::new().set("connection", "Driver=X;Pwd={Tr0ub4dor;").unwrap_err();

    let log = LOG.0.lock().unwrap().clone();
    assert!(log.contains("trying again") && log.contains("18456"), "the log is at work: {log}");
    let seen = format!("{refused} {refused:?} {config:?} {queue:?} {malformed} {malformed:?} {log}");
    assert!(!seen.contains("Tr0ub4dor"), "{seen}");
}

/// No server or driver we know of does this.
#[test]
fn a_password_that_a_server_repeats_is_cut_out_of_the_error() {
    let server = Server::start();
    let echo = ServerMessage::error(18456, "Login failed for user 'sa' with password 'Xkcd;}936'.");
    server.refuse_login(LoginReply::Refuse(echo));
    let error = Queue::open(&config(&server, "Xkcd;}936"), "Job").unwrap_err();
    assert!(error.message().contains("with password '(hidden)'"), "{error}");
    assert!(!format!("{error} {error:?}").contains("Xkcd"), "{error}");
}
