//! Keeps secrets of a connection string out of messages. It hides not only known secrets, but every value that is not known to be
//! harmless: passwords stand in options within options, and those without the quotes they need fall into pieces that look like
//! attributes.

use super::attributes::{HARMLESS, SILENCE_ENDS, may_be_named};
use super::connection::{Attribute, parse};

/// The text in a message in place of a secret.
const HIDDEN: &str = "(hidden)";

/// The options of libpq in `pqopt`, which a message may name.
const LIBPQ: [&str; 30] = [
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "options",
    "passfile",
    "password",
    "port",
    "replication",
    "requirepeer",
    "service",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslpassword",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "tty",
    "user",
];

/// `message` without any value of `connection_string` that may be secret, whole or in pieces.
pub(crate) fn redact(connection_string: &str, message: &str) -> String {
    let attributes = parse(connection_string).unwrap_or_else(|_| vec![Attribute::unread(connection_string)]);
    let mut secrets = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.value != SILENCE_ENDS) {
        if !may_be_named(&attribute.key) {
            secrets.extend(pieces(&attribute.written));
        }
        if !HARMLESS.contains(&attribute.key.as_str()) {
            secrets.push(attribute.value.clone());
            secrets.push(attribute.value.replace('}', "}}"));
            secrets.extend(pieces(&attribute.value));
        }
    }
    secrets.retain(|secret| !secret.is_empty());
    // The longest first: a piece that is cut out of a whole would leave the rest of it.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    let whole = secrets.iter().fold(message.to_owned(), |message, secret| cut_out(&message, secret));
    cut_end(whole, &secrets)
}

/// The words of `value`, as a parser may split it: between blanks, and between the characters that quote, escape and assign.
fn pieces(value: &str) -> Vec<String> {
    let ends_word = |c: char| c.is_whitespace() || "=;,'\"\\{}()".contains(c);
    let mut out: Vec<_> = value.split_whitespace().map(str::to_owned).collect();
    let mut rest = value;
    while !rest.is_empty() {
        let (word, tail) = rest.split_at(rest.find(ends_word).unwrap_or(rest.len()));
        let is_name = tail.trim_start().starts_with('=') && LIBPQ.contains(&word);
        if !is_name {
            out.push(word.to_owned());
        }
        rest = tail.trim_start_matches(ends_word);
    }
    // A driver that decodes a value within a value may quote the inner one alone.
    let decoded: Vec<_> =
        out.iter().map(String::as_str).chain([value]).filter(|word| word.contains('%')).map(percent_decoded).collect();
    out.extend(decoded);
    out
}

