//! The memory of the scripted SQL Server: items, and the operations that were applied. Just enough of the procedures to
//! tell whether an effect was lost or doubled.

use crate::tds_peer::{Answer, Param, Type, Value};
use std::collections::HashMap;

/// The columns that every procedure answers with.
const ANSWER_COLUMNS: [(&str, Type); 7] = [
    ("Answer", Type::VarChar(20)),
    ("Ordinal", Type::Int),
    ("DueMs", Type::BigInt),
    ("Key", Type::DateTime2(7)),
    ("Token", Type::DateTime2(7)),
    ("AttemptNum", Type::Int),
    ("Status", Type::VarChar(20)),
];

/// The columns of the item itself, as the worker's view has them, shortened.
const ITEM_COLUMNS: [(&str, Type); 4] = [
    ("EnqueuedAt", Type::DateTime2(7)),
    ("Status", Type::VarChar(20)),
    ("LeaseOwner", Type::NVarChar(128)),
    ("Payload", Type::NVarCharMax),
];

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub key: String,
    pub token: String,
    pub attempt: i32,
    pub status: String,
    pub owner: String,
    pub payload: String,
    /// The number of the claim that took it.
    claim: Option<i64>,
}

/// The database.
#[derive(Default)]
pub struct Ledger {
    pub items: Vec<Item>,
    /// The answer of each operation, by its identity.
    operations: HashMap<String, Answer>,
    /// The settlements that took effect, by the key of their item.
    pub settled: Vec<String>,
    ticks: u64,
}

impl Ledger {
    /// Carries out one call of a procedure and commits it.
    pub fn run(&mut self, procedure: &str, params: &[Param]) -> Answer {
        let text = |i: usize| params[i].value.as_str().expect("a text parameter").to_owned();
        let number = |i: usize| params[i].value.as_int().expect("a number parameter");
        match procedure {
            "[readpast].[Add_Job_Set_trx]" => self.once(&text(0), |ledger| ledger.add(&text(1))),
            "[readpast].[Next_Job_Set_trx]" => {
                self.claim(with_item_columns(), &text(0), number(1), params[4].value.as_int())
            }
            "[readpast].[Next_Job_Apart_trx]" => {
                self.claim(with_item_columns(), &text(0), number(1), params[3].value.as_int())
            }
            "[readpast].[Claimed_Job]" => self.claimed(&text(0), number(1)),
            "[readpast].[Modify_Job_Set_trx]" => {
                let (worker, items, max) = (text(1), text(2), number(3));
                if self.operations.contains_key(&text(0)) {
                    return self.once(&text(0), |_| unreachable!("it was applied"));
                }
                let settled = self.once(&text(0), |ledger| ledger.settle(&worker, &items));
                // The claim's rows are a result of their own.
                if max > 0 {
                    self.claim(then_item_columns(settled), &worker, max, params[6].value.as_int())
                } else {
                    settled
                }
            }
            "[readpast].[Renew_Job_Set_trx]" => self.renew(&text(1)),
            "[readpast].[QueueIsDone]" => {
                let answer = if self.operations.contains_key(&text(0)) { "OK" } else { "NOT_FOUND" };
                Answer::new().columns([("Answer", Type::VarChar(20))]).row([answer.into()])
            }
            "[readpast].[Recover_Job_trx]" => answer_columns(),
            "[readpast].[QueueDue]" => {
                let waits = self.items.iter().any(|item| matches!(item.status.as_str(), "Pending" | "Error"));
                let due = if waits { Value::from(0_i64) } else { Value::Null };
                Answer::new().columns([("Place", Type::Int), ("DueMs", Type::BigInt)]).row([Value::from(0_i64), due])
            }
            "[readpast].[Stats_Job]" => self.stats(),
            // No test here is about the records.
            "[readpast].[QueueWorkersSeen]"
            | "[readpast].[QueueLifelineTake]"
            | "[readpast].[QueueMinuteKeep]"
            | "[readpast].[QueueActionNote]" => Answer::new(),
            other => panic!("the core called {other}"),
        }
    }

    /// `work`, or its answer when this operation was applied before.
    fn once(&mut self, operation: &str, work: impl FnOnce(&mut Self) -> Answer) -> Answer {
        if let Some(known) = self.operations.get(operation) {
            return known.clone();
        }
        let answer = work(self);
        self.operations.insert(operation.to_owned(), answer.clone());
        answer
    }

    fn tick(&mut self) -> String {
        self.ticks += 1;
        format!("2026-11-21T08:30:00.{:07}", 1_234_566 + self.ticks)
    }

    fn add(&mut self, json: &str) -> Answer {
        let mut answer = answer_columns();
        for (ordinal, element) in elements(json).into_iter().enumerate() {
            let (key, token) = (self.tick(), self.tick());
            let payload = element["columns"]["Payload"].as_str().unwrap_or_default().to_owned();
            answer = answer.row(cells("OK", Some(ordinal), &key, &token, 0, "Pending"));
            let (status, owner) = ("Pending".to_owned(), String::new());
            self.items.push(Item { key, token, attempt: 0, status, owner, payload, claim: None });
        }
        answer
    }

