//! Logging in.

use std::time::{Duration, Instant};

use odbc_api::ConnectionOptions;

use super::{code, codes, connect, environment, try_connect};
use support::tds_peer::{LoginReply, Peer, Reply, ServerMessage};

#[test]
fn the_login_names_user_and_application_and_nothing_follows_it() {
    let peer = Peer::start(|_| Reply::default());
    let connection = connect(&peer);

    let logins = peer.logins();
    assert_eq!(logins.len(), 1);
    assert_eq!((logins[0].user.as_str(), logins[0].has_password), ("sa", true));
    assert_eq!(logins[0].database, "");
    assert!(logins[0].application.starts_with("tds_driver"), "the name of the program: {}", logins[0].application);
    assert!(peer.requests().is_empty(), "the driver sends no settings of its own");
    assert!(!connection.is_dead().unwrap());
}

#[test]
fn database_and_application_of_the_connection_string_arrive() {
    let peer = Peer::start(|_| Reply::default());
    let string = format!("{}Database=jobs;APP=readpast;", peer.connection_string());
    let environment = environment().unwrap();
    let connection = environment.connect_with_connection_string(&string, ConnectionOptions::default()).unwrap();

    assert_eq!(connection.current_catalog().unwrap(), "jobs");
    let logins = peer.logins();
    assert_eq!((logins[0].database.as_str(), logins[0].application.as_str()), ("jobs", "readpast"));
    assert!(peer.requests().is_empty(), "the driver knows the database from the login");
}

#[test]
fn a_refused_login_returns_the_servers_error() {
    let refusals = [
        (ServerMessage::login_failed("sa"), "28000"),
        (ServerMessage::cannot_open_database("jobs"), "42000"),
        (ServerMessage::database_unavailable("jobs"), "42000"),
        (ServerMessage::service_error(), "42000"),
        (ServerMessage::resource_limit(), "42000"),
    ];
    for (message, state) in refusals {
        let native = message.number;
        let script = Peer::script(|_| Reply::default());
        let peer = script.on_login(move |_| LoginReply::Refuse(message.clone())).start();

        assert_eq!(codes(try_connect(&peer, ConnectionOptions::default())), code(state, native));
        assert_eq!(peer.logins().len(), 1, "the driver does not try again");
    }
}

#[test]
fn a_connection_cut_during_login_is_a_link_failure() {
    let peer = Peer::script(|_| Reply::default()).on_login(|_| LoginReply::Cut).start();

    assert_eq!(codes(try_connect(&peer, ConnectionOptions::default())), code("08S01", 10054));
    assert_eq!(peer.logins().len(), 1, "the driver does not try again");
}

#[test]
fn a_silent_server_and_a_closed_port_both_take_the_login_timeout() {
    let mut peer = Peer::script(|_| Reply::default()).on_login(|_| LoginReply::Silence).start();
    let options = ConnectionOptions { login_timeout_sec: Some(1), ..ConnectionOptions::default() };

    assert_eq!(codes(try_connect(&peer, options)), code("HYT00", 0));

    peer.stop();
    let start = Instant::now();
    assert_eq!(codes(try_connect(&peer, options)), code("HYT00", 0));
    assert!(start.elapsed() > Duration::from_millis(900), "a refused port is tried until the timeout");
}
