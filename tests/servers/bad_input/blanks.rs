//! JSON that a procedure is given by hand, with a blank at the end of a name. A comparison in T-SQL takes no notice of it and a path
//! does: the value would be lost without a word.

use super::members::{OWN, THEIRS, call, given, item_of};
use readpast::{Error, ErrorKind};
use support::both::Database;

/// The call is refused, since the name is none that it knows.
fn is_unknown(called: &str, result: Result<usize, Error>, name: &str) {
    is_refused(called, result, &format!(r#"there is no "{name}"; there are "#));
}

fn is_refused(called: &str, result: Result<usize, Error>, words: &str) {
    let error = result.expect_err(called);
    assert_eq!(error.kind(), ErrorKind::InvalidItem, "{called}: {error}");
    assert!(error.message().contains(words), "{called}: {words:?} is not in {error}");
}

#[test]
fn a_name_with_a_blank_at_its_end_is_unknown() {
    for spec in [OWN, THEIRS] {
        for database in given(spec) {
            let key = item_of(&database);
            let add = |item: &str| call(&database, ("Add_By_Set_utx", "add_by_set_utx"), "", &format!("[{item}]"), "");
            for (item, name) in [
                (r#"{"columns": {"Recipient": "r", "Amount ": 1}}"#, "columns.Amount "),
                (r#"{"columns": {"Recipient": "r", "Amount": 1, "Amount  ": 1}}"#, "columns.Amount  "),
                (r#"{"columns": {"Recipient": "r"}, "type ": "Card"}"#, "type "),
            ] {
                is_unknown(item, add(item), name);
            }
            if spec == OWN {
                let of_subtype = r#"{"columns": {"Recipient": "r", "Mail": {"Body": "b", "Body ": "c"}}}"#;
                is_unknown(of_subtype, add(of_subtype), "columns.Mail.Body ");
            }
            let worker = database.pick("NULL, N'w', ", "NULL, 'w', ");
            for (procedure, before, members, name) in [
                (("Modify_By_Set_trx", "modify_by_set_trx"), worker, r#""set": {"Amount ": 5}"#, "set.Amount "),
                (("Modify_By_Set_utx", "modify_by_set_utx"), worker, r#""status ": "Failed""#, "status "),
                (
                    ("Renew_By_Set_trx", "renew_by_set_trx"),
                    database.pick("N'w', ", "'w', "),
                    r#""attempt ": 1"#,
                    "attempt ",
                ),
                (("Redrive_By_Set_trx", "redrive_by_set_trx"), "NULL, ", r#""token ": null"#, "token "),
            ] {
                let items = format!(r#"[{{"key": "{key}", {members}}}]"#);
                is_unknown(procedure.0, call(&database, procedure, before, &items, ""), name);
            }
            // The key of an own item has a parameter more on SQL Server.
            if spec == THEIRS {
                let one = if database.is_sql_server() {
                    format!(
                        "EXECUTE [readpast].Modify_By_trx @Key = N'{key}', @Token = NULL, @Status = 'Failed', @Set = N'{{\"Amount \": 1}}'"
                    )
                } else {
                    format!(
                        "SELECT * FROM readpast.modify_by_trx('{key}', NULL, 'Failed', set_ => '{{\"Amount \": 1}}')"
                    )
                };
                is_unknown(&one, database.session().execute(&one, &[]).map(|rows| rows.len()), "set.Amount ");
            }
            for (procedure, behind) in
                [(("Find_By", "find_by"), ", NULL, 10"), (("Purge_By_trx", "purge_by_trx"), ", 10")]
            {
                for name in ["before ", "error ", "keys "] {
                    let filter = format!(r#"{{"{name}": null}}"#);
                    is_refused(
                        &filter,
                        call(&database, procedure, "", &filter, behind),
                        " takes keys, status, types, members (arrays)",
                    );
                }
            }
            assert_eq!(stands(&database), 1, "no call changed an item");
        }
    }
}

/// Items that wait to be claimed.
fn stands(database: &Database) -> u64 {
    readpast::Queue::open(&database.config(&[]), "By").unwrap().stats().unwrap().due.try_into().unwrap()
}
