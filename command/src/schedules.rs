//! `readpast schedules`.

use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::filter;
use crate::global::Global;
use crate::output::Output;
use crate::printable::one_line;
use clap::Subcommand;
use readpast::ask;
use readpast::item::{Missed, Overlap, Schedule, ScheduleChange};
use serde_json::json;

/// Shows and changes what a queue puts in by itself, and when
///
/// Workers put the items in: one of all, in the commit that moves the planned time on. A schedule that is made here is at work within
/// 15 seconds, and an install leaves it. The queue's description must have a "schedule"; [] is enough.
///
/// A rule has five fields of cron (minute, hour, day of month, month, day of week), with seconds before them six, or is @hourly, @daily,
/// @weekly, @monthly, @yearly or @every 90s. Where clocks are set forward, a time of day that is skipped comes right after the gap;
/// where they are set back, one that is repeated comes once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  readpast schedules list Report
  readpast schedules set Report nightly --cron '0 3 * * MON-FRI' --zone Europe/Zurich --item '{\"columns\": {\"Name\": \"sales\"}}'
  readpast schedules run Report nightly")]
pub struct Args {
    #[command(subcommand)]
    verb: ScheduleVerb,
}

#[derive(Debug, Subcommand)]
enum ScheduleVerb {
    /// Lists the schedules of a queue, the next to fire first
    List {
        /// The queue
        queue: String,
    },
    /// Makes a schedule, or changes it: what is left out stays
    Set(SetArgs),
    /// Has a schedule fire again
    Enable(OneArgs),
    /// Keeps a schedule from firing
    Disable(OneArgs),
    /// Puts the item of a schedule in now; the planned time stays
    Run(OneArgs),
    /// Removes a schedule; one of the description comes again with the next install
    Remove(OneArgs),
}

#[derive(Debug, clap::Args)]
struct OneArgs {
    /// The queue
    queue: String,
    /// The schedule
    name: String,
}

#[derive(Debug, clap::Args)]
struct SetArgs {
    #[command(flatten)]
    one: OneArgs,
    /// The rule
    #[arg(long, value_name = "RULE")]
    cron: Option<String>,
    /// The zone in which the rule is read: Europe/Zurich, UTC
    #[arg(long)]
    zone: Option<String>,
    /// The item as JSON: {"columns": {...}} and, where wanted, "type" and "step"
    #[arg(long, value_name = "JSON")]
    item: Option<String>,
    /// For planned times without a worker: one item for all, one for each, or none
    #[arg(long, value_parser = Missed::ALL.map(Missed::as_str))]
    missed: Option<String>,
    /// While the last item is not over: another one, or none
    #[arg(long, value_parser = Overlap::ALL.map(Overlap::as_str))]
    overlap: Option<String>,
}

pub fn run(global: &Global, args: &Args, out: &Output) -> Result<Exit> {
    let one = match &args.verb {
        ScheduleVerb::List { queue } => return list(global, queue, out),
        ScheduleVerb::Set(set) => &set.one,
        ScheduleVerb::Enable(one) | ScheduleVerb::Disable(one) | ScheduleVerb::Run(one) | ScheduleVerb::Remove(one) => {
            one
        }
    };
    let queue = filter::open(global, &one.queue)?;
    let name = one_line(&one.name);
    match &args.verb {
        ScheduleVerb::Run(_) => {
            let (answer, key) = queue.run_schedule(&one.name)?;
            let text = key.as_ref().map_or_else(|| answer.clone(), |key| format!("{answer}\t{}", one_line(key)));
            out.answer(|| text, || json!({"answer": answer, "key": key}))?;
        }
        ScheduleVerb::Remove(_) => {
            if !queue.remove_schedule(&one.name)? {
                return Err(usage(format!("queue {} has no schedule {name}", one_line(&one.queue))));
            }
            out.answer(|| format!("removed: {name}"), || json!({"removed": true}))?;
        }
        ScheduleVerb::Set(set) => {
            let is_new = queue.set_schedule(&one.name, &set.change()?)?;
            let word = if is_new { "made" } else { "changed" };
            out.answer(|| format!("{word}: {name}"), || json!({"new": is_new}))?;
        }
        verb => {
            let enabled = matches!(verb, ScheduleVerb::Enable(_));
            queue.set_schedule(&one.name, &ScheduleChange { enabled: Some(enabled), ..ScheduleChange::default() })?;
            let word = if enabled { "enabled" } else { "disabled" };
            out.answer(|| format!("{word}: {name}"), || json!({"new": false}))?;
        }
    }
    Ok(Exit::Done)
}

impl SetArgs {
    fn change(&self) -> Result<ScheduleChange> {
        let item = self.item.as_ref().map(|item| {
            let item = serde_json::from_str(item).map_err(|error| usage(format!("--item is no JSON: {error}")))?;
            readpast::description::schedule_item(&item).map_err(|why| usage(format!("--item: {why}")))
        });
        Ok(ScheduleChange {
            cron: self.cron.clone(),
            zone: self.zone.clone(),
            item: item.transpose()?,
            missed: Missed::ALL.into_iter().find(|word| self.missed.as_deref() == Some(word.as_str())),
            overlap: Overlap::ALL.into_iter().find(|word| self.overlap.as_deref() == Some(word.as_str())),
            enabled: None,
        })
    }
}

fn list(global: &Global, queue: &str, out: &Output) -> Result<Exit> {
    for schedule in &filter::open(global, queue)?.schedules()? {
        out.answer(|| line(schedule), || ask::schedule(schedule))?;
    }
    Ok(Exit::Done)
}

/// Name, state, next time, rule with its zone, the last time with its answer.
fn line(schedule: &Schedule) -> String {
    let state = match (&schedule.problem, schedule.enabled) {
        (Some(problem), _) => format!("cannot fire: {problem}"),
        (None, true) => "on".to_owned(),
        (None, false) => "off".to_owned(),
    };
    let next =
        schedule.upcoming.first().filter(|_| schedule.enabled).map_or("-".to_owned(), |at| ask::schedule_time(*at));
    let last = schedule.last_at.map_or("never".to_owned(), |at| {
        format!("{} {}", ask::schedule_time(at), schedule.last_answer.as_deref().unwrap_or_default())
    });
    let rule = format!("{} {}", schedule.cron, schedule.zone);
    [&schedule.name, &state, &next, &rule, &last].map(|cell| one_line(cell).to_string()).join("\t")
}
