//! Random calls on PostgreSQL and SQL Server side by side. Both get the same description, items and calls; after each call the test
//! compares the two answers, and every column of every item. Without a SQL Server it compares two databases of PostgreSQL, so that
//! the comparison itself is tested.
//!
//! `READPAST_ALIKE_SEED` repeats the dice of an earlier run, `READPAST_ALIKE_STEPS` is how many calls each queue gets, and
//! `READPAST_ALIKE` names one of the descriptions.

use readpast::description::QueueSpec;
use readpast::for_tests::Session;
use readpast::item::{Action, Batch, Columns, Filter, ItemRef, Lease, NewItem, Outcome, Settlement};
use readpast::{Dialect, Error, Queue, install::install};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fmt::Write;
use std::time::Duration;
use support::both::Database;
use support::dice::Dice;
use support::limit::until;
use support::matrix;

/// Queues in own tables, in a table with a column for everything, and in one with next to nothing.
const SPECS: [&str; 21] = [
    "own_plain",
    "own_lifo",
    "own_priority",
    "own_group",
    "own_steps",
    "own_attempt_history",
    "own_delete",
    "own_dedup_existing",
    "own_parts",
    "whole_plain",
    "whole_group",
    "whole_delete",
    "whole_dedup_existing",
    "bare_plain",
    "bare_attempt_history",
    "bare_delete",
    "whole_where",
    "bare_where",
    "present_plain",
    "present_group",
    "present_where",
];

/// One of the two, and what it calls the items: their numbers are the same on both.
struct Side {
    queue: Queue,
    /// A worker whose leases end at once.
    dying: Queue,
    /// Asks as a poller does, before each claim.
    poller: Session,
    numbers: HashMap<String, usize>,
    keys: Vec<String>,
    held: Vec<Held>,
}

#[derive(Clone)]
struct Held {
    number: usize,
    token: String,
    attempt: i32,
}

/// A call that the dice choose, the same for both.
#[derive(Debug, Clone)]
enum Call {
    Enqueue(Vec<(i64, bool)>),
    Claim(u32),
    Settle {
        places: Vec<usize>,
        action: Action,
        text: Option<String>,
        waits: bool,
        sets: bool,
        claims: u32,
    },
    /// An operator's, of any item; `knows`: with its token.
    Control {
        number: usize,
        action: Action,
        knows: bool,
    },
    Renew,
    Die(u32),
    Redrive(Vec<usize>),
    Purge,
    Find(&'static str),
    /// An item that the server or the library refuses.
    Wrong(&'static str),
}

/// The kinds of calls; each must have had an answer.
const KINDS: [&str; 10] =
    ["Enqueue", "Claim", "Settle", "Control", "Renew", "Die", "Redrive", "Purge", "Find", "Wrong"];

impl Call {
    fn kind(&self) -> &'static str {
        let shown = format!("{self:?}");
        KINDS.into_iter().find(|kind| shown.starts_with(kind)).unwrap()
    }
}

impl Side {
    fn open(database: &Database, spec: &QueueSpec) -> Self {
        let (make, dbo) = ("CREATE SCHEMA dbo", !database.is_sql_server());
        if dbo {
            database.session().execute(make, &[]).unwrap();
        }
        install(&database.config(&[]), Some(spec)).unwrap_or_else(|error| panic!("{}: {error}", spec.queue));
        let open = |more: &[(&str, &str)]| {
            let settings = [&[("recover.interval_ms", "3600000"), ("worker", "w")], more].concat();
            Queue::open(&database.config(&settings), spec.queue.as_str()).unwrap()
        };
        let queue = open(&[("lease.ms", "3600000")]);
        // The first claim takes the turn to recover, for an hour.
        assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty());
        Self {
            queue,
            poller: database.session(),
            dying: open(&[("lease.ms", "10"), ("worker", "dying")]),
            numbers: HashMap::new(),
            keys: Vec::new(),
            held: Vec::new(),
        }
    }

