//! Settles so that the outcome is known in the end, and drops no handler's result because of the server's state.

use super::event::Event;
use super::in_flight::EndedItem;
use super::shared::EngineShared;
use super::state::Phase;
use super::{log_lines, reported};
use crate::calls::{Answers, MAX_ITEMS};
use crate::error::{Error, ErrorKind, Result, log_text};
use crate::item::{Batch, Outcome, Settlement, Verdict};
use crate::queue::OneTry;
use std::time::{Duration, Instant};

/// The pause between two tries after a call has used up its own.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between tries of an item that the server refuses.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The most characters of an error after a refusal, which any error column should take.
const SHORT: usize = 100;

/// The result of a call.
pub(super) struct SettleResult {
    /// The outcome of each item, in its place; `None` where it is unknown, or the call did nothing.
    pub(super) outcomes: Vec<Option<Outcome>>,
    /// Items to be tried again.
    pub(super) again: Vec<EndedItem>,
    /// The items claimed in the same call.
    pub(super) batch: Batch,
}

/// Settles `ended`, and claims up to `room` items with it. `by` is the end of the last try of a worker that was given up.
pub(super) fn settle(shared: &EngineShared, ended: &[EndedItem], room: u32, by: Option<Instant>) -> SettleResult {
    let settlements: Vec<_> = ended.iter().map(EndedItem::settlement).collect();
    match until_known(shared, &settlements, room, by) {
        Ok((outcomes, batch)) => {
            SettleResult { outcomes: outcomes.into_iter().map(Some).collect(), again: Vec::new(), batch }
        }
        // The claim in the same call may be the reason, too.
        Err(error) if is_of_items(&error) && (ended.len() > 1 || room > 0) => {
            let mut all = SettleResult { outcomes: Vec::new(), again: Vec::new(), batch: Batch::default() };
            for one in ended {
                let settled = alone(shared, one, by);
                all.outcomes.extend(settled.outcomes);
                all.again.extend(settled.again);
            }
            all
        }
        Err(error) if is_of_items(&error) => refused(shared, &ended[0], &error, by),
        Err(error) => unsettled(shared, ended.len(), error),
    }
}

/// Settles one item in a call of its own, so that it does not hold up the others.
fn alone(shared: &EngineShared, ended: &EndedItem, by: Option<Instant>) -> SettleResult {
    match until_known(shared, &[ended.settlement()], 0, by) {
        Ok((outcomes, batch)) => {
            SettleResult { outcomes: outcomes.into_iter().map(Some).collect(), again: Vec::new(), batch }
        }
        Err(error) if is_of_items(&error) => refused(shared, ended, &error, by),
        Err(error) => unsettled(shared, 1, error),
    }
}

/// Handles an item that the server refuses to settle. If the handler's result is the reason, it is left out: first what says how the
/// work went, then the columns to set and the items that follow, at last even the remark about it. An unknown reason may be transient: the item is tried again within `retry.budget_ms`, and then treated as if
/// its values were the reason. An item that cannot be settled at all is dropped, or it would hold its place for ever.
fn refused(shared: &EngineShared, ended: &EndedItem, error: &Error, by: Option<Instant>) -> SettleResult {
    let has_waited = waited(ended.tries()) >= shared.queue.inner().retry.budget();
    if is_of_the_handler(error) || has_waited {
        if !ended.is_reworded() {
            let Settlement { key, attempt, action, .. } = ended.settlement();
            shared.refused(key, attempt, action, &log_lines::given(&ended.settlement()), error);
        }
        let reworded =
            if ended.is_reworded() { unset(ended.verdict()) } else { Some(reworded(ended.verdict(), error)) };
        if let Some(reworded) = reworded {
            return alone(shared, &ended.with_verdict(reworded.released_for(shared.floor())), by);
        }
        let bare = Verdict::new(ended.verdict().action()).released_for(shared.floor());
        if *ended.verdict() != bare {
            return alone(shared, &ended.with_verdict(bare), by);
        }
    }
    let Settlement { key, attempt, .. } = ended.settlement();
    shared.trouble(&format!("settle item {key} at attempt {attempt}"), error);
    if shared.state.lock().phase >= Phase::Stopping {
        return SettleResult { outcomes: vec![None], again: Vec::new(), batch: Batch::default() };
    }
    if has_waited {
        let name = shared.queue.name();
        let line =
            format!("queue {name}: item {key} at attempt {attempt} cannot be settled, and its lease runs out: {error}");
        log_lines::Fields { status: Some(format!("{:?}", error.kind())), ..log_lines::Fields::of(&ended.settlement()) }
            .log(&shared.queue, log::Level::Error, &line);
        return SettleResult { outcomes: vec![None], again: Vec::new(), batch: Batch::default() };
    }
    let pause = pause(ended.tries());
    let again = vec![ended.put_off(Instant::now() + pause)];
    SettleResult { outcomes: vec![None], again, batch: Batch::default() }
}

