//! The claim of each kind is one walk along one index, however many items are finished or in work, and although it is
//! planned once per connection, maybe while the table is empty.

use super::tables::*;
use readpast::{
    Dialect,
    description::QueueSpec,
    for_tests::Session,
    ident::Identifier,
    item::{Rows, Value},
    render,
};

/// Items of a call.
const BATCH: i64 = 10;

/// Items that wait, and items that are in work.
const MANY: i64 = 20_000;

/// Rows that a call may read: those of its items several times, and operations of long ago.
const MOST: i64 = 700;

/// A kind, its table, the index that serves its claim, and how rows stand that wait, are in work, and are finished:
/// column and value, where `n` is the row's number and `t` a time that grows with it.
struct Plan {
    kind: &'static Kind,
    table: &'static str,
    index: &'static str,
    all: &'static str,
    waits: &'static str,
    works: &'static str,
    done: Option<&'static str>,
}

const EMAIL: &str = "EmailAddress='x', Subject='x', Body='x', Created=t";

const PLANS: [Plan; 9] = [
    Plan {
        kind: &SYNC_QUEUE,
        table: "syncqueue",
        index: "sync_queue_due",
        all: "EnqueuedAt=t, Type='Orders', ScheduledFor=t, UpdatedAt=t, StartedAt=t",
        waits: "Status='Pending', AttemptNum=0",
        works: "Status='Processing', AttemptNum=1",
        done: Some("Status='Completed', AttemptNum=1, Duration=1"),
    },
    Plan {
        kind: &FOUR_QUEUE,
        table: "four_queue",
        index: "big_idea",
        all: "reputation=n, start_date=t",
        waits: "in_process=FALSE",
        works: "in_process=TRUE, end_date=NULL",
        done: Some("in_process=TRUE, end_date=t"),
    },
    Plan {
        kind: &SCHEDULER,
        table: "four_queue",
        index: "big_idea",
        all: "reputation=n, start_date=t, scheduled_start_date=t",
        waits: "in_process=FALSE",
        works: "in_process=TRUE, end_date=NULL, app_server='dead', attempts=1",
        done: Some("in_process=TRUE, end_date=t"),
    },
    Plan {
        kind: &EMAIL_REQUESTS,
        table: "emailrequests",
        index: "email_requests_due",
        all: EMAIL,
        waits: "IsProcessed=FALSE",
        works: "IsProcessed=TRUE",
        done: Some("IsProcessed=TRUE"),
    },
    Plan {
        kind: &EMAIL_LIFO,
        table: "emailrequests",
        index: "email_requests_lifo_due",
        all: EMAIL,
        waits: "IsProcessed=FALSE",
        works: "IsProcessed=TRUE",
        done: Some("IsProcessed=TRUE"),
    },
    Plan {
        kind: &EMAIL_HEAP,
        table: "emailrequests",
        index: "email_requests_heap_due",
        all: EMAIL,
        waits: "IsProcessed=FALSE",
        works: "IsProcessed=TRUE",
        done: Some("IsProcessed=TRUE"),
    },
    Plan {
        kind: &SIMPLE_QUEUE,
        table: "simplequeue",
        index: "ix_simplequeue_pop",
        all: "Id=gen_random_uuid(), CreatedAt=t",
        waits: "Payload='x'",
        works: "ProcessingStartedAt=t",
        done: None,
    },
    Plan {
        kind: &SIMPLE_QUEUE_POSTGRES,
        table: "simple_queue",
        index: "ix_simple_queue_pop",
        all: "id=gen_random_uuid(), created_at=t",
        waits: "payload='x'",
        works: "processing_started_at=t",
        done: None,
    },
    Plan {
        kind: &LOCK_TABLE,
        table: "queue",
        index: "lock_table_due",
        all: "RequestedTime=t",
        waits: "Status=1",
        works: "Status=1, LockedTime=t, LockedBy='dead', NumAttempts=1",
        done: Some("Status=2, CompletionTime=t, NumAttempts=1"),
    },
];

#[test]
fn planned_on_tables_as_installed() {
    for plan in &PLANS {
        calls_read_few_rows(plan, &Adopted::new(plan.kind), MANY);
    }
}

#[test]
fn planned_on_tables_known_to_be_empty() {
    for plan in &PLANS {
        let adopted = Adopted::new(plan.kind);
        for table in tables(plan, &adopted) {
            adopted.scratch.run(&format!("VACUUM (ANALYZE) {table}"));
        }
        calls_read_few_rows(plan, &adopted, MANY / 10);
    }
}

