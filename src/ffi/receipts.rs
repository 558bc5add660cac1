//! `readpast_receipts`: the outcomes of an enqueue.

use super::answer::answer;
use super::batch::count;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::handle::Handle;
use super::sized::{OutStructs, Versioned};
use super::status::{READPAST_DUPLICATE, READPAST_OK, readpast_status};
use super::text;
use crate::item::Receipt;
use std::ffi::{CString, c_char};

/// The outcomes of the items of one `readpast_queue_enqueue`, in the order of the items. Immutable; any number of threads may
/// read it. It does not need its queue.
///
/// Made by `readpast_queue_enqueue`, freed by `readpast_receipts_free`. The texts it lends live as long as it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_receipts {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// The object behind a `readpast_receipts`.
pub(super) struct Receipts(Box<[LentReceipts]>);

struct LentReceipts {
    key: CString,
    token: CString,
    answer: readpast_status,
}

impl Receipts {
    pub(super) fn new(enqueued: &[Receipt]) -> Self {
        let lent = enqueued.iter().map(|item| LentReceipts {
            key: text::c_text(&item.key),
            token: text::c_text(&item.token),
            answer: if item.duplicate { READPAST_DUPLICATE } else { READPAST_OK },
        });
        Self(lent.collect())
    }

    fn receipt(&self, index: i32) -> Option<readpast_receipt> {
        let lent = self.0.get(usize::try_from(index).ok()?)?;
        Some(readpast_receipt {
            struct_size: 0,
            key: lent.key.as_ptr(),
            token: lent.token.as_ptr(),
            answer: lent.answer,
            reserved: 0,
        })
    }
}

impl Handle for readpast_receipts {
    type Object = Receipts;
    const TAG: u8 = 6;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// The outcome of an item to enqueue. Initialise it with `READPAST_RECEIPT_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_receipt {
    /// The size of this struct.
    pub struct_size: usize,
    /// The item's key. For a duplicate, the key of the existing item if the queue returns it, otherwise empty.
    pub key: *const c_char,
    /// The item's token, to cancel or pause exactly this version of it. Empty for a duplicate, unless the item that
    /// waits got the values of this one (`on_duplicate` in the description).
    pub token: *const c_char,
    /// `READPAST_OK`, or `READPAST_DUPLICATE` when nothing was enqueued.
    pub answer: readpast_status,
    /// 0.
    pub reserved: i32,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_receipt {
    const INIT: &'static str = "READPAST_RECEIPT_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// How many receipts there are: as many as there were items.
///
/// *Returns*: the number; 0 for receipts that are null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_receipts_count(receipts: readpast_receipts) -> i32 {
    read(receipts, 0, |receipts| count(receipts.0.len()))
}

/// The receipt of the item at `index`, counted from 0.
///
/// *Ownership*: the texts are the receipts', until those are freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*receipt` is written.
/// - `READPAST_NOT_FOUND`: there is no such receipt; `*receipt` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `receipt` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_receipts_get(
    receipts: readpast_receipts,
    index: i32,
    receipt: *mut readpast_receipt,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(receipts, err, || {
            let place = OutStructs::one("receipt", receipt)?;
            Ok(place.fill_or_not_found(receipts.get()?.receipt(index)))
        })
    }
}

/// Frees receipts, and what they lent. The null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_receipts_free(receipts: readpast_receipts) {
    contained((), || receipts.free());
}
