//! `readpast doctor`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use crate::{connection, findings};
use readpast::doctor::{self, Severity};
use readpast::{Config, ask};
use serde_json::json;

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
    let each = connection::config(global, "5000")?.each()?;
    let mut worst = Exit::Done;
    for config in &each {
        let place = config.place().filter(|_| each.len() > 1);
        if check(config, place, args, out)? {
            worst = Exit::Refused;
        }
    }
    Ok(worst)
}

/// Checks one database; whether there was something to do.
fn check(config: &Config, place: Option<&str>, args: &Args, out: &Output) -> Result<bool> {
    let found = match doctor::check(config, args.queue.as_deref()) {
        Err(error) if place.is_some() => {
            return Err(error.in_context(format!("place {}", place.unwrap_or_default())).into());
        }
        found => found?,
    };
    let (errors, warnings) = (findings::count(&found, Severity::Error), findings::count(&found, Severity::Warning));
    if out.is_json() {
        let findings = ask::doctor(&found);
        out.answer(String::new, || {
            place.map_or(findings.clone(), |place| json!({"place": place, "findings": findings}))
        })?;
    } else {
        if let Some(place) = place {
            out.text(&format!("place {place}\n"))?;
        }
        findings::print(&found, out)?;
        out.text(&format!("errors: {errors}, warnings: {warnings}\n"))?;
    }
    Ok(errors + warnings > 0)
}
