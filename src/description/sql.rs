//! SQL in a description's columns: a condition, and names of the author's own objects.

use crate::ident::Identifier;
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// A condition that each row fulfils, as each server writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSpec {
    /// In T-SQL.
    pub sql_server: String,
    /// In PostgreSQL's SQL.
    pub postgres: String,
}

/// The name of an object of the author's, in SQL: PostgreSQL takes a name without double quotes in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlName {
    /// Its schema; without it the server's usual one, `dbo` or `public`.
    pub schema: Option<Identifier>,
    /// Its name, with its quotes if it has any.
    pub name: Identifier,
}

/// A reference to a column of the author's, which has every value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceSpec {
    /// The table.
    pub table: SqlName,
    /// The column, with its quotes if it has any.
    pub column: Identifier,
}

impl SqlName {
    /// Reads `dbo.OtpCode`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = Rest::of(text);
        let name = rest.qualified()?;
        rest.is_done().then_some(name)
    }
}

impl ReferenceSpec {
    /// Reads `dbo.Users(ID)`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = Rest::of(text);
        let table = rest.qualified()?;
        let column = rest.mark('(').then(|| rest.name())??;
        (rest.mark(')') && rest.is_done()).then_some(Self { table, column })
    }
}

impl fmt::Display for SqlName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", schema.as_written())?;
        }
        f.write_str(&self.name.as_written())
    }
}

impl fmt::Display for ReferenceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.table, self.column.as_written())
    }
}

/// The rest of a text to be read.
struct Rest<'a>(Peekable<Chars<'a>>);

impl<'a> Rest<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.chars().peekable())
    }

    fn blanks(&mut self) {
        while self.0.next_if_eq(&' ').is_some() {}
    }

    fn mark(&mut self, mark: char) -> bool {
        self.blanks();
        self.0.next_if_eq(&mark).is_some()
    }

    fn is_done(&mut self) -> bool {
        self.blanks();
        self.0.peek().is_none()
    }

    fn qualified(&mut self) -> Option<SqlName> {
        let first = self.name()?;
        if !self.mark('.') {
            return Some(SqlName { schema: None, name: first });
        }
        Some(SqlName { schema: Some(first), name: self.name()? })
    }

    /// A word, or a text in double quotes, or in brackets, which mean the same.
    fn name(&mut self) -> Option<Identifier> {
        self.blanks();
        let end = match self.0.peek()? {
            '"' => '"',
            '[' => ']',
            _ => return self.word(),
        };
        self.0.next();
        let mut exact = String::new();
        loop {
            match self.0.next()? {
                found if found == end => break,
                '"' | '[' | ']' => return None,
                other => exact.push(other),
            }
        }
        Identifier::exact("the name", &exact).ok()
    }

    fn word(&mut self) -> Option<Identifier> {
        let mut word = String::new();
        while let Some(next) = self.0.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(next);
        }
        let starts_well = word.chars().next().is_some_and(|first| !first.is_numeric());
        Identifier::new("the name", &word).ok().filter(|_| starts_well)
    }
}

/// Why `condition` cannot stand between the parentheses of a CHECK. `brackets`: whether they quote names, as in T-SQL.
pub(super) fn why_no_condition(condition: &str, brackets: bool) -> Option<&'static str> {
    if condition.trim().is_empty() {
        return Some("is empty");
    }
    if condition.contains(char::is_control) {
        return Some("has a control character; write it in one line");
    }
    let mut open = 0_u32;
    let mut quote = None;
    // PostgreSQL's E'...', in which a backslash may keep a quote from ending the text.
    let mut escapes = false;
    let mut before = ' ';
    let mut rest = condition.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            // Doubled, it is a part of the text, or of the name.
            (Some(end), c) if c == end && rest.next_if_eq(&end).is_some() => {}
            (Some(end), c) if c == end => quote = None,
            (Some(_), '\\') if escapes => {
                return Some("has a backslash in a text that begins with E; write it without");
            }
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(c);
                escapes = !brackets && c == '\'' && matches!(before, 'e' | 'E');
            }
            (None, '[') if brackets => (quote, escapes) = (Some(']'), false),
            (None, '(') => open += 1,
            (None, ')') if open == 0 => return Some("closes a parenthesis that it does not open"),
            (None, ')') => open -= 1,
            (None, ';') => return Some("has a semicolon, and is to be one condition"),
            (None, '-') if before == '-' => return Some("has a comment"),
            (None, '*') if before == '/' => return Some("has a comment"),
            (None, '$') if !brackets || before == '$' => return Some("has a dollar sign outside of quotes"),
            (None, '?') => {
                return Some("has a question mark, which ODBC takes for a parameter; call the function behind it");
            }
            _ => {}
        }
        before = if quote.is_none() { c } else { ' ' };
    }
    match (quote, open) {
        (Some(_), _) => Some("opens a quote that it does not close"),
        (None, 1..) => Some("opens a parenthesis that it does not close"),
        (None, 0) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_has_them() {
        for (text, written) in [
            ("Users(ID)", "Users(ID)"),
            (" dbo . Users ( ID ) ", "dbo.Users(ID)"),
            ("[dbo].[My Users]([ID])", "\"dbo\".\"My Users\"(\"ID\")"),
            ("\"a.b\".\"c(d\"(\"e)\")", "\"a.b\".\"c(d\"(\"e)\")"),
        ] {
            let read = ReferenceSpec::parse(text).unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(ReferenceSpec::parse(written), Some(read));
        }
        for text in
            ["", "Users", "Users()", "Users(ID", "Users(ID))", "Users(A, B)", "a.b.c(d)", "1(a)", "a\"(b)", "\"a(b)"]
        {
            assert_eq!(ReferenceSpec::parse(text), None, "{text}");
        }
        assert_eq!(SqlName::parse("dbo.OtpCode").unwrap().schema, Some(Identifier::known("dbo")));
        for text in ["", "a b", "dbo.", "a(b)", "nvarchar(6)"] {
            assert_eq!(SqlName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_condition_ends_where_its_text_ends() {
        for text in ["a > 0", "a IN ('x;--', 'it''s)')", "(a > 0) OR (\"b)\" < 1)", "a ~ '^\\d+$'", "a - -1 > b / 2"] {
            assert_eq!(why_no_condition(text, true), None, "{text}");
            assert_eq!(why_no_condition(text, false), None, "{text}");
        }
        assert_eq!(why_no_condition("[it's] = 1", true), None);
        assert_eq!(why_no_condition("[a]]'] = 1 AND b = $5", true), None);
        assert_eq!(why_no_condition("a = E'x' AND b = 'E\\'", false), None);
        // The server would end the name, or the text, elsewhere than it seems.
        for (text, brackets) in [
            ("[a]]'] = 1) ; DROP TABLE t --'", true),
            ("a = E'\\'') ; DROP TABLE t; --'", false),
            ("a = e'\\'') ; DROP TABLE t; --'", false),
            ("a = $q$'$q$) ; DROP TABLE t; --'", false),
            ("a ? 'b'", false),
        ] {
            assert!(why_no_condition(text, brackets).is_some(), "{text}");
        }
        assert_eq!(why_no_condition("a = ANY (ARRAY['x]'])", false), None);
        for text in [
            "",
            " ",
            "a > 0)",
            "(a > 0",
            "a = 'x",
            "a = \"x",
            "a > 0; DROP TABLE t",
            "a > 0 -- b",
            "a /* b",
            "a\n> 0",
            "a = $$x$$",
        ] {
            assert!(why_no_condition(text, true).is_some(), "{text}");
            assert!(why_no_condition(text, false).is_some(), "{text}");
        }
    }
}
