//! PostgreSQL plans the statements of a function once per connection, with what the tables hold at that moment. Workers
//! begin on an empty queue and stay connected while it fills, so the plan that is right for a full table must be made
//! for an empty one too.

mod by_hand;
mod dead_rows;
mod small_functions;

use readpast::{
    description::QueueSpec,
    for_tests::Session,
    install::install,
    item::{Rows, Value},
};
use support::scratch::{Scratch, changed, config};

/// Items of a call.
const BATCH: i64 = 10;

/// Rows of each kind that the tables are filled with.
const MANY: i64 = 20_000;

/// Rows that a call may read: those of its items several times, and those of a hundred dead workers' items.
const MOST: i64 = 1_500;

#[test]
fn planned_on_tables_as_installed() {
    calls_read_few_rows(&Scratch::new());
}

#[test]
fn planned_on_tables_known_to_be_empty() {
    let scratch = Scratch::new();
    for table in ["job", "queue_operation", "queue_transition"] {
        scratch.run(&format!("VACUUM (ANALYZE) readpast.{table}"));
    }
    calls_read_few_rows(&scratch);
}

#[test]
fn queues_with_groups_and_without_duplicates() {
    let scratch = Scratch::new();
    let spec = r#"{"queue": "Order", "columns": [{"name": "Customer", "type": "text(20)"}, {"name": "Number", "type": "integer"}],
        "order": {"group": "Customer"}, "lease": {"resume_own": true}, "completion": {"history": "order_history"},
        "dedup": {"columns": ["Number"], "answer": "existing", "among": "unfinished"}}"#;
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    for table in ["order", "order_history", "queue_operation"] {
        scratch.run(&format!("ALTER TABLE readpast.{table:?} SET (autovacuum_enabled = off)"));
        scratch.run(&format!("VACUUM (ANALYZE) readpast.{table:?}"));
    }
    let claim = |worker: &str| {
        format!(
            "SELECT COUNT(*) FROM readpast.next_order_set_trx('{worker}', {BATCH}, 60000, 2) WHERE answer = 'CLAIMED'"
        )
    };
    let add = |operation: u8, answer: &str, first: i64| {
        let items = (first..first + BATCH).map(|n| format!(r#"{{"columns": {{"Customer": "c{n}", "Number": {n}}}}}"#));
        let items = items.collect::<Vec<_>>().join(",");
        format!(
            "SELECT COUNT(*) FROM readpast.add_order_set_trx('{operation:08}-0000-7000-8000-000000000000', '[{items}]') \
             WHERE answer = '{answer}'"
        )
    };
    let settle = |operation: u8, items: &str| settle(operation, items).replace("modify_job", "modify_order");
    let mut session = scratch.session();
    let nothing = r#"[{"key": "2000-01-01", "token": "2000-01-01", "attempt": 1, "status": "Completed"}]"#;
    for call in [claim("early"), settle(0, nothing), add(9, "OK", 1_000_000)] {
        run(&mut session, &call);
    }
    scratch.run("DELETE FROM readpast.\"order\"");

    // As many groups as items that are due, each with one more that waits; finished ones; and other groups' in flight.
    for (status, year, group, scale) in [
        ("Pending", 2001, "a", 1),
        ("Pending", 2004, "a", 2),
        ("Completed", 2002, "a", 3),
        ("Processing", 2003, "b", 4),
    ] {
        scratch.run(&format!(
            "INSERT INTO readpast.\"order\" (enqueued_at, type, status, attempt_num, started_at, scheduled_for, updated_at, \
             lease_owner, lease_until, \"Customer\", \"Number\") SELECT t, 'Default', '{status}', 0, t, t, t, 'dead', \
             CASE WHEN '{status}' = 'Processing' THEN clock_timestamp() + interval '1 hour' END, '{group}' || n, \
             {scale} * {MANY} + n FROM (SELECT n, timestamptz '{year}-01-01' + n * interval '1 minute' AS t \
             FROM generate_series(1, {MANY}) AS n) AS t"
        ));
    }
    // Recovery passes over what is in flight; that is not asked here.
    check(&mut session, "claim", &claim("w").replace("60000, 2", "60000, 0"));
    let items = text(&run(
        &mut session,
        "SELECT json_agg(json_build_object('key', enqueued_at, 'token', updated_at, 'attempt', attempt_num, \
         'status', 'Completed'))::text FROM readpast.\"order\" WHERE lease_owner = 'w'",
    ));
    check(&mut session, "settle", &settle(1, &items));
    // Fewer than the items, since those are gone; and of new ones there is nothing to read.
    for (name, call) in [
        ("settle again", settle(1, &items)),
        ("enqueue", add(2, "OK", 1_000_000)),
        ("enqueue what is there", add(3, "DUPLICATE", 2 * MANY + 1)),
    ] {
        let read = rows_read(&mut session, name, &call);
        assert!(read < MOST, "{name} reads {read} rows for {BATCH} items");
    }
}

#[test]
fn planned_on_tables_of_one_row() {
    let scratch = Scratch::new();
    fill(&scratch, 1);
    for table in ["job", "queue_operation", "queue_transition"] {
        scratch.run(&format!("VACUUM (ANALYZE) readpast.{table}"));
    }
    calls_read_few_rows(&scratch);
}

fn calls_read_few_rows(scratch: &Scratch) {
    for table in ["job", "queue_operation"] {
        // New statistics would have everything planned anew.
        scratch.run(&format!("ALTER TABLE readpast.{table} SET (autovacuum_enabled = off)"));
    }
    let mut session = scratch.session();
    let nothing = r#"[{"key": "2000-01-01", "token": "2000-01-01", "attempt": 1, "status": "Completed"}]"#;
    let no_key = r#"{"keys": ["2000-01-01"]}"#;
    for call in [claim("early"), settle(0, nothing), renew(nothing), redrive(0, nothing), find(no_key)] {
        run(&mut session, &call);
    }
    fill(scratch, MANY);

    check(&mut session, "claim", &claim("w"));
    // The leases of what was claimed, as the worker would send them back.
    let items = text(&run(
        &mut session,
        "SELECT json_agg(json_build_object('key', enqueued_at, 'token', updated_at, 'attempt', attempt_num, \
         'status', 'Completed'))::text FROM readpast.job WHERE lease_owner = 'w'",
    ));
    check(&mut session, "renew", &renew(&items));
    check(&mut session, "settle", &settle(1, &items));
    check(&mut session, "settle again", &settle(1, &items));

    let keys = text(&run(
        &mut session,
        "SELECT json_build_object('keys', json_agg(enqueued_at))::text FROM readpast.job WHERE lease_owner = 'w'",
    ));
    check(&mut session, "find by keys", &find(&keys));
    // The page is not full: a plan that goes through the table in its order would read it to the end.
    let one = text(&run(
        &mut session,
        "SELECT json_build_object('keys', json_agg(k))::text FROM (SELECT MIN(enqueued_at) FROM readpast.job) AS k (k)",
    ));
    check_few(&mut session, "find by one key", &find(&one), 1);
    // The last row of a bounded look: up to where.
    check_few(&mut session, "look for what is not there", &look(r#"{"error": "nothing says this"}"#), 1);
    check(&mut session, "find from the start", &find(r#"{"types": ["Default"]}"#));
    run(&mut session, "UPDATE readpast.job SET status = 'Failed' WHERE lease_owner = 'w'");
    check(&mut session, "redrive", &redrive(1, &items.replace("token", "old")));
}

/// A login with types of its own reads nothing of a backlog of other types.
#[test]
fn own_types_are_sought_by_themselves() {
    let mut scratch = Scratch::new();
    let spec = r#"{"queue": "Job", "types": ["Default", "Sms"], "roles": {"own_types_only": true}}"#;
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    let login = scratch.role();
    scratch.run(&format!("GRANT USAGE ON SCHEMA readpast TO {login}"));
    scratch.run(&format!("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA readpast TO {login}"));
    scratch.run(&format!("INSERT INTO readpast.queue_type_access VALUES ('job', 'Sms', '{login}')"));
    scratch.run("ALTER TABLE readpast.job SET (autovacuum_enabled = off)");

    let connection = changed(&scratch.connection(), &[("Uid", &login), ("Pwd", "p")]);
    let mut session = Session::open(&config(&connection, &[])).unwrap();
    run(&mut session, &claim("early"));
    fill(&scratch, MANY);
    scratch.run(
        "INSERT INTO readpast.job (enqueued_at, type, status, attempt_num, scheduled_for, updated_at) \
         SELECT t, 'Sms', 'Pending', 0, t, t FROM generate_series(timestamptz '2010-01-01', '2010-01-15', '1 day') AS t",
    );
    check(&mut session, "claim", &claim("w"));
}

/// A claim that names its own kinds reads nothing of a backlog of others, whatever the table: nor one that finds nothing.
#[test]
fn kinds_are_sought_by_themselves() {
    const OTHERS: i64 = 200_000;
    let table = r#""table": {"name": "work", "create": true, "key": ["id"],
        "lifecycle": {"type": "kind", "step": "step_at", "due": "due_at"},
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}},"#;
    let own = "INSERT INTO readpast.job (enqueued_at, type, step, status, attempt_num, scheduled_for, updated_at) \
               SELECT t, '{type}', {step}, 'Pending', 0, t, t FROM (SELECT timestamptz '{year}-01-01' + n * interval '1 s' AS t \
               FROM generate_series(1, {count}) AS n) AS t";
    let theirs = "INSERT INTO public.work (kind, step_at, due_at, state) \
                  SELECT '{type}', {step}, timestamptz '{year}-01-01' + n * interval '1 s', 0 FROM generate_series(1, {count}) AS n";
    for (place, insert, filled) in [("", own, "readpast.job"), (table, theirs, "public.work")] {
        let scratch = Scratch::empty();
        let spec = format!(
            r#"{{"queue": "Job", "types": ["Default", "Sms", "Fax"], {place} "claim_by": ["type", "step"],
            "columns": [{{"name": "note", "type": "text"}}]}}"#
        );
        install(&scratch.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
        scratch.run(&format!("ALTER TABLE {filled} SET (autovacuum_enabled = off)"));
        let claim = |types: &str, steps: &str, counted: &str| {
            format!(
                "SELECT COUNT(*) FROM readpast.next_job_set_trx('w', {BATCH}, 60000, 0, types_ => '{types}', steps_ => '{steps}') \
                 WHERE answer = '{counted}'"
            )
        };
        let ours = claim(r#"["Sms", "Fax"]"#, r#"["send", ""]"#, "CLAIMED");
        let mut session = scratch.session();
        run(&mut session, &ours);
        let put = |kind: &str, step: &str, year: i32, count: i64| {
            let insert = insert.replace("{type}", kind).replace("{step}", step).replace("{year}", &year.to_string());
            scratch.run(&insert.replace("{count}", &count.to_string()));
        };
        put("Default", "'send'", 2001, OTHERS / 2);
        put("Sms", "'other'", 2002, OTHERS / 2);
        put("Sms", "'send'", 2010, BATCH / 2 + 20);
        put("Sms", "NULL", 2009, BATCH / 2 + 20);
        check(&mut session, "claim", &ours);
        let nothing = claim(r#"["Fax"]"#, r#"["send", ""]"#, "EMPTY");
        let read = read_for(&mut session, &nothing).1;
        assert!(read < 50, "a look for what is not there reads {read} rows");
    }
}

/// A claim reads what it takes, at the head of a shard, and one that finds nothing a row or two of each: however much waits, and
/// however much waits for its time.
#[test]
fn shards_are_sought_one_by_one() {
    const WAITING: i64 = 200_000;
    for order in ["", r#", "order": {"direction": "lifo"}"#] {
        let scratch = Scratch::empty();
        let spec = format!(r#"{{"queue": "Job", "shards": 8{order}}}"#);
        install(&scratch.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
        scratch.run("ALTER TABLE readpast.job SET (autovacuum_enabled = off)");
        let claim = |max: i64, counted: &str| {
            format!("SELECT COUNT(*) FROM readpast.next_job_set_trx('w', {max}, 60000, 0) WHERE answer = '{counted}'")
        };
        let mut session = scratch.session();
        let watch = "SELECT COUNT(*) FROM readpast.watch_job(100) WHERE name = 'due.count'";
        run(&mut session, &claim(BATCH, "CLAIMED"));
        run(&mut session, watch);
        let put = |year: i32, due: &str| {
            scratch.run(&format!(
                "INSERT INTO readpast.job (enqueued_at, type, status, attempt_num, scheduled_for, updated_at) \
                 SELECT t, 'Default', 'Pending', 0, {due}, t FROM (SELECT timestamptz '{year}-01-01' + n * interval \
                 '10001 microseconds' AS t FROM generate_series(1, {WAITING}) AS n) AS t"
            ));
        };
        put(2001, "t");
        put(2002, "t + interval '200 years'");
        let read = rows_read(&mut session, "claim", &claim(BATCH, "CLAIMED"));
        assert!(read < 5 * BATCH, "a claim reads {read} rows for {BATCH} items");
        let (_, read) = read_for(&mut session, watch);
        assert!(read < MOST, "a look reads {read} rows");
        scratch.run("UPDATE readpast.job SET status = 'Completed' WHERE scheduled_for < now()");
        let (rows, read) = read_for(&mut session, &claim(BATCH, "EMPTY"));
        assert_eq!(number(&rows), 1);
        // Entries of what was due until now are still in the index.
        scratch.run("VACUUM readpast.job");
        let (rows, again) = read_for(&mut session, &claim(BATCH, "EMPTY"));
        assert!(number(&rows) == 1 && again < 50, "a look for what is not there reads {read}, {again} rows");
    }
}

/// Retention reads only attempts that go, however many are too young.
#[test]
fn old_attempts_are_sought_by_their_age() {
    let scratch = Scratch::empty();
    let spec = r#"{"queue": "Job", "attempts": {"history": true}, "retention": {"history": "7d"}}"#;
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    scratch.run("ALTER TABLE readpast.job_attempt SET (autovacuum_enabled = off)");
    let retain = format!("SELECT value FROM readpast.retain_job_trx(0, {BATCH})");
    let mut session = scratch.session();
    run(&mut session, &retain);
    let put = |count: i64, ago: &str| {
        scratch.run(&format!(
            "INSERT INTO readpast.job_attempt (key_1, attempt_num, ended_at, outcome) \
             SELECT timestamptz '2010-01-01' + n * interval '1 s', 1, now() - interval '{ago}', 'Error' \
             FROM generate_series(1, {count}) AS n"
        ));
    };
    put(MANY, "1 day");
    put(2 * BATCH, "8 days");
    check(&mut session, "retain", &retain);
}

/// Runs a call, and sees how many rows it reads.
fn check(session: &mut Session, name: &str, call: &str) {
    let read = rows_read(session, name, call);
    assert!((BATCH..MOST).contains(&read), "{name} reads {read} rows for {BATCH} items");
}

/// The same of a call that finds less than the rest.
fn check_few(session: &mut Session, name: &str, call: &str, count: i64) {
    let (rows, read) = read_for(session, call);
    assert_eq!(number(&rows), count, "{name}: rows");
    assert!(read < MOST, "{name} reads {read} rows");
}

fn rows_read(session: &mut Session, name: &str, call: &str) -> i64 {
    let (rows, read) = read_for(session, call);
    assert_eq!(number(&rows), BATCH, "{name}: items");
    read
}

/// The answer of a call, and how many rows it reads.
fn read_for(session: &mut Session, call: &str) -> (Rows, i64) {
    session
        .transaction(|session| {
            // The rows that the session has read and not yet reported; it reports nothing within a transaction.
            let count = "SELECT SUM(COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0))::bigint \
                         FROM pg_stat_xact_user_tables";
            let before = number(&run(session, count));
            let rows = run(session, call);
            Ok((rows, number(&run(session, count)) - before))
        })
        .unwrap()
}

/// Gives back the items of dead workers too.
fn claim(worker: &str) -> String {
    format!("SELECT COUNT(*) FROM readpast.next_job_set_trx('{worker}', {BATCH}, 60000, 1) WHERE answer = 'CLAIMED'")
}

/// The operation is one of the 64th that clear old ones away.
fn settle(operation: u8, items: &str) -> String {
    format!(
        "SELECT COUNT(*) FROM readpast.modify_job_set_trx('{operation:08}-0000-7000-8000-000000000000', 'w', '{items}') \
         WHERE answer = 'OK'"
    )
}

/// The items with these members alone: each call refuses the others.
fn only(items: &str, members: [&str; 2]) -> String {
    let mut items: serde_json::Value = serde_json::from_str(items).unwrap();
    for item in items.as_array_mut().unwrap() {
        item.as_object_mut().unwrap().retain(|name, _| members.contains(&name.as_str()));
    }
    items.to_string()
}

fn renew(items: &str) -> String {
    let items = only(items, ["key", "attempt"]);
    format!("SELECT COUNT(*) FROM readpast.renew_job_set_trx('w', '{items}', 60000) WHERE answer = 'OK'")
}

/// As an operator, whatever the tokens.
fn redrive(operation: u8, items: &str) -> String {
    let items = only(items, ["key", "token"]);
    format!(
        "SELECT COUNT(*) FROM readpast.redrive_job_set_trx('{operation:08}-0000-7000-8000-0000000001ff', '{items}') \
         WHERE answer = 'OK'"
    )
}

fn find(filter: &str) -> String {
    format!("SELECT COUNT(*) FROM readpast.find_job('{filter}', NULL, {BATCH})")
}

/// A bounded look from the start.
fn look(filter: &str) -> String {
    format!("SELECT COUNT(*) FROM readpast.find_job('{filter}', NULL, {BATCH}, {BATCH})")
}

/// Puts `count` items in that wait, that are done, and that dead workers hold; and as many operations of long ago.
fn fill(scratch: &Scratch, count: i64) {
    for (status, year, lease) in [("Pending", 2001, "NULL"), ("Completed", 2005, "NULL"), ("Processing", 2009, "t")] {
        scratch.run(&format!(
            "INSERT INTO readpast.job (enqueued_at, type, status, attempt_num, started_at, scheduled_for, updated_at, \
             lease_owner, lease_until) SELECT t, 'Default', '{status}', 0, t, t, t, 'dead', {lease} \
             FROM (SELECT timestamptz '{year}-01-01' + random() * interval '1 hour' + n * interval '1 hour' AS t \
             FROM generate_series(1, {count}) AS n) AS t"
        ));
    }
    scratch.run(&format!(
        "INSERT INTO readpast.queue_operation (operation_id, call, at) \
         SELECT gen_random_uuid(), 'add_job_set_trx', timestamptz '2001-01-01' + n * interval '1 second' \
         FROM generate_series(1, {count}) AS n"
    ));
}

fn run(session: &mut Session, statement: &str) -> Rows {
    session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"))
}

fn number(rows: &Rows) -> i64 {
    match rows.value(0, 0) {
        Value::Integer(number) => number,
        other => panic!("{other:?}"),
    }
}

fn text(rows: &Rows) -> String {
    match rows.value(0, 0) {
        Value::Text(text) => text.to_owned(),
        other => panic!("{other:?}"),
    }
}