/// Decodes as psqlODBC does.
fn percent_decoded(value: &str) -> String {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| *byte == b'%').and_then(|hex| str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(code) => {
                out.push(code);
                rest = &tail[2..];
            }
            None => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `message` without `secret`. A very short one is cut out only where it stands alone: within words, that would make the message
/// unreadable, and the gaps would show it.
fn cut_out(message: &str, secret: &str) -> String {
    if secret.chars().count() >= SHORT {
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

const SHORT: usize = 4;

/// `message` without the beginning of a secret at its end: drivers cut long messages.
fn cut_end(mut message: String, secrets: &[String]) -> String {
    let shown = message.trim_end_matches(['.', '\u{2026}']).len();
    let begun = secrets.iter().flat_map(|secret| secret.char_indices().skip(SHORT).map(|(end, _)| &secret[..end]));
    if let Some(longest) = begun.filter(|begun| message[..shown].ends_with(begun)).map(str::len).max() {
        message.replace_range(shown - longest..shown, HIDDEN);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::super::connection::check;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passwords_are_cut_out_of_messages() {
        for (connection, message, shown) in [
            ("Driver=X;Pwd={s3;cret}", "bad s3;cret given", "bad (hidden) given"),
            ("Driver=X;Pwd={s3}}cret}", "Pwd={s3}}cret} or s3}cret", "Pwd={(hidden)} or (hidden)"),
            ("Driver=X;sslpassword=abcd;", "xabcdx", "x(hidden)x"),
            ("Driver=X;Pwd=p;", "port p, 'p'", "port (hidden), '(hidden)'"),
            (
                "Driver=X;pqopt={password=abc secretpw}",
                "missing \"=\" after \"secretpw\" in connection info string",
                "missing \"=\" after \"(hidden)\" in connection info string",
            ),
            (
                "Driver=X;pqopt={sslmode=verify-full password='it\\'s me'}",
                "invalid sslmode: it's me; password authentication failed",
                "invalid sslmode: (hidden)'(hidden) (hidden); password authentication failed",
            ),
            ("Driver=X;Pwd=half;ANDhalf=x", "unknown attribute ANDhalf", "unknown attribute (hidden)"),
            ("Driver=X;Pwd=a%3Bbcd", "wrong: a;bcd", "wrong: (hidden)"),
            ("Driver=X;Pwd=longerThanThat", "wrong: longerTh...", "wrong: (hidden)..."),
            ("Driver=X;Server=sql1;Uid=sa", "no sql1, no sa", "no sql1, no sa"),
        ] {
            assert_eq!(redact(connection, message), shown, "{connection}");
        }
    }

    #[test]
    fn a_decoded_password_within_an_option_is_hidden() {
        let connection = "Driver=X;pqopt={host=h password=zx9secretA%abBq7hidden};Server=s";
        let message = redact(connection, "cannot connect: zx9secretA\u{fffd}Bq7hidden is wrong");
        assert_eq!(message, "cannot connect: (hidden) is wrong");
    }

    /// Two words that no message has.
    const WORDS: [&str; 2] = ["zx9secretA", "Bq7hidden\u{e9}"];

    /// A password of the two words, with any text between and around them.
    fn password() -> impl Strategy<Value = String> {
        ("[ ;={}'\"\\\\%,]{0,3}", "[ ;={}'\"\\\\%,a]{0,3}", "[ ;={}'\"\\\\%,]{0,3}")
            .prop_map(|(before, between, after)| format!("{before}{}{between}{}{after}", WORDS[0], WORDS[1]))
    }

    /// Ways to write it, right ones and wrong ones.
    fn written(password: &str, way: u8) -> String {
        let braced = password.replace('}', "}}");
        let quoted = password.replace('\\', "\\\\").replace('\'', "\\'");
        match way {
            0 => format!("Driver=X;Pwd={{{braced}}};Server=s"),
            1 => format!("Driver=X;Server=s;Password={password}"),
            2 => format!("Driver=X;pqopt={{password={braced}}};Server=s"),
            3 => format!("Driver=X;pqopt={{host=h password='{}'}}", quoted.replace('}', "}}")),
            4 => format!("Driver=X;pqopt=password={password}"),
            5 => format!("Driver=X;AccessToken={password};Encrypt=yes"),
            6 => format!("Driver=X;Colour={{{braced}}}"),
            7 => format!("Driver=X;Pwd={{{password}}};Uid=u"),
            _ => format!("Driver=X;{password}"),
        }
    }

    /// Parts of it that a driver may quote.
    fn quoted(connection: &str, password: &str, how: u8) -> String {
        match how {
            0 => connection.to_owned(),
            1 => password.to_owned(),
            2 => password.split_whitespace().last().unwrap_or_default().to_owned(),
            3 => connection.split(';').next_back().unwrap_or_default().to_owned(),
            4 => password.replace('}', "}}"),
            _ => percent_decoded(password),
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_password_is_shown(password in password(), way in 0..9_u8, how in 0..6_u8) {
            let connection = written(&password, way);
            let message = match check(&connection) {
                Ok(()) => redact(&connection, &format!("cannot connect: {} is wrong", quoted(&connection, &password, how))),
                Err(error) => error.to_string(),
            };
            for word in WORDS {
                prop_assert!(!message.contains(word), "{connection}\n{message}");
                prop_assert!(!message.to_lowercase().contains(&word.to_lowercase()), "{connection}\n{message}");
            }
        }
    }
}
