//! `readpast render`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::output::Output;
use crate::spec_file;
use clap::ValueEnum;
use readpast::dialect::{Dialect, SCHEMA_VERSION};
use readpast::ident::Identifier;
use serde_json::json;
use std::path::PathBuf;

/// Prints the SQL that install would run for a queue
///
/// The same description always gives the same text. Statements end in lines that say GO, as SQL Server's tools take them;
/// for psql take those lines out: readpast render Q.toml --dialect postgres | sed '/^GO$/d' | psql
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file that describes the queue
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// For which server
    #[arg(long, value_enum, default_value = "sqlserver")]
    dialect: Server,
    /// Only the queue, without what all queues of the schema share
    #[arg(long)]
    queue_only: bool,
}

/// The servers there are.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Server {
    /// Microsoft SQL Server and Azure SQL
    Sqlserver,
    /// PostgreSQL
    Postgres,
}

pub fn run(schema: Option<&str>, args: &Args, out: &Output) -> Result<Exit> {
    let spec = spec_file::read(&args.spec)?;
    let dialect = match args.dialect {
        Server::Sqlserver => Dialect::SqlServer,
        Server::Postgres => Dialect::Postgres,
    };
    let schema = Identifier::new("--schema", schema.unwrap_or("readpast"))?;
    let mut scripts = Vec::new();
    if !args.queue_only {
        for version in 1..=SCHEMA_VERSION {
            scripts.extend(dialect.schema_script(version, &schema)?);
        }
        scripts.push(dialect.functions_script(&schema)?);
    }
    scripts.extend(dialect.queue_scripts(&schema, &spec)?);
    let script: String = scripts.iter().map(|script| format!("{}\n", script.trim_end())).collect();
    if out.is_json() {
        out.answer(String::new, || json!({"queue": spec.queue.as_str(), "schema": schema.as_str(), "sql": script}))?;
    } else {
        out.text(&script)?;
    }
    Ok(Exit::Done)
}
