//! The notes of one worker process, a line each: `word attempt token detail key`.
//!
//! A note is one write to a file, so a process that is killed leaves whole notes behind; only the last may be cut, in the
//! midst of its lines, and the line that is cut is not counted.

use crate::api::Taken;
use readpast::item::{Answer, ItemState, Outcome, Settlement};
use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::Path,
};

/// The ledger of this process.
pub struct Ledger(File);

impl Ledger {
    pub fn open(path: &Path) -> Self {
        Self(OpenOptions::new().create(true).append(true).open(path).unwrap())
    }

    /// After the claim.
    pub fn claimed(&self, items: &[Taken]) {
        self.note(items, |line, item| writeln!(line, "claimed {} {} - {}", item.attempt, item.token, item.key));
    }

    /// Before this process stops itself with the items in hand.
    pub fn pausing(&self, items: &[Taken]) {
        self.note(items, |line, item| writeln!(line, "pausing {} {} - {}", item.attempt, item.token, item.key));
    }

    /// Before the settle: whatever the server does with it, it was asked for.
    pub fn asking(&self, settlements: &[Settlement<'_>]) {
        self.note(settlements, |line, settlement| {
            let Settlement { attempt, token, key, .. } = settlement;
            writeln!(line, "asking {attempt} {} {} {key}", token.unwrap_or_default(), settlement.action.target())
        });
    }

    /// After the settle.
    pub fn answered(&self, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
        let pairs: Vec<_> = settlements.iter().zip(outcomes).collect();
        self.note(&pairs, |line, (settlement, outcome)| {
            let Settlement { attempt, token, key, .. } = settlement;
            writeln!(line, "answered {attempt} {} {:?} {key}", token.unwrap_or_default(), outcome.answer)
        });
    }

    fn note<T>(&self, of: &[T], line: impl Fn(&mut String, &T) -> std::fmt::Result) {
        let mut text = String::new();
        of.iter().for_each(|one| line(&mut text, one).unwrap());
        (&self.0).write_all(text.as_bytes()).unwrap();
    }
}

/// A note, read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    Claimed,
    Pausing,
    Asking(ItemState),
    Answered(Answer),
}

/// A line, read back.
pub struct Line {
    pub key: String,
    pub claim: Claim,
    pub note: Note,
}

/// Which claim of its item: the attempt, which an item may get back from a worker that died, and the token that the claim
/// gave it, which no other claim has. They sort in the order of the claims.
pub type Claim = (i32, String);

/// All whole lines of a ledger. A process that was killed at once has none.
pub fn read(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| parse(line).unwrap_or_else(|| panic!("{}: {line:?}", path.display()))).collect()
}

fn parse(line: &str) -> Option<Line> {
    let [word, attempt, token, detail, key] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let note = match word {
        "claimed" => Note::Claimed,
        "pausing" => Note::Pausing,
        "asking" => Note::Asking(detail.parse().ok()?),
        "answered" => Note::Answered(answer(detail)?),
        _ => return None,
    };
    Some(Line { key: key.to_owned(), claim: (attempt.parse().ok()?, token.to_owned()), note })
}

fn answer(word: &str) -> Option<Answer> {
    let all = [Answer::Ok, Answer::LeaseLost, Answer::Conflict, Answer::IllegalTransition, Answer::NotFound];
    all.into_iter().find(|answer| format!("{answer:?}") == word)
}