    /// The poller's answer, without the time.
    fn due(&mut self) -> &'static str {
        let ask = match self.poller.dialect() {
            Dialect::SqlServer => {
                "SET NOCOUNT ON; DECLARE @DueMs bigint; \
                 EXECUTE [readpast].[Due_Job] @Recover = 3600000, @DueMs = @DueMs OUTPUT; SELECT @DueMs"
            }
            Dialect::Postgres => r#"SELECT due_ms FROM readpast.queue_due('[{"queue": "job", "recover": 3600000}]')"#,
        };
        match self.poller.execute(ask, &[]).unwrap().value(0, 0) {
            readpast::Value::Null => "never",
            readpast::Value::Integer(0) => "now",
            readpast::Value::Integer(ms) if ms > 0 => "later",
            other => panic!("{other:?}"),
        }
    }

    fn number(&self, key: &str) -> String {
        self.numbers.get(key).map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// The answer of a call, without keys and times, which no two servers have alike; or the kind of its error.
    fn make(&mut self, call: &Call, named: &str) -> String {
        self.answer(call, named).unwrap_or_else(|error| format!("{:?}", error.kind()))
    }

    fn answer(&mut self, call: &Call, named: &str) -> Result<String, Error> {
        Ok(match call {
            Call::Enqueue(items) => {
                let items: Vec<_> = items.iter().map(|(rank, later)| item(named, *rank, *later)).collect();
                let receipts = self.queue.enqueue(&items, None)?;
                let mut answer = String::new();
                for receipt in receipts {
                    if !receipt.duplicate {
                        self.numbers.insert(receipt.key.clone(), self.keys.len());
                        self.keys.push(receipt.key.clone());
                    }
                    write!(answer, "{} {}; ", self.number(&receipt.key), receipt.duplicate).unwrap();
                }
                answer
            }
            Call::Claim(max) => {
                let due = self.due();
                let batch = self.queue.claim(*max, Duration::ZERO)?;
                assert!(
                    due == "now" || batch.is_empty(),
                    "{named}: a claim finds something, and the poller sleeps: {due}"
                );
                format!("{due}: {}", self.took(&batch))
            }
            Call::Settle { places, action, text, waits, sets, claims } => {
                let held: Vec<_> = places.iter().filter_map(|place| self.held.get(*place).cloned()).collect();
                let set = json!({"Rank": 77}).to_string();
                let goes = named.ends_with("delete") && *action == Action::Complete;
                let settlements: Vec<_> = held
                    .iter()
                    .map(|held| Settlement {
                        attempt: held.attempt,
                        step: (*action == Action::Step).then_some("new"),
                        response: text.as_deref(),
                        error: text.as_deref().filter(|_| !matches!(action, Action::Complete | Action::Release)),
                        delay_ms: waits.then_some(3_600_000),
                        set: (*sets && !goes).then_some(set.as_str()),
                        ..Settlement::control(&self.keys[held.number], Some(&held.token), *action)
                    })
                    .collect();
                let (outcomes, batch) = if *claims > 0 && !settlements.is_empty() {
                    let (outcomes, batch) = self.queue.settle_and_claim(&settlements, None, *claims)?;
                    (outcomes, Some(batch))
                } else {
                    (self.queue.settle(&settlements, None)?, None)
                };
                for (held, outcome) in held.iter().zip(&outcomes) {
                    self.held.retain(|other| other.number != held.number || *action == Action::Step);
                    for other in self.held.iter_mut().filter(|other| other.number == held.number) {
                        other.token.clone_from(&outcome.token);
                    }
                }
                let took = batch.map(|batch| self.took(&batch)).unwrap_or_default();
                outcomes.iter().map(shown).collect::<String>() + &took
            }
            Call::Control { number, action, knows } => {
                let Some(key) = self.keys.get(*number) else { return Ok(String::new()) };
                let known = self.queue.find(&Filter::of_keys([key.as_str()]), None, 1)?;
                let token = known.iter().next().map(|item| item.token().to_owned());
                let token = if *knows { token.as_deref() } else { None };
                let outcomes = self.queue.settle(&[Settlement::control(key, token, *action)], None)?;
                outcomes.iter().map(shown).collect()
            }
            Call::Renew => {
                let leases: Vec<_> = self
                    .held
                    .iter()
                    .map(|held| Lease { key: &self.keys[held.number], attempt: held.attempt })
                    .collect();
                let outcomes = self.queue.renew(&leases)?;
                outcomes.iter().map(shown).collect()
            }
            Call::Die(max) => {
                let batch = self.dying.claim(*max, Duration::ZERO)?;
                let died = batch.iter().map(|item| self.number(item.key())).collect::<Vec<_>>().join(" ");
                let mut back = Ok(0);
                until("each item of the dead worker comes back", || {
                    back = back.clone().and_then(|before| Ok(before + self.queue.recover(100)?));
                    back.as_ref().map_or(true, |back| *back as usize >= batch.iter().count())
                });
                let back = back?;
                if died.is_empty() { died } else { format!("died {died}, back {back}") }
            }
            Call::Redrive(numbers) => {
                let keys: Vec<_> = numbers.iter().filter_map(|number| self.keys.get(*number)).collect();
                let items: Vec<_> = keys.iter().map(|key| ItemRef { key, token: None }).collect();
                self.queue.redrive(&items, None)?.iter().map(shown).collect()
            }
            Call::Purge => match self.queue.purge(&Filter::default(), 2)? {
                0 => String::new(),
                purged => format!("purged {purged}"),
            },
            Call::Find(filter) => {
                let found = self.queue.find(&Filter::from_json(filter)?, None, 1000)?;
                let mut numbers: Vec<_> = found.iter().map(|item| self.number(item.key())).collect();
                numbers.sort();
                numbers.join(" ")
            }
            Call::Wrong(columns) => {
                let columns = Columns::from_json(columns)?;
                let receipts = self.queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None)?;
                panic!("taken as {:?}", receipts[0].key)
            }
        })
    }

    fn took(&mut self, batch: &Batch) -> String {
        let mut answer = String::new();
        for item in batch.iter() {
            let number = self.numbers[item.key()];
            self.held.push(Held { number, token: item.token().to_owned(), attempt: item.attempt() });
            write!(answer, "took {number} at {} {}; ", item.attempt(), plain(&item.to_json())).unwrap();
        }
        answer
    }

    /// Every item as it is.
    fn all(&self) -> Vec<String> {
        let found = self.queue.find(&Filter::default(), None, 1000).unwrap();
        let mut items: Vec<_> =
            found.iter().map(|item| format!("{:>4}: {}", self.number(item.key()), plain(&item.to_json()))).collect();
        items.sort();
        items
    }
}

