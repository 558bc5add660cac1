//! Rows that their table refuses to have claimed or given back, for each kind of table and each way to look for items: the
//! others are worked on.

use readpast::description::Storage;
use readpast::item::{Columns, Filter, ItemState, NewItem};
use readpast::worker::Event;
use readpast::{Queue, QueueSpec, Worker, install::install};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::limit::until;
use support::matrix;
use support::scratch::Scratch;

/// Each way to look for items, and what else is done by a claim or a recovery.
const OPTIONS: [&str; 15] = [
    "plain",
    "lifo",
    "unordered",
    "priority",
    "group",
    "by_type",
    "by_step",
    "by_kind",
    "shards",
    "attempt_history",
    "delete",
    "history",
    "parts",
    "lease",
    "no_backoff",
];

/// Has the table refuse to change the item of this rank.
fn refuse(scratch: &Scratch, table: &str, rank: i32) {
    let mut session = scratch.session();
    for statement in [
        "CREATE OR REPLACE FUNCTION public.rule() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF COALESCE(to_jsonb(new) ->> 'Rank', to_jsonb(new) ->> 'rank') = TG_ARGV[0] THEN RAISE EXCEPTION 'not this one'; END IF;
            RETURN NULL;
        END; $$"
            .to_owned(),
        format!("DROP TRIGGER IF EXISTS rule ON {table}"),
        format!("CREATE TRIGGER rule AFTER UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION public.rule({rank})"),
    ] {
        session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// The same, but for its end: what waits, in each kind of table, it must not become.
const ENDS: &str = "CREATE OR REPLACE FUNCTION public.rule() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF COALESCE(to_jsonb(new) ->> 'Rank', to_jsonb(new) ->> 'rank') = TG_ARGV[0]
        AND COALESCE(to_jsonb(new) ->> 'status', to_jsonb(new) ->> 'state') IN ('Pending', 'Error', 'new', '0')
    THEN RAISE EXCEPTION 'not this one'; END IF;
    RETURN NULL;
END; $$";

fn ranks(queue: &Queue) -> Vec<i64> {
    let mut found = Vec::new();
    loop {
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        if batch.is_empty() {
            return found;
        }
        found.extend(batch.iter().map(|item| {
            let value: serde_json::Value = serde_json::from_str(&item.to_json()).unwrap();
            let rank = value.as_object().unwrap().iter().find(|(name, _)| name.eq_ignore_ascii_case("rank")).unwrap();
            rank.1.as_i64().unwrap()
        }));
    }
}

fn items(kind: &str) -> Vec<NewItem> {
    let item = |rank: i32| {
        // A table that is there may have a key of which the producer gives a part.
        let region = if kind == "whole" { json!({"Region": "r"}) } else { json!({}) };
        let mut columns = json!({"Rank": rank, "Customer": format!("c{rank}")});
        columns.as_object_mut().unwrap().extend(region.as_object().unwrap().clone());
        NewItem { columns: Columns::from_json(&columns.to_string()).unwrap(), ..NewItem::default() }
    };
    (1..=4).map(item).collect()
}

#[test]
fn a_row_that_its_table_refuses_stops_no_other() {
    let scratch = Scratch::empty();
    scratch.session().execute("CREATE SCHEMA dbo", &[]).unwrap();
    let mut tried = 0;
    for (name, spec) in matrix::specs() {
        let (kind, option) = name.split_once('_').unwrap();
        if !OPTIONS.contains(&option) || kind == "claimed" || kind == "present" {
            continue;
        }
        tried += 1;
        let schema = format!("s{tried}");
        let settings = [("schema", schema.as_str()), ("recover.interval_ms", "3600000")];
        install(&scratch.config(&settings), Some(&spec)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let table = match &spec.storage {
            Storage::Own => format!("{schema}.job"),
            _ if kind == "whole" => "dbo.jobs".to_owned(),
            _ => "public.jobs".to_owned(),
        };
        let mut more = settings.to_vec();
        if option == "by_type" || option == "by_kind" {
            more.push(("worker.types", r#"["A"]"#));
        }
        if option == "by_step" || option == "by_kind" {
            more.push(("worker.steps", r#"[""]"#));
        }
        let queue = Queue::open(&scratch.config(&more), "Job").unwrap();
        queue.enqueue(&items(kind), None).unwrap();
        refuse(&scratch, &table, 2);
        let mut taken = ranks(&queue);
        taken.sort_unstable();
        assert_eq!(taken, [1, 3, 4], "{name}");
        let refused = queue.watch(100).unwrap().refused;
        assert_eq!(refused.len(), 1, "{name}");
        assert!(refused[0].reason.contains("not this one"), "{name}: {refused:?}");
        assert_eq!(queue.get(&refused[0].key).unwrap().len(), 1, "{name}: {refused:?}");

        // They were left by their worker; of those, one cannot be given back.
        refuse(&scratch, &table, 3);
        let mut session = scratch.session();
        session.execute(&format!("ALTER TABLE {table} DISABLE TRIGGER rule"), &[]).unwrap();
        let own = format!("UPDATE {table} SET lease_until = started_at WHERE status = 'Processing'");
        let beside = format!("UPDATE {schema}.job_lease SET lease_until = started_at WHERE status = 'Processing'");
        let whole = format!("UPDATE {table} SET until = began WHERE state = 'busy'");
        let over = match kind {
            "own" => vec![own],
            "whole" => vec![whole, beside],
            _ => vec![beside],
        };
        for statement in over {
            session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        session.execute(&format!("ALTER TABLE {table} ENABLE TRIGGER rule"), &[]).unwrap();
        assert_eq!(queue.recover(100).unwrap(), 2, "{name}");
        let refused = queue.watch(100).unwrap().refused;
        assert!(refused.iter().any(|one| one.reason.starts_with("recover: ")), "{name}: {refused:?}");

        // It ends when its attempts are spent, once the table lets it end; a claim may be what finds it then.
        session.execute(ENDS, &[]).unwrap();
        until("it has ended", || {
            session.execute(&format!("UPDATE {schema}.queue_refused SET until = clock_timestamp()"), &[]).unwrap();
            queue.recover(100).unwrap();
            let _others = queue.claim(10, Duration::ZERO).unwrap();
            let failed = queue.find(&Filter::of_states([ItemState::Failed]), None, 10).unwrap();
            failed.iter().any(|item| item.to_json().contains("not this one"))
        });
        session.execute(&format!("DROP TABLE {table} CASCADE"), &[]).unwrap();
    }
    assert!(tried > 35, "{tried}");
}

/// However many there are of the rows that somebody holds, what stands behind them comes back.
#[test]
fn held_rows_strand_nobody_behind_them() {
    let scratch = Scratch::empty();
    let own = r#"{"queue": "Own", "columns": [{"name": "N", "type": "integer"}]}"#;
    let beside = r#"{"queue": "Beside", "columns": [{"name": "n", "type": "integer"}], "table": {"name": "work", "create": true,
        "key": [{"name": "id", "type": "bigint", "source": "table"}],
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;
    for (text, table, leases) in
        [(own, "readpast.own", "readpast.own"), (beside, "public.work", "readpast.beside_lease")]
    {
        let spec = QueueSpec::from_json(text).unwrap();
        install(&scratch.config(&[]), Some(&spec)).unwrap();
        let queue = Queue::open(&scratch.config(&[]), spec.queue.as_str()).unwrap();
        let item = |n: i32| NewItem {
            columns: Columns::from_json(&json!({"n": n}).to_string()).unwrap(),
            ..NewItem::default()
        };
        queue.enqueue(&(0..130).map(item).collect::<Vec<_>>(), None).unwrap();
        for _ in 0..130 {
            assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1);
        }
        let mut session = scratch.session();
        session
            .execute(&format!("UPDATE {leases} SET lease_until = started_at WHERE status = 'Processing'"), &[])
            .unwrap();
        let mut holder = scratch.session();
        let n = if table == "readpast.own" { "\"N\"" } else { "n" };
        holder.execute("BEGIN", &[]).unwrap();
        holder.execute(&format!("SELECT 1 FROM {table} WHERE {n} < 110 FOR UPDATE"), &[]).unwrap();
        assert_eq!(queue.recover(100).unwrap(), 20, "{table}");
        assert_eq!(queue.watch(1000).unwrap().stats.expired, 110, "{table}");
        holder.execute("COMMIT", &[]).unwrap();
        assert_eq!(queue.recover(100).unwrap(), 100, "{table}");
    }
}

/// Items that a custom claim procedure claims are given back by calls of the library, before and behind it.
#[test]
fn a_claim_by_somebody_elses_procedure_reports_what_its_recoveries_are_refused() {
    let scratch = Scratch::empty();
    for statement in [
        "CREATE TABLE jobs (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0, began timestamptz, holder text)",
        "CREATE FUNCTION take(holder_ text) RETURNS SETOF bigint LANGUAGE sql AS $$
            UPDATE jobs SET holder = holder_, began = clock_timestamp()
            WHERE id = (SELECT MIN(id) FROM jobs WHERE state = 0 AND began IS NULL) RETURNING id
        $$",
        "CREATE FUNCTION rule() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.id = 1 AND NEW.began IS NULL THEN RAISE EXCEPTION 'never back'; END IF;
            RETURN NULL;
        END; $$",
        "CREATE TRIGGER rule AFTER UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION rule()",
        "INSERT INTO jobs (id) VALUES (1)",
    ] {
        scratch.run(statement);
    }
    let spec = QueueSpec::from_json(
        r#"{"queue": "JobsOfOthers", "columns": [], "procedures": {"next": "take"}, "lease": {"kind": "fixed"}, "attempts": {"limit": 100},
        "table": {"name": "jobs", "key": ["id"], "lifecycle": {"started": "began", "owner": "holder"}, "states": {
            "Pending": {"state": 0, "began": {"is": "null"}}, "Processing": {"state": 0, "began": {"is": "set"}},
            "Completed": {"state": 1}}}}"#,
    )
    .unwrap();
    let settings = [("recover.interval_ms", "10")];
    install(&scratch.config(&settings), Some(&spec)).unwrap();
    let queue = Queue::open(&scratch.config(&settings), "JobsOfOthers").unwrap();
    let claim = || queue.claim(1, Duration::ZERO).unwrap();
    assert_eq!(claim().len(), 1);
    scratch.run("UPDATE readpast.jobs_of_others_lease SET lease_until = started_at");
    let reported = || {
        let figures = readpast::metrics().to_string();
        let line = figures
            .lines()
            .find(|line| line.starts_with("readpast_refused_by_table_total") && line.contains("JobsOfOthers"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok()).unwrap_or_default()
    };
    assert_eq!(reported(), 0);

    scratch.run("INSERT INTO jobs (id) VALUES (2)");
    until("a claim with an item has reported it", || {
        claim();
        scratch.run("UPDATE jobs SET began = NULL WHERE id = 2");
        reported() > 0
    });
    scratch.run("DELETE FROM jobs WHERE id = 2");
    scratch.run("UPDATE readpast.queue_refused SET until = clock_timestamp()");
    let before = reported();
    until("a claim without one has reported it", || {
        assert!(claim().is_empty());
        reported() > before
    });

    // A worker reports it as an event.
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    let worker = Worker::new(&queue).observe(move |event| {
        if let Event::SetAside { key, times, reason, .. } = event {
            kept.lock().unwrap().push((key.map(str::to_owned), *times > 2, (*reason).to_owned()));
        }
    });
    let stop = worker.stop_handle();
    scratch.run("UPDATE readpast.queue_refused SET until = clock_timestamp()");
    thread::scope(|scope| {
        let working = scope.spawn(|| worker.run(|_| {}));
        until("the worker has reported it", || !told.lock().unwrap().is_empty());
        stop.stop();
        working.join().unwrap().unwrap();
    });
    let told = told.lock().unwrap();
    assert_eq!(told[0], (Some("1".to_owned()), true, "never back".to_owned()));
}
