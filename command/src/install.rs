//! `readpast install`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::Output;
use readpast::{Config, ErrorKind, QueueSpec};
use serde_json::json;
use std::path::PathBuf;

/// Installs or upgrades readpast's objects, and the queues that files describe
///
/// Installing twice changes nothing. Each queue is installed as a whole or not at all. `readpast render` prints the SQL, to run it
/// by hand.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast install notification.toml
  readpast install notification.toml mail.json --schema app")]
pub struct Args {
    /// Files, TOML or JSON, that each describe a queue (sql/SPEC.md has their keys); without any, only the objects that all queues share are installed
    #[arg(value_name = "SPEC")]
    specs: Vec<PathBuf>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    // All are read before the first is installed: a mistake in the last one leaves nothing half done.
    let specs = args.specs.iter().map(QueueSpec::from_file).collect::<readpast::Result<Vec<_>>>()?;
    let config = connection::config(global, "5000")?;
    if specs.is_empty() {
        readpast::install(&config, None).map_err(by_hand)?;
        out.answer(|| "installed".to_owned(), || json!({"installed": null}))?;
    }
    for spec in &specs {
        readpast::install(&config, Some(spec))
            .map_err(|error| by_hand(error.in_context(format!("queue {}", spec.queue))))?;
        let places = config.each()?.iter().filter_map(Config::place).map(str::to_owned).collect::<Vec<_>>();
        let text = if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
        out.answer(
            || format!("installed {}{text}", spec.queue),
            || match places.as_slice() {
                [] => json!({"installed": spec.queue.as_str()}),
                places => json!({"installed": spec.queue.as_str(), "places": places}),
            },
        )?;
    }
    Ok(Exit::Done)
}

/// Without the right to install, ask someone who has it; do not grant it.
fn by_hand(error: readpast::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Failure::Remedied(error, "readpast render SPEC prints the SQL, for a DBA to review and run")
        }
        _ => error.into(),
    }
}
