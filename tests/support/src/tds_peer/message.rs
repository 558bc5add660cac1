//! The messages of a server about itself or a failure: the ERROR and INFO tokens (MS-TDS 2.2.7.10 and
//! 2.2.7.13), and the errors the tests need by name.

use super::wire::Put;

const ERROR: u8 = 0xAA;
const INFO: u8 = 0xAB;

/// The highest class (severity) that is information and not an error.
const HIGHEST_INFO_CLASS: u8 = 10;

/// One message of the server; its class decides whether it is information or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMessage {
    pub number: i32,
    pub state: u8,
    pub class: u8,
    pub text: String,
    pub server: String,
    pub procedure: String,
    pub line: u32,
}

impl ServerMessage {
    /// An error of class 16, state 1, line 1.
    pub fn error(number: i32, text: impl Into<String>) -> Self {
        ServerMessage {
            number,
            state: 1,
            class: 16,
            text: text.into(),
            server: "tds-peer".to_owned(),
            procedure: String::new(),
            line: 1,
        }
    }

    /// The message that `PRINT` sends (number 0), or a numbered warning.
    pub fn info(number: i32, text: impl Into<String>) -> Self {
        ServerMessage { class: 0, ..Self::error(number, text) }
    }

    pub fn class(self, class: u8) -> Self {
        ServerMessage { class, ..self }
    }

    pub fn state(self, state: u8) -> Self {
        ServerMessage { state, ..self }
    }

    pub fn at(self, procedure: impl Into<String>, line: u32) -> Self {
        ServerMessage { procedure: procedure.into(), line, ..self }
    }

    /// 1205: this session lost a deadlock.
    pub fn deadlock() -> Self {
        Self::error(
            1205,
            "Transaction (Process ID 51) was deadlocked on lock resources with another process \
             and has been chosen as the deadlock victim. Rerun the transaction.",
        )
        .class(13)
        .state(51)
    }

    /// 18456: wrong user or password.
    pub fn login_failed(user: &str) -> Self {
        Self::error(18456, format!("Login failed for user '{user}'.")).class(14)
    }

    /// 4060: the database is not there, or not for this user.
    pub fn cannot_open_database(database: &str) -> Self {
        Self::error(4060, format!("Cannot open database \"{database}\" requested by the login. The login failed."))
            .class(11)
    }

    /// 40613: Azure SQL is moving the database.
    pub fn database_unavailable(database: &str) -> Self {
        Self::error(
            40613,
            format!(
                "Database '{database}' on server 'tds-peer' is not currently available. Please \
                 retry the connection later."
            ),
        )
        .class(17)
    }

    /// 40197: Azure SQL failed inside.
    pub fn service_error() -> Self {
        Self::error(
            40197,
            "The service has encountered an error processing your request. Please try again. \
             Error code 4221.",
        )
        .class(17)
    }

    /// 10928: Azure SQL is out of workers or sessions.
    pub fn resource_limit() -> Self {
        Self::error(10928, "Resource ID : 1. The request limit for the database is 100 and has been reached.")
    }

    pub fn is_error(&self) -> bool {
        self.class > HIGHEST_INFO_CLASS
    }

    /// Appends the token: its byte, its length and then number, state, class, texts and line.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        body.put_u32(self.number.cast_unsigned());
        body.put_u8(self.state);
        body.put_u8(self.class);
        body.put_us_varchar(&self.text);
        body.put_b_varchar(&self.server);
        body.put_b_varchar(&self.procedure);
        body.put_u32(self.line);
        out.put_u8(if self.is_error() { ERROR } else { INFO });
        out.put_u16(body.len() as u16);
        out.put_bytes(&body);
    }
}
