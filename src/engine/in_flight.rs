//! The items in flight of a worker: those that wait for a handler, those that were taken ([`taken`]), and those that have ended
//! and wait to be settled. Plain data; the engine locks it.

mod runs;
mod taken;

use crate::item::{Action, Batch, Item, Verdict};
use runs::Runs;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(super) use taken::Reporter;
use taken::TakenItem;

/// The name of an item's claim: key and attempt. The next claim of the same item can have the same name: a release does not count
/// the attempt, a lease that runs out may not either, and an operator who redrives the item resets its attempts. After a release
/// this claim has ended; otherwise a handler may still work on it, in vain.
pub(super) type ClaimName = (String, i32);

/// All items whose leases this worker holds.
#[derive(Default)]
pub(super) struct InFlight {
    /// Claimed ahead, in the order they were due.
    ready: VecDeque<Ready>,
    /// Items of dead workers, each of which may have killed its worker.
    quarantined: VecDeque<Ready>,
    /// Items in both.
    waiting: usize,
    taken: HashMap<ClaimName, TakenItem>,
    runs: Runs,
    /// Quarantined items that handlers have, and since when.
    proving: Vec<(ClaimName, Instant)>,
    /// To be settled now.
    ended: VecDeque<EndedItem>,
    /// To be settled later: the server refused them.
    put_off: Vec<EndedItem>,
    /// Items that fetchers are settling.
    settling: Vec<Arc<Vec<EndedItem>>>,
}

/// A claim, or the rest of it.
struct Ready {
    batch: Batch,
    claimed: Instant,
}

/// An item that waits to be settled.
#[derive(Debug, Clone)]
pub(super) struct EndedItem {
    item: Batch,
    token: Option<String>,
    verdict: Verdict,
    /// Whether the handler's result was refused, and this verdict replaces it.
    is_reworded: bool,
    /// How often the server has refused to settle it for a reason of its own.
    tries: u32,
    /// When the next try may begin.
    not_before: Option<Instant>,
}

impl EndedItem {
    fn new(item: Batch, verdict: Verdict) -> Self {
        Self { item, token: None, verdict, is_reworded: false, tries: 0, not_before: None }
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

    /// The same item with another verdict, since its handler's was refused.
    pub(super) fn with_verdict(&self, verdict: Verdict) -> Self {
        Self { verdict, is_reworded: true, ..self.clone() }
    }

    /// Whether its verdict differs from its handler's.
    pub(super) fn is_reworded(&self) -> bool {
        self.is_reworded
    }

    /// The same item, to be tried again at `at`.
    pub(super) fn put_off(&self, at: Instant) -> Self {
        Self { tries: self.tries + 1, not_before: Some(at), ..self.clone() }
    }

    fn claim(&self) -> ClaimName {
        claim_of(&self.item)
    }
}

/// The two parts of an item's time in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spans {
    /// From its claim until its handler began.
    pub(super) waited: Duration,
    /// From the handler's begin until its end.
    pub(super) worked: Duration,
}

/// How many items wait, are begun, and have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InFlightCounts {
    pub(super) ready: usize,
    pub(super) begun: usize,
    pub(super) ended: usize,
}

impl InFlight {
    /// Adds a batch that was claimed at `now`. Returns the items that are lost by that: handlers have them by an earlier claim of
    /// the same name, or have run for too long.
    pub(super) fn put(&mut self, batch: Batch, now: Instant) -> Vec<Batch> {
        let is_idle = self.taken.is_empty();
        let mut lost = self.lose_overrun(&batch);
        lost.extend(batch.iter().filter(|_| !is_idle).filter_map(|item| self.lose_taken(&claim(&item), now)));
        self.waiting += batch.len();
        let queue = if batch.is_quarantined() { &mut self.quarantined } else { &mut self.ready };
        put_at(queue, queue.len(), Ready { batch, claimed: now });
        lost
    }

