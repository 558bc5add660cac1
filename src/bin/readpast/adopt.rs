//! `readpast adopt`.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::{Output, note};
use crate::{connection, findings, spec_file};
use readpast::{ErrorKind, adopt};
use serde_json::json;
use std::path::PathBuf;

/// Checks a table against a description, and shows what adopting it will do
///
/// Prints what was found. --sql prints before it what --apply runs, all of it in one transaction. Without --apply nothing is
/// changed. Exits with 1 when something stands in the way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file that describes the queue and its table
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// Does it
    #[arg(long)]
    apply: bool,
    /// Prints the SQL, on standard output alone: what was found then goes to standard error
    #[arg(long)]
    sql: bool,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let spec = spec_file::read(&args.spec)?;
    let config = connection::config(global, "5000")?;
    let plan = adopt::plan(&config, &spec)?;
    let is_possible = plan.is_possible();
    let applies = args.apply && is_possible;
    let script = (args.sql && is_possible).then(|| plan.script.clone());
    if !out.is_json() {
        out.text(script.as_deref().unwrap_or_default())?;
        out.flush()?;
        if args.sql {
            findings::note_all(&plan.findings);
        } else {
            findings::print(&plan.findings, out)?;
        }
        out.flush()?;
    }
    if applies {
        plan.apply(&config).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                Failure::Remedied(error, "readpast adopt SPEC --sql prints the SQL, for a DBA to review and run")
            }
            _ => error.into(),
        })?;
    }
    if out.is_json() {
        let document = json!({
            "queue": spec.queue.as_str(),
            "possible": is_possible,
            "applied": applies,
            "findings": findings::documents(&plan.findings),
            "sql": script,
        });
        out.answer(String::new, || document)?;
    } else if applies {
        out.text(&format!("adopted {}\n", spec.queue))?;
    } else if is_possible {
        note("nothing was changed; --sql shows what --apply does");
    } else {
        note("nothing was changed: see to the errors above first");
    }
    Ok(if is_possible { Exit::Done } else { Exit::Refused })
}
