//! Connection strings: checked before they reach a driver, whose messages about them are poor, and completed with what
//! readpast needs of the driver. Values are never put into messages, since any of them may be the password.

use super::refuse;
use crate::error::{Error, Result};

/// What psqlODBC must be told: booleans as booleans (its default is text), plans kept on the server, text as it is.
const POSTGRES_NEEDS: [(&str, &str); 3] = [("BoolsAsChar", "0"), ("UseServerSidePrepare", "1"), ("LFConversion", "0")];

/// What the Microsoft driver must be told: not to replace a lost connection behind our back. The new one would lack the
/// session's settings and locks, and a lost connection is ours to notice and to retry.
const SQL_SERVER_NEEDS: [(&str, &str); 1] = [("ConnectRetryCount", "0")];

/// What stands in a message in place of a password.
const HIDDEN: &str = "(hidden)";

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

/// The connection string as a driver is to get it. What the user has said already stays as it is.
pub(super) fn assemble(text: &str, application: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Err(missing());
    }
    let pairs = parse(text)?;
    let driver = pairs.iter().find(|(key, _)| key == "driver").map_or_else(String::new, |(_, v)| v.to_lowercase());
    let mut out = text.trim().trim_end_matches(';').to_owned();
    out.push(';');
    let mut add = |key: &str, value: &str| {
        if !has(&pairs, &key.to_ascii_lowercase()) {
            out.push_str(&format!("{key}={value};"));
        }
    };
    if driver.contains("postgres") || driver.contains("psqlodbc") {
        POSTGRES_NEEDS.iter().for_each(|(key, value)| add(key, value));
    } else if driver.contains("sql server") || driver.contains("msodbcsql") {
        SQL_SERVER_NEEDS.iter().for_each(|(key, value)| add(key, value));
        if !application.is_empty() {
            add("APP", &format!("{{{}}}", application.replace('}', "}}")));
        }
    }
    Ok(out)
}

/// `message` without whatever `connection_string` holds as a password, as it is meant or as it is written there.
pub(crate) fn redact(connection_string: &str, message: &str) -> String {
    let mut message = message.to_owned();
    for (key, value) in parse(connection_string).unwrap_or_default() {
        if ["pwd", "password", "secret", "token"].iter().any(|word| key.contains(word)) && !value.is_empty() {
            message = cut_out(&message, &value.replace('}', "}}"));
            message = cut_out(&message, &value);
        }
    }
    message
}

/// `message` without `secret`. A very short one is cut out only where it stands alone: cut out of words, it would make
/// the message unreadable, and would be shown by what the words lack.
fn cut_out(message: &str, secret: &str) -> String {
    if secret.chars().count() >= 4 {
        return message.replace(secret, HIDDEN);
    }
    let mut out = String::new();
    let mut rest = 0;
    for (at, _) in message.match_indices(secret) {
        let end = at + secret.len();
        let is_joined = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        if !is_joined(message[..at].chars().next_back()) && !is_joined(message[end..].chars().next()) {
            out.push_str(&message[rest..at]);
            out.push_str(HIDDEN);
            rest = end;
        }
    }
    out.push_str(&message[rest..]);
    out
}

fn missing() -> Error {
    refuse(
        "the connection string is empty; set \"connection\" to, say, \
         Driver={ODBC Driver 18 for SQL Server};Server=tcp:host,1433;Database=db;Uid=user;Pwd=...;"
            .to_owned(),
    )
}

/// The value of an attribute, whose key is given in lower case. Not for secrets.
pub(super) fn value(text: &str, key: &str) -> Option<String> {
    parse(text).ok()?.into_iter().find(|(k, _)| k == key).map(|(_, value)| value)
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
        let text = assemble("Driver={PostgreSQL Unicode};Server=x;BoolsAsChar=1", "a").unwrap();
        assert!(text.ends_with("BoolsAsChar=1;UseServerSidePrepare=1;LFConversion=0;"), "{text}");
    }

    #[test]
    fn the_microsoft_driver_is_told_not_to_reconnect() {
        let text = assemble("Driver={ODBC Driver 18 for SQL Server};App=mine", "a").unwrap();
        assert_eq!(text, "Driver={ODBC Driver 18 for SQL Server};App=mine;ConnectRetryCount=0;");
    }

    #[test]
    fn passwords_are_cut_out_of_messages() {
        assert_eq!(redact("Driver=X;Pwd={s3;cret}", "bad s3;cret given"), "bad (hidden) given");
        assert_eq!(redact("Driver=X;Pwd={s3}}cret}", "Pwd={s3}}cret} or s3}cret"), "Pwd={(hidden)} or (hidden)");
        assert_eq!(redact("Driver=X;sslpassword=abcd;", "xabcdx"), "x(hidden)x");
        assert_eq!(redact("Driver=X;Pwd=p;", "port p, 'p'"), "port (hidden), '(hidden)'");
    }
}
