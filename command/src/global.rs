//! Options that all subcommands take.

use clap::Args;
use std::path::PathBuf;

/// Options that all subcommands take. Not `Debug`: the connection is a secret.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// A file that holds the ODBC connection string and nothing else
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "connection")]
    pub connection_file: Option<PathBuf>,
    /// The ODBC connection string. Other users see it in the list of processes: prefer another way
    #[arg(long, global = true, value_name = "STRING")]
    pub connection: Option<String>,
    /// A configuration file: settings by key, as in docs/reference.md, with connection or connection_file
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Reads the connection also from a file that others may read
    #[arg(long, global = true)]
    pub allow_readable_secrets: bool,
    /// The schema that holds readpast's objects [default: readpast, or READPAST_SCHEMA]
    #[arg(long, global = true, value_name = "NAME")]
    pub schema: Option<String>,
    /// The one of the places (places.NAME in a configuration file) at which to work [default: all, or READPAST_PLACE]
    #[arg(long, global = true, value_name = "NAME")]
    pub place: Option<String>,
    /// A setting, like lease.ms=30000; may be given again for another one
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Answers in JSON: one document, or one per line where there are many; errors too, on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// Prints only answers and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Logs more of what it does
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}
