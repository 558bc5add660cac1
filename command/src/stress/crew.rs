//! The workers of a load test, which use the library's queue like any worker.

use super::dice::Dice;
use super::limits::Limits;
use super::processor::Processors;
use super::tally::{Board, Tally};
use crate::failure::Result;
use crate::signals::Stop;
use readpast::item::{Action, Answer, Batch};
use readpast::queue::MAX_ITEMS;
use readpast::stress::{Busy, Circumstances, Copy, Observed, Watcher, item};
use readpast::{Config, ItemState, Queue, QueueStats, Settlement};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The plan of a run.
pub struct LoadPlan {
    pub workers: u32,
    pub items: u32,
    pub limit: Duration,
    pub batch: u32,
    pub handler: Duration,
    /// Per hundred claims.
    pub kill: u32,
}

/// The result of a run.
pub struct LoadResult {
    pub filled: Filled,
    pub tally: Tally,
    pub took: Duration,
    /// The final figures of the copy's table.
    pub stats: QueueStats,
    /// Whether completed items stay there.
    pub keeps: bool,
    pub observed: Observed,
    /// Its limit.
    pub limits: Limits,
    /// Failed tries at calls, by the kind of the error, and the number of retries.
    pub errors: Vec<(String, u64)>,
    pub retries: u64,
}

/// The items of the copy.
#[derive(Default, Clone, Copy)]
pub struct Filled {
    pub items: u32,
    /// Items that the queue refused as duplicates.
    pub duplicates: u32,
}

/// The name of the workers' connections at the server.
const APPLICATION: &str = "readpast stress";

/// The interval of looks at the server.
const EVERY: Duration = Duration::from_millis(50);

/// The pause of a worker that finds nothing.
const PAUSE: Duration = Duration::from_millis(10);

/// The pause of a worker that could not connect.
const AWAY: Duration = Duration::from_secs(1);

/// The longest sleep from which nothing wakes a worker.
const SLICE: Duration = Duration::from_millis(50);

/// State that all workers share.
struct Common<'a> {
    copy: &'a Copy,
    plan: &'a LoadPlan,
    stop: &'a Stop,
    until: Instant,
    /// How many items there are, how many of them the workers have completed, and how many have spent their attempts.
    items: u32,
    completed: AtomicU64,
    failed: AtomicU64,
    /// How many workers have claimed items in their hands, and how many of them are in the handler.
    held: AtomicU32,
    handling: AtomicU32,
    /// A worker has found nothing to claim since the failed items were last counted.
    is_idle: AtomicBool,
    /// A worker could not begin: without it the figures would be those of another run.
    broken: AtomicBool,
    board: &'a Board,
}

impl Common<'_> {
    fn is_over(&self) -> bool {
        self.completed.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed) >= u64::from(self.items)
            || self.broken.load(Ordering::Relaxed)
            || self.stop.signal().is_some()
            || Instant::now() >= self.until
    }

    /// Counts the failed items when workers are idle: before that it would only disturb.
    fn look_for_failed(&self, queue: &Queue) {
        if !self.is_idle.swap(false, Ordering::Relaxed) {
            return;
        }
        // A failed count is repeated later.
        if let Ok(stats) = queue.stats() {
            self.failed.store(u64::try_from(stats.count(ItemState::Failed)).unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Whether items wait that no worker has, and whether all handlers are at work.
    fn busy_handlers(&self) -> (bool, bool) {
        let held = u64::from(self.held.load(Ordering::Relaxed)) * u64::from(self.plan.batch);
        let ended = self.completed.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed);
        let waits = ended + held < u64::from(self.items);
        (waits, self.handling.load(Ordering::Relaxed) >= self.plan.workers)
    }

    /// Sleeps so long, or until the run is over; returns whether it goes on.
    fn sleep(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while !self.is_over() {
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(SLICE));
        }
        false
    }
}

