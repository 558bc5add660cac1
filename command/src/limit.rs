//! `readpast limit`.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter;
use crate::global::Global;
use crate::output::Output;
use crate::pause::EndArgs;
use crate::printable::one_line;
use readpast::ask;
use readpast::description::Rate;
use readpast::item::{Limit, LimitChange};

/// Shows and changes how much of each key is in work at once or starts in a time
///
/// Without a change it prints a line for each limit, and for each key that is in work or was changed: column, key, how many at once, how
/// many in work, rate, next start, and who changed it, when and why. At most 1,000 keys, those with most in work first.
///
/// A change is of all keys, or of --key alone, from the next claim on; what is in work goes on. It takes the place of an earlier one: what
/// it does not name is as the description says. With --at-once 0 nothing of it begins. After --for, or at --until, all of it is as described again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast limit Call
  readpast limit Call --by CustomerId --key 42 --at-once 3 --for 2h --reason \"they asked for it\"
  readpast limit Call --by Host --key api.example.org --reset")]
pub struct Args {
    /// The queue
    queue: String,
    /// The column of the limit, '' for that of the queue as a whole; may be left out where only one limit fits the rest
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// One key; without it, all
    #[arg(long, allow_hyphen_values = true)]
    key: Option<String>,
    /// How many are in work at once, 0 to 1000000
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    at_once: Option<u32>,
    /// How many start in a time: 60/1m. Only where the description has a rate
    #[arg(long, value_name = "STARTS/PERIOD")]
    rate: Option<Rate>,
    /// How many of them may start together after a rest
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "rate")]
    burst: Option<u32>,
    /// Takes earlier changes back
    #[arg(long, conflicts_with_all = ["at_once", "rate", "span", "until"])]
    reset: bool,
    #[command(flatten)]
    end: EndArgs,
    /// The reason, for those who look
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let is_change = args.reset || args.at_once.is_some() || args.rate.is_some();
    if !is_change && (args.by.is_some() || args.key.is_some() || args.end.is_given() || args.reason.is_some()) {
        return Err(usage("no change is named; give --at-once, --rate or --reset"));
    }
    let queue = filter::open(global, &args.queue)?;
    let limits = if is_change { vec![queue.set_limit(&args.change()?)?] } else { queue.limits()? };
    for limit in &limits {
        out.answer(|| line(limit), || ask::limit(limit))?;
    }
    Ok(Exit::Done)
}

impl Args {
    fn change(&self) -> Result<LimitChange<'_>> {
        Ok(LimitChange {
            by: self.by.as_deref(),
            key: self.key.as_deref(),
            at_once: self.at_once,
            rate: self.rate,
            burst: self.burst,
            end: self.end.end()?,
            reason: self.reason.as_deref(),
        })
    }
}

/// Column, key, how many at once and in work, rate, next start, who changed it.
fn line(limit: &Limit) -> String {
    let none = || "-".to_owned();
    let rate = limit.rate.map_or_else(none, |rate| match limit.burst {
        Some(burst) if burst != i64::from(rate.starts) => format!("{rate}, {burst} together"),
        _ => rate.to_string(),
    });
    let next = match (&limit.rate, &limit.free_at) {
        (None, _) => none(),
        (Some(_), None) => "now".to_owned(),
        (Some(_), Some(time)) => time.clone(),
    };
    let changed = limit.who.as_ref().map_or_else(none, |who| {
        let reason = limit.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let until = limit.until.as_ref().map_or_else(String::new, |until| format!(" until {until}"));
        format!("{who} at {}{until}{reason}", limit.set_at.as_deref().unwrap_or_default())
    });
    let cells = [
        limit.by.clone().unwrap_or_else(|| "(queue)".to_owned()),
        limit.key.clone().unwrap_or_else(|| "(all)".to_owned()),
        limit.at_once.map_or_else(none, |most| format!("{most} at once")),
        format!("{} in work", limit.in_work),
        rate,
        next,
        changed,
    ];
    let mut cells = cells.map(|cell| one_line(&cell).to_string()).to_vec();
    cells.extend(limit.place.as_ref().map(|place| format!("at {place}")));
    cells.join("\t")
}
