//! `readpast render`.

use crate::connection;
use crate::exit::Exit;
use crate::failure::Result;
use crate::global::Global;
use crate::output::Output;
use clap::ValueEnum;
use readpast::render::{self, Part};
use readpast::{Dialect, QueueSpec};
use serde_json::json;
use std::path::PathBuf;

/// Prints the SQL that install would run for a queue
///
/// The same description always gives the same text, which you can keep beside the description and review. Its first lines say how
/// to run it. With --from, it is the script that changes an installed queue. The schema and the dialect are those that install would
/// use: from --schema, READPAST_SCHEMA, or the configuration file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast render notification.toml --dialect sqlserver > notification.sql
  readpast render new.toml --from old.toml  the script from one description to the next")]
pub struct Args {
    /// The file that describes the queue
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// The server [default: the setting dialect, or sqlserver]
    #[arg(long, value_enum)]
    dialect: Option<Server>,
    /// The installed description: renders the changes from it, and refuses those that would lose data
    #[arg(long, value_name = "SPEC")]
    from: Option<PathBuf>,
    /// A part of it: tables come first, and the code may be run again by itself
    #[arg(long, value_enum, conflicts_with = "from")]
    only: Option<Only>,
}

/// The parts of a script.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Only {
    /// Tables and indexes, made where they are missing
    Tables,
    /// Procedures, functions, views and grants, made anew
    Code,
}

/// The servers.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Server {
    /// Microsoft SQL Server and Azure SQL
    Sqlserver,
    /// PostgreSQL
    Postgres,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let spec = QueueSpec::from_file(&args.spec)?;
    let config = connection::unconnected(global)?;
    let dialect = match (args.dialect, config.dialect()) {
        (Some(Server::Postgres), _) | (None, "postgres") => Dialect::Postgres,
        _ => Dialect::SqlServer,
    };
    let schema = config.schema()?;
    let part = match args.only {
        None => Part::All,
        Some(Only::Tables) => Part::Tables,
        Some(Only::Code) => Part::Code,
    };
    let script = match &args.from {
        Some(from) => render::upgrade_script(dialect, &schema, &QueueSpec::from_file(from)?, &spec)?,
        None => render::part(dialect, &schema, Some(&spec), part)?,
    };
    if out.is_json() {
        out.answer(String::new, || json!({"queue": spec.queue.as_str(), "schema": schema.as_str(), "sql": script}))?;
    } else {
        out.text(&script)?;
    }
    Ok(Exit::Done)
}
