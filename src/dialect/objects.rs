//! What a rendered script makes: its functions, procedures, views, indexes and grants, found by reading it. So whatever the
//! templates make is seen by an upgrade, and no second list of names has to agree with them.

use super::Dialect;
use crate::ident::Identifier;

/// Something that a script makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    /// A function, procedure or view.
    Object { kind: &'static str, name: Name },
    /// An index, with its table and its whole definition.
    Index { name: Name, table: Name, definition: String },
    /// A grant: the right, on what, and to whom.
    Grant { right: String, on: Name, role: Name },
}

/// A name as it stands in the script: its parts, quoted as they are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(Vec<String>);

impl Name {
    /// As it stands in the script.
    pub(super) fn quoted(&self) -> String {
        self.0.join(".")
    }

    /// The last part, without its quotes.
    pub(super) fn bare(&self) -> String {
        let last = self.0.last().map(String::as_str).unwrap_or_default();
        let strip = |open, close: char| last.strip_prefix(open)?.strip_suffix(close);
        let undouble = |text: &str, close: char| text.replace(&format!("{close}{close}"), &close.to_string());
        strip('[', ']')
            .map(|name| undouble(name, ']'))
            .or_else(|| strip('"', '"').map(|name| undouble(name, '"')))
            .unwrap_or_else(|| last.to_owned())
    }

    /// `name` beside this one, in the same schema.
    pub(super) fn beside(&self, name: &Self) -> Self {
        let mut parts = self.0.clone();
        parts.pop();
        parts.extend(name.0.last().cloned());
        Self(parts)
    }
}

/// What the scripts make, in their order.
pub(super) fn made(scripts: &[String]) -> Vec<Made> {
    scripts
        .iter()
        .flat_map(|script| super::statements(script))
        .flat_map(|statement| of_statement(&words(statement)))
        .collect()
}

fn of_statement(words: &[&str]) -> Vec<Made> {
    if let ["CREATE", "OR", "ALTER" | "REPLACE", kind, rest @ ..] = words {
        let kinds = ["FUNCTION", "PROCEDURE", "VIEW"];
        let kind = kinds.into_iter().find(|known| known == kind);
        return kind.map(|kind| Made::Object { kind, name: name(rest).0 }).into_iter().collect();
    }
    let mut made: Vec<_> = words.iter().enumerate().filter_map(|(place, _)| grant(&words[place..])).collect();
    for (place, _) in words.iter().enumerate().filter(|(_, word)| **word == "CREATE") {
        let rest = &words[place + 1..];
        let kind = rest.iter().take_while(|word| matches!(**word, "UNIQUE" | "CLUSTERED" | "NONCLUSTERED")).count();
        let ["INDEX", rest @ ..] = &rest[kind..] else { continue };
        let rest = if let ["IF", "NOT", "EXISTS", rest @ ..] = rest { rest } else { rest };
        let (index, rest) = name(rest);
        let ["ON", rest @ ..] = rest else { continue };
        let end = words.iter().skip(place).position(|word| *word == ";").map_or(words.len(), |end| place + end);
        // One that is made in this way or that, as the server can, is one all the same.
        if !made.iter().any(|made| matches!(made, Made::Index { name, .. } if *name == index)) {
            made.push(Made::Index { name: index, table: name(rest).0, definition: joined(&words[place..end]) });
        }
    }
    made
}

/// The grant on an object that `words` begin with.
fn grant(words: &[&str]) -> Option<Made> {
    let ["GRANT", right, "ON", rest @ ..] = words else { return None };
    let rest = if let ["FUNCTION", rest @ ..] = rest { rest } else { rest };
    let (on, rest) = name(rest);
    let rest = if let ["(", ")", rest @ ..] = rest { rest } else { rest };
    let ["TO", rest @ ..] = rest else { return None };
    Some(Made::Grant { right: (*right).to_owned(), on, role: name(rest).0 })
}

/// The name that `words` begin with, and what follows it.
fn name<'a, 'b>(words: &'b [&'a str]) -> (Name, &'b [&'a str]) {
    let mut parts: Vec<String> = words.iter().take(1).map(|word| (*word).to_owned()).collect();
    let mut rest = words.get(1..).unwrap_or_default();
    while let [".", part, more @ ..] = rest {
        parts.push((*part).to_owned());
        rest = more;
    }
    (Name(parts), rest)
}

