//! What a worker has in hand: items that wait for a handler, items that handlers have, and those that have ended and are to
//! be settled. Plain data; the engine locks it.

use crate::item::{Action, Batch, Item, Verdict};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An item by what names its claim. The next claim of the same item can have the same name: a release gives the attempt
/// back; so does a lease that runs out, and an operator who has the item done anew takes all attempts from it. After a release
/// this one has ended; else a handler may still be at it, whose work is in vain.
pub(super) type Claim = (String, i32);

/// All that this worker holds leases of.
#[derive(Default)]
pub(super) struct Hand {
    /// Claimed ahead, in the order they were due.
    ready: VecDeque<Ready>,
    waiting: usize,
    begun: HashMap<Claim, Begun>,
    ended: VecDeque<Ended>,
    /// What lanes are settling right now.
    settling: Vec<Arc<Vec<Ended>>>,
    /// What renewals have found lost of the items that no handler has.
    lost: Vec<Claim>,
}

/// A claim, or what is left of it.
struct Ready {
    batch: Batch,
    claimed: Instant,
    /// It came back from a dead worker, of whose death it may have been the cause.
    is_alone: bool,
}

/// An item that a handler has.
struct Begun {
    item: Batch,
    claimed: Instant,
    /// What a step has made of its token.
    token: Option<String>,
    lost: bool,
    /// Of one that came back from a dead worker: since when a handler has it.
    suspected: Option<Instant>,
}

/// An item that is to be settled.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    item: Batch,
    token: Option<String>,
    verdict: Verdict,
    /// Whether what its handler gave was refused, and the verdict is ours.
    is_reworded: bool,
    /// How often the server has refused to settle it for a reason of its own.
    tries: u32,
    /// Not to be settled before.
    not_before: Option<Instant>,
}

impl Ended {
    fn unworked(item: Batch) -> Self {
        Self { item, token: None, verdict: Verdict::release(), is_reworded: false, tries: 0, not_before: None }
    }

    pub(super) fn settlement(&self) -> crate::item::Settlement<'_> {
        let token = self.token.as_deref().unwrap_or(token_of(&self.item));
        self.verdict.settlement(key_of(&self.item), token, attempt_of(&self.item))
    }

    pub(super) fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// How often it was put off.
    pub(super) fn tries(&self) -> u32 {
        self.tries
    }

    /// The same item with another end, since its handler's was refused.
    pub(super) fn with_verdict(&self, verdict: Verdict) -> Self {
        Self { verdict, is_reworded: true, ..self.clone() }
    }

    /// Whether its end is not what its handler gave.
    pub(super) fn is_reworded(&self) -> bool {
        self.is_reworded
    }

    /// The same, to be tried once more at `at`.
    pub(super) fn put_off(&self, at: Instant) -> Self {
        Self { tries: self.tries + 1, not_before: Some(at), ..self.clone() }
    }

    fn claim(&self) -> Claim {
        claim_of(&self.item)
    }
}

/// How many items are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) ready: usize,
    pub(super) begun: usize,
    pub(super) ended: usize,
}

impl Hand {
    /// Takes in what was claimed at `now`. Gives what turns out to be lost by that: items that handlers have by an earlier claim
    /// of the same name. They are handed out again when those handlers have ended, and hold nothing up until then.
    pub(super) fn put(&mut self, batch: Batch, now: Instant) -> Vec<Claim> {
        self.waiting += batch.len();
        let is_alone = batch.is_alone();
        let (mut lost, mut from) = (Vec::new(), 0);
        if !self.begun.is_empty() {
            for (index, item) in batch.iter().enumerate() {
                let claim = claim(&item);
                let Some(begun) = self.begun.get_mut(&claim) else { continue };
                if !std::mem::replace(&mut begun.lost, true) {
                    lost.push(claim);
                }
                for part in [batch.part(from, index - from), batch.part(index, 1)] {
                    self.wait(Ready { batch: part, claimed: now, is_alone });
                }
                from = index + 1;
            }
        }
        self.wait(Ready { batch: batch.part(from, usize::MAX), claimed: now, is_alone });
        lost
    }

    fn wait(&mut self, ready: Ready) {
        if !ready.batch.is_empty() {
            self.ready.push_back(ready);
        }
    }

