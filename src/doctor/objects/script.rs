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
    if !before.contains("CREATE") {
        return None;
    }
    let rest = rest.strip_prefix("IF NOT EXISTS ").unwrap_or(rest);
    let (mut name, rest) = qualified(rest)?;
    let (table, rest) = qualified(rest.trim_start().strip_prefix("ON ")?)?;
    let (columns, rest) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let columns = columns
        .split(',')
        .map(|column| {
            let (mut name, rest) = qualified(column.trim())?;
            Some((name.pop()?, rest.trim_start().starts_with("DESC")))
        })
        .collect::<Option<_>>()?;
    let filter = rest.split_once("WHERE ").map(|(_, filter)| filter.trim().trim_end_matches(';').to_owned());
    Some(Made::Index { name: name.pop()?, table, columns, filter })
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
    }

    #[test]
    fn everything_that_a_queue_is_made_of_is_recognized() {
        let schema = Identifier::new("the schema", "s]\"x").unwrap();
        let spec = QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap();
        for dialect in [Dialect::SqlServer, Dialect::Postgres] {
            let scripts = dialect.queue_scripts(&schema, &spec).unwrap();
            let all: Vec<_> = scripts.iter().flat_map(|script| statements(script)).filter_map(made).collect();
            let indexes = all.iter().filter(|made| matches!(made, Made::Index { .. })).count();
            let written: usize = scripts.iter().map(|script| script.matches(" INDEX ").count()).sum();
            let hints: usize = scripts.iter().map(|script| script.matches("INDEX (").count()).sum();
            assert!(indexes >= 2 && indexes <= written, "{dialect:?} {indexes} of {written}, {hints}");
            assert!(all.len() - indexes >= 11, "{dialect:?}");
        }
    }
}
