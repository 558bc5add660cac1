//! Which locks a statement asks for.

use super::Finding;
use super::text::{Batch, Kind, Token, closing, follow};
use std::collections::BTreeSet;

/// Words that stand in no other list behind WITH.
const HINTS: [&str; 9] = [
    "ROWLOCK",
    "READPAST",
    "UPDLOCK",
    "HOLDLOCK",
    "READCOMMITTEDLOCK",
    "READUNCOMMITTED",
    "XLOCK",
    "INDEX",
    "FORCESEEK",
];

/// The tokens of the hint list that opens at `at`.
fn hints(tokens: &[Token], at: usize) -> Option<&[Token]> {
    let is_list =
        follow(tokens, at, &["WITH", "("]) && HINTS.iter().any(|hint| tokens.get(at + 2).is_some_and(|t| t.is(hint)));
    is_list.then(|| &tokens[at + 2..closing(tokens, at + 1) - 1])
}

fn has(tokens: &[Token], word: &str) -> bool {
    tokens.iter().any(|token| token.is(word))
}

/// READPAST skips rows that are locked, and waits for pages that are: without ROWLOCK the engine may choose pages.
pub fn readpast_needs_rowlock(batch: &Batch, found: &mut Vec<Finding>) {
    for at in 0..batch.tokens.len() {
        if let Some(list) = hints(&batch.tokens, at)
            && has(list, "READPAST")
            && !has(list, "ROWLOCK")
        {
            found.push(Finding::new("readpast-without-rowlock", batch, batch.tokens[at].line));
        }
    }
}

/// A statement locks the rows that it changes one by one, too. Table variables are nobody else's.
pub fn targets_need_rowlock(batch: &Batch, found: &mut Vec<Finding>) {
    if !batch.is_procedure() {
        return;
    }
    for statement in batch.statements() {
        for (at, token) in statement.iter().enumerate() {
            let is_change = token.is("UPDATE") && !at.checked_sub(1).is_some_and(|at| statement[at].is("FOR"));
            if (is_change || token.is("DELETE")) && !is_locked_by_row(statement, at) {
                found.push(Finding::new("target-without-rowlock", batch, token.line));
            }
        }
    }
}

fn is_locked_by_row(statement: &[Token], verb: usize) -> bool {
    let mut at = verb + 1;
    if follow(statement, at, &["TOP", "("]) {
        at = closing(statement, at + 1);
    }
    if follow(statement, at, &["FROM"]) {
        at += 1;
    }
    let Some(target) = statement.get(at) else { return true };
    match target.kind {
        Kind::Variable => return true,
        Kind::Name => return hints(statement, end_of_name(statement, at)).is_some_and(|list| has(list, "ROWLOCK")),
        _ => {}
    }
    // An alias: what is it of?
    for (place, _) in statement.iter().enumerate().filter(|(_, token)| token.is(&target.text)) {
        let is_cte =
            statement.get(place + 1).is_some_and(|token| token.is("AS")) && follow(statement, place + 2, &["("]);
        if is_cte {
            let inner = &statement[place + 3..closing(statement, place + 2)];
            return (0..inner.len()).any(|at| hints(inner, at).is_some_and(|list| has(list, "ROWLOCK")));
        }
        if place > 0 && statement[place - 1].is("AS") {
            let is_variable = place > 1 && statement[place - 2].kind == Kind::Variable;
            return is_variable || hints(statement, place + 1).is_some_and(|list| has(list, "ROWLOCK"));
        }
    }
    false
}

fn end_of_name(tokens: &[Token], mut at: usize) -> usize {
    while tokens.get(at).is_some_and(|token| token.is_name() || token.is(".")) {
        at += 1;
    }
    if follow(tokens, at, &["AS"]) { at + 2 } else { at }
}

/// A statement that locks the rows of one table, or passes over locked ones, and says nothing of a table beside it: with row
/// versions it reads that as it was before the lock, and without them it waits there for whom it has just passed over.
pub fn tables_beside_locked_ones_have_hints(batches: &[Batch], found: &mut Vec<Finding>) {
    let by_lock = |list: &Option<&[Token]>| list.is_some_and(|list| has(list, "READPAST") || has(list, "UPDLOCK"));
    let procedures = || batches.iter().filter(|batch| batch.is_procedure());
    let all = || procedures().flat_map(|batch| batch.statements().map(move |statement| (batch, reads(statement))));
    // Rows that are locked, or passed over, anywhere.
    let locked: BTreeSet<String> = all()
        .flat_map(|(_, reads)| reads)
        .filter(|read| by_lock(&read.hints))
        .map(|read| read.table.to_owned())
        .collect();
    for (batch, statement) in all().filter(|(_, reads)| reads.iter().any(|read| by_lock(&read.hints))) {
        for read in statement.iter().filter(|read| read.hints.is_none() && locked.contains(read.table)) {
            let detail = read.table.to_owned();
            found.push(Finding { detail, ..Finding::new("table-beside-without-hints", batch, read.line) });
        }
    }
}

/// A table that a statement reads, and how.
struct Read<'a> {
    table: &'a str,
    line: usize,
    hints: Option<&'a [Token]>,
}

fn reads(statement: &[Token]) -> Vec<Read<'_>> {
    let is_read = |at: &usize| statement[*at].is("FROM") || statement[*at].is("JOIN");
    let places = (0..statement.len()).filter(is_read).map(|at| at + 1);
    let named = places.filter(|at| statement.get(*at).is_some_and(Token::is_name));
    let read = |at: usize| {
        let names = statement[at..].iter().take_while(|token| token.is_name() || token.is(".")).count();
        let table = &statement[at + names - 1];
        Read { table: &table.text, line: table.line, hints: hints(statement, end_of_name(statement, at)) }
    };
    named.map(read).collect()
}

/// A TOP over locked rows that a sub-query filters locks no more than it gives only if nothing is sorted or hashed in between.
pub fn locked_top_needs_force_order(batch: &Batch, found: &mut Vec<Finding>) {
    for statement in batch.statements() {
        let selects = statement.iter().filter(|token| token.is("SELECT")).count();
        let locks = (0..statement.len()).any(|at| hints(statement, at).is_some_and(|list| has(list, "UPDLOCK")));
        let is_ordered = (0..statement.len()).any(|at| follow(statement, at, &["FORCE", "ORDER"]));
        if locks && has(statement, "TOP") && selects > 1 && !is_ordered {
            found.push(Finding::new("locked-top-without-force-order", batch, statement[0].line));
        }
    }
}