fn shown(outcome: &Outcome) -> String {
    format!("{:?} {:?} {}; ", outcome.answer, outcome.state, outcome.attempt)
}

/// An item without its key and its times, its columns by their names alone: PostgreSQL writes them with underscores.
fn plain(json: &str) -> String {
    let Value::Object(columns) = serde_json::from_str(json).unwrap() else { panic!("{json}") };
    let mut columns: Vec<_> = columns
        .into_iter()
        .map(|(name, value)| (name.replace('_', "").to_lowercase(), value))
        .filter(|(name, _)| !matches!(name.as_str(), "id" | "key" | "token"))
        .map(|(name, value)| {
            let is_time = value.as_str().is_some_and(|text| text.get(4..5) == Some("-") && text.contains('T'));
            let is_span = ["duration", "itemduration", "ms"].contains(&name.as_str()) && !value.is_null();
            // An empty error is none: a column may be one that cannot be NULL, and SQL Server shows what it holds.
            let is_none = name == "itemerror" && value == json!("");
            let value = if is_none { Value::Null } else { value };
            let value = if is_time || is_span { json!("*") } else { value };
            format!("{name}={value}")
        })
        .collect();
    columns.sort();
    columns.join(" ")
}

fn item(named: &str, rank: i64, later: bool) -> NewItem {
    let reference = format!("00000000-0000-4000-8000-{:012}", rank % 4);
    let mut columns = json!({"Rank": rank, "Customer": format!("c{}", rank % 3), "Reference": reference});
    if named.starts_with("whole") {
        columns["Region"] = json!("r");
    }
    if named.ends_with("parts") && rank % 2 == 0 {
        columns["Mail"] = json!({"MailTo": format!("{rank}@example.org")});
    }
    NewItem {
        columns: Columns::from_json(&columns.to_string()).unwrap(),
        delay_ms: later.then_some(3_600_000),
        ..NewItem::default()
    }
}

