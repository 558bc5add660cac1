//! The parameters of libpq for a connection beside those of psqlODBC: the same server, login and TLS.

use super::connection::{Attribute, parse};
use super::secrets::redact;

/// A log-in through libpq. It has no `Debug`: the password is among its parameters.
pub(crate) struct LibpqLogin {
    /// In libpq's order.
    pub(crate) parameters: Vec<(String, String)>,
    connection_string: String,
}

impl LibpqLogin {
    /// The log-in that this connection string describes; `None` where it does not name the server itself.
    pub(super) fn new(connection_string: String) -> Option<Self> {
        Some(Self { parameters: parameters(&connection_string)?, connection_string })
    }

    /// A message of libpq's, without secrets.
    pub(crate) fn redacted(&self, message: &str) -> String {
        redact(&self.connection_string, message)
    }
}

fn parameters(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = parse(text).ok()?;
    let of = |keys: &[&str]| pairs.iter().find(|pair| keys.contains(&pair.key.as_str()) && !pair.value.is_empty());
    let plain = |pair: &Attribute| pair.value.trim().to_owned();
    let host = of(&["server", "servername"]).map(plain)?;
    let mut parameters = Vec::new();
    let mut add = |key: &str, value: Option<String>| {
        parameters.extend(value.map(|value| (key.to_owned(), value)));
    };
    // The first "dbname" may hold several parameters, which those behind it replace.
    add("dbname", of(&["pqopt"]).map(decoded));
    add("host", Some(host));
    add("port", of(&["port"]).map(plain));
    add("dbname", of(&["database"]).map(plain));
    add("user", of(&["uid", "user", "username"]).map(plain));
    add("password", of(&["pwd", "password"]).map(decoded));
    add("sslmode", of(&["sslmode"]).map(|pair| whole(&plain(pair)).to_owned()));
    add("application_name", Some("readpast doorbell".to_owned()));
    Some(parameters)
}

/// The abbreviations that psqlODBC takes.
fn whole(mode: &str) -> &str {
    match mode {
        "d" => "disable",
        "a" => "allow",
        "p" => "prefer",
        "r" => "require",
        "vc" => "verify-ca",
        "vf" => "verify-full",
        other => other,
    }
}

/// A value as psqlODBC reads it: without braces, `+` is a space and `%` begins two hexadecimal digits.
fn decoded(pair: &Attribute) -> String {
    if pair.braced {
        return pair.value.clone();
    }
    let hex = |digit: Option<&u8>| char::from(*digit?).to_digit(16);
    let (mut bytes, mut rest) = (Vec::new(), pair.value.trim().as_bytes());
    while let [first, more @ ..] = rest {
        let (byte, after) = match (first, hex(more.first()), hex(more.get(1))) {
            (b'%', Some(high), Some(low)) => ((high << 4 | low) as u8, &more[2..]),
            (b'+', ..) => (b' ', more),
            _ => (*first, more),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doorbell_logs_in_as_the_driver_does() {
        let text = "Driver={PostgreSQL Unicode};Servername=db;Port=5433;Database=jobs;Uid=app;Pwd=a%3bb+c;SSLmode=vf;\
                    pqopt={sslrootcert=/ca.pem keepalives_idle=60};";
        let expected = [
            ("dbname", "sslrootcert=/ca.pem keepalives_idle=60"),
            ("host", "db"),
            ("port", "5433"),
            ("dbname", "jobs"),
            ("user", "app"),
            ("password", "a;b c"),
            ("sslmode", "verify-full"),
            ("application_name", "readpast doorbell"),
        ];
        let found = parameters(text).unwrap();
        assert_eq!(found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Vec<_>>(), expected);
        let braced = parameters("Driver=x;Server=db;Pwd={a%3b}}+;}").unwrap();
        assert!(braced.contains(&("password".to_owned(), "a%3b}+;".to_owned())), "as it stands");
        let login = LibpqLogin::new("Driver=x;Server=db;Pwd=hunter2;pqopt={passfile=/s3cret};".to_owned()).unwrap();
        let message = login.redacted("missing \"=\" after \"/s3cret\" at db, hunter2");
        assert!(!message.contains("s3cret") && !message.contains("hunter2") && message.contains("db"), "{message}");
        assert_eq!(parameters("DSN=Jobs;Uid=app"), None, "the driver alone knows where that leads");
    }
}
