//! The workers of a load test, which use the library's queue like any worker.

use super::tally::{Board, Tally};
use crate::failure::Result;
use crate::signals::Stop;
use readpast::item::{Action, Answer};
use readpast::queue::MAX_ITEMS;
use readpast::stress::{Copy, Observed, Watcher, item};
use readpast::{Config, ItemState, Queue, QueueStats, Settlement};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
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
    let common =
        Common { copy, plan, stop, until, items: filled.items, completed, failed, is_idle, broken, board: &board };
    let opened = thread::scope(|scope| {
        let common = &common;
        let workers: Vec<_> = (0..plan.workers).map(|number| scope.spawn(move || work(common, number))).collect();
        let mut asked = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            watcher.look();
            if asked.elapsed() >= AWAY {
                common.look_for_failed(&queue);
                asked = Instant::now();
            }
            thread::sleep(EVERY);
        }
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let took = begun.elapsed();
    opened?;
    let (errors, retries) = counted(copy.schema());
    Ok(LoadResult {
        filled,
        tally: board.into_tally(),
        took,
        stats: queue.stats()?,
        keeps: copy.spec().completion == readpast::description::Completion::Keep,
        observed: watcher.finish(),
        errors,
        retries,
    })
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
    while !common.is_over() {
        let begun = Instant::now();
        let batch = match queue.claim(common.plan.batch, Duration::ZERO) {
            Ok(batch) => batch,
            Err(error) => {
                tally.fails(&error, 0);
                thread::sleep(PAUSE);
                continue;
            }
        };
        if batch.is_empty() {
            common.is_idle.store(true, Ordering::Relaxed);
            thread::sleep(PAUSE);
            continue;
        }
        tally.claims.add(begun.elapsed());
        for item in batch.iter() {
            *tally.claimed.entry(item.key().to_owned()).or_default() += 1;
        }
        if dice.percent() < common.plan.kill {
            tally.dropped += batch.len() as u64;
            return;
        }
        let busy = common.plan.handler.saturating_mul(u32::try_from(batch.len()).unwrap_or(u32::MAX));
        if !busy.is_zero() && !common.sleep(busy) {
            // The items are not done, and are reported as left.
            return;
        }
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        let begun = Instant::now();
        match queue.settle(&done, None) {
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
    }
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

/// Random numbers, which choose the claims that kill.
struct Dice(u64);

impl Dice {
    fn new(number: u32) -> Self {
        Self(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn percent(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % 100).unwrap_or(0)
    }
}
