//! The command line.

use crate::global::Global;
use crate::{
    adopt, check, completions, discover, doctor, drop, edit, enqueue, exit, install, limit, list, moving, operations,
    pause, places, recover, render, schedules, settings, show, stats, steer, stress, top, wait, why, work,
};
use clap::{Arg, CommandFactory, Parser, Subcommand};

/// Work queues in ordinary SQL Server tables (and PostgreSQL).
///
///   readpast install notification.toml                     makes the queue that a file describes
///   readpast enqueue Notification Recipient=a@example.org  puts an item into it
///   readpast work Notification -- ./send.sh                runs a command for each item
///
/// `readpast SUBCOMMAND --help` has examples of each subcommand. sql/SPEC.md says what a file can describe.
///
/// The connection comes from --connection-file, READPAST_CONNECTION, READPAST_CONNECTION_FILE, or a
/// configuration file (--config, ./readpast.toml, ~/.config/readpast/config.toml or
/// %APPDATA%\readpast\config.toml): the first of them that exists.
#[derive(Parser)]
#[command(name = "readpast", version, after_help = exit::HELP, disable_help_subcommand = true, max_term_width = 100, verbatim_doc_comment)]
pub struct Cli {
    /// Options of all subcommands.
    #[command(flatten)]
    pub global: Global,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The pointer to the options of all subcommands.
const POINTER: &str = "\
Global options: --connection-file, --connection, --config, --schema, --set, --json, --quiet, --verbose, \
--allow-readable-secrets; readpast --help explains them";

/// The whole command line, as help shows it: options of all subcommands are explained once.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let global: Vec<_> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    command.mut_subcommands(|subcommand| folded(subcommand, &global))
}

/// A subcommand that takes them without showing them.
fn folded(command: clap::Command, global: &[Arg]) -> clap::Command {
    let examples = command.get_after_help().map_or_else(String::new, |examples| format!("{examples}\n\n"));
    let hidden = global.iter().map(|arg| arg.clone().hide(true));
    command.args(hidden).after_help(examples + POINTER).mut_subcommands(|subcommand| folded(subcommand, global))
}

/// The subcommands. Their help stands beside their options, unless several share them.
#[derive(Debug, Subcommand)]
pub enum Command {
    Install(install::Args),
    List(list::Args),
    Places(places::Args),
    Drop(drop::Args),
    Render(render::Args),
    Adopt(adopt::Args),
    Discover(discover::Args),
    Doctor(doctor::Args),
    Enqueue(enqueue::Args),
    Work(work::Args),
    Stats(stats::Args),
    Top(top::Args),
    Check(check::Args),
    Stress(stress::Args),
    Serve(crate::serve::Args),
    #[cfg(windows)]
    Service(crate::service::Args),
    Show(show::Args),
    Why(why::Args),
    Wait(wait::Args),
    /// Makes items that wait for their next attempt due now
    ///
    /// By default items in Error; --status or --key choose others. Their attempt counts stay; redrive resets them.
    #[command(after_help = "\
Examples:
  readpast retry Notification --all
  readpast retry Notification --error \"451 greylisted\"")]
    Retry(steer::Args),
    /// Cancels items
    ///
    /// By default items that are Pending, Error or Paused; --status or --key choose others. A worker that holds one loses its
    /// lease.
    #[command(after_help = "\
Examples:
  readpast cancel Notification --type Sms --dry-run  only shows the items
  readpast cancel Notification --key 2026-11-21T08:30:00.1234560")]
    Cancel(steer::Args),
    Pause(pause::PauseArgs),
    /// Resumes a queue, types of it, or items that are paused
    ///
    /// Without options that choose items, it ends the pause of the queue, or with --type alone that of the type; each pause is ended by
    /// itself. Paused items become Pending again by --key, --status and the others, or by --all.
    #[command(after_help = "\
Examples:
  readpast resume Notification
  readpast resume Notification --type Sms
  readpast resume Notification --all")]
    Resume(steer::Args),
    /// Starts ended items again, and resets their attempt counts
    ///
    /// By default Failed items; --status or --key choose others. Cancelled, Terminated, PartiallyCompleted, Error and Paused
    /// items can be redriven too.
    #[command(after_help = "\
Examples:
  readpast redrive Notification --error timeout --dry-run
  readpast redrive Notification --state Failed,Cancelled --after 2026-11-21T00:00:00Z")]
    Redrive(steer::Args),
    /// Deletes finished items, in bounded batches
    ///
    /// By default items that are Completed, PartiallyCompleted, Cancelled or Terminated; Failed items only with --status, also
    /// where --key names them, and unfinished ones never. Some hundred items go in a transaction, and workers go on meanwhile.
    #[command(after_help = "\
Examples:
  readpast purge Notification --older-than 30d --dry-run
  readpast purge Notification --state Failed --older-than 365d")]
    Purge(steer::Args),
    Limit(limit::Args),
    Edit(edit::Args),
    Move(moving::Args),
    Operations(operations::Args),
    Recover(recover::Args),
    Schedules(schedules::Args),
    Settings(settings::Args),
    Completions(completions::Args),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a line as a shell reads it, up to a comment or a file.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        let mut signs = line.trim().chars().peekable();
        while let Some(sign) = signs.next() {
            match (quote, sign) {
                (Some(open), sign) if open == sign => quote = None,
                (None, '"' | '\'') => quote = Some(sign),
                (None, ' ') if matches!(signs.peek(), Some(' ' | '>')) => break,
                (None, ' ') => words.push(std::mem::take(&mut word)),
                (_, sign) => word.push(sign),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn examples_in_the_help_are_read() {
        assert_eq!(words("a 'b c' \"d\"e  comment"), ["a", "b c", "de"]);
        assert_eq!(words("a b > file"), ["a", "b"]);
        let mut count = 0;
        let about = command().get_long_about().unwrap().to_string();
        let all: Vec<_> = command().get_subcommands().map(|sub| (sub.get_name().to_owned(), sub.clone())).collect();
        let helps = all.iter().map(|(name, sub)| (name.as_str(), sub.get_after_help().unwrap().to_string()));
        for (name, help) in helps.chain([("", about)]) {
            let examples: Vec<_> = help.lines().filter(|line| line.starts_with("  readpast ")).collect();
            // How a service is made stands in its text.
            assert!((1..=3).contains(&examples.len()) || name == "service", "{name}: {help}");
            for line in examples {
                assert!(line.contains(name), "{name}: {line}");
                command().try_get_matches_from(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
                count += 1;
            }
        }
        assert!(count > 35, "{count}");
    }

    #[test]
    fn a_subcommand_takes_the_options_of_all() {
        for sub in command().get_subcommands() {
            let help = sub.clone().render_long_help().to_string();
            assert!(help.contains("readpast --help explains them"), "{help}");
            assert!(!help.contains("\nGlobal options:\n"), "{help}");
        }
        let given = ["readpast", "stats", "Mail", "--json", "--schema", "app", "--set", "worker=x"];
        assert!(command().try_get_matches_from(given).is_ok());
    }
}
