//! The plain data of a queue: new items, claimed items, and their vocabulary. No I/O.

mod after;
mod agreed;
mod answer;
mod attempt;
mod base64;
mod columns;
mod filter;
mod json;
mod key;
mod lease;
mod life;
mod limit;
mod made;
mod new_item;
mod operator;
mod pause;
mod progress;
mod rates;
mod record;
mod rows;
mod schedule;
mod settlement;
mod span;
mod state;
mod stats;
mod time;
mod total;
mod trace;
mod trend;
mod verdict;
mod watched;
mod why;
mod written;

pub(crate) use self::agreed::agreed;
pub(crate) use self::base64::{from_base64, put_base64};
pub(crate) use self::key::{KeyForm, place_of_key};
pub(crate) use self::life::Life;
pub(crate) use self::made::{Shape, made as made_batch};

pub use self::json::without_half_pairs;
pub use self::{
    after::{After, OnFailed, Wait},
    answer::{Answer, Outcome},
    attempt::Attempt,
    columns::Columns,
    filter::{Filter, ItemRef},
    lease::Lease,
    limit::{Limit, LimitChange, Rate},
    new_item::{NewItem, Receipt},
    operator::OperatorVerb,
    pause::{Pause, PauseEnd},
    progress::{Progress, ProgressReport},
    rates::OfType,
    record::{Minute, OperatorAction, RegisteredWorker},
    rows::{Cell, Column, ColumnType, Rows, Value},
    schedule::{Missed, Overlap, Schedule, ScheduleChange},
    settlement::{Action, Edit, Settlement},
    span::{span_text, utc_ms},
    state::ItemState,
    stats::{QueueStats, StepCounts},
    time::{normalize_utc, utc_text},
    trend::Trend,
    verdict::Verdict,
    watched::{Holding, OfPlace, PlaceAway, Refused, Trouble, Watched},
    why::{Standing, Why},
};

pub(crate) use self::limit::LIMIT_COUNT;
pub(crate) use self::progress::{kept_percent, kept_text};
pub(crate) use self::record::{text_of_us, time_of_ms};
pub(crate) use self::rows::{Undeliverable, UndeliverableReason};
pub(crate) use self::span::{NEVER_MS, far_utc_ms};
pub(crate) use self::time::is_utc;
pub(crate) use self::trace::{MOST_STATE, PARENT, Trace};
pub(crate) use self::watched::FigureRow;
pub(crate) use self::written::{ITEM_MEMBERS, put_follower, read_followers, read_new_item};

use crate::error::{Error, ErrorKind, Result};
use std::{sync::Arc, time::Duration};

/// The most items of one call. More row locks than this may make SQL Server lock the whole table.
pub const MAX_ITEMS: u32 = 1000;

/// The position of the answer columns in every row that the procedures return; the item's own columns follow.
pub(crate) mod answer_column {
    pub(crate) const ANSWER: usize = 0;
    pub(crate) const ORDINAL: usize = 1;
    /// Until the next item is due, where none was; of a claimed item the length of its lease.
    pub(crate) const DUE_MS: usize = 2;
    pub(crate) const KEY: usize = 3;
    pub(crate) const TOKEN: usize = 4;
    pub(crate) const ATTEMPT: usize = 5;
    pub(crate) const STATUS: usize = 6;
    pub(crate) const COUNT: usize = 7;

    /// The columns of readpast's own tables that repeat a claim's answer column, as each server spells them, and that column.
    const REPEATED: [([&str; 2], usize); 4] = [
        (["EnqueuedAt", "enqueued_at"], KEY),
        (["UpdatedAt", "updated_at"], TOKEN),
        (["AttemptNum", "attempt_num"], ATTEMPT),
        (["Status", "status"], STATUS),
    ];

    /// The answer column that the column `name` of an item in an own table repeats. No other column there may have such a name.
    pub(crate) fn repeated(name: &str) -> Option<usize> {
        REPEATED.iter().find(|(names, _)| names.contains(&name)).map(|(_, answer)| *answer)
    }
}

/// The answer for a quarantined item: a claim hands it out alone, since its last worker died.
pub(crate) const CLAIMED_ALONE: &str = "CLAIMED_ALONE";

/// The items of one claim, in the order they were due, or of a search, in the order of their keys. Cheap to clone; immutable.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    rows: Arc<Rows>,
    first: usize,
    /// One past the last row.
    end: usize,
    /// It has no items, but its claim ended or set aside others.
    did_others: bool,
}

impl Batch {
    /// The items in `rows`, which begin at row `first`.
    pub(crate) fn new(rows: Rows, first: usize) -> Self {
        let end = rows.len();
        Self { rows: Arc::new(rows), first, end, did_others: false }
    }

    /// A batch without items, of a claim that ended others, or set them aside: those behind them may be due now.
    pub(crate) fn behind_others() -> Self {
        Self { did_others: true, ..Self::default() }
    }

    /// Whether it is empty although the queue may not be: claim again.
    pub(crate) fn calls_for_another(&self) -> bool {
        self.did_others
    }

