//! The types on both sides of `=`. Where they differ, the server converts one side; if that is the column, no index serves.

use super::Finding;
use super::text::{Batch, Kind, Token, closing, follow};
use std::collections::BTreeMap;

/// A type, as far as comparing asks for it: without the length of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Type {
    name: String,
    /// The precision, of the types in which it counts.
    precision: String,
    /// The collation of a column that names one. A variable follows the column that it is compared with.
    collation: Option<String>,
}

type Columns = BTreeMap<String, Type>;

/// Types that are known from DDL, over all batches of a script.
#[derive(Default)]
pub struct Types {
    aliases: BTreeMap<String, Type>,
    tables: BTreeMap<String, Columns>,
}

impl Types {
    pub fn learn(&mut self, batch: &Batch) {
        let tokens = &batch.tokens;
        for at in 0..tokens.len() {
            if follow(tokens, at, &["CREATE", "TYPE"]) {
                let end = end_of_name(tokens, at + 2);
                if follow(tokens, end, &["FROM"])
                    && let Some((of, _)) = self.read(tokens, end + 1)
                {
                    self.aliases.insert(tokens[end - 1].text.clone(), of);
                }
            } else if follow(tokens, at, &["CREATE", "TABLE"]) {
                let end = end_of_name(tokens, at + 2);
                let columns = self.columns(tokens, end);
                self.tables.insert(tokens[end - 1].text.clone(), columns);
            }
        }
    }

    /// The columns of the list that opens at `open`.
    fn columns(&self, tokens: &[Token], open: usize) -> Columns {
        let mut columns = Columns::new();
        let mut at = open + 1;
        let end = closing(tokens, open);
        let mut begins = true;
        while at < end {
            if begins
                && tokens[at].is_name()
                && let Some((of, _)) = self.read(tokens, at + 1)
            {
                columns.insert(tokens[at].text.clone(), of);
            }
            begins = tokens[at].is(",");
            at = if tokens[at].is("(") { closing(tokens, at) } else { at + 1 };
        }
        columns
    }

    /// The type that stands at `at`, and where it ends.
    fn read(&self, tokens: &[Token], at: usize) -> Option<(Type, usize)> {
        let first = tokens.get(at)?;
        let (mut of, mut end) = if first.is_name() {
            let end = end_of_name(tokens, at);
            (self.aliases.get(&tokens[end - 1].text)?.clone(), end)
        } else if first.kind == Kind::Word && !first.is("AS") && !first.is("CONSTRAINT") {
            let end = if follow(tokens, at + 1, &["("]) { closing(tokens, at + 1) } else { at + 1 };
            let counts = ["DECIMAL", "NUMERIC", "DATETIME2", "TIME"].contains(&first.text.as_str());
            let inner: String = tokens[at + 1..end].iter().map(|token| token.text.as_str()).collect();
            let precision = if counts { inner } else { String::new() };
            (Type { name: first.text.clone(), precision, collation: None }, end)
        } else {
            return None;
        };
        if tokens.get(end).is_some_and(|token| token.is("COLLATE")) {
            of.collation = tokens.get(end + 1).map(|token| token.text.clone());
            end += 2;
        }
        Some((of, end))
    }

    /// The variables of a batch, and the columns of its table variables.
    fn variables(&self, batch: &Batch) -> (BTreeMap<String, Type>, BTreeMap<String, Columns>) {
        let (mut plain, mut tables) = (BTreeMap::new(), BTreeMap::new());
        let mut declares = batch.is_procedure();
        for (at, token) in batch.tokens.iter().enumerate() {
            declares = (declares || token.is("DECLARE")) && !token.is(";");
            if token.kind != Kind::Variable || !declares {
                continue;
            }
            if follow(&batch.tokens, at + 1, &["TABLE", "("]) {
                tables.entry(token.text.clone()).or_insert_with(|| self.columns(&batch.tokens, at + 2));
            } else if let Some((of, _)) = self.read(&batch.tokens, at + 1) {
                plain.entry(token.text.clone()).or_insert(of);
            }
        }
        (plain, tables)
    }
}

fn end_of_name(tokens: &[Token], mut at: usize) -> usize {
    while tokens.get(at).is_some_and(|token| token.is_name() || token.is(".")) {
        at += 1;
    }
    at
}

