//! `readpast completions`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::output::Output;
use clap::Command;
use clap_complete::Shell;

/// Prints the completions of a shell
///
/// bash: readpast completions bash > ~/.local/share/bash-completion/completions/readpast
/// PowerShell: readpast completions powershell >> $PROFILE
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast completions bash > ~/.local/share/bash-completion/completions/readpast
  readpast completions powershell >> $PROFILE")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// `command` is the whole command line.
pub fn run(mut command: Command, args: &Args, out: &Output) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "readpast", &mut script);
    out.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
