//! The second document's procedure `queue_four`, rewritten on readpast's procedures: a worker in the database's own language.

use crate::Body;
use crate::drain::put;
use crate::place::{Place, Server};
use readpast::item::{Action, Answer, ItemState, Settlement};
use readpast::{Error, ErrorKind, Result};
use std::thread;
use std::time::{Duration, Instant};
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("several_at_once_work_until_nothing_is_due", several_at_once),
    ("work_on_an_item_that_was_lost_is_undone", a_lost_item),
];

const ITEMS: i64 = 120;
/// A reputation that the table of results refuses.
const REFUSED: i64 = 777;

/// The document's table as a queue, what it counts, and the procedure.
fn given(server: Server) -> (Place, Box<dyn Api>) {
    let place = Place::with(server, &["four_queue"]);
    let spec = place.adopt("four_queue", |text| text);
    place.run("CREATE TABLE users (id int NOT NULL PRIMARY KEY, reputation int NOT NULL)");
    place.run("INSERT INTO users (id, reputation) VALUES (1, 5), (2, 5), (3, 6)");
    // No key: what is done twice is to be seen, not prevented.
    place.run(&format!(
        "CREATE TABLE reputation_count (reputation int NOT NULL CHECK (reputation <> {REFUSED}), records bigint NOT NULL)"
    ));
    place.run_file(&format!("queue_four.{}.sql", server.label()));
    let queue = place.open(spec.queue.as_str(), &[("worker", "other")]);
    (place, queue)
}

fn run(place: &Place) {
    place.run(if place.is_sql_server() { "EXECUTE dbo.queue_four" } else { "CALL queue_four()" });
}

fn several_at_once(server: Server) {
    let (place, queue) = given(server);
    put(queue.as_ref(), "reputation", 1..=ITEMS);
    put(queue.as_ref(), "reputation", [REFUSED]);
    // Where hints lock nothing, two claims at once can meet, which is an error.
    let sessions = if place.is_sql_server() && !place.heeds_lock_hints() { 1 } else { 4 };
    thread::scope(|scope| {
        for _ in 0..sessions {
            scope.spawn(|| run(&place));
        }
    });
    let counted = "SELECT COUNT(*), COUNT(DISTINCT reputation), MAX(reputation) FROM reputation_count";
    assert_eq!(place.rows(counted), [["120", "120", "120"]], "each once");
    assert_eq!(place.look("SELECT records FROM reputation_count WHERE reputation = 5"), "2");
    let stats = queue.stats().unwrap();
    assert_eq!((stats.count(ItemState::Completed), stats.count(ItemState::Failed)), (ITEMS, 1));
    assert_eq!(stats.counts.iter().sum::<i64>(), ITEMS + 1, "and nothing is left");
    let failed = queue.find(r#"{"status": ["Failed"]}"#, None, 10).unwrap();
    assert_eq!(failed[0].attempt, 3, "each attempt was counted");
    assert!(failed[0].text.contains("reputation_count"), "with what the server said: {}", failed[0].text);
}

fn a_lost_item(server: Server) {
    let (place, queue) = given(server);
    put(queue.as_ref(), "reputation", [5]);
    place.run("CREATE UNIQUE INDEX only_once ON reputation_count (reputation)");
    let mut holder = place.session();
    thread::scope(|scope| {
        let undone = holder.transaction(|holder| -> Result<()> {
            // An insert of the same waits for the end of this one: so the procedure stands at its work.
            holder.execute("INSERT INTO reputation_count (reputation, records) VALUES (5, 0)", &[])?;
            scope.spawn(|| run(&place));
            let deadline = Instant::now() + Duration::from_secs(600);
            while queue.stats().unwrap().count(ItemState::Processing) == 0 {
                assert!(Instant::now() < deadline, "it should take the item");
                thread::sleep(Duration::from_millis(5));
            }
            let key = place.look("SELECT id FROM four_queue");
            assert_eq!(queue.end(Settlement::control(&key, None, Action::Cancel)).answer, Answer::Ok);
            Err(Error::new(ErrorKind::Interrupted, "go on"))
        });
        assert!(undone.is_err());
    });
    assert_eq!(place.look("SELECT COUNT(*) FROM reputation_count"), "0");
    assert_eq!(queue.stats().unwrap().count(ItemState::Cancelled), 1);
}
