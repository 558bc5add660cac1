//! Names that become part of SQL text: validated once, quoted in one place.

mod find;
mod near;

pub(crate) use self::find::{FoundName, find_name};
pub(crate) use self::near::{did_you_mean, nearest};

use crate::error::{Error, ErrorKind, Excerpt, Result};
use std::fmt;

/// SQL Server's `sysname` holds 128 characters.
const MAX_IDENTIFIER_CHARS: usize = 128;

/// PostgreSQL cuts identifiers at 63 bytes, silently; the longest object made of a queue's name adds 23 to it.
const MAX_QUEUE_NAME_CHARS: usize = 40;

/// How a dialect quotes identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuoteStyle {
    /// `[name]`, a closing bracket doubled.
    Brackets,
    /// `"name"`, a double quote doubled.
    DoubleQuotes,
}

/// A name of a schema, table or column. Any character but control characters may stand in it, since it is always quoted;
/// a line break could end a statement of a script that is cut at lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identifier {
    name: String,
    /// Whether a description has it in double quotes: PostgreSQL does not make it lower case.
    exact: bool,
}

impl Identifier {
    /// Takes `name` as it is. `what` names it in the error.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it is empty, longer than 128 characters, or contains a control character or two
    /// dollar signs in a row.
    pub fn new(what: &str, name: &str) -> Result<Self> {
        let chars = name.chars().count();
        if chars == 0 {
            return Err(refuse(format!("{what} is empty; give its name")));
        }
        if chars > MAX_IDENTIFIER_CHARS {
            return Err(refuse(format!(
                "{what} has {chars} characters; a name has at most {MAX_IDENTIFIER_CHARS}: shorten it"
            )));
        }
        if let Some(control) = name.chars().find(|c| c.is_control()) {
            let code = u32::from(control);
            return Err(refuse(format!(
                "{what} contains the control character U+{code:04X}, which no name may; remove it"
            )));
        }
        if name.contains("$$") {
            return Err(refuse(format!(
                "{what} contains two dollar signs in a row, which end the body of a function in PostgreSQL; take another \
                 name"
            )));
        }
        Ok(Self { name: name.to_owned(), exact: false })
    }

    /// Takes `name` as somebody would write it in SQL: in double quotes it keeps its case in PostgreSQL, and without them it
    /// is lower case there. SQL Server takes no notice of the quotes.
    ///
    /// # Errors
    /// As [`Self::new`], of what stands between the quotes.
    pub fn written(what: &str, name: &str) -> Result<Self> {
        match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(name) => Self::exact(what, name),
            None => Self::new(what, name),
        }
    }

    /// Takes `name` as the catalog has it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn exact(what: &str, name: &str) -> Result<Self> {
        Ok(Self { exact: true, ..Self::new(what, name)? })
    }

    /// A name from the source, which needs no check.
    pub(crate) fn known(name: &'static str) -> Self {
        Self { name: name.to_owned(), exact: false }
    }

    /// The name as a description writes it: [`Self::written`] takes it.
    #[must_use]
    pub fn as_written(&self) -> String {
        if self.exact { format!("\"{}\"", self.name) } else { self.name.clone() }
    }

    /// This name with `ending` behind it, written in the same way.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn with_ending(&self, what: &str, ending: &str) -> Result<Self> {
        Ok(Self { exact: self.exact, ..Self::new(what, &format!("{}{ending}", self.name))? })
    }

    /// The name, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The name quoted for SQL text. This is the only place where a name becomes SQL.
    #[must_use]
    pub fn quoted(&self, style: QuoteStyle) -> String {
        match style {
            QuoteStyle::Brackets => format!("[{}]", self.name.replace(']', "]]")),
            QuoteStyle::DoubleQuotes => format!("\"{}\"", self.name.replace('"', "\"\"")),
        }
    }

    /// The quoted name of a table or column of the user's, given as they would write it there: PostgreSQL takes names in lower
    /// case unless they stand in double quotes.
    #[must_use]
    pub fn quoted_as_written(&self, style: QuoteStyle) -> String {
        match style {
            QuoteStyle::DoubleQuotes if !self.exact => Self { name: self.in_postgres(), exact: true }.quoted(style),
            _ => self.quoted(style),
        }
    }

    /// The name as PostgreSQL's catalog has it.
    pub(crate) fn in_postgres(&self) -> String {
        if self.exact { self.name.clone() } else { self.name.to_lowercase() }
    }
}

