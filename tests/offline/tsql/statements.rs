//! Rules for single statements.

use super::Finding;
use super::text::{Batch, Kind, Token, closing, follow};

/// The order in which numbers are given is the statement's own only if it says so.
pub fn numbers_of_many_rows_are_ordered(batch: &Batch, found: &mut Vec<Finding>) {
    for statement in batch.statements() {
        for at in 0..statement.len() {
            if !follow(statement, at, &["NEXT", "VALUE", "FOR"]) {
                continue;
            }
            let end = statement[at + 3..].iter().position(|token| !token.is_name() && !token.is("."));
            let behind = &statement[at + 3 + end.unwrap_or(0)..];
            let of_many = behind.iter().any(|token| token.is("FROM"));
            if of_many && !behind.first().is_some_and(|token| token.is("OVER")) {
                found.push(Finding::new("numbers-without-order", batch, statement[at].line));
            }
        }
    }
}

/// Without a list the statement fails on the day that somebody adds a column. (To a view of ours nobody does.)
pub fn inserts_name_their_columns(batch: &Batch, found: &mut Vec<Finding>) {
    for (at, token) in batch.tokens.iter().enumerate() {
        if !token.is("INSERT") || batch.object.starts_with("TRIGGER") {
            continue;
        }
        let rest = &batch.tokens[at + 1..];
        let names =
            |token: &&Token| token.is("INTO") || token.is_name() || token.is(".") || token.kind == Kind::Variable;
        let target = rest.iter().take_while(names).count();
        let mut behind = target;
        if follow(rest, behind, &["WITH", "("]) {
            behind = closing(rest, behind + 1);
        }
        let into_view = target > 0 && rest[target - 1].text.ends_with("_V");
        // A grant of INSERT names no table here.
        if target > 0 && !into_view && !follow(rest, behind, &["("]) {
            found.push(Finding::new("insert-without-columns", batch, token.line));
        }
    }
}

/// THROW reads a % as the start of something else, and leaves it out, at times with the whole message.
pub fn messages_double_their_percent_signs(batch: &Batch, found: &mut Vec<Finding>) {
    let assigns = |variable: &Token| {
        let doubled = |token: &Token| matches!(token.kind, Kind::Text(_)) && token.text == "%%";
        batch.statements().any(|statement| {
            let is_set = statement.windows(2).any(|two| two[0].text == variable.text && two[1].is("="));
            is_set && statement.iter().any(|token| token.is("REPLACE")) && statement.iter().any(doubled)
        })
    };
    for at in (0..batch.tokens.len()).filter(|at| batch.tokens[*at].is("THROW")) {
        let Some(message) = batch.tokens.get(at + 3).filter(|_| batch.tokens[at + 1].kind == Kind::Number) else {
            continue;
        };
        let is_right = match message.kind {
            Kind::Variable => assigns(message),
            _ => !message.text.replace("%%", "").contains('%'),
        };
        if !is_right {
            found.push(Finding::new("message-with-percent-sign", batch, message.line));
        }
    }
}

/// All columns only of a view or variable of ours, whose columns no DBA adds to.
pub fn only_views_are_taken_whole(batch: &Batch, found: &mut Vec<Finding>) {
    for statement in batch.statements() {
        for (at, token) in statement.iter().enumerate().filter(|(_, token)| token.is("*")) {
            let before = |back: usize| at.checked_sub(back).map(|at| &statement[at]);
            let is_bare = before(1).is_some_and(|token| token.is("SELECT"));
            let is_dotted = before(1).is_some_and(|token| token.is("."));
            if !is_bare && !is_dotted {
                continue;
            }
            let alias = before(2).map_or("", |token| &token.text);
            let is_ours =
                |token: &Token| token.kind == Kind::Variable || (token.is_name() && token.text.ends_with("_V"));
            let of_ours = is_dotted
                && statement.windows(3).any(|three| is_ours(&three[0]) && three[1].is("AS") && three[2].text == alias);
            if !of_ours {
                found.push(Finding::new("all-columns-of-a-table", batch, token.line));
            }
        }
    }
}

/// A scalar function is called for each row, outside the plan, and its statement never runs in parallel. One behind APPLY or
/// FROM is a part of the plan.
pub fn statements_on_tables_call_no_function(batch: &Batch, found: &mut Vec<Finding>) {
    if !batch.is_procedure() {
        return;
    }
    for statement in batch.statements() {
        let on_table = statement.windows(4).any(|four| {
            ["FROM", "JOIN", "INTO", "UPDATE"].iter().any(|word| four[0].is(word))
                && four[1].is_name()
                && four[2].is(".")
        });
        let call = (0..statement.len().saturating_sub(3)).map(|at| (at, &statement[at..at + 4])).find(|(at, four)| {
            four[0].is_name()
                && four[1].is(".")
                && four[2].is_name()
                && four[2].text.ends_with("_fn")
                && four[3].is("(")
                && !at
                    .checked_sub(1)
                    .is_some_and(|before| ["APPLY", "FROM"].iter().any(|word| statement[before].is(word)))
        });
        if let (true, Some((_, call))) = (on_table, call) {
            found.push(Finding::new("function-on-a-table", batch, call[0].line));
        }
    }
}

/// A table variable has no index to count by: an aggregate of one that depends on an outer row is computed anew for each of them.
pub fn table_variables_are_counted_once(batch: &Batch, found: &mut Vec<Finding>) {
    const AGGREGATES: [&str; 6] = ["COUNT", "COUNT_BIG", "SUM", "MIN", "MAX", "AVG"];
    let tokens = &batch.tokens;
    for at in 0..tokens.len() {
        let is_aggregate = follow(tokens, at, &["(", "SELECT"])
            && tokens.get(at + 2).is_some_and(|token| AGGREGATES.iter().any(|name| token.is(name)));
        if !is_aggregate {
            continue;
        }
        let select = &tokens[at..closing(tokens, at)];
        let Some(from) = select.iter().position(|token| token.is("FROM")) else { continue };
        let reads_variable = select.get(from + 1).is_some_and(|token| token.kind == Kind::Variable);
        let own: Vec<_> =
            select.windows(2).filter(|two| two[0].is("AS")).map(|two| two[1].text.to_lowercase()).collect();
        let Some(filter) = select.iter().position(|token| token.is("WHERE")) else { continue };
        let depends = select[filter..]
            .windows(2)
            .any(|two| two[1].is(".") && two[0].kind == Kind::Word && !own.contains(&two[0].text.to_lowercase()));
        if reads_variable && depends {
            found.push(Finding::new("table-variable-counted-for-each-row", batch, tokens[at].line));
        }
    }
}
