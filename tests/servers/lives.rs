//! Lives of queues by the dice: descriptions, rows in every state that a life brings, workers that die, and an operator who does
//! everything beside. At the end nothing that is due and free is left, no claim was begun twice, and every call was answered.
//!
//! `READPAST_LIVES` is how many there are, and `READPAST_LIVES_SEED` repeats the dice of an earlier run (though not what the
//! machine made of them).

use readpast::description::{QueueSpec, Storage};
use readpast::item::{Action, Columns, Filter, ItemRef, ItemState, NewItem, Settlement, Verdict};
use readpast::worker::Worker;
use readpast::{Queue, doctor, install::install};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use std::{env, thread};
use support::dice::Dice;
use support::limit::until;
use support::matrix;
use support::scratch::Scratch;

/// Descriptions that need nothing else in the database.
const OPTIONS: [&str; 16] = [
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
    "parts",
    "lease",
    "no_backoff",
    "retention_failed",
    "where",
];

/// The rule of a life's table that refuses the item of a rank when it becomes the state that `processing` is.
const RULE: &str = "CREATE OR REPLACE FUNCTION public.rule() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF random() < 0.3 AND (COALESCE(to_jsonb(new) ->> 'Rank', to_jsonb(new) ->> 'rank'))::integer % 7 = 3
        AND COALESCE(to_jsonb(new) ->> 'status', to_jsonb(new) ->> 'state') IN ('Processing', 'busy', '1')
    THEN RAISE EXCEPTION 'not this one'; END IF;
    RETURN NULL;
END; $$";

struct Life<'a> {
    name: String,
    scratch: &'a Scratch,
    settings: Vec<(&'a str, &'a str)>,
    /// The claims that were begun, by key and token.
    begun: Mutex<HashSet<(String, String)>>,
    is_over: AtomicBool,
}

impl Life<'_> {
    fn open(&self) -> Queue {
        Queue::open(&self.scratch.config(&self.settings), "Job").unwrap()
    }

    /// A worker whose handlers do what the dice say.
    fn work(&self, dice: Dice, until_empty: bool) {
        let queue = self.open();
        let dice = Mutex::new(dice);
        let worker = Worker::new(&queue).threads(2).batch_size(3).until_empty(until_empty);
        let stop = worker.stop_handle();
        thread::scope(|scope| {
            let working = scope.spawn(|| {
                worker.run(|job| {
                    let claim = (job.item().key().to_owned(), job.item().token().to_owned());
                    assert!(
                        self.begun.lock().unwrap().insert(claim.clone()),
                        "{}: {claim:?} was begun twice",
                        self.name
                    );
                    match dice.lock().unwrap().below(12) {
                        _ if until_empty => Verdict::complete(),
                        0 => Verdict::retry("again"),
                        1 => Verdict::release(),
                        2 => Verdict::fail("no"),
                        3 => Verdict::retry("in a while").after(Duration::from_millis(50)),
                        _ => Verdict::complete(),
                    }
                })
            });
            while !until_empty && !self.is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            if !until_empty {
                stop.stop();
            }
            working.join().unwrap().unwrap_or_else(|error| panic!("{}: a worker ended: {error}", self.name));
        });
    }

    /// One that claims, and dies with what it has.
    fn die(&self, mut dice: Dice) {
        while !self.is_over.load(Ordering::Relaxed) {
            let queue = self.open();
            let max = 1 + u32::try_from(dice.below(4)).unwrap();
            drop(queue.claim(max, Duration::from_millis(20)).unwrap_or_else(|error| panic!("{}: {error}", self.name)));
        }
    }

    fn operate(&self, mut dice: Dice, rounds: u32) {
        let _end = Over(&self.is_over);
        let queue = self.open();
        for round in 0..rounds {
            let call = dice.below(12);
            let any = queue.find(&Filter::default(), None, 50).unwrap();
            let place = usize::try_from(dice.below(50)).unwrap();
            let item = any.get(place % any.len().max(1));
            let done = match (call, item) {
                (0, Some(item)) => queue.redrive(&[ItemRef::from(item)], None).map(drop),
                (1..=3, Some(item)) => {
                    let action = [Action::Pause, Action::Resume, Action::Cancel][usize::try_from(call - 1).unwrap()];
                    queue.settle(&[Settlement::control(item.key(), None, action)], None).map(drop)
                }
                (4, Some(item)) => queue.why(item.key()).map(drop),
                (5, _) => queue.recover(100).map(drop),
                (6, _) => queue.stats().map(drop),
                (7, _) => queue.watch(1000).map(drop),
                // Somebody lowers the limit, and raises it again.
                (8, _) => queue.set_setting("maxAttempts", Some(1 + i32::try_from(round % 3).unwrap())),
                (9, _) => queue.set_setting("maxAttempts", None),
                (10, _) => doctor::check(&self.scratch.config(&self.settings), Some("Job")).map(drop),
                _ => queue.enqueue(&items(&self.name, 2), None).map(drop),
            };
            match done {
                // The table's own word.
                Err(error) if error.message().contains("not this one") => {}
                done => done.unwrap_or_else(|error| panic!("{}: {call}: {error}", self.name)),
            }
        }
    }
}