    /// Hands out up to `max` items that lie side by side. It skips items that a handler still has by an earlier claim, until that
    /// handler ends, and quarantined ones, which [`InFlight::take_quarantined`] hands out.
    pub(super) fn take(&mut self, max: usize, now: Instant) -> Option<Batch> {
        let (place, from) = self.next_ready()?;
        let ready = self.ready.remove(place)?;
        let (taken, rest) = self.hand_out(ready, from, max, now);
        rest.into_iter().for_each(|rest| put_at(&mut self.ready, place, rest));
        Some(taken)
    }

    /// Hands out a quarantined item, if it may begin.
    pub(super) fn take_quarantined(&mut self, proof: Duration, now: Instant) -> Option<Batch> {
        if !self.may_begin_quarantined(proof, now) {
            return None;
        }
        let (place, from) = self.next_quarantined()?;
        let quarantined = self.quarantined.remove(place)?;
        let (taken, rest) = self.hand_out(quarantined, from, 1, now);
        rest.into_iter().for_each(|rest| put_at(&mut self.quarantined, place, rest));
        self.proving.push((claim_of(&taken), now));
        Some(taken)
    }

    /// Whether an item waits that a handler can have now, quarantined ones aside.
    pub(super) fn is_ready(&self) -> bool {
        self.next_ready().is_some()
    }

    /// Whether a quarantined item may begin. It may end this process too, which must neither cost an attempt of an item that has
    /// not begun, nor repeat work that has ended. So it waits while others wait for a handler or for a settle, and while another
    /// quarantined item is begun that has run for less than `proof`. The caller rules out calls under way, which may bring
    /// others.
    pub(super) fn may_begin_quarantined(&self, proof: Duration, now: Instant) -> bool {
        self.quarantined_waits()
            && self.settling.is_empty()
            && !self.has_due(now)
            && self.unproven_until(proof).is_none_or(|at| at <= now)
            && !self.is_ready()
    }

    /// Takes up to `max` items of a claim, from place `from` on; returns them, and the rest, the later part first.
    fn hand_out(
        &mut self,
        Ready { batch, claimed }: Ready,
        from: usize,
        max: usize,
        now: Instant,
    ) -> (Batch, [Ready; 2]) {
        let is_free = |item: &Item<'_>| !self.taken.contains_key(&claim(item));
        let count = batch.part(from, max).iter().take_while(is_free).count();
        let taken = batch.part(from, count).apart();
        self.add_taken(&taken, claimed, now);
        self.waiting -= count;
        let rest = [batch.part(from + count, usize::MAX), batch.part(0, from)].map(|batch| Ready { batch, claimed });
        (taken, rest)
    }

    /// The claim, and the place in it, of the next item that a handler can have.
    fn next_ready(&self) -> Option<(usize, usize)> {
        self.next_of(&self.ready)
    }

    fn next_quarantined(&self) -> Option<(usize, usize)> {
        self.next_of(&self.quarantined)
    }

    fn next_of(&self, waiting: &VecDeque<Ready>) -> Option<(usize, usize)> {
        waiting.iter().enumerate().find_map(|(place, ready)| Some((place, self.first_free(&ready.batch)?)))
    }

    /// The place of the first item that no handler has by an earlier claim.
    fn first_free(&self, batch: &Batch) -> Option<usize> {
        batch.iter().position(|item| self.taken.is_empty() || !self.taken.contains_key(&claim(&item)))
    }

    /// Whether a quarantined item waits, perhaps for another to end. Items that wait for the handler of an earlier claim do not
    /// count: it may hang, and nothing else would be claimed meanwhile.
    pub(super) fn quarantined_waits(&self) -> bool {
        self.next_quarantined().is_some()
    }

    /// Until when the quarantined item that began last counts as dangerous; `None` when none is begun.
    pub(super) fn unproven_until(&self, proof: Duration) -> Option<Instant> {
        self.proving.iter().map(|(_, since)| *since + proof).max()
    }

    /// Releases a claimed batch that may not be in flight.
    pub(super) fn decline(&mut self, batch: &Batch) {
        self.ended.extend((0..batch.len()).map(|index| EndedItem::new(batch.part(index, 1), Verdict::release())));
    }

