//! Items that follow settlements: put into queues of the schema in the commit that settles.

use super::attached;
use super::inner::QueueInner;
use super::targets::Target;
use crate::backend;
use crate::calls::{
    Ask, Attempts, MAX_ITEMS, Operation, Sessions, SettleAnswer, Settling, YieldsTo, check_size, enqueue_within,
    settle_within,
};
use crate::description::{CheckedItem, check_items};
use crate::error::{Error, ErrorKind, Result};
use crate::install;
use crate::item::{After, Answer, Outcome, Receipt, Rows, Settlement, read_followers};
use crate::metrics::{CallKind, Counters};
use crate::session::{Param, ReadCells};
use crate::shared::OfQueue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An item that follows the settlement at a place.
struct Follower {
    after: usize,
    item: CheckedItem,
    delay_ms: i64,
}

/// The items that follow the settlements of one transaction, by their queues: all transactions put them in in the same order.
pub(super) struct Followers(BTreeMap<String, (Arc<Target>, Vec<Follower>)>);

/// The items that follow these settlements, checked; `None` where there are none. Errors count the settlements from `first` on.
///
/// # Errors
/// [`ErrorKind::InvalidItem`]: an item does not fit its queue, or there is no such queue.
pub(super) fn read(queue: &QueueInner, settlements: &[Settlement<'_>], first: usize) -> Result<Option<Followers>> {
    let mut followers = Followers(BTreeMap::new());
    for (after, settlement) in settlements.iter().enumerate() {
        let Some(then) = settlement.then else { continue };
        let at = |error: Error| error.in_context(format_args!("item {}", first + after));
        let all = read_followers(then).map_err(|why| at(Error::new(ErrorKind::InvalidItem, why)))?;
        for (i, one) in all.into_iter().enumerate() {
            let at = |error: Error| at(error.in_context(format_args!("then[{i}]")));
            let name = one.queue.as_deref().unwrap_or(queue.terms.queue());
            if !followers.0.contains_key(name) {
                followers.0.insert(name.to_owned(), (target(queue, name).map_err(at)?, Vec::new()));
            }
            let Some((target, of_queue)) = followers.0.get_mut(name) else { continue };
            let delay_ms = one.item.delay_ms.unwrap_or(0);
            let bytes = one.item.columns.iter().map(|(_, value)| value.len()).sum();
            check_size(queue.terms.most_item_bytes, i, bytes).map_err(at)?;
            if one.item.after.iter().any(|after| matches!(after, After::Item(_))) {
                // Settlements that are not accepted have none, so that places would change with the answers.
                let why = "items that follow a settlement wait for others by their keys only".to_owned();
                return Err(at(Error::new(ErrorKind::InvalidItem, why)));
            }
            let checked = check_items(&target.spec, std::slice::from_ref(&one.item)).map_err(at)?;
            checked.iter().try_for_each(|item| queue.terms.check_place(&target.spec, item)).map_err(at)?;
            of_queue.extend(checked.into_iter().map(|item| Follower { after, item, delay_ms }));
        }
    }
    Ok((!followers.0.is_empty()).then_some(followers))
}

/// The queue called `name`.
fn target(queue: &QueueInner, name: &str) -> Result<Arc<Target>> {
    if let Some(known) = queue.targets.get(name) {
        return Ok(known);
    }
    // A handle on a caller's connection looks around on one of its own.
    let found = queue.share(None).ask(CallKind::Installed, YieldsTo::Closing, |session| {
        let spec = install::look_up(session, &queue.terms.schema, name)?;
        let backend = backend::open(session, &queue.terms.schema, &spec)?;
        backend.calls(&format!("put items into queue {name} with a settlement"), "they commit by themselves")?;
        Ok((spec, backend))
    });
    let (spec, backend) = found.map_err(|error| match error.kind() {
        ErrorKind::UnknownQueue | ErrorKind::Unsupported => error.of_kind(ErrorKind::InvalidItem),
        _ => error,
    })?;
    let schema = queue.terms.schema.as_str();
    let process = OfQueue::of(&queue.pool.config()?.connection_string()?, schema, name);
    Ok(queue.targets.keep(name, Target { spec, backend, process, counters: Counters::of(schema, name) }))
}

impl Followers {
    /// Settles and puts the items in, in a transaction of its own. A repetition finds both done.
    pub(super) fn settle(&self, queue: &QueueInner, on: &dyn Sessions, what: &Settling<'_>) -> Result<SettleAnswer> {
        let own = queue.backend.calls("put items in with a settlement", "they commit by themselves")?;
        let mut attempts = Attempts::default();
        let result = on.ask(CallKind::Settle, YieldsTo::Closing, |session| {
            attempts.note(session.transaction(|session| {
                let mut make = |text: &Arc<str>, params: &[Param<'_>]| session.call(text, params, ReadCells::Answers);
                let identity = Some(what.operation.id.as_str());
                let outcomes = settle_within(&queue.terms, own, what.settlements, what.json, identity, &mut make)?;
                let receipts = self.enqueue(queue, &outcomes, Some(what.operation), make)?;
                Ok((outcomes, receipts))
            }))
        });
        let result = attempts.conclude(what.operation, result);
        let (outcomes, receipts) = result.inspect_err(|_| queue.targets.forget())?;
        self.count(&receipts);
        for (target, followers) in self.0.values() {
            let soonest = followers.iter().map(|follower| follower.delay_ms).min();
            soonest.into_iter().for_each(|delay_ms| target.process.polls.due_in(delay_ms));
        }
        Ok(SettleAnswer { outcomes, claimed: None })
    }

    /// Puts the items in, inside the caller's transaction, which has settled with these outcomes. Wakes no waiter: they are not committed.
    pub(super) fn put_within(
        &self,
        queue: &QueueInner,
        outcomes: &[Outcome],
        operation: Option<&Operation>,
    ) -> Result<()> {
        let make = |text: &Arc<str>, params: &[Param<'_>]| attached::call(queue, CallKind::Enqueue, text, params);
        let receipts = self.enqueue(queue, outcomes, operation, make).inspect_err(|_| queue.targets.forget())?;
        self.count(&receipts);
        Ok(())
    }

    /// Puts in what follows an accepted settlement. The receipts are those of each queue, in the order of the queues.
    fn enqueue(
        &self,
        queue: &QueueInner,
        outcomes: &[Outcome],
        operation: Option<&Operation>,
        mut make: impl FnMut(&Arc<str>, &[Param<'_>]) -> Result<Rows>,
    ) -> Result<Vec<Vec<Receipt>>> {
        let mut all = Vec::with_capacity(self.0.len());
        for (name, (target, followers)) in &self.0 {
            let calls = target.backend.calls("put items in", "they commit by themselves")?;
            let is_settled =
                |follower: &&Follower| outcomes.get(follower.after).is_some_and(|outcome| outcome.answer == Answer::Ok);
            let accepted: Vec<_> = followers.iter().filter(is_settled).map(|follower| &follower.item).collect();
            let mut receipts = Vec::with_capacity(accepted.len());
            for (part, items) in accepted.chunks(MAX_ITEMS as usize).enumerate() {
                let identity = operation
                    .map(|operation| operation.of_another(queue.terms.dialect, &format!("then {part} {name}")))
                    .transpose()?;
                receipts.extend(enqueue_within(
                    &target.spec.queue,
                    calls,
                    items.iter().copied(),
                    identity.as_deref(),
                    &mut make,
                )?);
            }
            all.push(receipts);
        }
        Ok(all)
    }

    fn count(&self, receipts: &[Vec<Receipt>]) {
        for ((target, _), receipts) in self.0.values().zip(receipts) {
            let duplicates = receipts.iter().filter(|receipt| receipt.duplicate).count();
            target.counters.enqueues(receipts.len() - duplicates, duplicates);
        }
    }
}