/// Ends the others, however the operator ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn items(name: &str, count: i32) -> Vec<NewItem> {
    let item = |rank: i32| {
        let mut columns = json!({"Rank": rank, "Customer": format!("c{}", rank % 5)});
        if name.starts_with("whole") {
            columns["Region"] = json!("r");
        }
        NewItem { columns: Columns::from_json(&columns.to_string()).unwrap(), ..NewItem::default() }
    };
    (0..count).map(item).collect()
}

fn live(scratch: &Scratch, name: &str, spec: &QueueSpec, schema: &str, dice: &mut Dice) {
    let settings =
        vec![("schema", schema), ("lease.ms", "300"), ("recover.interval_ms", "1000"), ("poll.interval_ms", "50")];
    let mut life =
        Life { name: name.to_owned(), scratch, settings, begun: Mutex::default(), is_over: AtomicBool::new(false) };
    install(&scratch.config(&life.settings), Some(spec)).unwrap_or_else(|error| panic!("{name}: {error}"));
    if name.ends_with("by_type") || name.ends_with("by_kind") {
        life.settings.push(("worker.types", r#"["A", "B"]"#));
    }
    if name.ends_with("by_step") || name.ends_with("by_kind") {
        life.settings.push(("worker.steps", r#"[""]"#));
    }
    let table = match &spec.storage {
        Storage::Own => format!("{schema}.job"),
        _ if name.starts_with("whole") => "dbo.jobs".to_owned(),
        _ => "public.jobs".to_owned(),
    };
    let mut session = scratch.session();
    if dice.one_in(2) {
        session.execute(RULE, &[]).unwrap();
        let made = format!("CREATE TRIGGER rule AFTER UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION public.rule()");
        session.execute(&made, &[]).unwrap();
    }
    let queue = life.open();
    queue.enqueue(&items(name, 60), None).unwrap();
    thread::scope(|scope| {
        let life = &life;
        let mut other = || Dice::new(dice.roll());
        let (one, two, dying, operating) = (other(), other(), other(), other());
        scope.spawn(|| life.work(one, false));
        scope.spawn(|| life.work(two, false));
        scope.spawn(|| life.die(dying));
        life.operate(operating, 60);
    });

    // Everything is let go, and what is due is worked off.
    session.execute(&format!("DROP TRIGGER IF EXISTS rule ON {table}"), &[]).unwrap();
    // A lower limit leaves items that have spent it.
    queue.set_setting("maxAttempts", dice.one_in(2).then_some(1)).unwrap();
    let paused = queue.find(&Filter::of_states([ItemState::Paused]), None, 1000).unwrap();
    for item in paused.iter() {
        queue.settle(&[Settlement::control(item.key(), None, Action::Resume)], None).unwrap();
    }
    let mut in_vain = 0;
    until(&format!("{name} is worked off"), || {
        life.work(Dice::new(dice.roll()), true);
        let open = [ItemState::Pending, ItemState::Processing, ItemState::Error, ItemState::Paused];
        let left = queue.find(&Filter::of_states(open), None, 1000).unwrap();
        // It has found the queue empty. Something may have become due since, but not each time.
        let watched = queue.watch(1000).unwrap();
        // Items that a group's head keeps waiting are not free.
        let is_due = !name.ends_with("group") && watched.stats.due > i64::try_from(watched.refused.len()).unwrap();
        in_vain = if is_due { in_vain + 1 } else { 0 };
        assert!(in_vain < 5, "{name}: workers find the queue empty, and items are due: {:?}", watched.stats);
        left.is_empty()
    });
    drop(queue);
    session.execute(&format!("DROP TABLE {table} CASCADE"), &[]).unwrap();
}

#[test]
fn whatever_befalls_a_queue_nothing_due_is_left() {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let now =
        || u64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() % (1 << 48));
    let seed = number("READPAST_LIVES_SEED").unwrap_or_else(|| now().unwrap());
    println!("READPAST_LIVES_SEED={seed}");
    let mut dice = Dice::new(seed);
    let scratch = Scratch::empty();
    scratch.session().execute("CREATE SCHEMA dbo", &[]).unwrap();
    let specs: Vec<_> = matrix::specs()
        .into_iter()
        .filter(|(name, _)| {
            name.split_once('_').is_some_and(|(kind, option)| kind != "claimed" && OPTIONS.contains(&option))
        })
        .collect();
    for life in 0..number("READPAST_LIVES").unwrap_or(4) {
        let (name, spec) = &specs[usize::try_from(dice.below(specs.len() as u64)).unwrap()];
        println!("{life}: {name}");
        live(&scratch, name, spec, &format!("s{life}"), &mut dice);
    }
}
