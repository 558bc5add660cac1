//! Connection strings: checked before they reach a driver, whose messages about them are poor, and completed with the driver
//! options that readpast needs. Values are never put into messages, since any of them may be the password.

use super::attributes::{SILENCE_ENDS, may_be_named};
use super::refuse;
use crate::error::{Error, Result};

/// Options that psqlODBC needs: booleans as booleans (its default is text), plans kept on the server, text unchanged.
const POSTGRES_NEEDS: [(&str, &str); 3] = [("BoolsAsChar", "0"), ("UseServerSidePrepare", "1"), ("LFConversion", "0")];

/// Options that the Microsoft driver needs: it must not replace a lost connection by itself. The new one would lack the session's
/// settings and locks, and the library must notice a lost connection and retry.
const SQL_SERVER_NEEDS: [(&str, &str); 1] = [("ConnectRetryCount", "0")];

/// One attribute.
pub(super) struct Attribute {
    /// Its name in lower case.
    pub(super) key: String,
    /// Its name in its original case.
    pub(super) written: String,
    pub(super) value: String,
    /// Whether it stood in braces.
    pub(super) braced: bool,
}

impl Attribute {
    /// All of an unreadable text, as the value of an attribute without a name.
    pub(super) fn unread(text: &str) -> Self {
        Self { key: String::new(), written: String::new(), value: text.to_owned(), braced: false }
    }
}

