//! Exit statuses. Scripts rely on them: they are documented in `--help` and in docs/operator.md, and do not change.

use readpast::ErrorKind;
use std::process::ExitCode;

/// Their help; docs/operator.md has the same table.
pub const HELP: &str = "\
Exit statuses:
  0    done
  1    done, but some items were refused, or doctor found something
  2    wrong usage: an argument, setting, queue description, filter or item that cannot be taken
  3    the database is out of reach, or failed; the call itself is not wrong
  4    the log-in or a right was refused
  5    the queue or readpast's objects are not installed, or in another version
  130  ended by an interrupt (SIGINT) before it was done; 143 by SIGTERM, 129 by SIGHUP";

/// The end of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Done, but not for all items.
    Refused,
    /// The call is wrong.
    Usage,
    /// The database is out of reach, or failed.
    Unavailable,
    /// Log-in or right refused.
    Denied,
    /// Queue or objects missing, or of another version.
    NotInstalled,
    /// The status of a monitoring plug-in, which has its own.
    Plugin(u8),
    /// A signal, by its number.
    Signal(u8),
}

impl Exit {
    /// The number for the shell.
    pub fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Unavailable => 3,
            Self::Denied => 4,
            Self::NotInstalled => 5,
            Self::Plugin(status) => status,
            Self::Signal(number) => 128 + number,
        }
    }

    /// The end of the command after an error of the library.
    pub fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidArgument | ErrorKind::InvalidConfig | ErrorKind::InvalidItem => Self::Usage,
            ErrorKind::Authentication | ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::UnknownQueue
            | ErrorKind::SchemaMissing
            | ErrorKind::SchemaOlder
            | ErrorKind::SchemaNewer
            | ErrorKind::SchemaMismatch => Self::NotInstalled,
            _ => Self::Unavailable,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}
