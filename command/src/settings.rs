//! `readpast settings`.

use crate::exit::Exit;
use crate::failure::Result;
use crate::filter;
use crate::global::Global;
use crate::output::Output;
use crate::printable::one_line;
use clap::Subcommand;

/// Shows and sets the queue settings that procedures read from AppSettings
///
/// maxAttempts is how many attempts an item has, leaseMs how long a lease lasts, in milliseconds. A setting overrides the queue's
/// description, for all processes from their next call on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast settings list Notification
  readpast settings set Notification maxAttempts 5
  readpast settings unset Notification maxAttempts")]
pub struct Args {
    #[command(subcommand)]
    verb: SettingsVerb,
}

#[derive(Debug, Subcommand)]
enum SettingsVerb {
    /// Lists the settings of a queue
    List {
        /// The queue
        queue: String,
    },
    /// Sets a setting
    Set {
        /// The queue
        queue: String,
        /// maxAttempts or leaseMs
        name: String,
        /// A whole number
        #[arg(allow_negative_numbers = true)]
        value: i32,
    },
    /// Removes a setting, so that the queue's description counts again
    Unset {
        /// The queue
        queue: String,
        /// maxAttempts or leaseMs
        name: String,
    },
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let (name, set) = match &args.verb {
        SettingsVerb::List { queue } => (queue, None),
        SettingsVerb::Set { queue, name, value } => (queue, Some((name, Some(*value)))),
        SettingsVerb::Unset { queue, name } => (queue, Some((name, None))),
    };
    let queue = filter::open(global, name)?;
    if let Some((name, value)) = set {
        queue.set_setting(name, value)?;
    }
    let chosen = |setting: &&readpast::queue::QueueSetting| set.is_none_or(|(name, _)| setting.name == name);
    for setting in queue.settings()?.iter().filter(chosen) {
        let (counts, by) = match setting.value {
            Some(value) => (value, setting.table.as_str()),
            None => (setting.described, "description"),
        };
        out.answer(
            || {
                let place = setting.place.as_ref().map_or_else(String::new, |place| format!("\tat {place}"));
                format!("{}\t{counts}\t{}{place}", one_line(&setting.param), one_line(by))
            },
            || readpast::ask::setting(setting),
        )?;
    }
    Ok(Exit::Done)
}
