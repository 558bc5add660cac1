//! The procedures that do a queue's work in the database: installed ones, with a custom claim procedure or without, and
//! hand-written ones.

mod custom_claim;
mod hand_written;
mod own;
mod procedures;
mod unsupported;

pub(crate) use self::hand_written::{invoke, own_results};
pub(crate) use self::procedures::Procedures;
pub(crate) use self::unsupported::unsupported;
use crate::description::{QueueSpec, Storage};
use crate::error::Result;
use crate::ident::Identifier;
use crate::session::Session;

/// The procedures of the queue that `spec` describes; the catalog completes the description.
pub(crate) fn open(session: &mut Session, schema: &Identifier, spec: &QueueSpec) -> Result<Box<dyn Procedures>> {
    if let Storage::Procedures(procedures) = &spec.storage {
        return Ok(Box::new(hand_written::HandWritten::open(session, spec, procedures)?));
    }
    let own = own::Own::new(session.dialect().calls(schema, spec)?);
    let Storage::Table(table) = &spec.storage else { return Ok(Box::new(own)) };
    match table.claimed_by {
        None => Ok(Box::new(own)),
        Some(_) => custom_claim::open(session, table, own),
    }
}
