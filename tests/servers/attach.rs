//! `readpast_queue_attach`: enqueue and settle on an ODBC connection that the test owns, in its transaction, called as C does.
#![allow(unsafe_code, reason = "calling C functions is what this file is for")]

use odbc_api::{Connection, ConnectionOptions, environment};
use readpast::ffi::*;
use readpast::{ItemState, NewItem, Queue, QueueSpec, install::install};
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::time::Duration;
use support::both::Database;

const NULL: readpast_queue = readpast_queue { id: 0 };

/// A queue, opened through C, and a connection of the test's own with autocommit off.
struct Given {
    database: Database,
    rust: Queue,
    queue: readpast_queue,
    connection: Connection<'static>,
}

impl Given {
    fn each() -> Vec<Self> {
        Database::each().into_iter().map(Self::new).collect()
    }

    fn new(database: Database) -> Self {
        let spec = QueueSpec::from_json(r#"{"queue": "Job", "backoff": "none"}"#).unwrap();
        install(&database.config(&[]), Some(&spec)).unwrap();
        database.run("CREATE TABLE account (id integer NOT NULL PRIMARY KEY, balance integer NOT NULL)");
        database.run("INSERT INTO account (id, balance) VALUES (1, 100)");
        let rust = Queue::open(&database.config(&[("worker", "me")]), "Job").unwrap();
        let config = readpast_config_new();
        let settings = [("connection", database.connection()), ("worker", "me".to_owned())];
        for (key, value) in settings.map(|(key, value)| (CString::new(key).unwrap(), CString::new(value).unwrap())) {
            // SAFETY: both are text.
            let status = unsafe { readpast_config_set(config, key.as_ptr(), value.as_ptr(), ptr::null_mut()) };
            assert_eq!(status, READPAST_OK);
        }
        let mut queue = NULL;
        // SAFETY: the name is text, the handle a place for one.
        let status = unsafe { readpast_queue_open(config, c"Job".as_ptr(), &mut queue, ptr::null_mut()) };
        assert_eq!(status, READPAST_OK);
        readpast_config_free(config);
        // The library's own environment is made first, so that the look-ups of drivers take turns.
        // psqlODBC would go back to a savepoint of its own after an error; so it leaves the transaction as the server does.
        let more = database.pick("", "Protocol=7.4-0;");
        let connection = environment()
            .unwrap()
            .connect_with_connection_string(&format!("{}{more}", database.connection()), ConnectionOptions::default())
            .unwrap();
        connection.set_autocommit(false).unwrap();
        Self { database, rust, queue, connection }
    }

    /// The address that C knows the connection by.
    fn address(&self) -> *mut c_void {
        // A handle that is not let go: the connection goes on to be the test's.
        // SAFETY: an `odbc_api::Connection` is its handle and nothing else.
        unsafe { ptr::read(ptr::from_ref(&self.connection).cast::<*mut c_void>()) }
    }

    fn attach(&self) -> readpast_queue {
        let mut attached = NULL;
        // SAFETY: the connection is open, and the test closes it after the last call.
        let status = unsafe { readpast_queue_attach(self.queue, self.address(), &mut attached, ptr::null_mut()) };
        assert_eq!(status, READPAST_OK);
        attached
    }

    fn execute(&self, statement: &str) {
        self.connection.execute(statement, (), None).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    fn pay(&self) {
        self.execute("UPDATE account SET balance = balance - 10 WHERE id = 1");
    }

    fn balance(&self) -> String {
        self.database.look("SELECT balance FROM account")
    }

    fn count(&self, state: ItemState) -> i64 {
        self.rust.stats().unwrap().count(state)
    }

    fn put(&self) {
        self.rust.enqueue(&[NewItem::default()], None).unwrap();
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let _ = self.connection.rollback();
        readpast_queue_free(self.queue);
    }
}

fn enqueue(queue: readpast_queue, operation: Option<&CStr>) -> (readpast_status, String) {
    let item = readpast_new_item {
        struct_size: size_of::<readpast_new_item>(),
        r#type: ptr::null(),
        step: ptr::null(),
        delay_ms: -1,
        due: ptr::null(),
        columns_json: ptr::null(),
        traceparent: ptr::null(),
        tracestate: ptr::null(),
        after_json: ptr::null(),
        on_failed: ptr::null(),
    };
    let operation = operation.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: one item, and text.
    told(|err| unsafe { readpast_queue_enqueue(queue, &item, 1, operation, ptr::null_mut(), err) })
}

/// Completes the item that has been claimed.
fn complete(queue: readpast_queue, item: &(CString, CString), attempt: i32) -> (readpast_status, String) {
    complete_then(queue, item, attempt, None)
}

fn complete_then(
    queue: readpast_queue,
    item: &(CString, CString),
    attempt: i32,
    then: Option<&CStr>,
) -> (readpast_status, String) {
    let settlement = readpast_settlement {
        struct_size: size_of::<readpast_settlement>(),
        key: item.0.as_ptr(),
        token: item.1.as_ptr(),
        attempt,
        action: READPAST_ACTION_COMPLETE,
        step: ptr::null(),
        response: ptr::null(),
        error: ptr::null(),
        delay_ms: -1,
        due: ptr::null(),
        step_length: 0,
        response_length: 0,
        error_length: 0,
        due_length: 0,
        set_json: ptr::null(),
        set_json_length: 0,
        then_json: then.map_or(ptr::null(), CStr::as_ptr),
        then_json_length: 0,
    };
    // SAFETY: one settlement, whose texts outlive the call.
    told(|err| unsafe { readpast_queue_settle(queue, &settlement, 1, ptr::null(), ptr::null_mut(), err) })
}

/// The status of a call and the message of its error.
fn told(call: impl FnOnce(*mut readpast_error) -> readpast_status) -> (readpast_status, String) {
    let mut error = readpast_error { id: 0 };
    let status = call(&mut error);
    let message = readpast_error_message(error);
    let text = if message.is_null() {
        String::new()
    } else {
        // SAFETY: what the library lends ends in NUL.
        unsafe { CStr::from_ptr(message) }.to_str().unwrap().to_owned()
    };
    readpast_error_free(error);
    (status, text)
}

fn take(queue: &Queue) -> (CString, CString) {
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    let item = batch.iter().next().expect("an item is due");
    (CString::new(item.key()).unwrap(), CString::new(item.token()).unwrap())
}

#[test]
fn the_callers_commit_and_rollback_decide() {
    for given in Given::each() {
        given.put();
        let item = take(&given.rust);
        let attached = given.attach();
        for commits in [false, true] {
            given.pay();
            assert_eq!(complete(attached, &item, 7).0, READPAST_LEASE_LOST, "an answer, which ends nothing");
            assert_eq!(complete(attached, &item, 1), (READPAST_OK, String::new()));
            assert_eq!(enqueue(attached, None), (READPAST_OK, String::new()));
            if commits {
                given.connection.commit().unwrap()
            } else {
                given.connection.rollback().unwrap()
            }
            let (balance, there) = if commits { ("90", 1) } else { ("100", 0) };
            assert_eq!(given.balance(), balance);
            assert_eq!((given.count(ItemState::Completed), given.count(ItemState::Pending)), (there, there));
        }
        readpast_queue_free(attached);
    }
}

#[test]
fn an_operation_is_known_when_the_caller_has_committed() {
    const GUID: &CStr = c"0000000b-0000-4000-8000-000000000001";
    for given in Given::each() {
        let attached = given.attach();
        // SAFETY: text.
        let is_done = || told(|err| unsafe { readpast_queue_is_done(given.queue, GUID.as_ptr(), err) }).0;
        for (commits, status) in [(false, READPAST_NOT_FOUND), (true, READPAST_OK)] {
            assert_eq!(enqueue(attached, Some(GUID)).0, READPAST_OK);
            if commits {
                given.connection.commit().unwrap()
            } else {
                given.connection.rollback().unwrap()
            }
            assert_eq!(is_done(), status);
        }
        // Asked while it is under way, it waits for the commit.
        const OTHER: &CStr = c"0000000b-0000-4000-8000-000000000002";
        assert_eq!(enqueue(attached, Some(OTHER)).0, READPAST_OK);
        let queue = given.rust.clone();
        let asked = std::thread::spawn(move || queue.is_done(OTHER.to_str().unwrap()));
        given.connection.commit().unwrap();
        assert!(asked.join().unwrap().unwrap());
        assert_eq!(given.rust.is_done("x").unwrap_err().kind(), readpast::ErrorKind::InvalidArgument);
        readpast_queue_free(attached);
    }
}

#[test]
fn without_a_transaction_it_is_refused() {
    for given in Given::each() {
        given.connection.set_autocommit(true).unwrap();
        let attached = given.attach();
        let (status, message) = enqueue(attached, None);
        assert_eq!(status, READPAST_INVALID_ARGUMENT, "{message}");
        assert!(message.contains("no transaction is open"), "{message}");
        assert_eq!(given.count(ItemState::Pending), 0);
        // Nothing was changed about the connection: it still commits by itself.
        given.pay();
        assert_eq!(given.balance(), "90");
        readpast_queue_free(attached);
    }
}

#[test]
fn after_an_error_the_transaction_is_the_callers_to_roll_back() {
    for given in Given::each() {
        let attached = given.attach();
        given.pay();
        assert!(given.connection.execute("SELECT 1 FROM nothing_of_this_name", (), None).is_err());
        if !given.database.is_sql_server() {
            let (status, message) = enqueue(attached, None);
            assert!(status < 0 && message.contains("aborted"), "{status}: {message}");
        }
        given.connection.rollback().unwrap();
        assert_eq!(enqueue(attached, None).0, READPAST_OK, "the handle goes on");
        given.connection.commit().unwrap();
        assert_eq!((given.balance().as_str(), given.count(ItemState::Pending)), ("100", 1));
        readpast_queue_free(attached);
    }
}

#[test]
fn all_else_is_refused_on_it() {
    for given in Given::each() {
        let attached = given.attach();
        let mut batch = readpast_batch { id: 0 };
        // SAFETY: a place for a batch.
        let claimed = told(|err| unsafe { readpast_queue_claim(attached, 1, 0, &mut batch, err) });
        assert_eq!(claimed.0, READPAST_NOT_PROVIDED, "{}", claimed.1);
        // SAFETY: no pointers.
        let closed = told(|err| unsafe { readpast_queue_close(attached, 0, err) });
        assert_eq!(closed.0, READPAST_OK);
        given.put();
        assert_eq!(enqueue(attached, None).0, READPAST_OK, "close says nothing to either");
        // SAFETY: no pointers.
        assert_eq!(unsafe { readpast_queue_wake(attached, ptr::null_mut()) }, READPAST_OK);
        readpast_queue_free(attached);
    }
}

#[test]
fn handles_that_are_none_are_refused() {
    let given = Given::new(Database::each().remove(0));
    let mut attached = NULL;
    // SAFETY: NULL is allowed; the handles are numbers.
    let of_null = told(|err| unsafe { readpast_queue_attach(given.queue, ptr::null_mut(), &mut attached, err) });
    assert!(of_null.0 == READPAST_INVALID_ARGUMENT && of_null.1.contains("NULL"), "{of_null:?}");
    // SAFETY: as above.
    let of_none = told(|err| unsafe { readpast_queue_attach(NULL, given.address(), &mut attached, err) });
    assert_eq!(of_none.0, READPAST_INVALID_HANDLE);
    // SAFETY: as above.
    let nowhere = told(|err| unsafe { readpast_queue_attach(given.queue, given.address(), ptr::null_mut(), err) });
    assert_eq!(nowhere.0, READPAST_INVALID_ARGUMENT);
    assert_eq!(attached, NULL);
}

/// In any order: the connection first, or the queue, or the handle.
#[test]
fn closing_goes_in_any_order() {
    for given in Given::each() {
        let attached = given.attach();
        assert_eq!(enqueue(attached, None).0, READPAST_OK);
        given.connection.commit().unwrap();
        // SAFETY: no pointers.
        assert_eq!(unsafe { readpast_queue_close(given.queue, 600_000, ptr::null_mut()) }, READPAST_OK);
        assert_eq!(enqueue(attached, None).0, READPAST_CLOSED);
        drop(given);
        readpast_queue_free(attached);
        assert_eq!(enqueue(attached, None).0, READPAST_INVALID_HANDLE);
    }
}

#[test]
fn followers_of_a_settlement_are_in_the_callers_transaction() {
    for given in Given::each() {
        given.put();
        let item = take(&given.rust);
        let attached = given.attach();
        let two = Some(c"[{}, {\"queue\": \"Job\", \"delay_ms\": 5}]");
        for commits in [false, true] {
            given.pay();
            assert_eq!(complete_then(attached, &item, 7, two).0, READPAST_LEASE_LOST, "which nothing follows");
            assert_eq!(complete_then(attached, &item, 1, two), (READPAST_OK, String::new()));
            if commits {
                given.connection.commit().unwrap()
            } else {
                given.connection.rollback().unwrap()
            }
            let (done, pending) = if commits { (1, 2) } else { (0, 0) };
            assert_eq!((given.count(ItemState::Completed), given.count(ItemState::Pending)), (done, pending));
        }
        let (status, message) = complete_then(attached, &item, 1, Some(c"[{\"queue\": \"Jobs\"}]"));
        assert_eq!(status, READPAST_INVALID_ITEM);
        assert!(message.contains("has no queue \"Jobs\""), "{message}");
        given.connection.rollback().unwrap();
        readpast_queue_free(attached);
    }
}
