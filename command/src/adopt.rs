//! `readpast adopt`.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::{Output, note};
use crate::{connection, findings};
use readpast::QueueSpec;
use readpast::{ErrorKind, adopt};
use serde_json::json;
use std::path::PathBuf;

/// Checks a table against a description, and shows what adopting it will do
///
/// Prints what it found. With --sql, first prints the SQL that --apply runs, in one transaction. Without --apply it changes
/// nothing. Exits with 1 when something is in the way.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast adopt orders.toml            says whether the table fits, and what it would do
  readpast adopt orders.toml --sql      prints the SQL besides
  readpast adopt orders.toml --apply    does it")]
pub struct Args {
    /// The file that describes the queue and its table
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// Adopts the table
    #[arg(long)]
    apply: bool,
    /// Prints the SQL; only that goes to standard output, the findings go to standard error
    #[arg(long)]
    sql: bool,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let spec = QueueSpec::from_file(&args.spec)?;
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
            "findings": readpast::ask::findings(&plan.findings),
            "sql": script,
        });
        out.answer(String::new, || document)?;
    } else if applies {
        out.text(&format!("adopted {}\n", spec.queue))?;
    } else if is_possible {
        note("nothing was changed; --sql shows what --apply will do");
    } else {
        note("nothing was changed: fix the errors above first");
    }
    Ok(if is_possible { Exit::Done } else { Exit::Refused })
}
