//! The command line.

use crate::global::Global;
use crate::{
    adopt, check, completions, doctor, enqueue, exit, install, purge, recover, render, settings, show, stats, steer,
    stress, why, work,
};
use clap::{Parser, Subcommand};

/// Work queues in ordinary SQL Server tables (and PostgreSQL).
///
/// The connection comes from --connection-file, READPAST_CONNECTION, READPAST_CONNECTION_FILE, or a configuration file
/// (--config, ./readpast.toml, ~/.config/readpast/config.toml or %APPDATA%\readpast\config.toml), the first of them that is
/// there.
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
    Check(check::Args),
    Stress(stress::Args),
    #[cfg(feature = "serve")]
    Serve(crate::serve::Args),
    #[cfg(windows)]
    Service(crate::service::Args),
    Show(show::Args),
    Why(why::Args),
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
    Settings(settings::Args),
    Completions(completions::Args),
}