    fn claim(&mut self, mut answer: Answer, worker: &str, max: i64, claim: Option<i64>) -> Answer {
        let mut claimed = 0;
        for index in 0..self.items.len() {
            if claimed == max || !matches!(self.items[index].status.as_str(), "Pending" | "Error") {
                continue;
            }
            claimed += 1;
            let token = self.tick();
            let item = &mut self.items[index];
            (item.token, item.owner, item.status) = (token, worker.to_owned(), "Processing".to_owned());
            item.attempt += 1;
            item.claim = claim;
            answer = answer.row(claimed_row(item));
        }
        if claimed > 0 { answer } else { answer.row(wide(vec!["EMPTY".into()])) }
    }

    fn claimed(&self, worker: &str, claim: i64) -> Answer {
        let is_of_it = |item: &&Item| item.status == "Processing" && item.owner == worker && item.claim == Some(claim);
        self.items.iter().filter(is_of_it).map(claimed_row).fold(with_item_columns(), Answer::row)
    }

    fn settle(&mut self, worker: &str, json: &str) -> Answer {
        let mut answer = answer_columns();
        for (ordinal, element) in elements(json).into_iter().enumerate() {
            let word = |name: &str| element[name].as_str().unwrap_or_default();
            let token = self.tick();
            let item = self.items.iter_mut().find(|item| item.key == word("key")).expect("an item of ours");
            let holds = item.status == "Processing"
                && item.owner == worker
                && item.token == word("token")
                && i64::from(item.attempt) == element["attempt"].as_i64().unwrap_or_default();
            if holds {
                (item.status, item.token) = (word("status").to_owned(), token);
                self.settled.push(item.key.clone());
            }
            let said = if holds { "OK" } else { "LEASE_LOST" };
            answer = answer.row(cells(said, Some(ordinal), &item.key, &item.token, item.attempt, &item.status));
        }
        answer
    }

    fn renew(&mut self, json: &str) -> Answer {
        let mut answer = answer_columns();
        for (ordinal, element) in elements(json).into_iter().enumerate() {
            let item = self.items.iter().find(|item| Some(item.key.as_str()) == element["key"].as_str());
            let item = item.expect("an item of ours");
            answer = answer.row(cells("OK", Some(ordinal), &item.key, &item.token, item.attempt, &item.status));
        }
        answer
    }

    fn stats(&self) -> Answer {
        let pending = self.items.iter().filter(|item| item.status == "Pending").count() as i64;
        let columns = [("Name", Type::VarChar(40)), ("Value", Type::BigInt)];
        let answer = Answer::new().columns(columns).row(["count.Pending".into(), pending.into()]);
        answer.row(["due.oldest_ms".into(), Value::Null])
    }
}

/// An answer about items, to which rows are added.
pub fn answer_columns() -> Answer {
    Answer::new().columns(ANSWER_COLUMNS)
}

/// The same with the columns of claimed items.
pub fn with_item_columns() -> Answer {
    Answer::new().columns(ANSWER_COLUMNS.into_iter().chain(ITEM_COLUMNS))
}

/// A result of claimed items behind another one.
pub fn then_item_columns(answer: Answer) -> Answer {
    answer.end().columns(ANSWER_COLUMNS.into_iter().chain(ITEM_COLUMNS))
}

/// The names and types of the answer columns, for result sets with other item columns.
pub fn answer_column_types() -> Vec<(&'static str, Type)> {
    ANSWER_COLUMNS.to_vec()
}

/// A row of the answer columns.
pub fn cells(answer: &str, ordinal: Option<usize>, key: &str, token: &str, attempt: i32, status: &str) -> Vec<Value> {
    vec![
        answer.into(),
        ordinal.map(|ordinal| ordinal as i64).into(),
        Value::Null,
        Value::datetime2(key),
        Value::datetime2(token),
        attempt.into(),
        status.into(),
    ]
}

/// An item that a claim hands out.
fn claimed_row(item: &Item) -> Vec<Value> {
    let columns = [
        Value::datetime2(&item.key),
        item.status.as_str().into(),
        item.owner.as_str().into(),
        item.payload.as_str().into(),
    ];
    let cells = cells("CLAIMED", None, &item.key, &item.token, item.attempt, &item.status);
    cells.into_iter().chain(columns).collect()
}

/// The cells followed by NULLs, up to a row with the columns of items.
fn wide(mut cells: Vec<Value>) -> Vec<Value> {
    cells.resize(ANSWER_COLUMNS.len() + ITEM_COLUMNS.len(), Value::Null);
    cells
}

fn elements(json: &str) -> Vec<serde_json::Value> {
    serde_json::from_str(json).expect("an array of JSON")
}