pub(super) fn check(text: &str) -> Result<()> {
    let pairs = parse(text)?;
    if pairs.is_empty() {
        return Err(missing());
    }
    if !has(&pairs, "driver") && !has(&pairs, "dsn") && !has(&pairs, "filedsn") {
        return Err(refuse(
            "the connection string names neither Driver nor DSN; begin it with, say, \
             Driver={ODBC Driver 18 for SQL Server};"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The connection string for a driver. The user's own options stay.
pub(super) fn assemble(text: &str, application: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Err(missing());
    }
    let pairs = parse(text)?;
    let driver = driver_of(&pairs).unwrap_or_default().to_lowercase();
    let mut out = text.trim().trim_end_matches(';').to_owned();
    out.push(';');
    let mut add = |key: &str, value: &str| {
        if !has(&pairs, &key.to_ascii_lowercase()) {
            out.push_str(&format!("{key}={value};"));
        }
    };
    if driver.contains("postgres") || driver.contains("psqlodbc") {
        POSTGRES_NEEDS.iter().for_each(|(key, value)| add(key, value));
        // Options of the user's own stay whole: libpq does not say which of two it takes.
        add("pqopt", &format!("{{{SILENCE_ENDS}}}"));
    } else if driver.contains("sql server") || driver.contains("msodbcsql") {
        SQL_SERVER_NEEDS.iter().for_each(|(key, value)| add(key, value));
        if !application.is_empty() {
            add("APP", &format!("{{{}}}", application.replace('}', "}}")));
        }
    }
    Ok(out)
}

/// The connection string with these attributes in the place of its own, and behind them those that it lacks.
pub(super) fn changed(text: &str, attributes: &str) -> Result<String> {
    let changes = parse(attributes)?;
    if changes.is_empty() {
        return Err(refuse("nothing differs from the connection; write Key=Value;".to_owned()));
    }
    let pairs = parse(text)?;
    let put = |out: &mut String, written: &str, value: &str, braced: bool| {
        let whole = if braced { format!("{{{}}}", value.replace('}', "}}")) } else { value.to_owned() };
        out.push_str(&format!("{written}={whole};"));
    };
    let mut out = String::new();
    for pair in &pairs {
        match changes.iter().find(|change| change.key == pair.key) {
            Some(change) => put(&mut out, &pair.written, &change.value, change.braced),
            None => put(&mut out, &pair.written, &pair.value, pair.braced),
        }
    }
    let new = changes.iter().filter(|change| !has(&pairs, &change.key));
    new.for_each(|change| put(&mut out, &change.written, &change.value, change.braced));
    Ok(out)
}

/// The driver that a connection string names.
pub(crate) fn driver_named(text: &str) -> Option<String> {
    driver_of(&parse(text).ok()?).map(ToOwned::to_owned)
}

fn driver_of(pairs: &[Attribute]) -> Option<&str> {
    pairs.iter().find(|pair| pair.key == "driver").map(|pair| pair.value.as_str())
}

fn missing() -> Error {
    refuse(
        "the connection string is empty (is READPAST_CONNECTION not set?); set \"connection\" to, say, \
         Driver={ODBC Driver 18 for SQL Server};Server=tcp:host,1433;Database=db;Uid=user;Pwd=...;"
            .to_owned(),
    )
}

/// The value of an attribute, whose key is given in lower case. Not for secrets.
pub(super) fn value(text: &str, key: &str) -> Option<String> {
    parse(text).ok()?.into_iter().find(|pair| pair.key == key).map(|pair| pair.value)
}

fn has(pairs: &[Attribute], key: &str) -> bool {
    pairs.iter().any(|pair| pair.key == key)
}

/// An attribute in a message: by its name, unless that may be a part of a password that lacks its braces.
fn called(key: &str, number: usize) -> String {
    if may_be_named(key) { format!("{key:?}") } else { format!("attribute number {number}") }
}

/// The attributes in order, keys in lower case. A value in braces may hold semicolons, and `}}` is one brace in it.
pub(super) fn parse(text: &str) -> Result<Vec<Attribute>> {
    if text.contains('\0') {
        return Err(refuse("the connection string contains U+0000; remove it".to_owned()));
    }
    let mut pairs: Vec<Attribute> = Vec::new();
    let mut rest = text.trim_start_matches([';', ' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        let after = match pairs.last() {
            Some(last) => format!("after {}", called(&last.key, pairs.len())),
            None => String::from("at its beginning"),
        };
        let Some((key, tail)) = rest.split_once('=').filter(|(key, _)| !key.contains(';')) else {
            return Err(refuse(format!("the connection string has a part without \"=\" {after}; write Key=Value;")));
        };
        let written = key.trim().to_owned();
        let key = written.to_ascii_lowercase();
        if key.is_empty() {
            return Err(refuse(format!("the connection string has a value without a key {after}; write Key=Value;")));
        }
        let braced = tail.strip_prefix('{');
        let (value, tail) = if let Some(braced) = braced {
            braced_value(braced).ok_or_else(|| {
                let key = called(&key, pairs.len() + 1);
                refuse(format!("the value of {key} in the connection string opens a brace that is not closed; in braces, write }}}} for }}"))
            })?
        } else {
            let end = tail.find(';').unwrap_or(tail.len());
            (tail[..end].to_owned(), &tail[end..])
        };
        pairs.push(Attribute { key, written, value, braced: braced.is_some() });
        rest = tail.trim_start_matches([';', ' ', '\t', '\r', '\n']);
    }
    Ok(pairs)
}

fn braced_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('}')?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('}') {
            Some(more) => {
                value.push('}');
                rest = more;
            }
            None if rest.is_empty() || rest.trim_start().starts_with(';') => return Some((value, rest)),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_protect_semicolons() {
        let pairs = parse("Driver={A;B};Pwd={x}}y;z}; Uid = sa").unwrap();
        let read: Vec<_> = pairs.iter().map(|pair| (pair.key.as_str(), pair.value.as_str())).collect();
        assert_eq!(read, [("driver", "A;B"), ("pwd", "x}y;z"), ("uid", " sa")]);
    }

    #[test]
    fn malformed_strings_are_refused_by_place_and_not_value() {
        for text in [
            "",
            " ; ",
            "Driver",
            "Driver={X;Pwd=s3cret",
            "Driver={X}s3cret;Uid=a",
            "=s3cret",
            "Uid=a;s3cret",
            "Driver=X;Pwd=a;s3cret=b;c",
            "Driver=X;Pwd=a;s3cret={b",
        ] {
            let error = check(text).unwrap_err();
            assert!(!error.message().contains("s3cret"), "{error}");
        }
        assert!(check("Server=x;Uid=y").unwrap_err().message().contains("Driver"));
    }

    #[test]
    fn psqlodbc_gets_the_options_that_the_user_leaves_out() {
        let text = assemble("Driver={PostgreSQL Unicode};Server=x;BoolsAsChar=1", "a").unwrap();
        let needs = format!("BoolsAsChar=1;UseServerSidePrepare=1;LFConversion=0;pqopt={{{SILENCE_ENDS}}};");
        assert!(text.ends_with(&needs), "{text}");
        let text = assemble("Driver={PostgreSQL Unicode};Server=x;pqopt={keepalives=0}", "a").unwrap();
        assert!(text.contains("pqopt={keepalives=0};") && !text.contains("tcp_user_timeout"), "{text}");
    }

    #[test]
    fn the_microsoft_driver_does_not_reconnect() {
        let text = assemble("Driver={ODBC Driver 18 for SQL Server};App=mine", "a").unwrap();
        assert_eq!(text, "Driver={ODBC Driver 18 for SQL Server};App=mine;ConnectRetryCount=0;");
    }
}