pub fn both_sides_are_of_one_type(types: &Types, batch: &Batch, found: &mut Vec<Finding>) -> usize {
    if !batch.is_procedure() {
        return 0;
    }
    let (variables, tables) = types.variables(batch);
    let mut compared = 0;
    for statement in batch.statements() {
        let aliases = aliases(types, &tables, statement);
        let side = |tokens: &[Token]| -> Option<(Type, bool)> {
            match tokens {
                [variable] if variable.kind == Kind::Variable => Some((variables.get(&variable.text)?.clone(), false)),
                [text] if text.kind == Kind::Text(true) => {
                    Some((Type { name: "NVARCHAR".to_owned(), precision: String::new(), collation: None }, false))
                }
                [alias, dot, column] if dot.is(".") && column.is_name() => {
                    Some((aliases.get(&alias.text)?.get(&column.text)?.clone(), true))
                }
                _ => None,
            }
        };
        for (at, _) in statement.iter().enumerate().filter(|(_, token)| token.is("=")) {
            let Some((left, right)) = operands(statement, at) else { continue };
            let (Some((left, left_is_column)), Some((right, right_is_column))) = (side(left), side(right)) else {
                continue;
            };
            compared += 1;
            let is_collated = left_is_column && right_is_column && is_text(&left) && left.collation != right.collation;
            if family(&left) != family(&right) || left.precision != right.precision || is_collated {
                let mut finding = Finding::new("sides-of-different-types", batch, statement[at].line);
                finding.detail = format!("{left:?} = {right:?}");
                found.push(finding);
            }
        }
    }
    compared
}

fn is_text(of: &Type) -> bool {
    of.name.ends_with("CHAR")
}

fn family(of: &Type) -> &str {
    match of.name.as_str() {
        "CHAR" | "VARCHAR" | "SYSNAME" => "VARCHAR",
        "NCHAR" | "NVARCHAR" => "NVARCHAR",
        other => other,
    }
}

/// Both sides of the `=` at `at`, if each is a variable, a literal or a column with its alias, by itself.
fn operands(statement: &[Token], at: usize) -> Option<(&[Token], &[Token])> {
    const BEFORE: [&str; 8] = ["WHERE", "AND", "OR", "ON", "(", "WHEN", "NOT", "IF"];
    const BEHIND: [&str; 12] =
        [")", "AND", "OR", "THEN", "ORDER", "GROUP", "INNER", "LEFT", "OPTION", "CROSS", "UNION", "ELSE"];
    let left = if at >= 3 && statement[at - 2].is(".") { at - 3 } else { at.checked_sub(1)? };
    let right = if statement.get(at + 2).is_some_and(|token| token.is(".")) { at + 4 } else { at + 2 };
    let begins = left > 0 && BEFORE.iter().any(|word| statement[left - 1].is(word));
    let ends = statement.get(right).is_none_or(|token| BEHIND.iter().any(|word| token.is(word)));
    (begins && ends).then(|| (&statement[left..at], &statement[at + 1..right]))
}

/// The columns that each alias of a statement stands for.
fn aliases(types: &Types, variables: &BTreeMap<String, Columns>, statement: &[Token]) -> BTreeMap<String, Columns> {
    let mut found = BTreeMap::new();
    for (at, _) in statement.iter().enumerate().filter(|(_, token)| token.is("AS")) {
        let (Some(before), Some(alias)) = (at.checked_sub(1).map(|at| &statement[at]), statement.get(at + 1)) else {
            continue;
        };
        let columns = match before.kind {
            Kind::Variable => variables.get(&before.text).cloned(),
            Kind::Name => types.tables.get(&before.text).cloned(),
            Kind::Symbol if before.is(")") => json_columns(types, statement, at),
            _ => None,
        };
        if let (Kind::Word, Some(columns)) = (&alias.kind, columns) {
            // An alias that is used for two things says nothing.
            let is_new = found.insert(alias.text.clone(), columns).is_none();
            if !is_new {
                found.insert(alias.text.clone(), Columns::new());
            }
        }
    }
    found
}

/// The columns of `OPENJSON (...) WITH (...) AS`.
fn json_columns(types: &Types, statement: &[Token], end: usize) -> Option<Columns> {
    let open = (0..end).rev().find(|open| statement[*open].is("(") && closing(statement, *open) == end)?;
    (open > 0 && statement[open - 1].is("WITH")).then(|| types.columns(statement, open))
}