    /// Hands out up to `max` items that lie side by side, as far as they are not known to be lost. Of those that came back from
    /// a dead worker one is begun at a time: should it end this process too, the attempts of the others are not spent. One
    /// that has been worked on for `proof` without doing so holds them up no longer.
    pub(super) fn take(&mut self, max: usize, proof: Duration, now: Instant) -> Option<Batch> {
        loop {
            let may_begin_alone = self.unproven_until(proof).is_none_or(|at| at <= now);
            let is_free = |ready: &Ready| (may_begin_alone || !ready.is_alone) && !self.is_begun(&ready.batch);
            let place = self.ready.iter().position(is_free)?;
            let ready = self.ready.get_mut(place)?;
            let (claimed, suspected) = (ready.claimed, ready.is_alone.then_some(now));
            let taken = ready.batch.part(0, max);
            ready.batch = ready.batch.part(taken.len(), usize::MAX);
            if ready.batch.is_empty() {
                self.ready.remove(place);
            }
            self.waiting -= taken.len();
            // Up to the first that is lost; that one is dropped, and what follows it stays.
            let lost = self.first_lost(&taken);
            let kept = taken.part(0, lost.unwrap_or(taken.len()));
            let rest = lost.map(|lost| taken.part(lost + 1, usize::MAX)).filter(|rest| !rest.is_empty());
            if let Some(batch) = rest {
                self.waiting += batch.len();
                self.ready.insert(place, Ready { batch, claimed, is_alone: false });
            }
            let mut count = 0;
            for item in (0..kept.len()).map(|index| kept.part(index, 1)) {
                // Two claims of one name may both have waited.
                let Entry::Vacant(place) = self.begun.entry(claim_of(&item)) else { break };
                place.insert(Begun { item, claimed, token: None, lost: false, suspected });
                count += 1;
            }
            let rest = kept.part(count, usize::MAX);
            if !rest.is_empty() {
                self.waiting += rest.len();
                self.ready.insert(place, Ready { batch: rest, claimed, is_alone: false });
            }
            if count > 0 {
                return Some(kept.part(0, count));
            }
        }
    }

    /// Whether a handler still has the first item by an earlier claim.
    fn is_begun(&self, batch: &Batch) -> bool {
        !self.begun.is_empty() && batch.get(0).is_some_and(|item| self.begun.contains_key(&claim(&item)))
    }

    /// Whether something waits for a handler, perhaps for another item to end.
    pub(super) fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Whether something waits that came back from a dead worker, perhaps for another such to end. Not what waits for a handler
    /// of an earlier claim, which may hang: nothing else would be claimed meanwhile.
    pub(super) fn waits_alone(&self) -> bool {
        self.ready.iter().any(|ready| ready.is_alone && !self.is_begun(&ready.batch))
    }

    /// Until when the one that is begun of those is held to be the cause; `None` when none is begun.
    pub(super) fn unproven_until(&self, proof: Duration) -> Option<Instant> {
        self.begun.values().filter_map(|begun| begun.suspected).max().map(|since| since + proof)
    }

    /// Whether one of those is begun or about to be. No other may be in hand then: a claim counts as an attempt, and should this
    /// one end the process, the other would have spent one that nobody has begun, again and again.
    pub(super) fn has_suspect(&self, proof: Duration, now: Instant) -> bool {
        self.waits_alone() || self.unproven_until(proof).is_some_and(|at| at > now)
    }

    /// Has given back what was claimed and is not to be in hand.
    pub(super) fn decline(&mut self, batch: &Batch) {
        self.ended.extend((0..batch.len()).map(|index| Ended::unworked(batch.part(index, 1))));
    }

    fn first_lost(&mut self, batch: &Batch) -> Option<usize> {
        if self.lost.is_empty() {
            return None;
        }
        let index = batch.iter().position(|item| self.lost.iter().any(|lost| is(lost, &item)))?;
        let item = batch.get(index)?;
        self.lost.retain(|lost| !is(lost, &item));
        Some(index)
    }

    /// Ends an item that a handler has. `false` when none has it: it ended before, or was never taken. What is known to be
    /// lost is not settled: whoever has it now says what becomes of it.
    pub(super) fn end(&mut self, claim: &Claim, verdict: Verdict) -> bool {
        let Some(Begun { item, token, lost, .. }) = self.begun.remove(claim) else { return false };
        if lost {
            return true;
        }
        self.ended.push_back(Ended { item, token, verdict, is_reworded: false, tries: 0, not_before: None });
        true
    }

    /// An item that a handler has, with its token.
    pub(super) fn token(&self, claim: &Claim) -> Option<String> {
        let begun = self.begun.get(claim)?;
        Some(begun.token.clone().unwrap_or_else(|| token_of(&begun.item).to_owned()))
    }

    /// Takes note of what a step has made of an item's token.
    pub(super) fn stepped(&mut self, claim: &Claim, token: String) {
        if let Some(begun) = self.begun.get_mut(claim) {
            begun.token = Some(token);
        }
    }

    /// Whether a handler's item was found lost; an item that is not in hand is.
    pub(super) fn is_lost(&self, claim: &Claim) -> bool {
        self.begun.get(claim).is_none_or(|begun| begun.lost)
    }