    /// Ends a taken item, and returns how long it waited and ran. `None`: it ended before, was abandoned, or was never taken. A lost item is not
    /// settled: its new holder decides.
    pub(super) fn end(&mut self, claim: &ClaimName, verdict: Verdict, now: Instant) -> Option<Spans> {
        self.taken.get(claim).filter(|taken| !taken.abandoned)?;
        let TakenItem { item, claimed, began, token, lost, overran, .. } = self.leave(claim)?;
        if !lost {
            let verdict = if overran { self.spent(verdict) } else { verdict };
            self.ended.push_back(EndedItem { token, ..EndedItem::new(item, verdict) });
        }
        Some(Spans { waited: began.duration_since(claimed), worked: now.duration_since(began) })
    }

    /// Notes that this worker holds no claim of this name any more, as a call that `asked` at that time learned. Returns the
    /// items that are lost by that. An item that ended meanwhile is not lost: its end is the reason; nor is one that was claimed
    /// again since, after a release, under the same name.
    pub(super) fn lose(&mut self, name: &ClaimName, asked: Instant) -> Vec<Batch> {
        let taken = self.lose_taken(name, asked);
        let queues = [&mut self.ready, &mut self.quarantined];
        let waiting: Vec<_> = queues.into_iter().flat_map(|queue| take_out(queue, name, asked)).collect();
        self.waiting -= waiting.len();
        taken.into_iter().chain(waiting).collect()
    }

    /// Releases all items that have not begun.
    pub(super) fn give_back_all(&mut self) {
        self.give_back_taken();
        let all: Vec<_> = self.ready.drain(..).chain(self.quarantined.drain(..)).collect();
        all.iter().for_each(|ready| self.decline(&ready.batch));
        self.waiting = 0;
    }

    /// Releases items that have waited for a handler as long as `hold`; quarantined ones as long as `quarantine_hold`: after a
    /// release a claim mixes them with others, so they may wait longer.
    pub(super) fn give_back_overdue(&mut self, hold: Duration, quarantine_hold: Duration, now: Instant) {
        let mut overdue = Vec::new();
        for (queue, hold) in [(&mut self.ready, hold), (&mut self.quarantined, quarantine_hold)] {
            while queue.front().is_some_and(|first| first.claimed + hold <= now) {
                overdue.extend(queue.pop_front());
            }
        }
        for Ready { batch, .. } in overdue {
            self.waiting -= batch.len();
            self.decline(&batch);
        }
    }

    /// When the first item has waited for a handler too long.
    pub(super) fn overdue_at(&self, hold: Duration, quarantine_hold: Duration) -> Option<Instant> {
        let at = |queue: &VecDeque<Ready>, hold| Some(queue.front()?.claimed + hold);
        at(&self.ready, hold).into_iter().chain(at(&self.quarantined, quarantine_hold)).min()
    }

    /// Whether something can be settled now.
    pub(super) fn has_due(&self, now: Instant) -> bool {
        self.due_at(now).is_some_and(|at| at <= now)
    }

    /// When something can be settled. `None`: not before a change.
    pub(super) fn due_at(&self, now: Instant) -> Option<Instant> {
        if self.ended.is_empty() { self.next_try() } else { Some(now) }
    }

    /// How many items can be settled now.
    pub(super) fn due(&self, now: Instant) -> usize {
        let is_due = |ended: &&EndedItem| ended.not_before.is_none_or(|at| at <= now);
        self.ended.len() + self.put_off.iter().filter(is_due).count()
    }

    /// Takes up to `max` items that can be settled now, for a fetcher. They stay in flight until the fetcher calls
    /// [`InFlight::settled`].
    pub(super) fn take_ended(&mut self, max: usize, now: Instant) -> Arc<Vec<EndedItem>> {
        self.ended.extend(self.put_off.extract_if(.., |ended| ended.not_before.is_none_or(|at| at <= now)));
        let count = self.ended.len().min(max);
        let taken = Arc::new(self.ended.drain(..count).collect::<Vec<_>>());
        if !taken.is_empty() {
            self.settling.push(Arc::clone(&taken));
        }
        taken
    }

