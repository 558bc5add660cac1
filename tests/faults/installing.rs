//! Installing: all in one transaction, or nothing.

use readpast::description::QueueSpec;
use readpast::error::{Error, ErrorKind};
use readpast::install::install;
use support::scripted::server::{Fault, SPEC, Server};
use support::tds_peer::{Call, Reply, ServerMessage, TransactionCall};

fn install_on(server: &Server) -> Result<(), Error> {
    install(&server.config(&[]), Some(&QueueSpec::from_json(SPEC).unwrap()))
}

/// The kinds of request of the transaction manager, in order.
fn transaction_calls(server: &Server) -> Vec<TransactionCall> {
    let calls = server.peer.requests().into_iter().filter_map(|request| match request.call {
        Call::Transaction(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

#[test]
fn an_install_takes_its_lock_first_and_commits_once() {
    let server = Server::start();
    install_on(&server).unwrap();
    let requests = server.peer.requests();
    let lock = requests.iter().position(|request| request.sql().contains("sp_getapplock")).unwrap();
    let first_change = requests.iter().position(|request| request.sql().contains("CREATE")).unwrap();
    assert!(lock < first_change);
    assert_eq!(requests[lock].values(), ["readpast/install/readpast".into()]);
    let in_transaction = |from: usize| requests[from..].iter().all(|request| request.transaction != 0);
    assert!(in_transaction(first_change), "every change is part of the transaction");
    let commits = transaction_calls(&server).iter().filter(|c| matches!(c, TransactionCall::Commit { .. })).count();
    assert_eq!(commits, 1);
}

#[test]
fn an_install_that_fails_rolls_back_and_says_where() {
    let server = Server::start();
    let denied = ServerMessage::error(262, "CREATE VIEW permission denied in database 'jobs'.").class(14);
    server.fault("Worker_Job_V", Fault::Instead(Reply::error(&denied)));
    let error = install_on(&server).unwrap_err();
    assert_eq!((error.kind(), error.native_code()), (ErrorKind::PermissionDenied, 262));
    assert!(error.message().contains("CREATE VIEW readpast.Worker_Job_V"), "{error}");
    let calls = transaction_calls(&server);
    assert!(calls.iter().all(|call| !matches!(call, TransactionCall::Commit { .. })), "{calls:?}");
    assert!(calls.iter().any(|call| matches!(call, TransactionCall::Rollback { .. })), "{calls:?}");
}

#[test]
fn an_install_whose_connection_is_cut_says_so_and_does_not_panic() {
    for part in ["sp_getapplock", "Worker_Job_V", "INSERT INTO [readpast].[QueueSpec]"] {
        let server = Server::start();
        server.fault(part, Fault::Instead(Reply::cut_before()));
        assert_eq!(install_on(&server).unwrap_err().kind(), ErrorKind::ConnectionLost, "{part}");
        assert!(transaction_calls(&server).iter().all(|call| !matches!(call, TransactionCall::Commit { .. })));
    }
}

#[test]
fn an_install_does_not_touch_what_a_newer_library_made() {
    let server = Server::start();
    let newer = support::tds_peer::Answer::new().scalar("Version", support::tds_peer::Type::Int, 99);
    server.fault("SELECT MAX(v.[Version])", Fault::Instead(newer.into()));
    let error = install_on(&server).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaNewer);
    assert!(error.message().contains("99") && error.message().contains("newer library"), "{error}");
    assert!(server.requests("CREATE OR ALTER").is_empty());
}