/// The name of a queue. It becomes part of the names of procedures, indexes and constraints, so it must read well in all of them:
/// a letter first, then letters, digits and underscores of ASCII, at most 40.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueueName(String);

impl QueueName {
    /// Takes `name`, exactly as it is to appear in SQL Server's object names (`Notification`).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when a character or the length is not allowed.
    pub fn new(name: &str) -> Result<Self> {
        let identifier = Identifier::new("the queue's name", name)?;
        let mut chars = name.chars();
        let starts_well = chars.next().is_some_and(|first| first.is_ascii_alphabetic());
        if let (true, None) = (starts_well, chars.find(|c| !c.is_ascii_alphanumeric() && *c != '_')) {
            if name.len() <= MAX_QUEUE_NAME_CHARS {
                return Ok(Self(identifier.name));
            }
            return Err(refuse(format!(
                "the queue's name has {} characters; it becomes part of longer names, so {MAX_QUEUE_NAME_CHARS} are the \
                 most: shorten it",
                name.len()
            )));
        }
        Err(refuse(format!(
            "the queue's name {} is not allowed; use a letter first, then letters, digits and underscores (ASCII)",
            Excerpt(name)
        )))
    }

    /// The name as given (`PasswordReset`).
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a table's.
    pub(crate) fn to_identifier(&self) -> Identifier {
        Identifier { name: self.0.clone(), exact: false }
    }

    /// The name in PostgreSQL's manner (`password_reset`). A run of capitals counts as one word.
    #[must_use]
    pub fn snake_case(&self) -> String {
        let chars: Vec<char> = self.0.chars().collect();
        let mut out = String::with_capacity(self.0.len() + 8);
        for (i, &c) in chars.iter().enumerate() {
            let after_lower = i > 0 && (chars[i - 1].is_ascii_lowercase() || chars[i - 1].is_ascii_digit());
            let ends_acronym = i > 0
                && chars[i - 1].is_ascii_uppercase()
                && chars.get(i + 1).is_some_and(|next| next.is_ascii_lowercase());
            if c.is_ascii_uppercase() && (after_lower || ends_acronym) {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        }
        out
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_names_become_snake_case() {
        for (name, snake) in [
            ("Notification", "notification"),
            ("PasswordReset", "password_reset"),
            ("SMSOut", "sms_out"),
            ("four_queue", "four_queue"),
            ("Q4Work", "q4_work"),
        ] {
            assert_eq!(QueueName::new(name).unwrap().snake_case(), snake);
        }
    }

    #[test]
    fn quoting_doubles_the_closing_quote() {
        let name = Identifier::new("the table", "a]b\"c").unwrap();
        assert_eq!(name.quoted(QuoteStyle::Brackets), "[a]]b\"c]");
        assert_eq!(name.quoted(QuoteStyle::DoubleQuotes), "\"a]b\"\"c\"");
    }

    #[test]
    fn a_name_in_double_quotes_keeps_its_case_in_postgresql() {
        let quoted = |written, style| Identifier::written("the column", written).unwrap().quoted_as_written(style);
        assert_eq!(quoted("\"Content\"", QuoteStyle::DoubleQuotes), "\"Content\"");
        assert_eq!(quoted("Content", QuoteStyle::DoubleQuotes), "\"content\"");
        assert_eq!(quoted("\"Content\"", QuoteStyle::Brackets), "[Content]");
        let name = Identifier::written("the column", "\"Content\"").unwrap();
        assert_eq!((name.as_str(), name.as_written().as_str()), ("Content", "\"Content\""));
        assert!(Identifier::written("the column", "\"\"").is_err());
    }

    #[test]
    fn hostile_queue_names_are_refused_with_a_reason() {
        for name in ["", "a]b", "a;drop table x", "a'b", "1a", "a b", "\u{e9}t\u{e9}", "a\0b", &"x".repeat(129)] {
            let error = QueueName::new(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("name"), "{error}");
        }
        assert!(QueueName::new(&"x".repeat(41)).unwrap_err().message().contains("shorten"));
    }
}
