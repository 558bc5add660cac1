//! `readpast adopt`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::{Output, note};
use crate::{connection, findings, spec_file};
use readpast::adopt;
use serde_json::json;
use std::path::PathBuf;

/// Checks a table against a description, and shows what adopting it will do
///
/// Prints what was found, and then the SQL that --apply runs, all of it in one transaction. Without --apply nothing is changed.
/// Exits with 1 when something stands in the way.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file that describes the queue and its table
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// Does it
    #[arg(long)]
    apply: bool,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let spec = spec_file::read(&args.spec)?;
    let config = connection::config(global, "5000")?;
    let plan = adopt::plan(&config, &spec)?;
    let is_possible = plan.is_possible();
    let applies = args.apply && is_possible;
    let script: String = plan.scripts.iter().map(|script| format!("{}\n", script.trim_end())).collect();
    if !out.is_json() {
        findings::print(&plan.findings, out)?;
        if is_possible && !args.apply {
            out.text(&format!("\n{script}"))?;
        }
        out.flush()?;
    }
    if applies {
        plan.apply(&config)?;
    }
    if out.is_json() {
        let document = json!({
            "queue": spec.queue.as_str(),
            "possible": is_possible,
            "applied": applies,
            "findings": findings::documents(&plan.findings),
            "sql": is_possible.then_some(script),
        });
        out.answer(String::new, || document)?;
    } else if applies {
        out.text(&format!("adopted {}\n", spec.queue))?;
    } else if is_possible {
        note("nothing was changed; --apply does what stands above");
    } else {
        note("nothing was changed: see to the errors above first");
    }
    Ok(if is_possible { Exit::Done } else { Exit::Refused })
}
