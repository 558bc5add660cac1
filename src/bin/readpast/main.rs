//! `readpast`: installs queues, puts items in, works on them, and shows and steers what is there. One file a subcommand; only
//! the public functions of the library are used.

mod cli;
mod completions;
mod connection;
mod duration;
mod enqueue;
mod exit;
mod failure;
mod install;
mod log;
mod output;
mod recover;
mod render;
mod signals;
mod spec_file;
mod stats;
mod work;

use clap::Parser;
use cli::{Cli, Command};
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    log::start(global.verbose, global.quiet);
    let out = Output::new(global.json);
    let result = match command {
        Command::Install(args) => install::run(&global, &args, &out),
        Command::Render(args) => render::run(global.schema.as_deref(), &args, &out),
        Command::Enqueue(args) => enqueue::run(&global, &args, &out),
        Command::Work(args) => work::run(&global, args, &out),
        Command::Stats(args) => stats::run(&global, &args, &out),
        Command::Recover(args) => recover::run(&global, &args, &out),
        Command::Completions(args) => completions::run(&args, &out),
    };
    let result = result.and_then(|exit| out.flush().map(|()| exit));
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            // What was done before the failure is told all the same.
            let _ = out.flush();
            failure.report(global.json);
            failure.exit().into()
        }
    }
}
