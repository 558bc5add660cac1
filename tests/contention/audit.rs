//! The facts on which the ledgers and the table must agree.
//!
//! Every claim gives an item a token that it never had before, so the pair of key and token names one claim for ever. It
//! raises the item's attempt by one, and the item has that back when its worker dies with others of the same claim in
//! hands. A process notes a claim after it, asks for a settle only after noting what it asks, and notes the answer after it. So a process that
//! is killed may leave behind:
//! - claims that it did not come to note: at most one call of each thread, hence [`MAX_BATCH`] items;
//! - settles that it asked for, whose answer is not noted: they may have happened, or not.
//!
//! Everything else must be there, and fit:
//! - no pair was claimed twice, and none in an attempt beyond that of the item's row: what is done is not taken again;
//! - an item that is Completed was asked to be so in its last claim, and no other claim got OK for that;
//! - an item that is Failed has no attempts left, and none got the answer that it is Completed;
//! - every earlier claim came to an end that explains the next: it was given back, or found lost by the worker that held
//!   it, or held by a worker that was killed; a next one in the same attempt is not explained by the first;
//! - what the paused process held was lost to it, all of it;
//! - attempts that no ledger has are not more than the killed could leave behind.

use crate::MAX_ATTEMPTS;
use crate::herd::Story;
use crate::worker::{MAX_BATCH, THREADS, is_doomed};
use readpast::item::{Answer, ItemState, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use support::fixture::Given;
use support::ledger::{Claim, Line, Note};

/// The entries of the ledgers about one attempt.
#[derive(Debug, Default)]
struct Attempt {
    paused: bool,
    asked: Option<ItemState>,
    answer: Option<Answer>,
    killed: bool,
}

impl Attempt {
    /// Another worker has it, or another claim of this one.
    fn is_lost(&self) -> bool {
        matches!(self.answer, Some(Answer::LeaseLost | Answer::Conflict))
    }
}

/// The row of one item in the table.
struct Row {
    key: String,
    state: ItemState,
    attempts: i32,
    payload: u64,
}

/// The whole evidence.
pub struct Audit {
    rows: Vec<Row>,
    /// By key, then in their order.
    attempts: HashMap<String, BTreeMap<Claim, Attempt>>,
}

impl Audit {
    pub fn new(stories: &[Story], given: &Given) -> Self {
        let mut attempts: HashMap<String, BTreeMap<Claim, Attempt>> = HashMap::new();
        for story in stories {
            for Line { key, claim, note } in &story.lines {
                let known = attempts.entry(key.clone()).or_default();
                let place = format!("{key}, attempt {}", claim.0);
                if *note == Note::Claimed {
                    let before =
                        known.insert(claim.clone(), Attempt { killed: story.was_killed, ..Attempt::default() });
                    assert!(before.is_none(), "{place} was claimed twice");
                    continue;
                }
                let known = known.get_mut(claim).unwrap_or_else(|| panic!("{place} was not claimed"));
                match note {
                    Note::Claimed => {}
                    Note::Pausing => known.paused = true,
                    Note::Asking(state) => {
                        assert_eq!(known.asked.replace(*state), None, "{place} was settled twice");
                    }
                    Note::Answered(answer) => {
                        assert_eq!(known.answer.replace(*answer), None, "{place} was answered twice");
                    }
                }
            }
        }
        Self { rows: read_rows(given), attempts }
    }

    pub fn check(&self, items: u64, kills: usize) {
        let payloads: HashSet<_> = self.rows.iter().map(|row| row.payload).collect();
        assert_eq!((self.rows.len() as u64, payloads.len() as u64), (items, items), "every item is there once");
        let known: HashSet<_> = self.rows.iter().map(|row| &row.key).collect();
        assert!(self.attempts.keys().all(|key| known.contains(key)), "what was claimed was enqueued");

        for row in &self.rows {
            self.check_row(row);
        }
        let paused: Vec<_> = self.all().filter(|attempt| attempt.paused).collect();
        assert!(!paused.is_empty(), "a process paused with items in hand");
        for attempt in paused {
            assert!(attempt.is_lost(), "what a paused process held is lost to it: {attempt:?}");
        }
        let most = kills * THREADS * MAX_BATCH as usize;
        assert!(self.unnoted() <= most, "{} claims are in no ledger; {most} at most", self.unnoted());
    }

    fn check_row(&self, row: &Row) {
        let none = BTreeMap::new();
        let attempts = self.attempts.get(&row.key).unwrap_or(&none);
        let place = format!("{} (payload {}), {} after {} attempts", row.key, row.payload, row.state, row.attempts);
        let mut claims: Vec<_> = attempts.iter().collect();
        if let Some(((last, _), _)) = claims.last() {
            assert!(*last <= row.attempts, "{place}: there was an attempt {last}");
        }
        match row.state {
            ItemState::Completed => {
                assert!(!is_doomed(row.payload), "{place}");
                let ((number, _), last) = claims.pop().unwrap_or_else(|| panic!("{place}: nobody claimed it"));
                assert_eq!(*number, row.attempts, "{place}: nobody claimed it then");
                assert_eq!(last.asked, Some(ItemState::Completed), "{place}");
                assert!(last.answer == Some(Answer::Ok) || last.answer.is_none() && last.killed, "{place}: {last:?}");
            }
            ItemState::Failed => assert_eq!(row.attempts, MAX_ATTEMPTS, "{place}"),
            _ => panic!("{place}: it is stuck"),
        }
        for (index, ((number, _), attempt)) in claims.iter().enumerate() {
            let had_back = claims.get(index + 1).is_some_and(|((next, _), _)| next == number);
            let given_back = attempt.asked == Some(ItemState::Error) && attempt.answer == Some(Answer::Ok);
            let died = attempt.answer.is_none() && attempt.killed;
            let explains = attempt.is_lost() || died || given_back && !had_back;
            assert!(explains, "{place}: attempt {number} does not explain the next: {attempt:?}");
        }
    }

    /// How many attempts no ledger has.
    fn unnoted(&self) -> usize {
        let all: usize = self.rows.iter().map(|row| row.attempts as usize).sum();
        let noted =
            self.attempts.values().map(|claims| claims.keys().map(|(number, _)| number).collect::<HashSet<_>>());
        all - noted.map(|numbers| numbers.len()).sum::<usize>()
    }

    fn all(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.values().flat_map(BTreeMap::values)
    }

    pub fn summary(&self) -> String {
        let failed = self.rows.iter().filter(|row| row.state == ItemState::Failed).count();
        let lost = self.all().filter(|attempt| attempt.is_lost()).count();
        let cut = self.all().filter(|attempt| attempt.answer.is_none()).count();
        let unnoted = self.unnoted();
        format!(
            "{} attempts, {failed} items failed, {lost} leases lost, {} attempts cut off by kills, {unnoted} of them unnoted",
            self.all().count() + unnoted,
            cut + unnoted,
        )
    }
}

fn read_rows(given: &Given) -> Vec<Row> {
    let rows = given.rows("EnqueuedAt, Status, AttemptNum, Payload", "1 = 1");
    let text = |row, column| match rows.value(row, column) {
        Value::Text(text) => text.to_owned(),
        other => panic!("{other:?}"),
    };
    (0..rows.len())
        .map(|row| Row {
            key: text(row, 0),
            state: text(row, 1).parse().unwrap(),
            attempts: match rows.value(row, 2) {
                Value::Integer(attempts) => attempts as i32,
                other => panic!("{other:?}"),
            },
            payload: text(row, 3).parse().unwrap(),
        })
        .collect()
}
