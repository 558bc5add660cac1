//! Whose procedures do a queue's work in the database.

use super::handwritten::{self, Handwritten};
use crate::dialect::Calls;
use crate::error::Result;
use crate::ident::Identifier;
use crate::session::Session;
use crate::spec::{QueueSpec, Storage};

/// The procedures of a queue.
pub(super) enum Backend {
    /// Those that an install has made.
    Ours(Box<Calls>),
    /// Those that somebody wrote by hand.
    Theirs(Box<Handwritten>),
}

impl Backend {
    /// Asks the catalog for what it has to know.
    pub(super) fn open(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<Self> {
        match &spec.storage {
            Storage::Procedures(procedures) => {
                Ok(Self::Theirs(Box::new(Handwritten::open(session, spec, procedures)?)))
            }
            Storage::Own | Storage::Table(_) => session.dialect().calls(schema, spec).map(Box::new).map(Self::Ours),
        }
    }

    /// Whether claims are held by a lease.
    pub(super) fn keeps_leases(&self) -> bool {
        matches!(self, Self::Ours(_))
    }

    /// The calls of a queue that can do `what`; who cannot, for what reason, is told.
    pub(super) fn ours(&self, what: &str, why: &str) -> Result<&Calls> {
        match self {
            Self::Ours(calls) => Ok(calls),
            Self::Theirs(_) => Err(handwritten::unsupported(what, why)),
        }
    }
}
