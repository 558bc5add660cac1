//! A database that an earlier release has left, made by hand: nothing older was ever released.

use super::database::{Database, lines, on_each};
use readpast::{Action, Answer, Dialect, ErrorKind, ItemState, NewItem, Queue, QueueSpec, Settlement};
use serde_json::json;
use std::time::Duration;

/// The description that it stored.
const LEGACY: &str = r#"{"queue": "Legacy", "types": ["Email", "Sms"], "columns": [
    {"name": "Recipient", "type": "text(100)", "nullable": false}, {"name": "Amount", "type": "decimal(10, 2)"}]}"#;

/// Two queues with the objects of this release: an upgrade has to do with all that are there.
fn install_two(database: &Database) {
    database.install(LEGACY).unwrap();
    database.install(&LEGACY.replace("Legacy", "Second")).unwrap();
}

/// Makes the database what a release before this one would have left: its version is older, what is new is missing, and
/// what has changed since takes other parameters, does something else, or has other columns.
fn make_older(database: &Database) {
    database.run(database.pick(
        "UPDATE [readpast].QueueSchemaVersion SET [Version] = 0;
GO
UPDATE [readpast].QueueSpec SET [RenderedBy] = 0;
GO
DROP TABLE [readpast].QueueLifeline;
GO
DROP TABLE [readpast].QueueRecovery;
GO
DROP PROCEDURE [readpast].Find_Legacy;
GO
DROP INDEX [IX_Legacy_Ended] ON [readpast].Legacy;
GO
DROP PROCEDURE [readpast].Next_Legacy_Set_trx;
GO
CREATE PROCEDURE [readpast].Next_Legacy_Set_trx
    @Worker nvarchar(128),
    @Max int
AS
    SELECT 'EMPTY' AS [Answer];
GO
",
        "UPDATE readpast.queue_schema_version SET version = 0;
GO
UPDATE readpast.queue_spec SET rendered_by = 0;
GO
DROP TABLE readpast.queue_lifeline;
GO
DROP TABLE readpast.queue_recovery;
GO
DROP FUNCTION readpast.find_legacy;
GO
DROP INDEX readpast.legacy_in_flight;
GO
DROP FUNCTION readpast.next_legacy_set_trx;
GO
CREATE FUNCTION readpast.next_legacy_set_trx(worker_ text, max_ integer) RETURNS TABLE (answer text)
LANGUAGE sql AS $$ SELECT 'EMPTY' $$;
GO
CREATE FUNCTION readpast.recover_legacy_trx(max_ integer) RETURNS TABLE (answer text)
LANGUAGE sql AS $$ SELECT 'RECOVERED' $$;
GO
DROP VIEW readpast.worker_legacy_v CASCADE;
GO
CREATE VIEW readpast.worker_legacy_v AS SELECT enqueued_at, status FROM readpast.legacy;
GO
",
    ));
}

/// Items in every state.
fn fill(database: &Database) {
    let mut session = database.session();
    let mut call = |sql_server: &str, postgres: &str| {
        let statement = database.pick(sql_server, postgres).to_owned();
        session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"))
    };
    let items: Vec<_> =
        (0..10).map(|i| json!({"type": "Sms", "columns": {"Recipient": format!("r{i}"), "Amount": "1.50"}})).collect();
    let items = json!(items).to_string();
    let operation = "7f0d5b0e-1111-4222-8333-44445555666";
    call(
        &format!("EXECUTE [readpast].[Add_Legacy_Set_trx] @Operation = '{operation}1', @Items = N'{items}'"),
        &format!("SELECT * FROM readpast.add_legacy_set_trx('{operation}1', '{items}')"),
    );
    let claimed = call(
        "EXECUTE [readpast].[Next_Legacy_Set_trx] @Worker = N'old', @Max = 9, @LeaseMs = 3600000, @Recover = 0",
        "SELECT * FROM readpast.next_legacy_set_trx('old', 9, 3600000, 0)",
    );
    let fields: Vec<Vec<_>> =
        lines(&claimed).iter().map(|line| line.split(" | ").map(str::to_owned).collect()).collect();
    assert_eq!(fields.len(), 9);
    let states = ["Error", "Failed", "Completed", "PartiallyCompleted", "Cancelled", "Paused", "Terminated", "Pending"];
    let settled: Vec<_> = states
        .iter()
        .zip(&fields)
        .map(|(state, fields)| {
            json!({"key": fields[3], "token": fields[4], "attempt": 1, "status": state, "response": format!("was {state}"),
                   "step": "s2", "delay_ms": if *state == "Error" { json!(0) } else { json!(null) }})
        })
        .collect();
    let settled = json!(settled).to_string();
    let answers = call(
        &format!(
            "EXECUTE [readpast].[Modify_Legacy_Set_trx] @Operation = '{operation}2', @Worker = N'old', @Items = N'{settled}'"
        ),
        &format!("SELECT * FROM readpast.modify_legacy_set_trx('{operation}2', 'old', '{settled}')"),
    );
    assert!(lines(&answers).iter().all(|line| line.starts_with("OK")), "{:?}", lines(&answers));
}

const COLUMNS: (&str, &str) = (
    "[EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [Duration], [ScheduledFor], \
     [UpdatedAt], [LeaseOwner], [LeaseUntil], [Recipient], [Amount]",
    "enqueued_at, type::text, status::text, step, attempt_num, response, error, started_at, duration, scheduled_for, \
     updated_at, lease_owner, lease_until, \"Recipient\", \"Amount\"::text",
);