    /// Makes all put-off items due: no later try follows.
    pub(super) fn hurry(&mut self) {
        self.ended.extend(self.put_off.drain(..));
    }

    /// When the first put-off item is due; `None` when there is none.
    fn next_try(&self) -> Option<Instant> {
        self.put_off.iter().filter_map(|ended| ended.not_before).min()
    }

    /// Removes the items that a fetcher took, but for those of `again`.
    pub(super) fn settled(&mut self, taken: &Arc<Vec<EndedItem>>, again: Vec<EndedItem>) {
        self.settling.retain(|settling| !Arc::ptr_eq(settling, taken));
        self.put_off.extend(again);
    }

    /// How many quarantined items began less than `proof` ago.
    #[cfg(test)]
    pub(super) fn proving_since(&self, now: Instant, proof: Duration) -> usize {
        self.proving.iter().filter(|(_, since)| *since + proof > now).count()
    }

    #[cfg(test)]
    pub(super) fn quarantined_waiting(&self) -> usize {
        self.quarantined.len()
    }

    pub(super) fn counts(&self) -> InFlightCounts {
        let settling: usize = self.settling.iter().map(|taken| taken.len()).sum();
        let ended = self.ended.len() + self.put_off.len() + settling;
        InFlightCounts { ready: self.waiting, begun: self.taken.len(), ended }
    }

    /// The same, with taken items that have not begun counted as waiting.
    pub(super) fn counts_by_work(&self) -> InFlightCounts {
        let idle = self.taken.values().filter(|taken| taken.is_idle()).count();
        let InFlightCounts { ready, begun, ended } = self.counts();
        InFlightCounts { ready: ready + idle, begun: begun - idle, ended }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts() == InFlightCounts::default()
    }

    /// The claims of the items in flight whose leases are to be renewed.
    pub(super) fn claims(&self) -> Vec<ClaimName> {
        let waiting = self.ready.iter().chain(&self.quarantined);
        let ready = waiting.flat_map(|ready| ready.batch.iter().map(|item| claim(&item)));
        let settling = self.settling.iter().flat_map(|taken| taken.iter().map(EndedItem::claim));
        let taken = self.taken.iter().filter(|(_, taken)| taken.is_kept()).map(|(claim, _)| claim.clone());
        let ended = self.ended.iter().chain(&self.put_off);
        let ended = ended.filter(|ended| ended.verdict.action() != Action::Release).map(EndedItem::claim);
        ready.chain(taken).chain(ended).chain(settling).collect()
    }
}

fn put_at(queue: &mut VecDeque<Ready>, place: usize, ready: Ready) {
    if !ready.batch.is_empty() {
        queue.insert(place, ready);
    }
}

/// The items of `name` that were claimed before `asked`.
fn take_out(queue: &mut VecDeque<Ready>, name: &ClaimName, asked: Instant) -> Vec<Batch> {
    let mut out = Vec::new();
    for place in (0..queue.len()).rev() {
        let is_meant = |ready: &&Ready| ready.claimed <= asked;
        let Some(ready) = queue.get(place).filter(is_meant) else { continue };
        let Some(index) = ready.batch.iter().position(|item| is(name, &item)) else { continue };
        let Some(Ready { batch, claimed }) = queue.remove(place) else { continue };
        for rest in [batch.part(index + 1, usize::MAX), batch.part(0, index)] {
            put_at(queue, place, Ready { batch: rest, claimed });
        }
        out.push(batch.part(index, 1));
    }
    out
}

fn claim(item: &Item<'_>) -> ClaimName {
    (item.key().to_owned(), item.attempt())
}

fn is(claim: &ClaimName, item: &Item<'_>) -> bool {
    claim.1 == item.attempt() && claim.0 == item.key()
}

fn claim_of(one: &Batch) -> ClaimName {
    (key_of(one).to_owned(), attempt_of(one))
}

/// The key of a batch of one.
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
pub(super) mod tests;
