//! Connection strings: checked before they reach a driver, whose messages about them are poor, and completed with what
//! readpast needs of the driver. Values are never put into messages, since any of them may be the password.

use super::refuse;
use crate::error::{Error, Result};

/// What psqlODBC must be told: booleans as booleans (its default is text), and plans kept on the server.
const POSTGRES_NEEDS: [(&str, &str); 3] = [("BoolsAsChar", "0"), ("UseServerSidePrepare", "1"), ("LFConversion", "0")];

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

pub(super) fn assemble(text: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Err(missing());
    }
    let pairs = parse(text)?;
    let mut out = text.trim().trim_end_matches(';').to_owned();
    out.push(';');
    let driver = pairs.iter().find(|(key, _)| key == "driver").map_or("", |(_, value)| value);
    if driver.to_ascii_lowercase().contains("postgres") || driver.to_ascii_lowercase().contains("psqlodbc") {
        for (key, value) in POSTGRES_NEEDS.iter().filter(|(key, _)| !has(&pairs, &key.to_ascii_lowercase())) {
            out.push_str(&format!("{key}={value};"));
        }
    }
    Ok(out)
}

fn missing() -> Error {
    refuse(
        "the connection string is empty; set \"connection\" to, say, \
         Driver={ODBC Driver 18 for SQL Server};Server=tcp:host,1433;Database=db;Uid=user;Pwd=...;"
            .to_owned(),
    )
}

fn has(pairs: &[(String, String)], key: &str) -> bool {
    pairs.iter().any(|(k, _)| k == key)
}

/// The attributes in order, keys in lower case. A value in braces may hold semicolons, and `}}` is one brace in it.
fn parse(text: &str) -> Result<Vec<(String, String)>> {
    if text.contains('\0') {
        return Err(refuse("the connection string contains U+0000; remove it".to_owned()));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim_start_matches([';', ' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        let after = pairs.last().map_or(String::from("at its beginning"), |(key, _)| format!("after {key:?}"));
        let Some((key, tail)) = rest.split_once('=').filter(|(key, _)| !key.contains(';')) else {
            return Err(refuse(format!("the connection string has a part without \"=\" {after}; write Key=Value;")));
        };
        let key = key.trim().to_ascii_lowercase();
        if key.is_empty() {
            return Err(refuse(format!("the connection string has a value without a key {after}; write Key=Value;")));
        }
        let (value, tail) = if let Some(braced) = tail.strip_prefix('{') {
            braced_value(braced).ok_or_else(|| {
                refuse(format!("the value of {key:?} in the connection string opens a brace that is not closed"))
            })?
        } else {
            let end = tail.find(';').unwrap_or(tail.len());
            (tail[..end].to_owned(), &tail[end..])
        };
        pairs.push((key, value));
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
        assert_eq!(pairs[0], ("driver".into(), "A;B".into()));
        assert_eq!(pairs[1], ("pwd".into(), "x}y;z".into()));
        assert_eq!(pairs[2].0, "uid");
    }

    #[test]
    fn what_is_malformed_is_refused_with_the_place_and_not_the_value() {
        for text in ["", " ; ", "Driver", "Driver={X;Pwd=s3cret", "Driver={X}s3cret;Uid=a", "=s3cret", "Uid=a;s3cret"] {
            let error = check(text).unwrap_err();
            assert!(!error.message().contains("s3cret"), "{error}");
        }
        assert!(check("Server=x;Uid=y").unwrap_err().message().contains("Driver"));
    }

    #[test]
    fn psqlodbc_is_told_what_readpast_needs_unless_the_user_said_otherwise() {
        let text = assemble("Driver={PostgreSQL Unicode};Server=x;BoolsAsChar=1").unwrap();
        assert!(text.ends_with("BoolsAsChar=1;UseServerSidePrepare=1;LFConversion=0;"), "{text}");
        assert_eq!(assemble("Driver={ODBC Driver 18 for SQL Server};").unwrap(), "Driver={ODBC Driver 18 for SQL Server};");
    }
}
