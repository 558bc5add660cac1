//! PostgreSQL puts into the DETAIL of an error the values of the row that it refused, secret columns too: nothing of that gets into a
//! message, from where it would come into logs.

use readpast::description::QueueSpec;
use readpast::error::Error;
use readpast::install::install;
use readpast::item::{Action, NewItem, Settlement};
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::Scratch;

const SECRET: &str = "4711-0815";

const SPEC: &str = r#"{"queue": "Card", "columns": [{"name": "pin", "type": "text(20)"}, {"name": "owner", "type": "integer"}],
    "table": {"name": "cards", "key": [{"name": "id", "type": "bigint", "source": "table"}],
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;

fn queue() -> (Scratch, Queue) {
    let scratch = Scratch::empty();
    scratch.run("CREATE TABLE owners (id integer PRIMARY KEY)");
    scratch.run("INSERT INTO owners VALUES (1), (2)");
    scratch.run(
        "CREATE TABLE cards (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, pin varchar(20) UNIQUE,
         owner integer NOT NULL REFERENCES owners (id) CHECK (owner <> 2), state integer NOT NULL DEFAULT 0)",
    );
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(SPEC).unwrap())).unwrap();
    let queue = Queue::open(&scratch.config(&[]), "Card").unwrap();
    (scratch, queue)
}

fn card(owner: Option<i64>) -> NewItem {
    let columns = serde_json::json!({"pin": SECRET, "owner": owner});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

#[track_caller]
fn holds_back(error: &Error, says: &str) {
    let text = format!("{error} {error:?}");
    assert!(error.message().contains(says) && !text.contains(SECRET) && !text.contains("DETAIL"), "{text}");
    assert!(!text.contains("CONTEXT") && !text.contains("SQL statement"), "{text}");
}

#[test]
fn a_row_that_is_refused_is_not_in_the_message() {
    let (scratch, queue) = queue();
    queue.enqueue(&[card(Some(1))], None).unwrap();
    for (owner, says) in [
        (None, "null value in column \"owner\""),
        (Some(2), "violates check constraint"),
        (Some(1), "duplicate key value"),
    ] {
        holds_back(&queue.enqueue(&[card(owner)], None).unwrap_err(), says);
    }
    scratch.run("ALTER TABLE cards DROP CONSTRAINT cards_pin_key");
    holds_back(&queue.enqueue(&[card(Some(3))], None).unwrap_err(), "violates foreign key constraint");

    // In a claim and a settle, of a trigger that says more.
    scratch.run(&format!(
        "CREATE FUNCTION tells() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         RAISE EXCEPTION 'no more of this' USING DETAIL = 'the pin is {SECRET}'; END $$"
    ));
    queue.enqueue(&[card(Some(1))], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    scratch.run("CREATE TRIGGER tells BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION tells()");
    let done = Settlement::new(&batch.get(0).unwrap(), Action::Complete);
    holds_back(&queue.settle(&[done], None).unwrap_err(), "no more of this");
    // A claim goes around it, and says why.
    assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
    let refused = queue.watch(10).unwrap().refused;
    assert!(refused[0].reason.contains("no more of this") && !refused[0].reason.contains(SECRET), "{refused:?}");
}
