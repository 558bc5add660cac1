//! `readpast service`: workers, and the pages, as Windows services.

mod manage;
mod run;

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::global::Global;
use crate::output::Output;
use clap::Subcommand;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs `work` or `serve` as a Windows service
///
/// readpast service install Mail -- work Mail --connection-file C:\mail\connection --jobs 4 -- C:\mail\send.exe
/// sc.exe start Mail
///
/// The service runs in the folder where it was installed, as the account `NT SERVICE\Mail`. The account must be able to read its
/// files, and no other account may read the connection:
/// icacls C:\mail\connection /inheritance:r /grant "NT SERVICE\Mail:R" "BUILTIN\Administrators:F"
/// It starts with the machine, restarts when it fails, stops as Ctrl-Break stops the command, and writes to the event log of
/// applications what the command writes to standard error.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    verb: ServiceVerb,
}

#[derive(Debug, Subcommand)]
enum ServiceVerb {
    Install(Install),
    Remove(Remove),
    #[command(hide = true)]
    Run(Run),
}

/// Makes a service of a command line
#[derive(Debug, clap::Args)]
struct Install {
    /// The name of the service
    name: String,
    /// The account that it runs as, one that needs no password: LocalSystem, NT AUTHORITY\NetworkService or DOMAIN\gmsa$.
    /// For one with a password: sc.exe config NAME obj= ACCOUNT password= PASSWORD [default: NT SERVICE\NAME]
    #[arg(long)]
    account: Option<String>,
    /// Starts on request, not with the machine
    #[arg(long)]
    manual: bool,
    /// The command line: `work` or `serve` with their options
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Stops a service and removes it
#[derive(Debug, clap::Args)]
struct Remove {
    /// The service
    name: String,
}

/// The service manager's command line.
#[derive(Debug, clap::Args)]
struct Run {
    name: String,
    #[arg(long)]
    folder: PathBuf,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// A parsed command line that a service runs.
pub struct CommandLine {
    /// Whether it goes on until it is asked to end.
    pub goes_on: bool,
    /// Whether it has the connection.
    pub has_connection: bool,
    /// Performs it.
    pub perform: Box<dyn FnOnce() -> Result<Exit>>,
}

/// Reads a command line.
pub type CommandLineReader = fn(&[OsString]) -> Result<CommandLine>;

/// Runs the subcommand.
pub fn run(global: &Global, args: Args, reader: CommandLineReader, out: &Output) -> Result<Exit> {
    match args.verb {
        ServiceVerb::Install(args) => {
            let strays = [&global.connection_file, &global.config].iter().any(|option| option.is_some());
            if strays || global.connection.is_some() || global.schema.is_some() || !global.set.is_empty() {
                return Err(usage(
                    "connection, configuration, schema and settings are the service's: give them after --, \
                     beside work or serve",
                ));
            }
            check(&reader(&args.command)?)?;
            manage::install(&args, out)
        }
        ServiceVerb::Remove(args) => manage::remove(&args.name, out),
        ServiceVerb::Run(args) => run::run(args, reader),
    }
}

/// Checks now for errors that the service would meet unseen.
fn check(line: &CommandLine) -> Result<()> {
    if !line.goes_on {
        return Err(usage("a service runs work or serve; the other subcommands end by themselves"));
    }
    if line.has_connection {
        return Err(usage(
            "every user of this machine can read a service's command line: put the connection into a file, and name that \
             with --connection-file",
        ));
    }
    Ok(())
}

/// The failure of a call of the service manager.
fn service_failure(what: &str, error: &windows_service::Error) -> crate::failure::Failure {
    let why = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    crate::failure::Failure::Partly(format!("{what}: {why}"), Exit::Denied)
}
