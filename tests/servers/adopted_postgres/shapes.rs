//! Tables of other shapes than those of the documents.

use super::tables::{Adopted, claim, settle};
use readpast::item::{Action, Answer, Filter, Lease, NewItem, Settlement};
use serde_json::{Value, json};

const ORDERS: &str = r#"{"queue": "Orders", "columns": [
    {"name": "customer", "type": "integer"}, {"name": "urgency", "type": "integer", "nullable": false}],
    "table": {"name": "orders", "create": true,
        "key": [{"name": "region", "type": "text(10)", "source": "producer"},
            {"name": "number", "type": "bigint", "source": "table"}],
        "lifecycle": {"enqueued": "came", "due": "due_at", "lease_until": "lease", "step": "step", "response": "response",
            "error": "error", "duration": "ms", "token": "changed", "owner": "who", "attempts": "tries"},
        "status": {"column": "state", "values": {"Pending": "new", "Processing": "taken", "Completed": "done",
            "Failed": "failed"}}}}"#;

fn order(number: u32) -> Value {
    json!({"region": "no\"rth", "customer": number / 3, "urgency": number % 2})
}

fn adopted(change: &str, to: &str) -> Adopted {
    assert!(ORDERS.contains(change));
    Adopted::of("SELECT 1", &ORDERS.replace(change, to), order)
}

fn customers(adopted: &Adopted, batch: &readpast::item::Batch) -> Vec<String> {
    let numbers: Vec<_> = batch.iter().map(|item| item.key().to_owned()).collect();
    numbers
        .iter()
        .map(|key| {
            adopted.scratch.look(&format!("SELECT number FROM orders WHERE number = ('{}'::json ->> 1)::bigint", key))
        })
        .collect()
}