#[test]
fn the_claim_is_one_index_scan() {
    for plan in &PLANS {
        let adopted = Adopted::new(plan.kind);
        let select = claim_select(plan);
        explain(plan, &adopted, &select, "empty");
        fill(plan, &adopted, MANY / 10, MANY / 10);
        explain(plan, &adopted, &select, "filled");
        for table in tables(plan, &adopted) {
            adopted.scratch.run(&format!("VACUUM (ANALYZE) {table}"));
        }
        explain(plan, &adopted, &select, "analyzed");
    }
}

/// The statement in which the claim chooses its rows, with values for its variables.
fn claim_select(plan: &Plan) -> String {
    let spec = QueueSpec::from_text(plan.kind.spec).unwrap();
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let objects = render::queue(Dialect::Postgres, &schema, &spec).unwrap();
    let script = render::text(Dialect::Postgres, &objects);
    let statements = script.split("WITH due AS MATERIALIZED (").skip(1);
    let selects: Vec<_> = statements.map(|rest| rest.split_once("SKIP LOCKED\n").unwrap().0).collect();
    // It stands in the claim around what the table refuses too, with a condition more.
    let selects: Vec<_> = selects.into_iter().filter(|select| !select.contains("queue_refused")).collect();
    assert_eq!(selects.len(), 1, "{}", plan.kind.name);
    let select = selects[0];
    format!("{select} SKIP LOCKED").replace("max_", "10").replace("now_", "timestamptz '2100-01-01'")
}

fn explain(plan: &Plan, adopted: &Adopted, select: &str, when: &str) {
    let mut session = adopted.scratch.session();
    // As the functions set it.
    for setting in ["seqscan", "bitmapscan", "hashjoin", "mergejoin"] {
        run(&mut session, &format!("SET enable_{setting} = off"));
    }
    let rows = run(&mut session, &format!("EXPLAIN (COSTS OFF) {select}"));
    let lines: Vec<_> = (0..rows.len())
        .map(|row| match rows.value(row, 0) {
            Value::Text(line) => line.trim().trim_start_matches("-> ").trim().to_owned(),
            other => panic!("{other:?}"),
        })
        .collect();
    let scans: Vec<_> = lines.iter().filter(|line| line.contains("Scan")).collect();
    let expected = format!("Index Scan using {} on {} q", plan.index, plan.table);
    let backward = format!("Index Scan Backward using {} on {} q", plan.index, plan.table);
    assert!(
        scans.len() == 1 && (*scans[0] == expected || *scans[0] == backward),
        "{} {when}:\n{}",
        plan.kind.name,
        lines.join("\n")
    );
    assert!(!lines.iter().any(|line| line.contains("Sort")), "{} {when}:\n{}", plan.kind.name, lines.join("\n"));
}

fn tables(plan: &Plan, adopted: &Adopted) -> Vec<String> {
    ["queue_operation", "queue_transition", "app_settings", &format!("{}_lease", adopted.stem())]
        .iter()
        .map(|table| format!("readpast.{table}"))
        .chain([plan.table.to_owned()])
        .collect()
}

