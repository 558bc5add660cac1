//! `readpast_renewal`: leases renewed in the background.

use super::answer::answer;
use super::args;
use super::batch::readpast_batch;
use super::boundary::{contained, read};
use super::error::readpast_error;
use super::handle::Handle;
use super::out::OutParameter;
use super::queue::readpast_queue;
use super::status::{READPAST_NOT_FOUND, READPAST_OK, readpast_status};
use super::text;
use crate::sync::Mutex;
use crate::worker::Renewal;
use std::ffi::{CString, c_char};
use std::ptr;

/// Renews the leases of a batch while its items are worked on, for programs that claim and settle by themselves; a
/// `readpast_worker` needs none. One thread per queue does it for all renewals; it takes no signals. Any number of threads may
/// use the handle.
///
/// Made by `readpast_renewal_start`, freed by `readpast_renewal_free`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_renewal {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// The object behind a `readpast_renewal`.
pub(super) struct RunningRenewal {
    renewal: Renewal,
    /// The keys of lost items, in the order of C's requests, for C to borrow: a key stays in its place.
    lost: Mutex<Vec<CString>>,
}

impl RunningRenewal {
    /// Runs `body` over the keys of all lost items so far.
    fn with_lost<R>(&self, body: impl FnOnce(&[CString]) -> R) -> R {
        let mut known = self.lost.lock();
        for key in self.renewal.lost() {
            let key = text::c_text(&key);
            if !known.contains(&key) {
                known.push(key);
            }
        }
        body(&known)
    }
}

impl Handle for readpast_renewal {
    type Object = RunningRenewal;
    const TAG: u8 = 4;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// Starts renewing the leases of all items of `batch`, every `interval_ms` (1 to 86400000), or more often: no later than after
/// a third of the lease that they were claimed with. Release each item when it is settled.
///
/// *Ownership*: the caller frees `*renewal` with `readpast_renewal_free`. `queue` and `batch` may be freed before it.
///
/// *Returns*:
/// - `READPAST_OK`: `*renewal` runs.
/// - `READPAST_CLOSED`: the queue was closed.
/// - `READPAST_INVALID_HANDLE`: there is no such queue or batch.
/// - `READPAST_INVALID_ARGUMENT`: the interval is out of its range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_renewal_start(
    queue: readpast_queue,
    batch: readpast_batch,
    interval_ms: i64,
    renewal: *mut readpast_renewal,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let place = OutParameter::new("renewal", renewal)?;
            let interval = args::interval("interval_ms", interval_ms)?;
            let (queue, batch) = (queue.get()?, batch.get()?);
            let renewal = Renewal::start(&queue, &batch, interval)?;
            place.put(RunningRenewal { renewal, lost: Mutex::default() })?;
            Ok(READPAST_OK)
        })
    }
}

/// Stops renewing the lease of the item with `key`. Call it when the item is settled; otherwise its lease would be renewed in
/// vain and then count as lost.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_NOT_FOUND`: the item's lease is not renewed, or no longer: it was released or lost before.
/// - `READPAST_INVALID_ARGUMENT`: the key is NULL or not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_renewal_release(
    renewal: readpast_renewal,
    key: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(renewal, err, || {
            let key = args::text("key", key)?;
            let was_renewed = renewal.get()?.renewal.release(key);
            Ok(if was_renewed { READPAST_OK } else { READPAST_NOT_FOUND })
        })
    }
}

/// How many items were lost so far: their leases ran out, or an operator took them. Further work on them is in vain.
///
/// *Returns*: the number, which only grows; 0 for a renewal that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_renewal_lost_count(renewal: readpast_renewal) -> i32 {
    read(renewal, 0, |renewal| renewal.with_lost(|keys| i32::try_from(keys.len()).unwrap_or(i32::MAX)))
}

/// The key of the lost item at `index`, counted from 0. An item stays at its index.
///
/// *Ownership*: the text is the renewal's, until that is freed.
///
/// *Returns*: text; NULL when there is no such item.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_renewal_lost_key(renewal: readpast_renewal, index: i32) -> *const c_char {
    read(renewal, ptr::null(), |renewal| {
        let key = |keys: &[CString]| Some(keys.get(usize::try_from(index).ok()?)?.as_ptr());
        renewal.with_lost(key).unwrap_or(ptr::null())
    })
}

/// Stops a renewal and frees it; waits at most two seconds for a round under way. Leases stay as they are. The
/// null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_renewal_free(renewal: readpast_renewal) {
    contained((), || renewal.free());
}
