//! The state machine: all 81 transitions, in the database and in the core.

use readpast::for_tests::Param;
use readpast::item::{ItemState, Value};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("states::the_tables_agree", the_tables_agree),
    ("states::the_functions_agree", the_functions_agree),
    ("states::all_81_transitions_are_as_the_table_says", all_81_transitions_are_as_the_table_says),
];

fn the_tables_agree(given: &Given) {
    given.queue(&[]);
    let mut session = given.session();
    let (statuses, transitions) = if given.server.is_sql_server() {
        ("SELECT [Status] FROM [readpast].QueueStatus", "SELECT FromStatus, ToStatus FROM [readpast].QueueTransition")
    } else {
        (
            "SELECT status::text FROM readpast.queue_status",
            "SELECT from_status::text, to_status::text FROM readpast.queue_transition",
        )
    };
    assert_eq!(session.execute(statuses, &[]).unwrap().len(), 9);
    let rows = session.execute(transitions, &[]).unwrap();
    let legal: Vec<_> = (0..rows.len())
        .map(|row| match (rows.value(row, 0), rows.value(row, 1)) {
            (Value::Text(from), Value::Text(to)) => (from.parse().unwrap(), to.parse().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    for from in ItemState::ALL {
        for to in ItemState::ALL {
            assert_eq!(legal.contains(&(from, to)), from.can_become(to), "{from} to {to}");
        }
    }
}

fn the_functions_agree(given: &Given) {
    given.queue(&[]);
    let mut session = given.session();
    for state in ItemState::ALL {
        for (function, expected) in [
            ("Processable", state.is_processable()),
            ("Finished", state.is_finished()),
            ("Editable", state.is_editable()),
        ] {
            let statement = if given.server.is_sql_server() {
                format!("SELECT CAST([readpast].QueueIs{function}_fn('{state}') AS int)")
            } else {
                format!("SELECT readpast.queue_is_{}_fn('{state}')::integer", function.to_lowercase())
            };
            let rows = session.execute(&statement, &[]).unwrap();
            assert_eq!(rows.value(0, 0), Value::Integer(expected.into()), "{function} {state}");
        }
    }
}

/// Through the set procedure itself, as a caller without a lease who knows the token: what it answers is the table's word
/// alone.
fn all_81_transitions_are_as_the_table_says(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("x");
    let mut session = given.session();
    let statement = if given.server.is_sql_server() {
        format!("{{CALL [readpast].[Modify_{}_Set_trx] (?, ?, ?)}}", given.queue)
    } else {
        let name = given.table().rsplit('"').nth(1).unwrap().to_owned();
        format!("SELECT * FROM readpast.\"modify_{name}_set_trx\"(?::uuid, ?::text, ?::json)")
    };
    let layer = given.layer.to_string().len();
    let mut number = 0;
    for from in ItemState::ALL {
        for to in ItemState::ALL {
            given.meddle(&format!("Status = '{from}', AttemptNum = 1, LeaseOwner = 'w'"), "Payload = 'x'");
            number += 1;
            let operation = format!("00000003-0000-4000-800{layer}-{number:012}");
            let items = serde_json::json!([{"key": added.key, "attempt": 0, "status": to.as_str()}]).to_string();
            let params = [Param::Text(&operation), Param::Text("w"), Param::Text(&items)];
            let rows = session.execute(&statement, &params).unwrap();
            let expected = if from.can_become(to) { ("OK", to) } else { ("ILLEGAL_TRANSITION", from) };
            assert_eq!(rows.value(0, 0), Value::Text(expected.0), "{from} to {to}");
            assert_eq!(rows.value(0, 6), Value::Text(expected.1.as_str()), "{from} to {to}");
            assert_eq!(given.look("Status", "Payload = 'x'"), expected.1.as_str(), "{from} to {to}");
        }
    }
}
