//! Failures of the command, and their messages: cause, then remedy.

use crate::exit::Exit;
use crate::printable::{one_line, printable};
use readpast::{Error, ErrorKind};
use serde_json::json;
use std::io;

/// The result of a subcommand.
pub type Result<T> = std::result::Result<T, Failure>;

/// The end of the command before it was done.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library.
    Library(Error),
    /// The same, with the remedy here.
    Remedied(Error, &'static str),
    /// The call, or a file that it names, is wrong.
    Usage(String),
    /// Part of it is done; the message names the part.
    Partly(String, Exit),
    /// Standard output was closed by its reader, so that no message is needed.
    Closed,
}

impl Failure {
    /// The end of the command.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Library(error) | Self::Remedied(error, _) => Exit::of(error.kind()),
            Self::Usage(_) => Exit::Usage,
            Self::Partly(_, exit) => *exit,
            Self::Closed => Exit::Done,
        }
    }

    /// The message.
    pub fn message(&self) -> String {
        match self {
            Self::Library(error) | Self::Remedied(error, _) => error.to_string(),
            Self::Usage(message) | Self::Partly(message, _) => message.clone(),
            Self::Closed => String::new(),
        }
    }

    /// Reports it on standard error.
    pub fn report(&self, as_json: bool) {
        if matches!(self, Self::Closed) {
            return;
        }
        let message = self.message();
        let remedy = self.remedy();
        // A closed standard error leaves nothing to do: the exit status says the rest.
        let mut out = io::stderr().lock();
        if as_json {
            let mut error = json!({"message": message, "status": self.exit().status()});
            if let Self::Library(library) | Self::Remedied(library, _) = self {
                error["kind"] = json!(format!("{:?}", library.kind()));
                error["sqlstate"] = json!(library.sqlstate());
                error["operation"] = json!(library.operation());
            }
            if let Some(remedy) = remedy {
                error["remedy"] = json!(remedy);
            }
            let _ = io::Write::write_fmt(&mut out, format_args!("{}\n", json!({ "error": error })));
            return;
        }
        let remedy = remedy.map_or_else(String::new, |remedy| format!("\n  {remedy}"));
        // Texts of the user keep their lines; a report of a server is on one.
        let message = if matches!(self, Self::Usage(_)) { printable(&message) } else { one_line(&message) };
        let _ = io::Write::write_fmt(&mut out, format_args!("readpast: {message}{remedy}\n"));
    }

    /// The remedy, where the message does not have it.
    fn remedy(&self) -> Option<&'static str> {
        let error = match self {
            Self::Library(error) => error,
            Self::Remedied(_, remedy) => return Some(remedy),
            _ => return None,
        };
        Some(match error.kind() {
            ErrorKind::SchemaMissing => "readpast install QUEUE.toml installs them; --schema names another schema",
            ErrorKind::SchemaOlder => "readpast install upgrades them to this version",
            ErrorKind::UnknownQueue => "readpast install QUEUE.toml installs a queue; --schema names another schema",
            ErrorKind::PermissionDenied => "readpast doctor QUEUE names the missing rights",
            ErrorKind::OutcomeUnknown => "make the same call with --operation and this identity to learn it",
            _ => return None,
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

/// A mistake of the user.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Usage(message.into())
}
