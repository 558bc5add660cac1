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

    fn is_due(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
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
    /// of the same name.
    pub(super) fn put(&mut self, batch: Batch, now: Instant) -> Vec<Batch> {
        let is_idle = self.begun.is_empty();
        let lost = batch.iter().filter(|_| !is_idle).filter_map(|item| self.lose_begun(&claim(&item), now)).collect();
        self.waiting += batch.len();
        let is_alone = batch.is_alone();
        self.wait_at(self.ready.len(), Ready { batch, claimed: now, is_alone });
        lost
    }

    fn wait_at(&mut self, place: usize, ready: Ready) {
        if !ready.batch.is_empty() {
            self.ready.insert(place, ready);
        }
    }

    /// Hands out up to `max` items that lie side by side; not what a handler still has by an earlier claim, which waits until that
    /// handler has ended, and holds nothing up; nor what came back from a dead worker, which [`Hand::take_suspect`] hands out.
    pub(super) fn take(&mut self, max: usize) -> Option<Batch> {
        self.begin(max, None)
    }

    /// Hands out one that came back from a dead worker, if it may be begun.
    pub(super) fn take_suspect(&mut self, proof: Duration, now: Instant) -> Option<Batch> {
        if self.may_begin_suspect(proof, now) { self.begin(1, Some(now)) } else { None }
    }

    /// Whether one that came back from a dead worker may be begun. Should it end this process too, no attempt of another is to
    /// be spent that nobody has begun, and none that has ended be done twice: so not while others wait for a handler or are to
    /// be settled, nor while another such one is begun, unless that has been worked on for `proof` without doing so. What calls
    /// under way may bring is for the caller to rule out.
    pub(super) fn may_begin_suspect(&self, proof: Duration, now: Instant) -> bool {
        let is_to_be_settled = !self.settling.is_empty() || self.ended.iter().any(|ended| ended.is_due(now));
        !is_to_be_settled
            && self.waits_alone()
            && self.unproven_until(proof).is_none_or(|at| at <= now)
            && self.next_of(false).is_none()
    }

    /// Of those that came back from a dead worker, if it says since when one is `suspected`; else of the others.
    fn begin(&mut self, max: usize, suspected: Option<Instant>) -> Option<Batch> {
        let (place, from) = self.next_of(suspected.is_some())?;
        let Ready { batch, claimed, is_alone } = self.ready.remove(place)?;
        let mut to = from;
        for item in (from..batch.len()).take(max).map(|index| batch.part(index, 1)) {
            let Entry::Vacant(begun) = self.begun.entry(claim_of(&item)) else { break };
            begun.insert(Begun { item, claimed, token: None, lost: false, suspected });
            to += 1;
        }
        self.waiting -= to - from;
        for rest in [batch.part(to, usize::MAX), batch.part(0, from)] {
            self.wait_at(place, Ready { batch: rest, claimed, is_alone });
        }
        Some(batch.part(from, to - from))
    }

    /// Where the next item waits that a handler can have, of those that came back from a dead worker or of the others: its claim,
    /// and its place there.
    fn next_of(&self, of_alone: bool) -> Option<(usize, usize)> {
        let mut meant = self.ready.iter().enumerate().filter(|(_, ready)| ready.is_alone == of_alone);
        meant.find_map(|(place, ready)| Some((place, self.first_free(&ready.batch)?)))
    }

    /// The place of the first item that no handler has by an earlier claim.
    fn first_free(&self, batch: &Batch) -> Option<usize> {
        batch.iter().position(|item| self.begun.is_empty() || !self.begun.contains_key(&claim(&item)))
    }

    /// Whether something waits for a handler, perhaps for another item to end.
    pub(super) fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Whether something waits that came back from a dead worker, perhaps for another such to end. Not what waits for a handler
    /// of an earlier claim, which may hang: nothing else would be claimed meanwhile.
    pub(super) fn waits_alone(&self) -> bool {
        self.next_of(true).is_some()
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

    /// Takes note that no claim of this name is ours any more, as was told to who `asked` for it at that time. Gives what is lost
    /// by that. What had ended meanwhile is not, since that is why; nor what was claimed again since, after a release, under the
    /// same name.
    pub(super) fn lose(&mut self, name: &Claim, asked: Instant) -> Vec<Batch> {
        let mut lost: Vec<_> = self.lose_begun(name, asked).into_iter().collect();
        let first = |hand: &Self| {
            let mut meant = hand.ready.iter().enumerate().filter(|(_, ready)| ready.claimed <= asked);
            meant.find_map(|(place, ready)| Some((place, ready.batch.iter().position(|item| is(name, &item))?)))
        };
        while let Some((place, index)) = first(self) {
            let Some(Ready { batch, claimed, is_alone }) = self.ready.remove(place) else { break };
            for rest in [batch.part(index + 1, usize::MAX), batch.part(0, index)] {
                self.wait_at(place, Ready { batch: rest, claimed, is_alone });
            }
            self.waiting -= 1;
            lost.push(batch.part(index, 1));
        }
        lost
    }

    /// The same of what a handler has, if it was not known.
    pub(super) fn lose_begun(&mut self, name: &Claim, asked: Instant) -> Option<Batch> {
        let begun = self.begun.get_mut(name).filter(|begun| !begun.lost && begun.claimed <= asked)?;
        begun.lost = true;
        Some(begun.item.clone())
    }

    /// Has those given back that nobody has begun: all, or those that were claimed before `since`. What waits because it came
    /// back from a dead worker stays: given back, it would be claimed together with others.
    pub(super) fn give_back(&mut self, since: Option<Instant>) {
        let is_meant = |ready: &Ready| since.is_none_or(|since| !ready.is_alone && ready.claimed < since);
        while let Some(place) = self.ready.iter().position(is_meant) {
            let Some(Ready { batch, .. }) = self.ready.remove(place) else { break };
            self.waiting -= batch.len();
            self.decline(&batch);
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
        let is_due = |ended: &Ended| ended.is_due(now);
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
        ready.chain(begun).chain(ended).chain(settling).collect()
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
