//! How the SQL of one description differs from that of another, as far as nothing shows it yet.

use super::difference::difference;
use std::collections::{BTreeMap, HashSet};

/// A name for each object of a script, and its text, in their order.
pub type Objects = Vec<(String, String)>;

/// All lines that some snapshot shows.
#[derive(Default)]
pub struct Shown {
    lines: HashSet<String>,
}

/// How closely a line is compared with those that are shown already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Closely {
    /// But for its indentation.
    Exactly,
    /// With one name for all names and one number for all numbers: tables of others have names of their own.
    ByKind,
}

impl Closely {
    fn key(self, line: &str) -> String {
        match self {
            Self::Exactly => line.trim().to_owned(),
            Self::ByKind => crate::sql::linted::kind(line),
        }
    }
}

impl Shown {
    fn add(&mut self, line: &str) {
        for closely in [Closely::Exactly, Closely::ByKind] {
            self.lines.insert(closely.key(line));
        }
    }

    pub fn add_all(&mut self, objects: &Objects) {
        objects.iter().flat_map(|(_, text)| text.lines()).for_each(|line| self.add(line));
    }

    /// The new lines of `new`, under the name of their object; and the lines of `base` that have gone with them. Empty, if
    /// there is nothing that no snapshot shows.
    pub fn effect(&mut self, base: &Objects, new: &Objects, closely: Closely) -> String {
        let mut out = String::new();
        let known: BTreeMap<_, _> = base.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        for (name, text) in new {
            let before: Vec<_> = known.get(name.as_str()).unwrap_or(&"").lines().collect();
            let after: Vec<_> = text.lines().collect();
            let mut changed = String::new();
            for hunk in difference(&before, &after) {
                let parts = self.new_parts(&hunk, closely);
                for part in parts {
                    changed += if changed.is_empty() { "" } else { "...\n" };
                    hunk[part].iter().for_each(|(sign, line)| changed += &format!("{sign}{line}\n"));
                }
            }
            if !changed.is_empty() {
                out += &format!("@@ {name}\n{changed}");
            }
        }
        out
    }

    /// The parts of a hunk that hold something new.
    fn new_parts(&mut self, hunk: &[(char, &str)], closely: Closely) -> Vec<std::ops::Range<usize>> {
        let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
        for (at, (sign, line)) in hunk.iter().enumerate() {
            let is_added = *sign == '+' && !line.trim().is_empty();
            if !is_added || self.lines.contains(&closely.key(line)) {
                continue;
            }
            self.add(line);
            // The line whose place it takes.
            let before = at.checked_sub(1).filter(|before| closely == Closely::Exactly && hunk[*before].0 == '-');
            let part = before.unwrap_or(at)..at + 1;
            // A gap of one line takes no more room as that line.
            match parts.last_mut().filter(|last| last.end + 1 >= part.start) {
                Some(last) => last.end = part.end,
                None => parts.push(part),
            }
        }
        hunk.iter().filter(|(sign, _)| *sign == '+').for_each(|(_, line)| self.add(line));
        parts
    }
}

#[test]
fn each_new_line_is_shown_once_under_its_object() {
    let objects = |text: &str| vec![("PROCEDURE P".to_owned(), text.to_owned())];
    let base = objects("a\nb\nc\nd");
    let mut shown = Shown::default();
    shown.add_all(&base);
    let new = objects("a\nx\ny\nc\nd\n  e = 1");
    assert_eq!(shown.effect(&base, &new, Closely::Exactly), "@@ PROCEDURE P\n-b\n+x\n+y\n...\n+  e = 1\n");
    assert_eq!(shown.effect(&base, &new, Closely::Exactly), "");
    let other = |line: &str| objects(&format!("a\nb\nc\nd\n{line}"));
    assert_eq!(shown.effect(&base, &other("e = 2"), Closely::Exactly), "@@ PROCEDURE P\n+e = 2\n");
    assert_eq!(shown.effect(&base, &other("e = 3"), Closely::ByKind), "", "only a number differs");
    assert_eq!(shown.effect(&base, &other("e > 3\na"), Closely::ByKind), "@@ PROCEDURE P\n+e > 3\n");
}