#[test]
fn a_key_of_two_columns_is_a_json_array() {
    let adopted = adopted("\"table\"", "\"table\"");
    let queue = adopted.worker("w");
    let keys = queue.enqueue(&adopted.items(3), None).unwrap();
    assert_eq!(keys[0].key, r#"["no\"rth","1"]"#);
    let batch = claim(&queue, 2);
    assert_eq!(batch.get(0).unwrap().key(), keys[0].key);
    let item = batch.get(0).unwrap();
    let renewed = queue.renew(&[Lease { key: item.key(), attempt: 1 }]).unwrap();
    assert_eq!(renewed[0].answer, Answer::Ok);
    assert_eq!(adopted.scratch.look("SELECT COUNT(*) FROM orders WHERE lease > clock_timestamp() AND who = 'w'"), "2");
    let step = Settlement { step: Some("second"), response: Some("so far"), ..Settlement::new(&item, Action::Step) };
    let token = queue.settle(&[step], None).unwrap().remove(0).token;
    assert_eq!(
        adopted.scratch.look("SELECT step || response || state FROM orders WHERE number = 1"),
        "secondso fartaken"
    );
    let done = Settlement { token: Some(&token), ..Settlement::new(&item, Action::Complete) };
    assert_eq!(queue.settle(&[done], None).unwrap()[0].answer, Answer::Ok);
    assert_eq!(
        adopted.scratch.look("SELECT (ms IS NOT NULL)::text || state || tries FROM orders WHERE number = 1"),
        "truedone1"
    );
    assert_eq!(adopted.leases(), 1);

    let page = queue.find(&Filter::default(), None, 2).unwrap();
    let next = queue.find(&Filter::default(), Some(page.get(1).unwrap().key()), 2).unwrap();
    assert_eq!((page.len(), next.len(), next.get(0).unwrap().key()), (2, 1, keys[2].key.as_str()));
    assert_eq!(queue.get(&keys[1].key).unwrap().len(), 1);
    assert_eq!(queue.purge(&Filter::of_keys([keys[0].key.clone(), keys[1].key.clone()]), 10).unwrap(), 1);
    assert_eq!(queue.stats().unwrap().count(readpast::item::ItemState::Processing), 1);
}

#[test]
fn times_have_one_form_and_what_has_no_place_in_it_is_the_nearest_of_it() {
    let adopted = adopted("\"table\"", "\"table\"");
    let queue = adopted.worker("w");
    let keys = queue.enqueue(&adopted.items(6), None).unwrap();
    let times = [
        ("2026-01-02 03:04:05.0678+02", "2026-01-02T01:04:05.0678000"),
        ("1999-12-31 23:59:59Z", "1999-12-31T23:59:59.0000000"),
        ("9999-12-31 23:59:59.999999Z", "9999-12-31T23:59:59.9999990"),
        ("infinity", "infinity"),
        ("12345-01-01Z", "12345-01-01 00:00:00+00"),
        ("0044-03-15 BC", "0044-03-15 00:00:00+00 BC"),
    ];
    for (number, (time, _)) in (1..).zip(times) {
        adopted.scratch.run(&format!("UPDATE orders SET due_at = '{time}' WHERE number = {number}"));
    }
    for (key, (time, meant)) in keys.iter().zip(times) {
        // The first call of a connection as well as those that follow.
        for queue in [&adopted.worker("new"), &queue] {
            let batch = queue.get(&key.key).unwrap();
            let due = batch.get(0).unwrap().value_of("item_due_at");
            assert_eq!(due, Some(readpast::item::Value::Text(meant)), "{time}");
        }
    }
    let claimed = claim(&queue, 10);
    assert_eq!(customers(&adopted, &claimed), ["6", "2", "1"]);
    settle(&queue, &claimed, Action::Complete, "Completed");
}

#[test]
fn urgent_items_go_first() {
    let adopted =
        adopted("\"table\":", r#""order": {"priority": {"column": "urgency", "first": "highest"}}, "table":"#);
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(4), None).unwrap();
    assert_eq!(customers(&adopted, &claim(&queue, 4)), ["2", "4", "1", "3"]);
}

#[test]
fn a_group_goes_on_when_its_first_item_is_finished() {
    let adopted = adopted("\"table\":", r#""order": {"group": "customer"}, "table":"#);
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(7), None).unwrap();
    let first = claim(&queue, 10);
    assert_eq!(customers(&adopted, &first), ["1", "4", "7"]);
    assert_eq!(claim(&queue, 10).len(), 0);
    let blocked = "SELECT string_agg(item_group || ':' || head_key || head_status || waiting, ' ' ORDER BY item_group) \
                   FROM readpast.orders_blocked_v";
    assert_eq!(adopted.scratch.look(blocked), r#"0:["no\"rth","1"]Processing2 1:["no\"rth","4"]Processing2"#);
    let item = first.get(0).unwrap();
    let later = Settlement { delay_ms: Some(3_600_000), ..Settlement::new(&item, Action::Retry) };
    queue.settle(&[later], None).unwrap();
    assert_eq!(claim(&queue, 10).len(), 0, "a group waits for a retry of its first item");
    let item = first.get(1).unwrap();
    queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap();
    assert_eq!(customers(&adopted, &claim(&queue, 10)), ["5"]);
}

#[test]
fn the_same_unfinished_work_is_a_duplicate() {
    let adopted = adopted(
        "\"table\":",
        r#""dedup": {"columns": ["customer"], "answer": "existing", "among": "unfinished"}, "table":"#,
    );
    let queue = adopted.worker("w");
    let keys = queue.enqueue(&adopted.items(4), None).unwrap();
    let duplicates: Vec<_> = keys.iter().map(|key| key.duplicate).collect();
    assert_eq!(duplicates, [false, true, true, false]);
    assert_eq!(keys[1].key, keys[0].key);
    let batch = claim(&queue, 1);
    assert!(queue.enqueue(&adopted.items(1), None).unwrap()[0].duplicate, "work that is going on");
    settle(&queue, &batch, Action::Complete, "Completed");
    assert!(!queue.enqueue(&adopted.items(1), None).unwrap()[0].duplicate, "work that is done");
}

#[test]
fn a_failed_attempt_is_repeated_after_the_backoff() {
    let adopted = adopted(
        "\"table\":",
        r#""backoff": {"first_ms": 600000, "factor": 3.0, "cap_ms": 1200000, "jitter": 0.0}, "table":"#,
    );
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(1), None).unwrap();
    for minutes in [10, 20] {
        let batch = claim(&queue, 1);
        settle(&queue, &batch, Action::Retry, "Error");
        let due = adopted.look("ROUND(EXTRACT(EPOCH FROM v.item_due_at - v.item_token) / 60)::integer");
        assert_eq!(due, minutes.to_string());
        adopted.scratch.run("UPDATE orders SET due_at = clock_timestamp()");
    }
}

#[test]
fn a_role_may_do_what_it_is_for() {
    let adopted =
        adopted("\"table\":", r#""roles": {"worker": "orders_worker", "producer": "orders_producer"}, "table":"#);
    let may = |role: &str, function: &str| {
        adopted.scratch.look(&format!(
            "SELECT bool_or(has_function_privilege('{role}', p.oid, 'EXECUTE'))::text FROM pg_proc AS p \
             WHERE p.proname = '{function}'"
        ))
    };
    assert_eq!(may("orders_worker", "next_orders_set_trx"), "true");
    assert_eq!(may("orders_worker", "add_orders_set_trx"), "false");
    assert_eq!(may("orders_producer", "add_orders_set_trx"), "true");
    assert_eq!(may("orders_producer", "purge_orders_trx"), "false");
    adopted.scratch.run("DROP OWNED BY orders_worker");
    adopted.scratch.run("DROP OWNED BY orders_producer");
    support::scratch::administer("DROP ROLE orders_worker");
    support::scratch::administer("DROP ROLE orders_producer");
}

const TRIGGERED: &str = r#"{"queue": "Parcels", "columns": [{"name": "Weight", "type": "integer"}],
    "table": {"name": "Odd \"Table'", "time": "local", "key": ["Id; --"],
        "lifecycle": {"enqueued": "Came", "due": "Due At", "token": "Changed", "error": "What]Happened"},
        "index": {"name": "by due", "columns": ["State", "Due At", "Id; --"]},
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;

/// Names that need quotes, a trigger that writes the token itself and holds some rows back, local times.
fn triggered(zone: &str) -> Adopted {
    let ddl = r#"CREATE TABLE "odd ""table'" ("id; --" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, weight integer,
        came timestamp NOT NULL, "due at" timestamp NULL, changed timestamp NULL, "what]happened" varchar(200),
        state smallint NOT NULL)|CREATE INDEX "by due" ON "odd ""table'" (state, "due at", "id; --")|
        CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.weight = 13 THEN RETURN NULL; END IF;
            NEW.changed := localtimestamp + interval '1 day'; RETURN NEW; END; $$|
        CREATE TRIGGER touch BEFORE UPDATE ON "odd ""table'" FOR EACH ROW EXECUTE FUNCTION touch()"#;
    let scratch = support::scratch::Scratch::empty();
    scratch.run(&format!("ALTER DATABASE {} SET timezone = '{zone}'", scratch.name));
    Adopted::within(scratch, ddl, '|', TRIGGERED, |number| json!({"Weight": number}))
}

#[test]
fn triggers_may_change_rows_or_hold_them_back() {
    let adopted = triggered("Asia/Kolkata");
    let queue = adopted.worker("w");
    let late = NewItem { delay_ms: Some(3_600_000), ..adopted.item(99) };
    queue.enqueue(&[adopted.item(12), adopted.item(13), adopted.item(14), late], None).unwrap();
    let batch = claim(&queue, 10);
    assert_eq!(batch.len(), 2, "what the trigger holds back is not handed out");
    let token = adopted.scratch.look(
        r#"SELECT to_char(changed AT TIME ZONE 'Asia/Kolkata' AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') FROM "odd ""table'"
           WHERE weight = 12"#,
    );
    assert!(batch.get(0).unwrap().token().starts_with(&token), "{token} {}", batch.get(0).unwrap().token());
    settle(&queue, &batch, Action::Complete, "Completed");
    let local = r#"SELECT COUNT(*) FROM "odd ""table'" WHERE came BETWEEN (clock_timestamp() AT TIME ZONE 'Asia/Kolkata')
        - interval '1 hour' AND clock_timestamp() AT TIME ZONE 'Asia/Kolkata'"#;
    assert_eq!(adopted.scratch.look(local), "4");
    let due = r#"SELECT COUNT(*) FROM "odd ""table'" WHERE "due at" > (clock_timestamp() AT TIME ZONE 'Asia/Kolkata')
        + interval '1 minute'"#;
    assert_eq!(adopted.scratch.look(due), "1");
    // A due time is UTC for every caller.
    let given = NewItem { due: Some("2031-01-01T00:00:00Z".to_owned()), ..adopted.item(98) };
    queue.enqueue(&[given], None).unwrap();
    assert_eq!(
        adopted.scratch.look(r#"SELECT "due at"::text FROM "odd ""table'" WHERE weight = 98"#),
        "2031-01-01 05:30:00"
    );
    let shown = queue.find(&Filter::default(), None, 10).unwrap();
    let shown: Vec<_> = shown.iter().map(|item| item.to_json()).collect();
    assert!(shown.last().unwrap().contains("2031-01-01T00:00:00"), "{shown:?}");
}

/// A time that no clock shows in its zone would be another one after a way through UTC, and a trigger of a column would see a
/// change where there is none.
#[test]
fn columns_that_are_not_set_stay_as_they_are() {
    let spec = r#"{"queue": "Reminders", "columns": [{"name": "remind", "type": "timestamp"},
        {"name": "said", "type": "text(20)"}],
        "table": {"name": "reminders", "time": "local", "key": ["id"], "lifecycle": {"enqueued": "came"},
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;
    let ddl =
        "CREATE TABLE reminders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, came timestamp, remind timestamp,
            said varchar(20), state smallint NOT NULL, touched integer NOT NULL DEFAULT 0)|
        CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            NEW.touched := OLD.touched + 1; RETURN NEW; END; $$|
        CREATE TRIGGER touch BEFORE UPDATE OF remind, said ON reminders FOR EACH ROW EXECUTE FUNCTION touch()|
        INSERT INTO reminders (came, remind, said, state) SELECT localtimestamp, '2027-03-28 02:30', 'no', 0
            FROM generate_series(1, 2)";
    let scratch = support::scratch::Scratch::empty();
    scratch.run(&format!("ALTER DATABASE {} SET timezone = 'Europe/Berlin'", scratch.name));
    let adopted = Adopted::within(scratch, ddl, '|', spec, |_| json!({}));
    let queue = adopted.worker("w");
    let batch = claim(&queue, 2);
    let set =
        Settlement { set: Some(r#"{"said": "yes"}"#), ..Settlement::new(&batch.get(1).unwrap(), Action::Complete) };
    let settlements = [Settlement::new(&batch.get(0).unwrap(), Action::Complete), set];
    for settlement in settlements {
        assert_eq!(queue.settle(&[settlement], None).unwrap()[0].answer, Answer::Ok);
    }
    let look = "SELECT string_agg(remind::text || ' ' || said || ' ' || touched, ', ' ORDER BY id) FROM reminders";
    assert_eq!(adopted.scratch.look(look), "2027-03-28 02:30:00 no 0, 2027-03-28 02:30:00 yes 1");
}

#[test]
fn installing_twice_changes_nothing() {
    let adopted = triggered("UTC");
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(3), None).unwrap();
    claim(&queue, 1);
    let spec = readpast::description::QueueSpec::from_text(TRIGGERED).unwrap();
    readpast::install::install(&adopted.scratch.config(&[]), Some(&spec)).unwrap();
    assert_eq!((adopted.count("Processing"), adopted.count("Pending")), (1, 2));
    assert_eq!(claim(&queue, 5).len(), 2);
}

/// A table may want a text in each row: what went wrong before is over, and the column still has one.
#[test]
fn an_error_that_may_not_be_null_is_emptied() {
    let adopted = adopted("\"table\"", "\"table\"");
    adopted.scratch.run("ALTER TABLE orders ALTER COLUMN error SET DEFAULT '', ALTER COLUMN error SET NOT NULL");
    let queue = adopted.worker("w");
    queue.enqueue(&adopted.items(1), None).unwrap();
    let batch = claim(&queue, 1);
    let item = batch.get(0).unwrap();
    let step = Settlement { error: Some("no"), ..Settlement::new(&item, Action::Step) };
    let token = queue.settle(&[step], None).unwrap().remove(0).token;
    assert_eq!(adopted.scratch.look("SELECT error FROM orders"), "no");
    let done = Settlement { token: Some(&token), ..Settlement::new(&item, Action::Complete) };
    assert_eq!(queue.settle(&[done], None).unwrap()[0].answer, Answer::Ok);
    assert_eq!(adopted.scratch.look("SELECT state || error FROM orders"), "done");
}
