//! Schedules: items that any worker of the queue puts in at planned times, and what an operator does about them.

use super::inner::QueueInner;
use crate::calls::{self, Ask, ScheduleList, ScheduleSet, YieldsTo};
use crate::description::{check_name, items_of};
use crate::dialect::ScheduleCalls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Missed, Schedule, ScheduleChange};
use crate::metrics::CallKind;
use crate::schedule::Rule;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A schedule that skips missed times puts its item in up to so many seconds late.
const GRACE: i64 = 60;

/// The schedules of one look.
const LOOK: i32 = 20;

/// The planned times that a list shows.
const UPCOMING: usize = 5;

/// The end of a look at one schedule, with its next planned time.
enum One {
    Fired(i64),
    Waits(i64),
    /// It was not there at the time that was read.
    Gone,
    /// There is no time before the year 5000.
    Never,
}

impl QueueInner {
    /// When this process looks at the schedules next. `None`: the queue takes none.
    pub(crate) fn planned_at(&self) -> Option<Instant> {
        self.takes_schedules().then(|| self.process.schedules.at())
    }

    /// Takes the process's turn to look at them, if it is due.
    pub(crate) fn turn_to_fire(&self) -> bool {
        self.takes_schedules() && self.process.schedules.take()
    }

    fn takes_schedules(&self) -> bool {
        self.attached.is_none() && self.backend.own().is_some_and(|own| own.schedules.is_some())
    }

    fn schedule_calls(&self) -> Result<&ScheduleCalls> {
        self.backend.own().and_then(|own| own.schedules.as_ref()).ok_or_else(|| {
            let why = format!(
                "queue {} takes no schedules; give its description a \"schedule\" ([] for those that are made at run time), \
                 and install it",
                self.terms.queue()
            );
            Error::new(ErrorKind::Unsupported, why)
        })
    }

    fn schedule_list(&self, yields_to: YieldsTo, most: Option<i32>) -> Result<ScheduleList> {
        let calls = self.schedule_calls()?;
        let mut list =
            self.ask(CallKind::Schedules, yields_to, |session| calls::list_schedules(session, calls, most))?;
        for schedule in &mut list.schedules {
            schedule.last_key = schedule.last_key.take().map(|key| self.terms.key_of(key));
        }
        Ok(list)
    }

    /// [`crate::Queue::schedules`], or with `most` [`crate::Queue::next_schedules`].
    pub(crate) fn schedules(&self, most: Option<i32>) -> Result<Vec<Schedule>> {
        let ScheduleList { mut schedules, now_ms } = self.schedule_list(YieldsTo::Closing, most)?;
        for schedule in &mut schedules {
            match Rule::new(&schedule.cron, &schedule.zone) {
                Ok(rule) => {
                    schedule.words = Some(rule.words());
                    let mut at = schedule.next_at.or_else(|| rule.next(None, now_ms / 1000));
                    while let Some(next) = at.filter(|_| schedule.upcoming.len() < UPCOMING) {
                        schedule.upcoming.push(next);
                        at = rule.next(Some(next), next);
                    }
                }
                Err((key, why)) => schedule.problem = Some(format!("{key}: {why}")),
            }
        }
        Ok(schedules)
    }

