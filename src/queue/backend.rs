//! Whose procedures do a queue's work in the database.

use super::claimer::Claimer;
use super::procedures::{self, Procedures};
use crate::dialect::Calls;
use crate::error::Result;
use crate::ident::Identifier;
use crate::session::Session;
use crate::spec::{QueueSpec, Storage};

/// The procedures of a queue.
pub(super) enum Backend {
    /// Those that an install has made, and whoever claims in their place.
    Ours(Box<Calls>, Option<Box<Claimer>>),
    /// Those that somebody wrote by hand.
    Procedures(Box<Procedures>),
}

impl Backend {
    /// Asks the catalog for what it has to know.
    pub(super) fn open(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<Self> {
        match &spec.storage {
            Storage::Procedures(procedures) => {
                Ok(Self::Procedures(Box::new(Procedures::open(session, spec, procedures)?)))
            }
            Storage::Table(table) => {
                let calls = session.dialect().calls(schema, spec)?;
                let claimer = Claimer::open(session, table, &calls)?.map(Box::new);
                Ok(Self::Ours(Box::new(calls), claimer))
            }
            Storage::Own => Ok(Self::Ours(Box::new(session.dialect().calls(schema, spec)?), None)),
        }
    }

    /// Whether claims are held by a lease.
    pub(super) fn keeps_leases(&self) -> bool {
        matches!(self, Self::Ours(..))
    }

    /// Who claims in readpast's place, if anybody does.
    pub(super) fn claimer(&self) -> Option<&Claimer> {
        match self {
            Self::Ours(_, claimer) => claimer.as_deref(),
            Self::Procedures(_) => None,
        }
    }

    /// The calls of a queue that can do `what`; who cannot, for what reason, is told.
    pub(super) fn ours(&self, what: &str, why: &str) -> Result<&Calls> {
        match self {
            Self::Ours(calls, _) => Ok(calls),
            Self::Procedures(_) => Err(procedures::unsupported(what, why)),
        }
    }
}