pub fn run(copy: &Copy, plan: &LoadPlan, stop: &Stop) -> Result<LoadResult> {
    let name = copy.spec().queue.as_str();
    let queue = Queue::open(copy.config(), name)?;
    let begun = Instant::now();
    let until = begun + plan.limit;
    let filled = fill(&queue, plan, stop, begun + plan.limit / 2)?;
    let mut watcher = Watcher::start(copy, APPLICATION)?;
    let board = Board::default();
    let begun = Instant::now();
    let (completed, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let (is_idle, broken) = (AtomicBool::new(false), AtomicBool::new(false));
    let (held, handling, items) = (AtomicU32::new(0), AtomicU32::new(0), filled.items);
    let common =
        Common { copy, plan, stop, until, items, completed, failed, held, handling, is_idle, broken, board: &board };
    let mut all_busy = [0, 0];
    let processors = Processors::start();
    let opened = thread::scope(|scope| {
        let common = &common;
        let workers: Vec<_> = (0..plan.workers).map(|number| scope.spawn(move || work(common, number))).collect();
        let mut asked = Instant::now();
        loop {
            watcher.look();
            if let (true, all) = common.busy_handlers() {
                all_busy = [all_busy[0] + u64::from(all), all_busy[1] + 1];
            }
            if asked.elapsed() >= AWAY {
                common.look_for_failed(&queue);
                asked = Instant::now();
            }
            if workers.iter().all(ScopedJoinHandle::is_finished) {
                break;
            }
            thread::sleep(EVERY);
        }
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let took = begun.elapsed();
    let busy = processors.busy();
    opened?;
    let (errors, retries) = counted(copy.schema());
    let (observed, tally) = (watcher.finish(), board.into_tally());
    let busy = Busy { has_server: observed.probe.is_near == Some(true), ..busy };
    let at = circumstances(copy, plan, &observed);
    Ok(LoadResult {
        filled,
        limits: Limits::new(at, &tally.spent, took, &observed, busy, all_busy),
        tally,
        took,
        stats: queue.stats()?,
        keeps: copy.spec().completion == readpast::description::Completion::Keep,
        observed,
        errors,
        retries,
    })
}

/// The settings on which the advice depends.
fn circumstances(copy: &Copy, plan: &LoadPlan, observed: &Observed) -> Circumstances {
    let spec = copy.spec();
    Circumstances {
        dialect: copy.dialect(),
        batch: plan.batch,
        has_shards: spec.shards.is_some(),
        takes_turns: spec.order.group.is_some() || !spec.limits.is_empty(),
        sees_waits: observed.sees_waits(),
    }
}

/// Enqueues the items, until the signal or the end of the time: the rest is left out.
fn fill(queue: &Queue, plan: &LoadPlan, stop: &Stop, until: Instant) -> Result<Filled> {
    let mut filled = Filled::default();
    let numbers: Vec<u32> = (0..plan.items).collect();
    for numbers in numbers.chunks(MAX_ITEMS as usize) {
        if stop.signal().is_some() || Instant::now() >= until {
            break;
        }
        let items: Vec<_> = numbers.iter().map(|number| item(queue.spec(), *number)).collect();
        for receipt in queue.enqueue(&items, None)? {
            *(if receipt.duplicate { &mut filled.duplicates } else { &mut filled.items }) += 1;
        }
    }
    Ok(filled)
}

/// Settings of a worker: its name, and a short lease where workers die.
fn settings(common: &Common<'_>, number: u32, life: u32) -> readpast::Result<Config> {
    let mut config = common.copy.config().clone();
    config.set("worker", &format!("stress {number}.{life}"))?.set("application", APPLICATION)?.set("pool.size", "1")?;
    if common.plan.kill > 0 {
        let busy = common.plan.handler.saturating_mul(common.plan.batch).as_millis();
        let lease = (busy.saturating_mul(3)).clamp(1000, 86_400_000);
        config.set("lease.ms", &lease.to_string())?.set("recover.interval_ms", "100")?;
    }
    Ok(config)
}

/// Runs one worker after the other under this number: one that dies has a successor.
fn work(common: &Common<'_>, number: u32) -> readpast::Result<()> {
    let mut tally = Tally::default();
    let mut dice = Dice::new(number);
    let name = common.copy.spec().queue.as_str();
    let mut ended = Ok(());
    for life in 0.. {
        let queue = settings(common, number, life).and_then(|config| Queue::open(&config, name));
        match queue {
            Ok(queue) => live(common, &queue, &mut dice, &mut tally),
            // It would fail the whole run, and at its end would hide the errors of the others.
            Err(error) if life == 0 => {
                common.broken.store(true, Ordering::Relaxed);
                ended = Err(error);
            }
            Err(error) => {
                tally.fails(&error, 0);
                common.sleep(AWAY);
            }
        }
        if ended.is_err() || common.is_over() {
            break;
        }
    }
    common.board.take_in(tally);
    ended
}

/// Works until the run is over, or until this worker dies.
fn live(common: &Common<'_>, queue: &Queue, dice: &mut Dice, tally: &mut Tally) {
    let begun = Instant::now();
    while !common.is_over() && turn(common, queue, dice, tally) {}
    tally.spent.total += begun.elapsed();
}

/// Claims some items, works on them and settles them; returns whether this worker goes on.
fn turn(common: &Common<'_>, queue: &Queue, dice: &mut Dice, tally: &mut Tally) -> bool {
    let begun = Instant::now();
    let batch = match queue.claim(common.plan.batch, Duration::ZERO) {
        Ok(batch) => batch,
        Err(error) => {
            tally.called(begun.elapsed());
            tally.fails(&error, 0);
            thread::sleep(PAUSE);
            return true;
        }
    };
    if batch.is_empty() {
        common.is_idle.store(true, Ordering::Relaxed);
        thread::sleep(PAUSE);
        tally.spent.idle += begun.elapsed();
        return true;
    }
    let time = begun.elapsed();
    tally.claims.add(time);
    tally.called(time);
    for item in batch.iter() {
        *tally.claimed.entry(item.key().to_owned()).or_default() += 1;
    }
    if dice.percent() < common.plan.kill {
        tally.dropped += batch.len() as u64;
        return false;
    }
    common.held.fetch_add(1, Ordering::Relaxed);
    let goes_on = finish(common, queue, &batch, tally);
    common.held.fetch_sub(1, Ordering::Relaxed);
    goes_on
}

/// Works on claimed items and settles them; returns whether this worker goes on.
fn finish(common: &Common<'_>, queue: &Queue, batch: &Batch, tally: &mut Tally) -> bool {
    let busy = common.plan.handler.saturating_mul(u32::try_from(batch.len()).unwrap_or(u32::MAX));
    if !busy.is_zero() {
        let begun = Instant::now();
        common.handling.fetch_add(1, Ordering::Relaxed);
        let is_done = common.sleep(busy);
        common.handling.fetch_sub(1, Ordering::Relaxed);
        tally.spent.handlers += begun.elapsed();
        if !is_done {
            // The items are not done, and are reported as left.
            return false;
        }
    }
    let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
    let begun = Instant::now();
    let settled = queue.settle(&done, None);
    tally.called(begun.elapsed());
    match settled {
        Ok(outcomes) => {
            tally.settles.add(begun.elapsed());
            for (item, outcome) in batch.iter().zip(outcomes) {
                if outcome.answer == Answer::Ok && outcome.state == Some(ItemState::Completed) {
                    *tally.done.entry(item.key().to_owned()).or_default() += 1;
                    common.completed.fetch_add(1, Ordering::Relaxed);
                } else {
                    tally.refused += 1;
                }
            }
        }
        Err(error) => tally.fails(&error, done.len()),
    }
    true
}

/// This process's counters of the copy: every try, also of calls that succeeded in the end.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of calls")]
fn counted(schema: &str) -> (Vec<(String, u64)>, u64) {
    let (mut errors, mut retries) = (Vec::new(), 0);
    for family in readpast::metrics() {
        for sample in family.samples() {
            let label = |name| sample.labels.iter().find(|(label, _)| *label == name).map(|(_, value)| value.as_str());
            if label("schema") != Some(schema) || sample.value < 1.0 {
                continue;
            }
            match (family.name(), label("error")) {
                ("readpast_call_errors_total", Some(kind)) => errors.push((kind.to_owned(), sample.value as u64)),
                ("readpast_call_retries_total", _) => retries = sample.value as u64,
                _ => {}
            }
        }
    }
    (errors, retries)
}
