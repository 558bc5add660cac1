//! Mistakes of users, and faults that they meet: each gives an error that names the thing and says what to do. On PostgreSQL, or
//! with no server at all; `faults` has the errors of SQL Server.

mod arguments;
mod blanks;
mod connecting;
mod details;
mod injection;
mod members;
mod one_item;
mod owners;
mod rights;
mod roles;
mod schema;
mod sizes;
mod storage;

use readpast::error::{Error, ErrorKind};

/// Asserts the kind of an error, and that its message has all these words, whatever their case.
#[track_caller]
pub fn assert_says<T>(result: Result<T, Error>, kind: ErrorKind, words: &[&str]) {
    let error = result.err().expect("an error");
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.message().to_lowercase();
    for word in words {
        assert!(message.contains(&word.to_lowercase()), "{word:?} is missing in: {error}");
    }
    assert!(!message.contains('\n'), "one line: {error}");
}
