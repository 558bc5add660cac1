//! `readpast_batch`: the items of one claim, lent to C as they lie in memory.

use super::answer::answer;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::handle::Handle;
use super::outcome::state;
use super::sized::{OutStructs, Versioned};
use super::status::readpast_status;
use super::text;
use crate::item::{Batch, Item, Life};
use std::ffi::{CString, c_char};
use std::ops::Deref;
use std::ptr;
use std::sync::OnceLock;

/// The items of one claim, in the order they were due. Immutable; any number of threads may read it. It does not need its queue,
/// which may be closed or freed.
///
/// Made by the calls that claim, freed by `readpast_batch_free`. Texts that it lends live as long as it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_batch {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// A traceparent, and the tracestate that belongs to it.
type TraceTexts = (CString, Option<CString>);

/// The object behind a `readpast_batch`. Texts that the core does not hold are made at C's first request.
pub(super) struct ClaimedBatch {
    batch: Batch,
    names: OnceLock<Box<[CString]>>,
    json: OnceLock<Box<[OnceLock<Option<CString>>]>>,
    traces: OnceLock<Box<[Option<TraceTexts>]>>,
}

impl ClaimedBatch {
    pub(super) fn new(batch: Batch) -> Self {
        Self { batch, names: OnceLock::new(), json: OnceLock::new(), traces: OnceLock::new() }
    }

    /// The item at an index from C.
    pub(super) fn item(&self, index: i32) -> Option<Item<'_>> {
        self.batch.get(usize::try_from(index).ok()?)
    }

    /// The name of a column that exists.
    pub(super) fn name(&self, index: usize) -> Option<&CString> {
        let names = || self.batch.columns().iter().map(|column| text::c_text(&column.name)).collect();
        self.names.get_or_init(names).get(index)
    }

    /// The trace of the item at an index from C.
    pub(super) fn trace(&self, index: i32) -> Option<&TraceTexts> {
        let of = |item: Item<'_>| Some((text::c_text(item.traceparent()?), item.tracestate().map(text::c_text)));
        let traces = self.traces.get_or_init(|| self.batch.iter().map(of).collect());
        traces.get(usize::try_from(index).ok()?)?.as_ref()
    }

    fn json(&self, index: i32) -> Option<&CString> {
        let item = self.item(index)?;
        let rows = self.json.get_or_init(|| (0..self.batch.len()).map(|_| OnceLock::new()).collect());
        // JSON holds no bare NUL, and there is room for the one at the end.
        let json = || item.try_to_json().ok().and_then(|json| CString::new(json).ok());
        rows.get(usize::try_from(index).ok()?)?.get_or_init(json).as_ref()
    }
}

impl Deref for ClaimedBatch {
    type Target = Batch;

    fn deref(&self) -> &Batch {
        &self.batch
    }
}

impl Handle for readpast_batch {
    type Object = ClaimedBatch;
    const TAG: u8 = 3;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// A claimed item. The texts from `type` on are those of columns of its life cycle, whatever the server or the table calls these.
/// Initialise it with `READPAST_ITEM_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_item {
    /// The size of this struct.
    pub struct_size: usize,
    /// The primary key, as text.
    pub key: *const c_char,
    /// The token that the claim left on the item. A settle must carry it.
    pub token: *const c_char,
    /// Which attempt this is, counted from 1. A settle must carry it.
    pub attempt: i32,
    /// How many columns it has.
    pub column_count: i32,
    /// The state it was in when it was read: a `READPAST_STATE_`.
    pub state: i32,
    /// 0.
    pub reserved: i32,
    /// Its type; NULL where a described table has none.
    pub r#type: *const c_char,
    /// The step that was recorded last; NULL where none was.
    pub step: *const c_char,
    /// The time, in UTC, before which it is not claimed; NULL where there is none. The times are texts like those of
    /// `READPAST_TYPE_TIMESTAMP`.
    pub due: *const c_char,
    /// The time, in UTC, at which it was enqueued; NULL where a described table has no such column.
    pub enqueued: *const c_char,
    /// The end, in UTC, that its lease had when it was read, which renewals move on; NULL where nobody held it.
    pub lease_until: *const c_char,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_item {
    const INIT: &'static str = "READPAST_ITEM_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// How many items there are.
///
/// *Returns*: the number, from 1 to 1000; 0 for a batch that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_batch_count(batch: readpast_batch) -> i32 {
    read(batch, 0, |batch| count(batch.len()))
}

/// The item at `index`, counted from 0.
///
/// *Ownership*: the texts are the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*item` is written.
/// - `READPAST_NOT_FOUND`: there is no such item; `*item` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `item` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_batch_item(
    batch: readpast_batch,
    index: i32,
    item: *mut readpast_item,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(batch, err, || {
            let place = OutStructs::one("item", item)?;
            let batch = batch.get()?;
            Ok(place.fill_or_not_found(batch.item(index).map(c_item)))
        })
    }
}

/// The item at `index` as one JSON object on one line, a member per column. Times are text in UTC, decimals are text with
/// all their digits, bytes are base64. A JSON document is embedded as it is stored, digit by digit; a value of such a column
/// that is not JSON, or is nested deeper than 60 levels, is text. Made at the first call, then kept.
///
/// *Ownership*: the text is the batch's, until that is freed.
///
/// *Returns*: text; NULL when there is no such item, or no memory for it: its columns can be read all the same.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_batch_json(batch: readpast_batch, index: i32) -> *const c_char {
    read(batch, ptr::null(), |batch| batch.json(index).map_or(ptr::null(), |json| json.as_ptr()))
}

/// Frees a batch, and what it lent. Its items stay claimed. The null handle, and one that was freed already, are
/// ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_batch_free(batch: readpast_batch) {
    contained((), || batch.free());
}

fn c_item(item: Item<'_>) -> readpast_item {
    let life = |life| item.life_with_nul(life).map_or(ptr::null(), |text| text.as_ptr().cast());
    readpast_item {
        struct_size: 0,
        key: item.key_with_nul().as_ptr().cast(),
        token: item.token_with_nul().as_ptr().cast(),
        attempt: item.attempt(),
        column_count: count(item.column_count()),
        state: state(item.state()),
        reserved: 0,
        r#type: life(Life::Kind),
        step: life(Life::Step),
        due: life(Life::Due),
        enqueued: life(Life::Enqueued),
        lease_until: life(Life::LeaseUntil),
    }
}

/// A number as C counts.
pub(super) fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