fn calls_read_few_rows(plan: &Plan, adopted: &Adopted, many: i64) {
    let stem = adopted.stem();
    for table in [plan.table.to_owned(), format!("readpast.{stem}_lease"), "readpast.queue_operation".to_owned()] {
        // New statistics would have everything planned anew.
        adopted.scratch.run(&format!("ALTER TABLE {table} SET (autovacuum_enabled = off)"));
    }
    let mut session = adopted.scratch.session();
    let key = match plan.table {
        "simplequeue" | "simple_queue" => "00000000-0000-0000-0000-000000000000",
        "syncqueue" => "1999-01-01T00:00:00",
        _ => "1",
    };
    let nothing = format!(r#"[{{"key": "{key}", "token": "2000-01-01", "attempt": 1, "status": "Completed"}}]"#);
    for call in [claim_call(&stem), settle_call(&stem, 0, &nothing), renew_call(&stem, &nothing)] {
        run(&mut session, &call);
    }
    fill(plan, adopted, many, many);
    let first = check(&mut session, plan, "claim", &claim_call(&stem));
    let items = items(&mut session, &stem);
    check(&mut session, plan, "renew", &renew_call(&stem, &items));
    check(&mut session, plan, "settle", &settle_call(&stem, 1, &items));
    check(&mut session, plan, "settle again", &settle_call(&stem, 1, &items));
    // Ten times as many finished ones, and the same cost.
    if plan.done.is_some() {
        fill(plan, adopted, BATCH, 10 * many);
        let then = check(&mut session, plan, "claim", &claim_call(&stem));
        assert_eq!(then, first, "{}: rows read with ten times as many finished items", plan.kind.name);
    }
}

/// The leases of what was claimed, as the worker would send them back.
fn items(session: &mut Session, stem: &str) -> String {
    let query = format!(
        "SELECT json_agg(json_build_object('key', key_1::text, 'token', updated_at, 'attempt', attempt_num, \
         'status', 'Completed'))::text FROM readpast.{stem}_lease WHERE lease_owner = 'w'"
    );
    match run(session, &query).value(0, 0) {
        Value::Text(text) => text.to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Runs a call, and sees how many rows it reads.
fn check(session: &mut Session, plan: &Plan, name: &str, call: &str) -> i64 {
    let (rows, read) = session
        .transaction(|session| {
            // The rows that the session has read and not yet reported; it reports nothing within a transaction.
            let count = "SELECT SUM(COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0))::bigint \
                         FROM pg_stat_xact_user_tables";
            let before = number(&run(session, count));
            let rows = run(session, call);
            Ok((rows, number(&run(session, count)) - before))
        })
        .unwrap();
    assert_eq!(number(&rows), BATCH, "{} {name}: items", plan.kind.name);
    assert!((1..MOST).contains(&read), "{} {name} reads {read} rows for {BATCH} items", plan.kind.name);
    read
}

fn claim_call(stem: &str) -> String {
    format!("SELECT COUNT(*) FROM readpast.next_{stem}_set_trx('w', {BATCH}, 60000, 0) WHERE answer = 'CLAIMED'")
}

/// The operation is one of the 64th that clear old ones away.
fn settle_call(stem: &str, operation: u8, items: &str) -> String {
    format!(
        "SELECT COUNT(*) FROM readpast.modify_{stem}_set_trx('{operation:08}-0000-7000-8000-000000000000', 'w', \
         '{items}') WHERE answer = 'OK'"
    )
}

fn renew_call(stem: &str, items: &str) -> String {
    // A renewal takes the key and the attempt of an item, and nothing else.
    let mut leases: serde_json::Value = serde_json::from_str(items).unwrap();
    for lease in leases.as_array_mut().unwrap() {
        lease.as_object_mut().unwrap().retain(|name, _| matches!(name.as_str(), "key" | "attempt"));
    }
    let items = leases;
    format!("SELECT COUNT(*) FROM readpast.renew_{stem}_set_trx('w', '{items}', 60000) WHERE answer = 'OK'")
}

/// Puts `many` rows in that wait, as many that are in work, and `finished` ones.
fn fill(plan: &Plan, adopted: &Adopted, many: i64, finished: i64) {
    let mut states = vec![(plan.waits, many, 2001), (plan.works, many, 2002)];
    states.extend(plan.done.map(|done| (done, finished, 2003)));
    for (state, count, year) in states {
        let values = format!("{}, {state}", plan.all);
        let pairs: Vec<_> = values.split(", ").map(|pair| pair.split_once('=').unwrap()).collect();
        let columns: Vec<_> = pairs.iter().map(|(column, _)| *column).collect();
        let values: Vec<_> = pairs.iter().map(|(_, value)| *value).collect();
        adopted.scratch.run(&format!(
            "INSERT INTO {} ({}) SELECT {} FROM (SELECT n.at AS n, timestamp '{year}-01-01' + n.at % 1000000 * interval '1 second' \
             AS t FROM (SELECT {year} * 1000000 + (SELECT COUNT(*) FROM {}) + g.g AS at \
             FROM generate_series(1, {count}) AS g) AS n) AS n",
            plan.table,
            columns.join(", "),
            values.join(", "),
            plan.table,
        ));
    }
    let stem = adopted.stem();
    adopted.scratch.run(&format!(
        "INSERT INTO readpast.{stem}_lease (key_1, status, attempt_num, started_at, updated_at, lease_owner, lease_until) \
         SELECT v.item_key_1, 'Processing', 1, clock_timestamp(), clock_timestamp(), 'dead', clock_timestamp() \
         FROM readpast.{stem}_item_v AS v WHERE v.item_status = 'Processing' ON CONFLICT DO NOTHING"
    ));
    adopted.scratch.run(&format!(
        "INSERT INTO readpast.queue_operation (operation_id, call, at) \
         SELECT gen_random_uuid(), 'add_job_set_trx', timestamptz '2001-01-01' + n * interval '1 second' \
         FROM generate_series(1, {many}) AS n"
    ));
}

fn run(session: &mut Session, statement: &str) -> Rows {
    session.execute(statement, &[]).unwrap_or_else(|error| panic!("{error}: {statement}"))
}

fn number(rows: &Rows) -> i64 {
    match rows.value(0, 0) {
        Value::Integer(number) => number,
        other => panic!("{other:?}"),
    }
}
