//! The test that every document's table has: items put there by plain statements and by the library, workers that are
//! killed, and an audit at the end.

use crate::audit::{Audit, End};
use crate::crew::{Crew, Task};
use crate::hand::{is_doomed, number_in};
use crate::place::Place;
use readpast::{
    description::QueueSpec,
    item::{ItemState, NewItem},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use support::api::Api;

/// Processes at any time.
const PROCESSES: usize = 3;

/// The attempts an item has in these tests, by its setting: enough for all kills, as a rule.
const LIMIT: i32 = 8;

/// How a document's table is filled and read.
pub struct Drain<'a> {
    pub place: &'a Place,
    pub spec: &'a QueueSpec,
    /// The table, and the column that is the key.
    pub table: &'static str,
    pub key: &'static str,
    /// The column that holds the number of the work; without one it is in the key.
    pub column: Option<&'static str>,
    /// Whether the table counts the attempts, so that they are known of completed items too.
    pub counts: bool,
    /// A plain INSERT of the document's own for the work of a number.
    pub insert: &'a (dyn Fn(u64) -> String + Sync),
    /// The columns that the library is given for it.
    pub item: fn(u64) -> Value,
    pub items: u64,
    pub kills: usize,
}

/// The outcome of it.
pub struct Drained {
    pub completed: usize,
    pub failed: usize,
}

impl Drain<'_> {
    pub fn run(&self) -> Drained {
        let queue = self.spec.queue.as_str();
        self.place.set(&format!("{}.maxAttempts", self.spec.settings), LIMIT);
        for work in 0..self.items / 2 {
            self.place.run(&(self.insert)(work));
        }
        let column = self.column.unwrap_or(self.key);
        let before = self.place.map(&format!("SELECT {}, {column} FROM {}", self.key, self.table));
        assert_eq!(before.len() as u64, self.items / 2);
        let mut work: BTreeMap<String, u64> =
            before.into_iter().map(|(key, text)| (normal(&key), number_in(&text))).collect();

        let task = Task::Work { queue: queue.to_owned(), column: self.column, stumbles: true, lease_ms: 1000 };
        let unfinished = self.place.column("ItemStatus");
        let unfinished = format!(
            "SELECT COUNT(*) FROM {} WHERE {unfinished} IN ('Pending', 'Processing', 'Error', 'Paused')",
            self.place.view(self.spec)
        );
        let mut stories = Crew::new(self.place).drain(
            PROCESSES,
            &task,
            self.kills,
            || {
                let source = self.place.open(queue, &[]);
                let numbers: Vec<_> = (self.items / 2..self.items).collect();
                for numbers in numbers.chunks(20) {
                    let items: Vec<_> = numbers.iter().map(|number| item((self.item)(*number))).collect();
                    let enqueued = source.enqueue(&items, None).unwrap();
                    work.extend(enqueued.iter().map(|item| normal(&item.key)).zip(numbers.iter().copied()));
                }
            },
            || self.place.look(&unfinished) == "0",
        );
        assert_eq!(work.len() as u64, self.items, "all have different keys");
        stories.iter_mut().flat_map(|story| &mut story.lines).for_each(|line| line.key = normal(&line.key));

        let ends = self.ends();
        Audit::new(&stories).check(&work, &ends, LIMIT, self.kills);
        self.place.open(queue, &[("worker", "late")]).expect_empty();
        let failed = ends.values().filter(|end| end.state == ItemState::Failed).count();
        let doomed = work.values().filter(|work| is_doomed(**work)).count();
        assert!(failed >= doomed, "{failed} failed, {doomed} had to");
        Drained { completed: work.len() - failed, failed }
    }

    fn ends(&self) -> BTreeMap<String, End> {
        let (status, attempt) = (self.place.column("ItemStatus"), self.place.column("ItemAttempt"));
        let (key, view) = (self.place.shown(self.key), self.place.view(self.spec));
        let rows = self.place.rows(&format!("SELECT {key}, {status}, {attempt} FROM {view}"));
        let end = |row: Vec<String>| {
            let state: ItemState = row[1].parse().unwrap();
            let counted = self.counts || state != ItemState::Completed;
            (normal(&row[0]), End { state, attempts: counted.then(|| row[2].parse().unwrap()) })
        };
        rows.into_iter().map(end).collect()
    }
}

/// A key in one form: a GUID in lower case, a time without trailing zeros.
fn normal(key: &str) -> String {
    let key = key.to_lowercase().replace('t', " ");
    if key.contains('.') { key.trim_end_matches('0').to_owned() } else { key }
}

/// An item with these columns.
pub fn item(columns: Value) -> NewItem {
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// Puts the work of these numbers into a queue, one column each.
pub fn put(queue: &(dyn Api + 'static), column: &str, numbers: impl IntoIterator<Item = i64>) {
    let items: Vec<_> = numbers.into_iter().map(|number| item(json!({column: number}))).collect();
    queue.enqueue(&items, None).unwrap();
}

/// Takes one item after the other until none is left, and completes them; the values of a column, in that order.
pub fn until_empty(queue: &(dyn Api + 'static), column: &str) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let taken = queue.claim(1, Duration::ZERO).unwrap();
        let Some(item) = taken.first() else { return seen };
        seen.push(match item.column(column) {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let outcome = queue.end(item.settle(readpast::item::Action::Complete));
        assert_eq!(outcome.answer, readpast::item::Answer::Ok);
    }
}
