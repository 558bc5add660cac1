//! The encoding of PostgreSQL's database: an install warns of one that is not UTF8, and `doctor` has it among its findings.

use crate::catalog::{self, ServerFacts};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::finding::Finding;
use crate::session::Session;

/// Warns of another encoding than UTF8. A server that was set up without a language makes databases without an encoding, and no
/// later error names that.
pub(super) fn warn(session: &mut Session) -> Result<()> {
    if session.dialect() == Dialect::Postgres {
        let facts = catalog::server_facts(session)?;
        if let Some(Finding { object, what, remedy, .. }) = check(&facts) {
            log::warn!("database {object}: {what}; {remedy}");
        }
    }
    Ok(())
}

/// The finding; none for UTF8.
pub(crate) fn check(facts: &ServerFacts) -> Option<Finding> {
    let what = match facts.get("encoding") {
        "UTF8" => return None,
        "SQL_ASCII" => {
            "the database's encoding is SQL_ASCII, which is none: text that is not UTF-8 is not refused, and some \
                        drivers return bytes in place of text"
                .to_owned()
        }
        encoding => format!("the database's encoding is {encoding}: text with other characters cannot be stored"),
    };
    let remedy = "make the database with ENCODING 'UTF8' TEMPLATE template0";
    Some(Finding::warning("encoding", facts.get("database"), what, remedy))
}