fn roll(dice: &mut Dice, items: usize) -> Call {
    const FILTERS: [&str; 6] = [
        "{}",
        r#"{"status": ["Pending", "Error"]}"#,
        r#"{"status": ["Failed", "Cancelled", "Paused"]}"#,
        r#"{"status": ["Processing"]}"#,
        r#"{"error": "went"}"#,
        r#"{"status": ["Completed", "Failed"], "types": ["A", "Default"]}"#,
    ];
    let number = |dice: &mut Dice| usize::try_from(dice.below(items.max(1) as u64)).unwrap();
    const WRONG: [&str; 4] = [
        r#"{"Rank": null}"#,
        r#"{"Rank": 1, "Other": 1}"#,
        r#"{"Rank": "high"}"#,
        r#"{"Rank": 1, "Reference": "none"}"#,
    ];
    match dice.below(25) {
        0..=4 => {
            let count = 1 + dice.below(3);
            Call::Enqueue((0..count).map(|_| (i64::try_from(dice.below(9)).unwrap(), dice.one_in(8))).collect())
        }
        5..=8 => Call::Claim(1 + u32::try_from(dice.below(3)).unwrap()),
        9..=15 => {
            let actions = [
                Action::Complete,
                Action::Complete,
                Action::Fail,
                Action::Retry,
                Action::Retry,
                Action::Release,
                Action::Step,
                Action::CompletePartially,
                Action::Pause,
            ];
            let action = actions[usize::try_from(dice.below(actions.len() as u64)).unwrap()];
            Call::Settle {
                places: (0..usize::try_from(1 + dice.below(3)).unwrap()).collect(),
                action,
                text: dice.one_in(2).then(|| format!("went {}", dice.below(5))),
                waits: action == Action::Retry && dice.one_in(3),
                sets: dice.one_in(4),
                claims: u32::try_from(dice.below(3)).unwrap(),
            }
        }
        16..=18 => {
            let action = [Action::Cancel, Action::Pause, Action::Resume, Action::Terminate]
                [usize::try_from(dice.below(4)).unwrap()];
            Call::Control { number: number(dice), action, knows: dice.one_in(2) }
        }
        19 => Call::Renew,
        20 => Call::Die(1 + u32::try_from(dice.below(2)).unwrap()),
        21 => Call::Redrive((0..3).map(|_| number(dice)).collect()),
        22 if dice.one_in(3) => Call::Purge,
        23 => Call::Wrong(WRONG[usize::try_from(dice.below(WRONG.len() as u64)).unwrap()]),
        _ => Call::Find(FILTERS[usize::try_from(dice.below(FILTERS.len() as u64)).unwrap()]),
    }
}

fn pair() -> [Database; 2] {
    let mut each = Database::each();
    let first = each.remove(0);
    [first, each.pop().unwrap_or_else(|| Database::each().remove(0))]
}

#[test]
fn both_servers_answer_alike() {
    let set = |name: &str, default: u64| env::var(name).map_or(default, |text| text.parse().unwrap());
    let (seed, steps) = (set("READPAST_ALIKE_SEED", 20_261_128), set("READPAST_ALIKE_STEPS", 120));
    let specs: HashMap<_, _> = matrix::specs().into_iter().collect();
    let only = env::var("READPAST_ALIKE").ok();
    let mut met: Vec<QueueSpec> = Vec::new();
    let mut answered: BTreeMap<&str, usize> = BTreeMap::new();
    let chosen = (0..).zip(SPECS).filter(|(_, named)| only.as_deref().is_none_or(|only| only == *named));
    for (place, named) in chosen {
        let mut spec = specs[named].clone();
        // Its chance is each server's own.
        spec.backoff = None;
        assert!(!met.contains(&spec), "{named} is there twice");
        met.push(spec.clone());
        let databases = pair();
        println!(
            "{named}: {}, seed {seed}",
            databases.each_ref().map(|one| one.pick("SQL Server", "PostgreSQL")).join(" and ")
        );
        let mut sides = databases.each_ref().map(|database| Side::open(database, &spec));
        let mut dice = Dice::new(seed + place);
        let mut calls: Vec<Call> = Vec::new();
        for _ in 0..steps {
            let call = roll(&mut dice, sides[0].keys.len());
            calls.push(call.clone());
            let history = || format!("{named}, seed {seed}, after {calls:#?}");
            let [one, other] = &mut sides;
            let answers = (one.make(&call, named), other.make(&call, named));
            assert_eq!(answers.0, answers.1, "{}", history());
            assert_eq!(one.all(), other.all(), "{}", history());
            *answered.entry(call.kind()).or_default() += usize::from(!answers.0.is_empty());
        }
    }
    println!("answers: {answered:?}");
    // One queue, or a few calls, need not meet each kind.
    let unmet: Vec<_> = KINDS.iter().filter(|kind| answered.get(*kind).is_none_or(|count| *count == 0)).collect();
    assert!(only.is_some() || steps < 120 || unmet.is_empty(), "no answer to {unmet:?}: {answered:?}");
}