#[test]
fn an_older_release_upgrades_in_place() {
    on_each(|database| {
        install_two(database);
        fill(database);
        make_older(database);
        let columns = database.pick(COLUMNS.0, COLUMNS.1);
        let items = database.table(columns, "Legacy");
        let settings = database.pick(
            "INSERT INTO [readpast].AppSettings (Param, ValInt) VALUES ('legacy.maxAttempts', 5)",
            "INSERT INTO readpast.app_settings (param, val_int) VALUES ('legacy.maxAttempts', 5)",
        );
        database.run(settings);
        assert_eq!(items.len(), 10);
        for state in ItemState::ALL {
            assert!(items.iter().any(|item| item.contains(&format!(" | {state} | "))), "{state}");
        }

        install_this(database);
        assert_eq!(database.table(columns, "Legacy"), items, "the items are untouched");

        // The claim of the old worker still holds: it settles with its key, token and attempt.
        let held = items.iter().find(|item| item.contains(" | Processing | ")).unwrap();
        let fields: Vec<_> = held.split(" | ").collect();
        let (key, token) = (fields[0].replace(' ', "T"), fields[10].replace(' ', "T"));
        let done = Settlement {
            key: &key,
            token: Some(&token),
            attempt: 1,
            action: Action::Complete,
            step: None,
            response: None,
            error: None,
            delay_ms: None,
            due: None,
            set: None,
            then: None,
        };
        let mut config = database.config();
        let old = Queue::open(config.set("worker", "old").unwrap(), "Legacy").unwrap();
        let answers = old.settle(&[done], None).unwrap();
        assert_eq!(answers[0].answer, Answer::Ok);

        let queue = database.open("Legacy");
        let mut fresh = NewItem { kind: Some("Email".to_owned()), ..NewItem::default() };
        fresh.columns.insert("Recipient".to_owned(), json!("new"));
        queue.enqueue(&[fresh], None).unwrap();
        let batch = queue.claim(20, Duration::ZERO).unwrap();
        let mut taken: Vec<_> = batch.iter().map(|item| format!("{:?}", item.value_of("Recipient").unwrap())).collect();
        taken.sort();
        assert_eq!(taken, ["Text(\"new\")", "Text(\"r0\")", "Text(\"r7\")", "Text(\"r9\")"]);
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        queue.settle(&done, None).unwrap();

        // And with what the description of this release can say.
        let more = LEGACY
            .replace("\"queue\"", "\"backoff\": {\"first_ms\": 5}, \"order\": {\"direction\": \"lifo\"}, \"queue\"");
        database.install(&more).unwrap();
        assert_eq!(database.table(columns, "Legacy").len(), 11);
    });
}

fn install_this(database: &Database) {
    let stored = database.rows(database.pick(
        "SELECT [Spec] FROM [readpast].QueueSpec WHERE [Queue] = 'Legacy'",
        "SELECT spec FROM readpast.queue_spec WHERE queue = 'Legacy'",
    ));
    assert_eq!(QueueSpec::from_json(&stored[0]).unwrap(), QueueSpec::from_json(LEGACY).unwrap());
    database.install(LEGACY).unwrap();
}

#[test]
fn installing_without_a_queue_upgrades_those_that_are_there() {
    on_each(|database| {
        install_two(database);
        fill(database);
        make_older(database);
        let refused = Queue::open(&database.config(), "Legacy").err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::SchemaOlder);
        readpast::install(&database.config(), None).unwrap();
        let overloads = "SELECT COUNT(*) FROM pg_proc WHERE proname IN ('recover_legacy_trx', 'next_legacy_set_trx', 'recover_second_trx', 'next_second_set_trx')";
        if database.dialect == Dialect::Postgres {
            assert_eq!(database.rows(overloads), ["Integer(4)"], "of both queues one each: the old ones are gone");
        }
        assert_eq!(database.open("Legacy").claim(20, Duration::ZERO).unwrap().len(), 3);
        assert_eq!(database.open("Second").claim(20, Duration::ZERO).unwrap().len(), 0);
    });
}

#[test]
fn a_login_that_could_use_an_older_release_still_can() {
    on_each(|database| {
        if database.dialect == Dialect::SqlServer {
            return; // It alters procedures, and keeps what was granted on them by itself.
        }
        install_two(database);
        make_older(database);
        let role = format!("{}_role", database.name());
        database.run(&format!(
            "CREATE ROLE {role};\nGO\nGRANT EXECUTE ON FUNCTION readpast.next_legacy_set_trx TO {role};\nGO\nGRANT SELECT ON \
             readpast.worker_legacy_v TO {role};\nGO\n"
        ));
        install_this(database);
        let may =
            |name: &str| format!("has_function_privilege('{role}', 'readpast.{name}'::regproc::oid, 'EXECUTE')::text");
        let held = database.rows(&format!(
            "SELECT {}, {}, has_table_privilege('{role}', 'readpast.worker_legacy_v', 'SELECT')::text",
            may("next_legacy_set_trx"),
            may("add_legacy_set_trx")
        ));
        database.run(&format!("DROP OWNED BY {role};\nGO\nDROP ROLE {role};"));
        assert_eq!(held, ["true | false | true"]);
    });
}
