//! What a statement of a rendered script makes, read from its text.

/// An object that a script makes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// A procedure, function or view.
    Code { name: String },
    /// An index: on which table, with which columns, each with whether it descends, and the filter.
    Index { name: String, table: Vec<String>, columns: Vec<(String, bool)>, filter: Option<String> },
}

const CODE: [&str; 4] =
    ["CREATE OR ALTER PROCEDURE ", "CREATE OR ALTER VIEW ", "CREATE OR REPLACE FUNCTION ", "CREATE OR REPLACE VIEW "];

/// What `statement` makes; `None` when that is nothing that is looked at.
pub(super) fn made(statement: &str) -> Option<Made> {
    if let Some(rest) = CODE.iter().find_map(|start| Some(statement.split_once(start)?.1)) {
        let (mut name, _) = qualified(rest)?;
        return Some(Made::Code { name: name.pop()? });
    }
    let (before, rest) = statement.split_once(" INDEX ")?;
    let bare = before.rsplit_once("*/").map_or(before, |(_, code)| code).trim_start();
    // What is made on a condition, in a block of code, may rightly not be there.
    if !before.contains("CREATE") || bare.starts_with("DO ") {
        return None;
    }
    let rest = rest.strip_prefix("IF NOT EXISTS ").unwrap_or(rest);
    let (mut parts, rest) = qualified(rest)?;
    let name = parts.pop()?;
    // So may what is made unless another index serves for it.
    if before.contains("IF NOT EXISTS") && !before.contains(&name) {
        return None;
    }
    let (table, rest) = qualified(rest.trim_start().strip_prefix("ON ")?)?;
    let (columns, rest) = list(rest.trim_start().strip_prefix('(')?)?;
    let columns = columns
        .iter()
        .map(|column| {
            let column = column.trim();
            let descends = column.ends_with(" DESC");
            // An expression has no name; the catalog has none for it either.
            if column.starts_with('(') {
                return Some((String::new(), descends));
            }
            Some((qualified(column)?.0.pop()?, descends))
        })
        .collect::<Option<_>>()?;
    let filter = rest.split_once("WHERE").map(|(_, filter)| filter.trim().trim_end_matches(';').to_owned());
    Some(Made::Index { name, table, columns, filter })
}

/// The elements of a list up to its closing parenthesis, and what follows it.
fn list(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut elements = Vec::new();
    let (mut depth, mut start, mut quote) = (0, 0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(close), c) if c == close => quote = None,
            (Some(_), _) => {}
            (None, '[') => quote = Some(']'),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth > 0 => depth -= 1,
            (None, ')') => {
                elements.push(&text[start..at]);
                return Some((elements, &text[at + 1..]));
            }
            (None, ',') if depth == 0 => {
                elements.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The parts of a name at the beginning of `text`, and what follows it.
fn qualified(text: &str) -> Option<(Vec<String>, &str)> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (part, after) = match rest.chars().next()? {
            '[' => quoted(&rest[1..], ']')?,
            '"' => quoted(&rest[1..], '"')?,
            _ => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None => return Some((parts, after)),
        }
    }
}

/// A quoted name up to its closing quote, of which two stand for one.
fn quoted(text: &str, close: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (piece, after) = rest.split_once(close)?;
        name.push_str(piece);
        match after.strip_prefix(close) {
            Some(more) => {
                name.push(close);
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, statements};
    use crate::ident::Identifier;
    use crate::spec::QueueSpec;

    #[test]
    fn names_are_read_as_they_were_quoted() {
        let statement = "/* x */\nCREATE OR ALTER PROCEDURE [a]]b].[Next_Q_trx]\n    @Worker nvarchar(128)";
        assert_eq!(made(statement), Some(Made::Code { name: "Next_Q_trx".to_owned() }));
        let statement = "CREATE INDEX IF NOT EXISTS q_due ON \"s\".\"q\" (a, \"B\" DESC)\nWHERE status = 'x';";
        let columns = vec![("a".to_owned(), false), ("B".to_owned(), true)];
        let table = vec!["s".to_owned(), "q".to_owned()];
        let filter = Some("status = 'x'".to_owned());
        assert_eq!(made(statement), Some(Made::Index { name: "q_due".to_owned(), table, columns, filter }));
        assert_eq!(made("INSERT INTO t VALUES (1)"), None);
        let statement = "CREATE INDEX q ON t (\n    (COALESCE(\"a\", '-infinity')),\n    b\n)\nWHERE\"c\" = 1";
        let Some(Made::Index { columns, filter, .. }) = made(statement) else { panic!("an index") };
        assert_eq!(columns, [(String::new(), false), ("b".to_owned(), false)]);
        assert_eq!(filter.as_deref(), Some("\"c\" = 1"));
        assert_eq!(made("/* x */\nDO $$\nBEGIN\n    CREATE INDEX a_same ON t (a);\nEND;\n$$;"), None);
    }

    #[test]
    fn everything_that_a_queue_is_made_of_is_recognized() {
        let schema = Identifier::new("the schema", "s]\"x").unwrap();
        for (name, text) in crate::spec::EXAMPLES {
            let spec = QueueSpec::from_toml(text).unwrap();
            for dialect in [Dialect::SqlServer, Dialect::Postgres] {
                let scripts = dialect.queue_scripts(&schema, &spec).unwrap();
                for statement in scripts.iter().flat_map(|script| statements(script)) {
                    let code = statement.rsplit_once("*/\n").map_or(statement, |(_, code)| code);
                    let is_code = ["CREATE OR ALTER PROC", "CREATE OR ALTER VIEW", "CREATE OR REPLACE"]
                        .iter()
                        .any(|start| code.starts_with(start));
                    let is_index = ["CREATE INDEX", "CREATE UNIQUE INDEX"].iter().any(|start| code.starts_with(start));
                    assert!(!(is_code || is_index) || made(statement).is_some(), "{name} {dialect:?}: {statement}");
                }
            }
        }
    }
}
