//! `readpast`: installs queues, enqueues items, works on them, and shows and steers them. One file a subcommand; it uses only the
//! public functions of the library.

mod adopt;
mod check;
mod child_environment;
mod cli;
mod columns;
mod completions;
mod concerns;
mod connection;
mod discover;
mod doctor;
mod drop;
mod duration;
mod edit;
mod enqueue;
mod exit;
mod failure;
mod filter;
mod findings;
mod format;
mod global;
mod install;
mod limit;
mod list;
mod log;
mod looked;
mod moving;
mod operations;
mod output;
mod passthrough;
mod pause;
mod places;
mod printable;
mod process;
mod progress;
mod recover;
mod registry;
mod render;
mod roles;
mod sampler;
mod schedules;
mod secret_file;
mod serve;
#[cfg(windows)]
mod service;
mod settings;
mod show;
mod signals;
mod stats;
mod steer;
mod stress;
mod top;
mod trust;
mod wait;
mod why;
#[cfg(windows)]
mod windows;
mod work;

use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Command};
use exit::Exit;
use failure::Result;
use output::Output;
use readpast::OperatorVerb as Verb;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::command().try_get_matches().and_then(|given| Cli::from_arg_matches(&given)) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    log::start(cli.global.verbose, cli.global.quiet);
    let json = cli.global.json;
    match perform(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.report(json);
            failure.exit().into()
        }
    }
}

/// Performs a command line.
fn perform(cli: Cli) -> Result<Exit> {
    let Cli { global, command } = cli;
    let out = Output::new(global.json);
    let result = match command {
        Command::Install(args) => install::run(&global, &args, &out),
        Command::List(args) => list::run(&global, &args, &out),
        Command::Places(args) => places::run(&global, &args, &out),
        Command::Drop(args) => drop::run(&global, &args, &out),
        Command::Render(args) => render::run(&global, &args, &out),
        Command::Adopt(args) => adopt::run(&global, &args, &out),
        Command::Discover(args) => discover::run(&global, &args, &out),
        Command::Doctor(args) => doctor::run(&global, &args, &out),
        Command::Enqueue(args) => enqueue::run(&global, &args, &out),
        Command::Work(args) => work::run(&global, args, &out),
        Command::Check(args) => check::run(&global, &args, &out),
        Command::Serve(args) => serve::run(&global, &args, &out),
        #[cfg(windows)]
        Command::Service(args) => service::run(&global, args, read_line, &out),
        Command::Stats(args) => stats::run(&global, &args, &out),
        Command::Top(args) => top::run(&global, &args, &out),
        Command::Stress(args) => stress::run(&global, &args, &out),
        Command::Schedules(args) => schedules::run(&global, &args, &out),
        Command::Settings(args) => settings::run(&global, &args, &out),
        Command::Show(args) => show::run(&global, &args, &out),
        Command::Why(args) => why::run(&global, &args, &out),
        Command::Wait(args) => wait::run(&global, &args, &out),
        Command::Retry(args) => steer::run(Verb::Retry, &global, &args, &out),
        Command::Cancel(args) => steer::run(Verb::Cancel, &global, &args, &out),
        Command::Pause(args) => pause::pause(&global, &args, &out),
        Command::Resume(args) => pause::resume(&global, &args, &out),
        Command::Redrive(args) => steer::run(Verb::Redrive, &global, &args, &out),
        Command::Purge(args) => steer::run(Verb::Purge, &global, &args, &out),
        Command::Limit(args) => limit::run(&global, &args, &out),
        Command::Edit(args) => edit::run(&global, &args, &out),
        Command::Move(args) => moving::run(&global, &args, &out),
        Command::Operations(args) => operations::run(&global, &args, &out),
        Command::Recover(args) => recover::run(&global, &args, &out),
        Command::Completions(args) => completions::run(Cli::command(), &args, &out),
    };
    // The output before a failure is flushed all the same.
    let flushed = out.flush();
    result.and_then(|exit| flushed.map(|()| exit))
}

/// The command line of a service.
#[cfg(windows)]
fn read_line(arguments: &[std::ffi::OsString]) -> Result<service::CommandLine> {
    let line = std::iter::once("readpast".into()).chain(arguments.iter().cloned());
    let cli = <Cli as clap::Parser>::try_parse_from(line)
        .map_err(|error| failure::usage(format!("the service's own command: {error}")))?;
    let goes_on = match cli.command {
        Command::Work(_) => true,
        Command::Serve(_) => true,
        _ => false,
    };
    let has_connection = cli.global.connection.is_some();
    let perform = move || {
        log::set_level(cli.global.verbose, cli.global.quiet);
        perform(cli)
    };
    Ok(service::CommandLine { goes_on, has_connection, perform: Box::new(perform) })
}

/// Handles wrong arguments, and requests for help.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    // The rest is for people: the usage of the subcommand, and where to find more.
    let text = error.to_string();
    let what = text.split("\n\nUsage:").next().unwrap_or_default().split("\n\nFor more information").next();
    let message = what.unwrap_or_default().trim_start_matches("error: ").trim_end();
    if error.use_stderr() && check::is_meant(std::env::args_os()) {
        // A monitoring system shows standard output; a person also reads standard error.
        let _ = error.print();
        return check::refused(message, is_json).into();
    }
    if !error.use_stderr() || !is_json {
        error.exit();
    }
    let failure = failure::usage(message);
    failure.report(true);
    failure.exit().into()
}