    /// Puts in what is planned by now, in this process's turn.
    pub(crate) fn fire_schedules(&self) -> Result<()> {
        let turns = &self.process.schedules;
        let most = LOOK.saturating_add(turns.stuck.load(Ordering::Relaxed));
        let ScheduleList { schedules, now_ms } = self.schedule_list(YieldsTo::Interrupts, Some(most))?;
        let (mut failed, mut stuck, mut fired) = (None, 0, 0);
        let wait = |next: i64| Duration::from_millis((next * 1000 - now_ms).max(0).unsigned_abs());
        for schedule in &schedules {
            let rule = match Rule::new(&schedule.cron, &schedule.zone) {
                Ok(rule) => rule,
                Err((key, why)) => {
                    self.log_once(schedule, &format!("{key}: {why}"));
                    stuck += 1;
                    continue;
                }
            };
            match self.fire_one(schedule, &rule, now_ms.div_euclid(1000)) {
                Ok(One::Fired(next)) => {
                    fired += 1;
                    turns.within(wait(next));
                }
                Ok(One::Waits(next)) => turns.within(wait(next)),
                // By another process, or its time is none that a call can name: it is no reason to look again at once.
                Ok(One::Gone) => stuck += 1,
                Ok(One::Never) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Interrupted) => return Err(error),
                // One whose item the table refuses holds up no other, and is tried again at the next look.
                Err(error) => {
                    let name = format!("schedule {}", schedule.name);
                    failed.get_or_insert_with(|| error.in_context(name));
                    stuck += 1;
                }
            }
        }
        // Those that do not fire stay in front: the next look goes on behind them.
        turns.stuck.store(stuck, Ordering::Relaxed);
        if schedules.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            // More may be due: at once, unless all that it saw do not fire.
            if fired > 0 && fired + stuck >= most {
                turns.within(Duration::ZERO);
            } else if stuck > 0 {
                turns.within(Duration::from_secs(1));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Puts in what is planned by now, if it is this thread's turn, on a thread with other work.
    pub(super) fn fire_or_log(&self) {
        if self.turn_to_fire()
            && let Err(error) = self.fire_schedules()
        {
            log::warn!("queue {}: items of schedules could not be put in: {error}", self.terms.queue());
        }
    }

    /// Fires it if it is time.
    fn fire_one(&self, schedule: &Schedule, rule: &Rule, now: i64) -> Result<One> {
        let was = schedule.next_at;
        if let Some(at) = was.filter(|at| *at > now) {
            return Ok(One::Waits(at));
        }
        let after = was.filter(|_| schedule.missed == Missed::Each).unwrap_or(now);
        let Some(next) = rule.next(was, after) else { return Ok(One::Never) };
        let adds = was.is_some_and(|was| schedule.missed != Missed::Skip || now - was < GRACE);
        let (answer, _) = self.fire(&schedule.name, (was, Some(next)), adds)?;
        Ok(if answer == "GONE" { One::Gone } else { One::Fired(next) })
    }

    /// Moves the schedule on and puts its item in, in one commit. With no next time it puts the item in now.
    fn fire(&self, name: &str, times: (Option<i64>, Option<i64>), adds: bool) -> Result<(String, Option<String>)> {
        let calls = self.schedule_calls()?;
        let (answer, key) = self.once(CallKind::Schedules, |session| calls::fire(session, calls, name, times, adds))?;
        let fired = (answer, key.map(|key| self.terms.key_of(key)));
        if fired.0 == "FIRED" {
            self.counters.enqueues(1, 0);
            self.process.polls.wake();
        }
        Ok(fired)
    }

    fn log_once(&self, schedule: &Schedule, why: &str) {
        let is_new = self.process.schedules.logged.lock().insert(format!("{} {}", schedule.name, schedule.cron));
        if is_new {
            log::warn!("queue {}: the schedule {} does not fire: {why}", self.terms.queue(), schedule.name);
        }
    }

    /// [`crate::Queue::set_schedule`].
    pub(crate) fn set_schedule(&self, name: &str, change: &ScheduleChange) -> Result<bool> {
        let calls = self.schedule_calls()?;
        check_name(name).map_err(|why| mistake("name", why))?;
        self.check_rule(name, change)?;
        let items = change.item.as_ref().map(|item| items_of(&self.terms.spec, item)).transpose()?;
        let set = ScheduleSet {
            cron: change.cron.as_deref(),
            zone: change.zone.as_deref(),
            items: items.as_deref(),
            missed: change.missed,
            overlap: change.overlap,
            enabled: change.enabled,
            remove: false,
        };
        let answer = calls::set_schedule(self, calls, name, &set)?;
        if answer == "NOT_FOUND" {
            return Err(mistake("name", format!("there is no schedule {name:?}; a new one needs cron, zone and item")));
        }
        let verb = match change.enabled {
            Some(false) => "disable schedule",
            Some(true) if answer == "CHANGED" => "enable schedule",
            _ => "set schedule",
        };
        self.has_changed(verb, name);
        Ok(answer == "ADDED")
    }

    /// Checks the rule that there will be: of one that changes half of it, the other half is the database's.
    fn check_rule(&self, name: &str, change: &ScheduleChange) -> Result<()> {
        let known = match (&change.cron, &change.zone) {
            (None, None) => return Ok(()),
            (Some(_), Some(_)) => None,
            _ => self.schedule_list(YieldsTo::Closing, None)?.schedules.into_iter().find(|known| known.name == name),
        };
        let cron = change.cron.as_deref().or(known.as_ref().map(|known| known.cron.as_str()));
        let zone = change.zone.as_deref().or(known.as_ref().map(|known| known.zone.as_str()));
        let (Some(cron), Some(zone)) = (cron, zone) else { return Ok(()) };
        Rule::new(cron, zone).map(drop).map_err(|(key, why)| mistake(key, why))
    }

    /// [`crate::Queue::remove_schedule`].
    pub(crate) fn remove_schedule(&self, name: &str) -> Result<bool> {
        let set = ScheduleSet { remove: true, ..ScheduleSet::default() };
        let is_removed = calls::set_schedule(self, self.schedule_calls()?, name, &set)? == "REMOVED";
        if is_removed {
            self.has_changed("remove schedule", name);
        }
        Ok(is_removed)
    }

    /// [`crate::Queue::run_schedule`].
    pub(crate) fn run_schedule(&self, name: &str) -> Result<(String, Option<String>)> {
        let fired = self.fire(name, (None, None), true)?;
        if fired.0 == "GONE" {
            return Err(mistake("name", format!("there is no schedule {name:?}")));
        }
        if fired.1.is_some() {
            self.has_changed("run schedule", name);
        }
        Ok(fired)
    }

    /// Records the change, and has this process look at once.
    fn has_changed(&self, verb: &str, name: &str) {
        self.process.schedules.within(Duration::ZERO);
        self.process.polls.wake();
        self.record(verb, &json!({ "schedule": name }).to_string(), (1, 0));
    }
}

fn mistake(key: &str, why: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("{key}: {why}"))
}
