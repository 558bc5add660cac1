//! The statements of the rendered SQL that lock something, one line each.

use crate::tsql::text::{Batch, Token, closing, follow};

/// How the row of an entry is locked that is not kept itself.
pub const ROW_OF_ENTRY: &str = "by key UPDLOCK READPAST in order";
/// And is asked once more whether it is what was looked for.
pub const ASKED_AGAIN: &str = ", asked again";
/// Whether an item is the first of its group is asked in the search that finds it.
pub const OF_GROUP: [&str; 2] = ["search Group", "search Held"];
/// Nothing else is done where this has locked nothing.
pub const OR_NOTHING: &str = ", or nothing";

/// The contents of a statement, and their places.
struct Place<'a> {
    tokens: &'a [Token],
    at: usize,
    alias: Option<&'a str>,
    hints: &'a [Token],
    /// Whether it is the first of the tables of the statement.
    is_first: bool,
}

/// Each statement of a procedure that touches the queue's table: what it does there, and under which hints.
pub fn rendered(batch: &Batch, table: &str) -> Vec<String> {
    let tables = [table, "Job_Lease", "Job_Attempt", "QueueTurn", "QueueRecovery", "QueueRetention"];
    let mut found: Vec<String> = Vec::new();
    for tokens in batch.statements() {
        let is_table =
            |at: &usize| tokens[*at].is_name() && tables.contains(&tokens[*at].text.as_str()) && tokens[at - 1].is(".");
        let places: Vec<_> = (2..tokens.len()).filter(is_table).collect();
        let mut entry_of = None;
        let lines = found.len();
        for (number, at) in places.iter().enumerate() {
            let alias = follow(tokens, at + 1, &["AS"]).then(|| tokens[at + 2].text.as_str());
            let hints_at = at + if alias.is_some() { 3 } else { 1 };
            let hints = if follow(tokens, hints_at, &["WITH", "("]) {
                &tokens[hints_at + 2..closing(tokens, hints_at + 1) - 1]
            } else {
                &[]
            };
            let place = Place { tokens, at: *at, alias, hints, is_first: number == 0 };
            let Some(line) = place.describe(table) else { continue };
            let name = &tokens[*at].text;
            if lines < found.len() && OF_GROUP.contains(&line.as_str()) {
                // A part of the search that asks for it.
                found.last_mut().unwrap().push_str(&format!(", {line}"));
                continue;
            }
            let is_turn = name == "QueueRetention" && line.ends_with("UPDLOCK READPAST");
            let line = if name == table { line } else { format!("{name} {line}") };
            // The table beside itself: an entry, then its row.
            let entry =
                found.last_mut().filter(|entry| number == 1 && entry.starts_with("search") && line == ROW_OF_ENTRY);
            match entry {
                Some(entry) => {
                    let again = if asks_again(tokens, entry_of, alias) { ASKED_AGAIN } else { "" };
                    *entry = format!("{entry}, {line}{again}");
                }
                None if is_turn && rest_is_guarded(batch) => found.push(format!("{line}{OR_NOTHING}")),
                None => found.push(line),
            }
            entry_of = alias;
        }
    }
    found
}

impl Place<'_> {
    fn describe(&self, table: &str) -> Option<String> {
        let tokens = self.tokens;
        let has = |word: &str| self.hints.iter().any(|token| token.is(word));
        // Reads that lock nothing, and nobody's answer hangs on.
        if has("READUNCOMMITTED") {
            return None;
        }
        let mut text = if self.is_target(&["INSERT", "INTO"]) {
            "insert".to_owned()
        } else if self.is_target(&["UPDATE"]) {
            "update".to_owned()
        } else if self.is_target(&["DELETE"]) || self.is_target(&["DELETE", "FROM"]) {
            "delete".to_owned()
        } else {
            let index = self.hints.iter().find(|token| token.is_name());
            match index {
                Some(index) => format!("search {}", index.text.replace(&format!("IX_{table}_"), "")),
                None if tokens.iter().any(|token| token.is("JOIN")) => "by key".to_owned(),
                None => "search".to_owned(),
            }
        };
        let is_ordered = (0..tokens.len()).any(|at| follow(tokens, at, &["FORCE", "ORDER"]));
        for hint in ["UPDLOCK", "HOLDLOCK", "READPAST"] {
            if has(hint) {
                text = format!("{text} {hint}");
            }
        }
        let comes_in_order =
            text == "insert" && self.is_first && (0..tokens.len()).any(|at| follow(tokens, at, &["ORDER", "BY"]));
        if (text.starts_with("by key") || text.starts_with("delete")) && is_ordered || comes_in_order {
            text.push_str(" in order");
        }
        Some(text)
    }

    /// Whether the statement has these words for it, by its alias or, where it has none, by its name.
    fn is_target(&self, words: &[&str]) -> bool {
        match self.alias {
            // Behind the schema and the point.
            None => (self.at - 2).checked_sub(words.len()).is_some_and(|from| follow(self.tokens, from, words)),
            Some(alias) => {
                let said = (0..self.tokens.len()).filter(|at| follow(self.tokens, *at, words));
                said.map(|at| at + words.len()).any(|at| self.tokens.get(at).is_some_and(|target| target.text == alias))
            }
        }
    }
}

/// Whether what is asked of the entry of an index is asked of its row too, which may be another one by the time it is locked.
fn asks_again(tokens: &[Token], entry: Option<&str>, row: Option<&str>) -> bool {
    let asked = tokens.iter().position(|token| token.is("WHERE")).unwrap_or(tokens.len());
    let sorted = (asked..tokens.len()).rfind(|at| follow(tokens, *at, &["ORDER", "BY"])).unwrap_or(tokens.len());
    let of = |alias: Option<&str>| {
        let of_alias =
            |three: &&[Token]| Some(three[0].text.as_str()) == alias && three[1].is(".") && three[2].is_name();
        let mut columns: Vec<_> =
            tokens[asked..sorted].windows(3).filter(of_alias).map(|three| three[2].text.as_str()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    };
    let (entry, row) = (of(entry), of(row));
    !entry.is_empty() && entry.iter().all(|column| row.contains(column))
}

/// Whether all that a procedure does in its transaction stands between BEGIN and END of `IF @_Turn = 1`.
fn rest_is_guarded(batch: &Batch) -> bool {
    let tokens = &batch.tokens;
    let is_guard = |at: &usize| {
        follow(tokens, *at, &["IF"])
            && tokens.get(at + 1).is_some_and(|turn| turn.text == "@_Turn")
            && follow(tokens, at + 2, &["="])
            && tokens.get(at + 3).is_some_and(|one| one.text == "1")
            && follow(tokens, at + 4, &["BEGIN"])
    };
    let Some(guard) = (0..tokens.len()).find(is_guard) else { return false };
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(guard) {
        depth += i32::from(token.is("BEGIN") || token.is("CASE")) - i32::from(token.is("END"));
        if token.is("END") && depth == 0 {
            return follow(tokens, at + 1, &[";", "COMMIT", "TRANSACTION"]) && tokens[guard - 1].is(";");
        }
    }
    false
}
