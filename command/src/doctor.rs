//! `readpast doctor`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use crate::{connection, findings};
use readpast::ask;
use readpast::doctor::{self, Severity};

/// Checks all that readpast relies on, and says what to do about each finding
///
/// It checks the driver, the server and its settings, the clock, the login's rights, readpast's objects, and the queue: its table,
/// indexes and procedures. It changes nothing. Exits with 1 if it finds a warning or an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast doctor
  readpast doctor Notification")]
pub struct Args {
    /// The queue; without it, all queues of the schema
    queue: Option<String>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let config = connection::config(global, "5000")?;
    let found = doctor::check(&config, args.queue.as_deref())?;
    let (errors, warnings) = (findings::count(&found, Severity::Error), findings::count(&found, Severity::Warning));
    if out.is_json() {
        out.answer(String::new, || ask::doctor(&found))?;
    } else {
        findings::print(&found, out)?;
        out.text(&format!("errors: {errors}, warnings: {warnings}\n"))?;
    }
    Ok(if errors + warnings > 0 { Exit::Refused } else { Exit::Done })
}
