//! `readpast discover`.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::global::Global;
use crate::output::{Output, note};
use crate::printable::one_line;
use crate::{connection, findings};
use readpast::discover::{Candidate, Report, discover};
use readpast::{Error, ErrorKind};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Finds the tables of a database that are queues
///
/// Looks at names, at what the server's statistics and figures say, and at code that claims rows. Prints for each table what
/// speaks for a queue, and the traps in it and in the code around it, each with its remedy. Changes nothing, and reads no table.
/// Exits with 1 when it finds none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast discover                  says which tables are queues, and why
  readpast discover --write found    writes a description of each into a folder, for adopt
  readpast discover --json           the same for programs")]
pub struct Args {
    /// Writes a description of each table into this folder; a file that is there stays
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let report = discover(&connection::config(global, "5000")?)?;
    let written = match &args.write {
        None => Vec::new(),
        Some(folder) => write(&report, folder)?,
    };
    if out.is_json() {
        let tables: Vec<_> = report.tables.iter().map(document).collect();
        let files: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
        let document =
            json!({"tables": tables, "findings": readpast::ask::findings(&report.findings), "written": files});
        out.answer(String::new, || document)?;
    } else {
        report.tables.iter().try_for_each(|table| out.text(&shown(table)))?;
        findings::print(&report.findings, out)?;
        for path in &written {
            note(&format!("wrote {}; try it with readpast adopt", path.display()));
        }
        if report.tables.is_empty() {
            note("no table here looks like a queue");
        }
    }
    Ok(if report.tables.is_empty() { Exit::Refused } else { Exit::Done })
}

fn shown(table: &Candidate) -> String {
    let of = table.system.map(|system| format!("   ({system})")).unwrap_or_default();
    let mut lines = one_line(&format!("{}.{}{of}", table.schema, table.name)) + "\n";
    if let Some(verdict) = table.verdict {
        lines += &format!("    {verdict}\n");
    }
    for evidence in &table.evidence {
        lines += &format!("    {}\n", one_line(evidence));
    }
    if let Err(why) = &table.description {
        lines += &format!("    no description: {}\n", one_line(why));
    }
    lines + &table.traps.iter().map(|trap| findings::shown(trap) + "\n").collect::<String>()
}

fn document(table: &Candidate) -> serde_json::Value {
    json!({
        "schema": table.schema, "name": table.name, "system": table.system, "verdict": table.verdict, "score": table.score,
        "evidence": table.evidence, "traps": readpast::ask::findings(&table.traps),
        "description": table.description.as_ref().ok(), "why_none": table.description.as_ref().err(),
    })
}

/// Writes each description into a file of its own, and returns their paths.
fn write(report: &Report, folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |path: &Path, error: std::io::Error| {
        let message = format!("{}: {error}", path.display());
        Failure::from(Error::new(ErrorKind::InvalidArgument, message))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut written = Vec::new();
    for table in &report.tables {
        let Ok(text) = &table.description else { continue };
        let safe = |name: &str| name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect::<String>();
        let path = folder.join(format!("{}.{}.toml", safe(&table.schema), safe(&table.name)));
        if path.exists() {
            note(&format!("{} is there already, and stays", path.display()));
            continue;
        }
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
        written.push(path);
    }
    Ok(written)
}