    /// Up to `count` items from `index` on, as a batch of their own. The rows themselves are shared, not copied.
    #[must_use]
    pub fn part(&self, index: usize, count: usize) -> Self {
        let first = (self.first + index).min(self.end);
        Self { rows: Arc::clone(&self.rows), first, end: first.saturating_add(count).min(self.end), did_others: false }
    }

    /// These items without the others of their claim, if those would keep much memory: one slow item would keep all.
    pub(crate) fn apart(self) -> Self {
        const MUCH: usize = 1024 * 1024;

        let is_most = self.len() * 2 > self.rows.len();
        if is_most || self.all_bytes() < MUCH { self } else { Self::new(self.rows.copy(self.first, self.end), 0) }
    }

    /// The bytes of its items, at the average of their claim.
    pub(crate) fn bytes(&self) -> usize {
        self.all_bytes() / self.rows.len().max(1) * self.len()
    }

    fn all_bytes(&self) -> usize {
        let (text, bytes) = self.rows.size();
        text + bytes
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at `index`, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Item<'_>> {
        (index < self.len()).then(|| Item { rows: &self.rows, row: self.first + index })
    }

    /// The items, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        (self.first..self.end).map(|row| Item { rows: &self.rows, row })
    }

    /// The lease that the server granted with the claim, which the setting in AppSettings may change. `None` for items that were
    /// not claimed, or claimed by a procedure that does not return it.
    #[must_use]
    pub fn lease(&self) -> Option<Duration> {
        match self.rows.value(self.first, answer_column::DUE_MS) {
            Value::Integer(ms) if !self.is_empty() => u64::try_from(ms).ok().map(Duration::from_millis),
            _ => None,
        }
    }

    /// Whether this is a quarantined item, the only one of its claim: its last worker died, and the item may have been the cause.
    /// A program that works on several items at a time in one process may prefer to do this one by itself.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.get(0).is_some_and(|item| item.answer_text(answer_column::ANSWER) == CLAIMED_ALONE)
    }

    /// The place among [`Self::columns`] of the one that [`Item::value_of`] finds by this name.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.rows.place_of(name)
    }

    /// The item's columns, named and typed as in the worker view.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        self.rows.columns().get(answer_column::COUNT..).unwrap_or_default()
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    rows: &'a Rows,
    row: usize,
}