    /// Takes note that an item is not ours any more, as was told to who `asked` for it at that time. `false` when it had ended
    /// meanwhile, which is why; also when it was claimed again since, after a release, under the same name.
    pub(super) fn lose(&mut self, claim: &Claim, asked: Instant) -> bool {
        if let Some(begun) = self.begun.get_mut(claim).filter(|begun| !begun.lost) {
            begun.lost = begun.claimed <= asked;
            return begun.lost;
        }
        let mut ready = self.ready.iter().filter(|ready| ready.claimed <= asked);
        let waits = ready.any(|ready| ready.batch.iter().any(|item| is(claim, &item)));
        if waits && !self.lost.contains(claim) {
            self.lost.push(claim.clone());
        }
        waits
    }

    /// Has those given back that nobody has begun: all, or those that were claimed before `since`. What waits because it came
    /// back from a dead worker stays: given back, it would be claimed together with others.
    pub(super) fn give_back(&mut self, since: Option<Instant>) {
        let is_meant = |ready: &Ready| since.is_none_or(|since| !ready.is_alone && ready.claimed < since);
        while let Some(place) = self.ready.iter().position(is_meant) {
            let Some(Ready { batch, .. }) = self.ready.remove(place) else { break };
            self.waiting -= batch.len();
            let lost = std::mem::take(&mut self.lost);
            let (gone, held): (Vec<_>, Vec<_>) =
                (0..batch.len()).map(|index| batch.part(index, 1)).partition(|item| lost.contains(&claim_of(item)));
            self.lost = lost.into_iter().filter(|lost| !gone.iter().any(|item| claim_of(item) == *lost)).collect();
            self.ended.extend(held.into_iter().map(Ended::unworked));
        }
    }

    /// Nobody is there any more who could end what handlers have: the leases run out.
    pub(super) fn forget_begun(&mut self) {
        self.begun.clear();
    }

    /// When the item that has waited longest was claimed.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.ready.iter().find(|ready| !ready.is_alone).map(|ready| ready.claimed)
    }

    /// Up to `max` items that can be settled now, for a lane. They stay in hand until it gives them to [`Hand::settled`].
    pub(super) fn take_ended(&mut self, max: usize, now: Instant) -> Arc<Vec<Ended>> {
        let is_due = |ended: &Ended| ended.not_before.is_none_or(|at| at <= now);
        let taken = if self.ended.len() <= max && self.ended.iter().all(is_due) {
            Vec::from(std::mem::take(&mut self.ended))
        } else {
            let (due, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.ended).into_iter().partition(is_due);
            let mut due = due.into_iter();
            let taken = due.by_ref().take(max).collect();
            self.ended = due.chain(rest).collect();
            taken
        };
        let taken = Arc::new(taken);
        if !taken.is_empty() {
            self.settling.push(Arc::clone(&taken));
        }
        taken
    }

    /// When the first of those is due that have to wait before they are settled; `None` when there are none.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.ended.iter().filter_map(|ended| ended.not_before).min()
    }

    /// What a lane took has left the hand, but for those of `again`.
    pub(super) fn settled(&mut self, taken: &Arc<Vec<Ended>>, again: Vec<Ended>) {
        self.settling.retain(|settling| !Arc::ptr_eq(settling, taken));
        self.ended.extend(again);
    }

    pub(super) fn counts(&self) -> Counts {
        let settling: usize = self.settling.iter().map(|taken| taken.len()).sum();
        Counts { ready: self.waiting, begun: self.begun.len(), ended: self.ended.len() + settling }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts() == Counts::default()
    }

    /// The claims of all items in hand.
    pub(super) fn claims(&self) -> Vec<Claim> {
        let ready = self.ready.iter().flat_map(|ready| ready.batch.iter().map(|item| claim(&item)));
        let settling = self.settling.iter().flat_map(|taken| taken.iter().map(Ended::claim));
        let begun = self.begun.iter().filter(|(_, begun)| !begun.lost).map(|(claim, _)| claim.clone());
        let ended = self.ended.iter().filter(|ended| ended.verdict.action() != Action::Release).map(Ended::claim);
        ready.filter(|claim| !self.lost.contains(claim)).chain(begun).chain(ended).chain(settling).collect()
    }

    /// Whether an item has waited for a handler since before `hold`.
    pub(super) fn has_waited(&self, hold: Duration, now: Instant) -> bool {
        self.oldest().is_some_and(|claimed| now.duration_since(claimed) >= hold)
    }
}

fn claim(item: &Item<'_>) -> Claim {
    (item.key().to_owned(), item.attempt())
}

fn is(claim: &Claim, item: &Item<'_>) -> bool {
    claim.1 == item.attempt() && claim.0 == item.key()
}

fn claim_of(one: &Batch) -> Claim {
    (key_of(one).to_owned(), attempt_of(one))
}

/// Of a batch of one.
fn key_of(one: &Batch) -> &str {
    one.get(0).map_or("", |item| item.key())
}

fn token_of(one: &Batch) -> &str {
    one.get(0).map_or("", |item| item.token())
}

fn attempt_of(one: &Batch) -> i32 {
    one.get(0).map_or(0, |item| item.attempt())
}

#[cfg(test)]
mod tests;
