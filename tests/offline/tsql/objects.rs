//! Objects that are created, and how scripts look for them.

use super::Finding;
use super::text::{Batch, Kind, closing, follow};

/// A filtered index that has not the columns of its filter needs the row itself to look at them again.
pub fn filtered_indexes_have_their_filter(batch: &Batch, found: &mut Vec<Finding>) {
    for statement in batch.statements() {
        let Some(index) = statement.iter().position(|token| token.is("CREATE")) else { continue };
        let statement = &statement[index..];
        let is_index = statement.iter().take(5).any(|token| token.is("INDEX"));
        let filter = statement.iter().position(|token| token.is("WHERE"));
        let open = statement.iter().position(|token| token.is("("));
        let (true, Some(filter), Some(open)) = (is_index, filter, open) else { continue };
        let is_there = |name: &str| statement[open..filter].iter().any(|token| token.is_name() && token.text == name);
        let missing = statement[filter..].iter().any(|token| token.is_name() && !is_there(&token.text));
        if missing {
            found.push(Finding::new("filter-column-not-in-index", batch, statement[0].line));
        }
    }
}

/// An open LIKE takes an index that somebody has renamed, or kept, for the one that is to be there.
pub fn nothing_is_looked_for_by_open_like(batch: &Batch, found: &mut Vec<Finding>) {
    if !batch.tokens.iter().any(|token| token.is("SYS")) {
        return;
    }
    for (at, token) in batch.tokens.iter().enumerate() {
        let pattern = batch.tokens.get(at + 1);
        let is_open =
            pattern.is_some_and(|pattern| matches!(pattern.kind, Kind::Text(_)) && pattern.text.ends_with('%'));
        if token.is("LIKE") && is_open {
            found.push(Finding::new("existence-by-open-like", batch, token.line));
        }
    }
}

/// Else the schema is its installer's, and the chain of owners to an adopted table is broken.
pub fn schemas_have_an_owner(batch: &Batch, found: &mut Vec<Finding>) {
    for (at, token) in batch.tokens.iter().enumerate() {
        let in_text = matches!(token.kind, Kind::Text(_)) && token.text.contains("CREATE SCHEMA");
        let in_words = follow(&batch.tokens, at, &["CREATE", "SCHEMA"]);
        let has_owner = if in_text {
            token.text.contains("AUTHORIZATION")
        } else {
            batch.tokens[at..].iter().take(8).any(|token| token.is("AUTHORIZATION"))
        };
        if (in_text || in_words) && !has_owner {
            found.push(Finding::new("schema-without-owner", batch, token.line));
        }
    }
}

/// A function in a CHECK runs row by row, and what it reads is not checked again.
pub fn checks_call_no_function(batch: &Batch, found: &mut Vec<Finding>) {
    for at in 0..batch.tokens.len() {
        if follow(&batch.tokens, at, &["CHECK", "("]) {
            let inner = &batch.tokens[at + 1..closing(&batch.tokens, at + 1)];
            if inner.windows(2).any(|pair| pair[0].is_name() && pair[1].is("(")) {
                found.push(Finding::new("function-in-check", batch, batch.tokens[at].line));
            }
        }
    }
}

/// An ALTER TABLE takes a lock that waits for every reader, and all that come later wait behind it: not where nothing is to be changed.
pub fn tables_are_altered_where_they_differ(batch: &Batch, found: &mut Vec<Finding>) {
    let is_set = |at: &usize| {
        follow(&batch.tokens, *at, &["ALTER", "TABLE"])
            && batch.tokens[*at..].iter().take(9).any(|token| token.is("LOCK_ESCALATION"))
    };
    for at in (0..batch.tokens.len()).filter(is_set) {
        if !batch.tokens[..at].iter().any(|token| token.is("IF")) {
            found.push(Finding::new("table-altered-each-time", batch, batch.tokens[at].line));
        }
    }
}

/// A name in the catalog has the catalog's collation, and a text from OPENJSON the database's: where they differ (Azure SQL), a
/// comparison without COLLATE is an error.
pub fn names_are_compared_as_the_catalog_does(batch: &Batch, found: &mut Vec<Finding>) {
    for statement in batch.statements().filter(|statement| statement.iter().any(|token| token.is("SYS"))) {
        for at in 0..statement.len() {
            let is_list = follow(statement, at, &["IN", "(", "SELECT"]);
            let list = if is_list { &statement[at..closing(statement, at + 1)] } else { &[] };
            let has = |word| list.iter().any(|token| token.is(word));
            if has("OPENJSON") && !has("COLLATE") {
                found.push(Finding::new("name-in-another-collation", batch, statement[at].line));
            }
        }
    }
}
