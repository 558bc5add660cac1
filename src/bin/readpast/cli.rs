//! The command line.

use crate::global::Global;
use crate::{
    adopt, check, completions, doctor, drop, enqueue, exit, install, list, purge, recover, render, settings, show,
    stats, steer, stress, why, work,
};
use clap::{Parser, Subcommand};

/// Work queues in ordinary SQL Server tables (and PostgreSQL).
///
/// The connection comes from --connection-file, READPAST_CONNECTION, READPAST_CONNECTION_FILE, or a configuration file
/// (--config, ./readpast.toml, ~/.config/readpast/config.toml or %APPDATA%\readpast\config.toml): the first of them that
/// exists.
#[derive(Parser)]
#[command(name = "readpast", version, after_help = exit::HELP, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// Options of all subcommands.
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
    List(list::Args),
    Drop(drop::Args),
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
    /// Makes items that wait for their next attempt due now
    ///
    /// By default items in Error; --status or --key choose others. Their attempts count on; redrive starts them over.
    Retry(steer::Args),
    /// Cancels items
    ///
    /// By default items that are Pending, Error or Paused; --status or --key choose others. A worker that holds one loses its
    /// lease.
    Cancel(steer::Args),
    /// Pauses items
    ///
    /// By default items that are Pending or Error; --status or --key choose others.
    Pause(steer::Args),
    /// Makes paused items Pending again
    Resume(steer::Args),
    /// Starts ended items over, with all their attempts
    ///
    /// By default Failed items; --status or --key choose others. Cancelled, Terminated, PartiallyCompleted, Error and Paused
    /// items can be redriven too.
    Redrive(steer::Args),
    Purge(purge::Args),
    Recover(recover::Args),
    Settings(settings::Args),
    Completions(completions::Args),
}