/// Words as text again; points bind.
fn joined(words: &[&str]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() && *word != "." && !text.ends_with('.') {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

/// The words of a statement: names in quotes and literals as one each, comments left out.
fn words(statement: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = statement.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("/*") => {
                // A comment in T-SQL may hold another.
                rest = after_comment(rest).trim_start();
                continue;
            }
            '[' => quoted(rest, ']'),
            '"' | '\'' => quoted(rest, first),
            c if is_plain(c) => rest.find(|c| !is_plain(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$')
}

/// The length of what stands in quotes, the quotes included; a closing quote that is doubled belongs to it.
fn quoted(text: &str, close: char) -> usize {
    let mut end = 1;
    loop {
        match text[end..].find(close) {
            None => return text.len(),
            Some(found) => end += found + 1,
        }
        if !text[end..].starts_with(close) {
            return end;
        }
        end += 1;
    }
}

fn after_comment(text: &str) -> &str {
    let mut depth = 0;
    let mut rest = text;
    loop {
        let open = rest.find("/*");
        match (open, rest.find("*/")) {
            (Some(open), Some(close)) if open < close => {
                depth += 1;
                rest = &rest[open + 2..];
            }
            (_, Some(close)) => {
                depth -= 1;
                rest = &rest[close + 2..];
                if depth == 0 {
                    return rest;
                }
            }
            (_, None) => return "",
        }
    }
}

/// What `script` names in `schema`, without its quotes.
pub(super) fn names(dialect: Dialect, schema: &Identifier, script: &str) -> Vec<String> {
    let (open, close) = match dialect {
        Dialect::SqlServer => ('[', ']'),
        Dialect::Postgres => ('"', '"'),
    };
    let mut names = Vec::new();
    for after in script.split(&format!("{}.{open}", schema.quoted(dialect.quote_style()))).skip(1) {
        let mut name = String::new();
        let mut rest = after.chars();
        while let Some(c) = rest.next() {
            // Doubled, it is a part of the name.
            if c == close && rest.clone().next() != Some(close) {
                break;
            }
            if c == close {
                rest.next();
            }
            name.push(c);
        }
        // Within a text literal, quotes are doubled.
        names.push(name.replace("''", "'"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Name {
        Name(name.split('.').map(str::to_owned).collect())
    }

    #[test]
    fn what_a_script_makes_is_found_past_comments_and_quotes() {
        let script = "/* CREATE INDEX no ON nothing /* nor here */ */\nIF NOT EXISTS (SELECT 'CREATE')\n    CREATE UNIQUE \
                      NONCLUSTERED INDEX [IX_[a]]/*] ON [my.s].[t] ([x]) WHERE [y] = 'a''b';\nGO\nCREATE OR ALTER \
                      PROCEDURE [my.s].[Next_Q]\nAS SELECT 1;\nGO\nIF OBJECT_ID(N'x') IS NOT NULL\n    GRANT EXECUTE ON [my.s].[Next_Q] TO [the role];\nGO\n";
        let table = Name(vec!["[my.s]".to_owned(), "[t]".to_owned()]);
        let index = Name(vec!["[IX_[a]]/*]".to_owned()]);
        let procedure = Name(vec!["[my.s]".to_owned(), "[Next_Q]".to_owned()]);
        assert_eq!(
            made(&[script.to_owned()]),
            [
                Made::Index {
                    name: index.clone(),
                    table: table.clone(),
                    definition: "CREATE UNIQUE NONCLUSTERED INDEX [IX_[a]]/*] ON [my.s].[t] ( [x] ) WHERE [y] = 'a''b'"
                        .to_owned()
                },
                Made::Object { kind: "PROCEDURE", name: procedure.clone() },
                Made::Grant { right: "EXECUTE".to_owned(), on: procedure, role: Name(vec!["[the role]".to_owned()]) },
            ]
        );
        assert_eq!(index.bare(), "IX_[a]/*");
        assert_eq!(table.beside(&index).quoted(), "[my.s].[IX_[a]]/*]");
    }

    #[test]
    fn names_without_quotes_are_names_too() {
        let script = "CREATE INDEX IF NOT EXISTS q_due ON \"s\".\"q\" (a, b)\nWHERE c IN ('x');\nGO\nCREATE OR REPLACE \
                      FUNCTION \"s\".\"f\"(a text)\nRETURNS text AS $$ it's $$;\nGO\nGRANT EXECUTE ON FUNCTION \"s\".\"f\"() TO r;";
        let made = made(&[script.to_owned()]);
        let Made::Index { name, table, .. } = &made[0] else { panic!("{made:?}") };
        assert_eq!((name, table.beside(name)), (&named("q_due"), named("\"s\".q_due")));
        let Made::Object { kind: "FUNCTION", name } = &made[1] else { panic!("{made:?}") };
        assert_eq!(name.bare(), "f");
        let grant = Made::Grant { right: "EXECUTE".to_owned(), on: name.clone(), role: named("r") };
        assert_eq!(made[2..], [grant]);
    }
}
