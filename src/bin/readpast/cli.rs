//! The command line.

use crate::{adopt, completions, doctor, enqueue, exit, install, purge, recover, render, show, stats, steer, work};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Work queues in ordinary SQL Server tables (and PostgreSQL).
///
/// The connection comes from --connection-file, READPAST_CONNECTION, READPAST_CONNECTION_FILE, or a configuration file
/// (--config, ./readpast.toml, ~/.config/readpast/config.toml), the first of them that is there.
#[derive(Parser)]
#[command(name = "readpast", version, after_help = exit::HELP, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// What all subcommands take.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What all subcommands take. Not `Debug`: the connection is a secret.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// A file that holds the ODBC connection string and nothing else
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "connection")]
    pub connection_file: Option<PathBuf>,
    /// The ODBC connection string. Other users see it in the list of processes: better one of the other ways
    #[arg(long, global = true, value_name = "STRING")]
    pub connection: Option<String>,
    /// A configuration file: settings by key, as in the README, and connection or connection_file
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The schema that holds readpast's objects [default: readpast, or READPAST_SCHEMA]
    #[arg(long, global = true, value_name = "NAME")]
    pub schema: Option<String>,
    /// A setting, like lease.ms=30000; may be given again for another one
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Answers as JSON: one document, or where there are many answers one a line; errors too, on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// Says nothing but answers and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Says more of what it does
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// The subcommands. What one does is told beside its options, unless several share them.
#[derive(Debug, Subcommand)]
pub enum Command {
    Install(install::Args),
    Render(render::Args),
    Adopt(adopt::Args),
    Doctor(doctor::Args),
    Enqueue(enqueue::Args),
    Work(work::Args),
    Stats(stats::Args),
    Show(show::Args),
    /// Lets items that wait for their next attempt be tried at once
    ///
    /// Those in the state Error, unless --status or --key say otherwise. Their attempts count on; redrive begins anew.
    Retry(steer::Args),
    /// Calls items off
    ///
    /// Those that are Pending, Error or Paused, unless --status or --key say otherwise. A worker that holds one finds its lease
    /// lost.
    Cancel(steer::Args),
    /// Sets items aside
    ///
    /// Those that are Pending or Error, unless --status or --key say otherwise.
    Pause(steer::Args),
    /// Lets paused items be worked on again
    Resume(steer::Args),
    /// Lets items that ended be worked on as if they were new, with all their attempts
    ///
    /// Those that are Failed, unless --status or --key say otherwise; Cancelled, Terminated, PartiallyCompleted, Error and
    /// Paused ones can be redriven too.
    Redrive(steer::Args),
    Purge(purge::Args),
    Recover(recover::Args),
    Completions(completions::Args),
}
