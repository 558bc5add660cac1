//! The facts on which the ledgers of the processes and the table must agree.
//!
//! Every claim gives an item a token that it never had before, so the pair of key and token names one claim for ever. It
//! raises the item's attempt by one, and the item has that back when its worker dies with others of the same claim in
//! hands. A process notes a claim after it, asks for a settle only after noting what it asks, and notes the answer after it. So one that is
//! killed may leave behind one call's claims that it did not come to note, and settles whose answer is not noted: they may
//! have happened, or not. Everything else must be there, and fit.

use crate::hand::{MAX_BATCH, is_doomed};
use readpast::item::{Answer, ItemState};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use support::ledger::{Claim, Line, Note};

/// The ledger of a process.
pub struct Story {
    pub worker: String,
    pub lines: Vec<Line>,
    pub was_killed: bool,
}

/// The entries of the ledgers about one attempt.
#[derive(Debug, Default)]
struct Attempt {
    asked: Option<ItemState>,
    answer: Option<Answer>,
    killed: bool,
}

/// How an item ended, as the table has it. One that is not in the table any more is completed.
#[derive(Debug, Clone)]
pub struct End {
    pub state: ItemState,
    /// Where the table counts them, or the view does.
    pub attempts: Option<i32>,
}

/// All attempts, by key and in their order.
pub struct Audit(HashMap<String, BTreeMap<Claim, Attempt>>);

impl Audit {
    pub fn new(stories: &[Story]) -> Self {
        let mut attempts: HashMap<String, BTreeMap<Claim, Attempt>> = HashMap::new();
        for story in stories {
            for Line { key, claim, note } in &story.lines {
                let known = attempts.entry(key.clone()).or_default();
                let place = format!("{key}, attempt {} ({})", claim.0, story.worker);
                if *note == Note::Claimed {
                    let before =
                        known.insert(claim.clone(), Attempt { killed: story.was_killed, ..Attempt::default() });
                    assert!(before.is_none(), "{place} was claimed twice");
                    continue;
                }
                let known = known.get_mut(claim).unwrap_or_else(|| panic!("{place} was not claimed"));
                match note {
                    Note::Asking(state) => assert_eq!(known.asked.replace(*state), None, "{place} was settled twice"),
                    Note::Answered(answer) => {
                        assert_eq!(known.answer.replace(*answer), None, "{place} was answered twice");
                    }
                    Note::Claimed | Note::Pausing => {}
                }
            }
        }
        Self(attempts)
    }

    /// `work` is what was enqueued: the number that stands for each item's work, by its key. `ends` are the items that are
    /// still in the table. Nothing is lost, nothing completed twice, and every attempt explains the next.
    pub fn check(&self, work: &BTreeMap<String, u64>, ends: &BTreeMap<String, End>, limit: i32, kills: usize) {
        let known: BTreeSet<_> = work.keys().collect();
        assert!(self.0.keys().all(|key| known.contains(key)), "what was claimed was enqueued");
        assert!(ends.keys().all(|key| known.contains(key)), "what is in the table was enqueued");
        let mut unnoted = 0;
        for (key, work) in work {
            unnoted += self.check_item(key, *work, ends.get(key), limit);
        }
        let most = kills * MAX_BATCH as usize;
        assert!(unnoted <= most, "{unnoted} claims are in no ledger; {most} at most");
    }

    /// How many of the item's attempts are in no ledger.
    fn check_item(&self, key: &str, work: u64, end: Option<&End>, limit: i32) -> usize {
        let none = BTreeMap::new();
        let attempts = self.0.get(key).unwrap_or(&none);
        let noted = attempts.last_key_value().map_or(0, |((last, _), _)| *last);
        let last = end.and_then(|end| end.attempts).unwrap_or(noted);
        let state = end.map_or(ItemState::Completed, |end| end.state);
        let place = format!("{key} (work {work}), {state} after {last} attempts: {attempts:?}");
        assert!(noted <= last, "{place}");
        assert!(last <= limit, "{place}: {limit} is the most");
        let came_to = |state| {
            let attempt =
                attempts.last_key_value().filter(|((n, _), attempt)| *n == last && attempt.asked == Some(state));
            attempt.is_some_and(|(_, a)| a.answer == Some(Answer::Ok) || a.answer.is_none() && a.killed)
        };
        match state {
            ItemState::Completed => assert!(came_to(state) && !is_doomed(work), "{place}"),
            // A worker that was killed on the last attempt leaves it to the lease, and the attempts are spent.
            ItemState::Failed => assert!(is_doomed(work) && came_to(state) || last == limit, "{place}"),
            _ => panic!("{place}: it is stuck"),
        }
        let ended_there = state == ItemState::Completed || came_to(state);
        let claims: Vec<_> = attempts.iter().collect();
        for (index, ((number, _), attempt)) in claims.iter().enumerate() {
            let next = claims.get(index + 1);
            if next.is_none() && ended_there {
                break;
            }
            let had_back = next.is_some_and(|((next, _), _)| next == number);
            let given_back = attempt.asked == Some(ItemState::Error) && attempt.answer == Some(Answer::Ok);
            // A row that another worker completed may be gone.
            let lost = matches!(attempt.answer, Some(Answer::LeaseLost | Answer::NotFound));
            let died = attempt.answer.is_none() && attempt.killed;
            let explains = lost || died || given_back && !had_back;
            assert!(explains, "{place}: attempt {number} does not explain the next");
        }
        // One that is in no ledger is counted in the end.
        last as usize - attempts.keys().map(|(number, _)| number).collect::<BTreeSet<_>>().len()
    }

    /// For processes that are not killed: each item was taken once, by whomever, and was completed.
    pub fn check_each_once(&self, keys: &BTreeSet<String>) {
        assert_eq!(&self.0.keys().cloned().collect::<BTreeSet<_>>(), keys, "everything was taken");
        for (key, attempts) in &self.0 {
            let ends: Vec<_> = attempts.values().map(|attempt| (attempt.asked, attempt.answer)).collect();
            assert_eq!(ends, [(Some(ItemState::Completed), Some(Answer::Ok))], "{key}: {attempts:?}");
        }
    }
}