/// The pause before the next try, after so many.
fn pause(tries: u32) -> Duration {
    PAUSE.saturating_mul(1 << tries.min(10)).min(LONGEST_PAUSE)
}

/// The sum of the pauses so far.
fn waited(tries: u32) -> Duration {
    (0..tries).map(pause).sum()
}

/// The worker gives up: the leases run out.
fn unsettled(shared: &EngineShared, count: usize, error: Error) -> SettleResult {
    let reason = error.to_string();
    let reason = log_text(&reason);
    let line =
        format!("queue {}: {count} items were not settled, and their leases run out: {reason}", shared.queue.name());
    let status = Some(format!("{:?}", error.kind()));
    log_lines::Fields { status, ..log_lines::Fields::default() }.log(&shared.queue, log::Level::Error, &line);
    if !error.is_retryable() {
        shared.fail(error);
    }
    SettleResult { outcomes: vec![None; count], again: Vec::new(), batch: Batch::default() }
}

/// Settles `settlements` and claims up to `room` items in the same call. Repeats the call under its identity until its outcome is
/// known or the worker is given up; with `by`, tries it once, until then.
pub(super) fn until_known(
    shared: &EngineShared,
    settlements: &[Settlement<'_>],
    room: u32,
    by: Option<Instant>,
) -> Result<(Vec<Outcome>, Batch)> {
    let mut operation: Option<String> = None;
    loop {
        let begun = Instant::now();
        let room = if shared.state.lock().phase >= Phase::Stopping { 0 } else { room };
        let queue = shared.queue.inner();
        let (operation_before, max) = (operation.as_deref(), room.min(MAX_ITEMS).cast_signed());
        let settled = match by {
            Some(by) => {
                queue.settle_on(&OneTry::until(queue, by), settlements, operation_before, max, Answers::OthersOnly)
            }
            None => queue.settle(settlements, operation_before, max, Answers::OthersOnly),
        };
        let error = match settled {
            Ok((outcomes, batch)) => {
                note(shared, settlements, &outcomes, batch.len(), begun.elapsed());
                return Ok((outcomes, batch));
            }
            Err(error) => error,
        };
        if !may_pass(&error) || (is_of_items(&error) && !may_be_done(shared, operation.as_deref())) {
            return Err(error);
        }
        operation = error.operation().map(str::to_owned).or(operation);
        shared.trouble("settle", &error);
        if given_up_within(shared, PAUSE) {
            return Err(error);
        }
    }
}

/// Whether an earlier try may have committed, and its answer was lost: a call with another identity would find items settled, and
/// take them for lost. The database has the last word.
fn may_be_done(shared: &EngineShared, operation: Option<&str>) -> bool {
    let Some(operation) = operation else { return false };
    match shared.queue.is_done(operation) {
        Ok(is_done) => is_done,
        Err(error) => may_pass(&error),
    }
}

fn note(shared: &EngineShared, settlements: &[Settlement<'_>], outcomes: &[Outcome], claimed: usize, took: Duration) {
    let mut state = shared.state.lock();
    state.tallies.calls += 1;
    state.durations.add(took);
    drop(state);
    for (settlement, outcome) in settlements.iter().zip(outcomes) {
        if let Some(line) = log_lines::not_settled(settlement, outcome) {
            let status = Some(format!("{:?}", outcome.answer));
            let line = format!("queue {}: {line}", shared.queue.name());
            log_lines::Fields { status, ..log_lines::Fields::of(settlement) }.log(
                &shared.queue,
                log::Level::Warn,
                &line,
            );
        }
    }
    shared.report(&Event::Settled { settlements, outcomes, claimed, took });
}

/// Waits for `pause`; returns whether the worker was given up meanwhile.
fn given_up_within(shared: &EngineShared, pause: Duration) -> bool {
    let until = Instant::now() + pause;
    let mut state = shared.state.lock();
    while state.phase != Phase::GivenUp && !shared.ending.wait_until(&mut state, until).timed_out() {}
    state.phase == Phase::GivenUp
}

/// Whether a failed call may succeed later. A worker waits for a transient error; it ends for an error that a person has to mend:
/// rights, log-in, schema, settings.
pub(super) fn may_pass(error: &Error) -> bool {
    error.is_retryable()
        || matches!(
            error.kind(),
            ErrorKind::Storage | ErrorKind::Database | ErrorKind::Protocol | ErrorKind::Encryption
        )
}

/// Whether an item of the call may be the reason.
fn is_of_items(error: &Error) -> bool {
    is_of_the_handler(error) || matches!(error.kind(), ErrorKind::Database)
}

/// Whether a value of the handler's result is the reason: out of range, or more than a column takes.
fn is_of_the_handler(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::InvalidItem)
}

/// The same verdict without the remarks that may be refused, and with the reason. Columns to set and items that follow stay as long as
/// something else may be the reason.
fn reworded(verdict: &Verdict, refusal: &Error) -> Verdict {
    let text = reported::with_refusal(verdict.error_text(), refusal.message());
    let rest = verdict.without_remarks().or_else(|| unset(verdict));
    rest.unwrap_or_else(|| Verdict::new(verdict.action())).error(text.chars().take(SHORT).collect::<String>())
}

/// The verdict without columns to set and items that follow: the item is not done then. `None` where it has none.
fn unset(verdict: &Verdict) -> Option<Verdict> {
    let error = verdict.error_text().unwrap_or_default();
    verdict.has_values().then(|| Verdict::new(reported::without_values(verdict.action())).error(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::item::Columns;
    use proptest::prelude::*;

    #[test]
    fn a_refused_verdict_keeps_its_action_and_says_why() {
        let long = "\u{e9}".repeat(300);
        let refusal = Error::new(ErrorKind::InvalidItem, "too long");
        let reported = reworded(&Verdict::complete().response(&long).step("s").after(Duration::ZERO), &refusal);
        assert_eq!(reported, Verdict::complete().error("a part of the result was refused: too long"));
        let columns = Columns::from_iter([("N", serde_json::json!(1))]);
        let reported = reworded(&Verdict::complete().response(&long).set(columns.clone()), &refusal);
        assert_eq!(reported, Verdict::complete().set(columns).error("a part of the result was refused: too long"));
        let unset = unset(&reported).unwrap();
        assert_eq!(unset, Verdict::fail("a part of the result was refused: too long"), "not done without them");
        let only = Verdict::complete().set(Columns::from_iter([("N", serde_json::json!(1))]));
        assert_eq!(reworded(&only, &refusal), unset, "nothing else can be the reason");
        let reported = reworded(&Verdict::fail(&long), &refusal);
        assert_eq!(reported.error_text().unwrap().chars().count(), 100);
        assert!(!reworded(&Verdict::fail("a\0b"), &refusal).error_text().unwrap().contains('\0'));
    }

    #[test]
    fn an_item_waits_for_a_bounded_time() {
        assert_eq!(waited(0), Duration::ZERO);
        assert_eq!(waited(5), Duration::from_secs(1 + 2 + 4 + 8 + 16));
        assert!((0..40).all(|tries| waited(tries + 1) > waited(tries) && pause(tries) <= LONGEST_PAUSE));
    }

    #[test]
    fn nothing_of_the_servers_own_is_the_handlers_fault() {
        use ErrorKind::*;
        for kind in [Database, Storage, Unavailable, Busy, Deadlock, TimedOut, ConnectionLost, Unreachable] {
            let error = Error::new(kind, "");
            assert!(may_pass(&error) && !is_of_the_handler(&error), "{kind:?}");
        }
        for kind in [ErrorKind::PermissionDenied, ErrorKind::SchemaMissing, ErrorKind::Closed, ErrorKind::Forked] {
            assert!(!may_pass(&Error::new(kind, "")), "{kind:?}");
        }
    }

    proptest! {
        /// For every error of SQL Server: the handler is at fault only if the number says that a value did not fit, and an error
        /// that ends a worker names something that a person has to mend.
        #[test]
        fn no_state_of_the_server_drops_what_a_handler_gave_or_ends_a_worker(
            native in prop_oneof![
                4 => 0..70_000_i32,
                1 => prop::sample::select(vec![701, 823, 1222, 3906, 8645, 9002, 40501, 40613, 8152, 547]),
            ],
            sqlstate in prop_oneof![
                Just("42000"), Just("HY000"), Just("25000"), Just("08S01"), Just("08001"), Just("HYT00"), Just("40001"),
            ],
            message in ".{0,20}",
        ) {
            const OF_VALUES: [i32; 17] =
                [50021, 547, 515, 2601, 2627, 8152, 2628, 220, 232, 241, 242, 245, 8114, 8115, 8169, 13608, 13609];
            let kind = Dialect::SqlServer.classify(sqlstate, native, &message);
            let error = Error::new(kind, message).with_codes(sqlstate, native);
            prop_assert_eq!(is_of_the_handler(&error), OF_VALUES.contains(&native));
            let is_to_mend = matches!(
                kind,
                ErrorKind::Authentication
                    | ErrorKind::DatabaseMissing
                    | ErrorKind::PermissionDenied
                    | ErrorKind::SchemaMismatch
            );
            prop_assert!(may_pass(&error) || is_to_mend || is_of_the_handler(&error), "{kind:?}");
        }
    }
}