impl<'a> Item<'a> {
    /// The primary key, as text.
    #[must_use]
    pub fn key(&self) -> &'a str {
        self.answer_text(answer_column::KEY)
    }

    /// The concurrency token that the row had. A settle must carry it.
    #[must_use]
    pub fn token(&self) -> &'a str {
        self.answer_text(answer_column::TOKEN)
    }

    /// The number of this attempt, counted from 1; 0 for an item that was never claimed.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        match self.rows.value(self.row, answer_column::ATTEMPT) {
            Value::Integer(attempt) => i32::try_from(attempt).unwrap_or(i32::MAX),
            _ => 0,
        }
    }

    /// The kind of work. `None` where a described table has no type.
    #[must_use]
    pub fn kind(&self) -> Option<&'a str> {
        self.life(Life::Kind)
    }

    /// The step that was recorded last. `None` where none was.
    #[must_use]
    pub fn step(&self) -> Option<&'a str> {
        self.life(Life::Step)
    }

    /// The time, in UTC, before which it is not claimed. `None` where the table has none for it.
    #[must_use]
    pub fn due(&self) -> Option<&'a str> {
        self.life(Life::Due)
    }

    /// The time, in UTC, at which it was enqueued. `None` where a described table has no such column.
    #[must_use]
    pub fn enqueued(&self) -> Option<&'a str> {
        self.life(Life::Enqueued)
    }

    /// The end, in UTC, that the lease had when the item was read; later renewals move it on. `None` where nobody held it.
    #[must_use]
    pub fn lease_until(&self) -> Option<&'a str> {
        self.life(Life::LeaseUntil)
    }

    /// The text of a column of its life cycle, whatever it is called; `None` where it is NULL or empty.
    pub(crate) fn life(&self, life: Life) -> Option<&'a str> {
        match self.value(self.rows.life(life)?)? {
            Value::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The same, with a NUL after it.
    pub(crate) fn life_with_nul(&self, life: Life) -> Option<&'a str> {
        self.text_with_nul(self.rows.life(life)?).filter(|text| text.len() > 1)
    }

    /// The state it was in when it was read; Processing when it was claimed.
    #[must_use]
    pub fn state(&self) -> Option<ItemState> {
        self.answer_text(answer_column::STATUS).parse().ok()
    }

    /// The item's columns, as [`Batch::columns`] has them.
    #[must_use]
    pub fn columns(&self) -> &'a [Column] {
        self.rows.columns().get(answer_column::COUNT..).unwrap_or_default()
    }

    /// How many columns the item has.
    #[must_use]
    pub fn column_count(&self) -> usize {
        self.rows.columns().len().saturating_sub(answer_column::COUNT)
    }

    /// The value of the column at `index`, counted from 0 in the order of [`Batch::columns`].
    #[must_use]
    pub fn value(&self, index: usize) -> Option<Value<'a>> {
        (index < self.column_count()).then(|| self.rows.value(self.row, answer_column::COUNT + index))
    }

    /// The value of the column called `name`; where no name is exactly the same, that of the only one that differs just in the
    /// case of letters. A column of the life cycle is found by its name on the other server and in other tables too:
    /// `ScheduledFor`, `scheduled_for` and `ItemDueAt` are one. `None` when there is no such column.
    #[must_use]
    pub fn value_of(&self, name: &str) -> Option<Value<'a>> {
        self.value(self.rows.place_of(name)?)
    }

    /// The place among [`Self::columns`] of the one that [`Self::value_of`] finds by this name.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.rows.place_of(name)
    }

    /// The W3C `traceparent` of the trace in which the item was enqueued: the parent of a handler's span. `None` where the
    /// queue's description has no `trace`, where the item has none, and where it is malformed.
    #[must_use]
    pub fn traceparent(&self) -> Option<&'a str> {
        self.trace().map(|trace| trace.parent)
    }

    /// The `tracestate` that belongs to it.
    #[must_use]
    pub fn tracestate(&self) -> Option<&'a str> {
        self.trace().map(|trace| trace.state).filter(|state| !state.is_empty())
    }

    pub(crate) fn trace(&self) -> Option<Trace<'a>> {
        match self.value(self.rows.trace()?)? {
            Value::Text(text) => Trace::read(text),
            _ => None,
        }
    }

    /// The whole row as one JSON object, a member per column, on one line. A JSON document in a column stands there as it is
    /// stored; a value of such a column that is not JSON, or is nested deeper than 60 levels, is text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.put_json(&mut out);
        out
    }

    /// The same, for a caller that can go on without it when the memory is short.
    ///
    /// # Errors
    /// [`ErrorKind::Exhausted`].
    pub fn try_to_json(&self) -> Result<String> {
        let longest: usize = self.columns().iter().enumerate().map(|(i, column)| self.longest_json(i, column)).sum();
        let mut out = String::new();
        // And a NUL, for C.
        out.try_reserve_exact(longest + 3).map_err(|_| {
            let message =
                format!("this process lacks the {longest} bytes of memory for the item as JSON; take its columns");
            Error::new(ErrorKind::Exhausted, message)
        })?;
        self.put_json(&mut out);
        Ok(out)
    }

    fn put_json(&self, out: &mut String) {
        out.push('{');
        for (i, column) in self.columns().iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            json::put_text(out, &column.name);
            out.push(':');
            self.value(i).unwrap_or(Value::Null).put_json(column.kind, out);
        }
        out.push('}');
    }

    /// An upper bound of a column's bytes in JSON, with its name and punctuation.
    fn longest_json(&self, index: usize, column: &Column) -> usize {
        let value = match self.value(index) {
            // A document takes no more than it would as text.
            Some(Value::Text(text)) => json::text_bytes(text),
            Some(Value::Binary(bytes)) => bytes.len().div_ceil(3) * 4 + 2,
            // A number, a word.
            _ => 32,
        };
        json::text_bytes(&column.name) + value + 2
    }

    /// The key with a NUL after it.
    pub(crate) fn key_with_nul(&self) -> &'a str {
        self.rows.text_with_nul(self.row, answer_column::KEY).unwrap_or("\0")
    }

    /// The token with a NUL after it.
    pub(crate) fn token_with_nul(&self) -> &'a str {
        self.rows.text_with_nul(self.row, answer_column::TOKEN).unwrap_or("\0")
    }

    /// The text of the column at `index` with a NUL after it; `None` when the value is not text.
    pub(crate) fn text_with_nul(&self, index: usize) -> Option<&'a str> {
        (index < self.column_count()).then(|| self.rows.text_with_nul(self.row, answer_column::COUNT + index))?
    }

    fn answer_text(&self, column: usize) -> &'a str {
        match self.rows.value(self.row, column) {
            Value::Text(text) => text,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows with keys of this length.
    fn batch(length: usize) -> Batch {
        let column = Column { name: "c".to_owned(), kind: ColumnType::Text };
        let mut rows = Rows::new(vec![column; answer_column::COUNT].into());
        for number in 0..4 {
            for place in 0..answer_column::COUNT {
                let text = if place == answer_column::KEY { number.to_string().repeat(length) } else { String::new() };
                rows.push_text(|out| out.push_str(&text));
            }
        }
        Batch::new(rows, 0)
    }

    #[test]
    fn one_item_of_a_large_claim_keeps_nothing_of_the_others() {
        let large = batch(500_000);
        let one = large.part(2, 1).apart();
        assert_eq!(one.get(0).map(|item| item.key().len()), Some(500_000));
        assert_eq!(one.get(0).unwrap().key(), large.get(2).unwrap().key());
        assert!(one.all_bytes() < large.all_bytes() / 3);
        assert!(Arc::ptr_eq(&large.part(0, 3).apart().rows, &large.rows), "most of it is not copied");
        let small = batch(10);
        assert!(Arc::ptr_eq(&small.part(0, 1).apart().rows, &small.rows));
    }
}
