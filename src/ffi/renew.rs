//! `readpast_queue_renew`.

use super::answer::answer;
use super::args::{self, Field};
use super::error::readpast_error;
use super::failure::CallFailure;
use super::handle::Handle;
use super::outcome::{readpast_outcome, write_outcomes};
use super::queue::readpast_queue;
use super::sized::{OutStructs, Versioned, read_array};
use super::status::{READPAST_UNSUPPORTED, readpast_status};
use crate::item::Lease;
use std::ffi::c_char;

/// A lease to renew. Initialise it with `READPAST_LEASE_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_lease {
    /// The size of this struct.
    pub struct_size: usize,
    /// The item's key.
    pub key: *const c_char,
    /// The attempt of the claim.
    pub attempt: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_lease {
    const INIT: &'static str = "READPAST_LEASE_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Renews the leases of `count` (0 to 1000000) items: they start anew, on the server's clock. Nothing else about the items
/// changes, not even their tokens. `readpast_renewal_start` does this on a thread of its own.
///
/// `outcomes` may be NULL; otherwise there are `count` of them.
///
/// *Returns*:
/// - `READPAST_OK`: all are renewed; `outcomes` are written.
/// - `READPAST_LEASE_LOST`, `READPAST_NOT_FOUND`: the answer of the first item that is not; `outcomes` are written for all.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queue_renew(
    queue: readpast_queue,
    leases: *const readpast_lease,
    count: i32,
    outcomes: *mut readpast_outcome,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queue, err, || {
            let leases = read_leases(leases, count)?;
            let outcomes = OutStructs::optional("outcomes", outcomes, count)?;
            Ok(write_outcomes(outcomes, &queue.get()?.renew(&leases)?))
        })
    }
}

/// # Safety
/// `leases` keeps to the header's rules for arrays and text.
unsafe fn read_leases<'a>(leases: *const readpast_lease, count: i32) -> Result<Vec<Lease<'a>>, CallFailure> {
    // SAFETY: as the caller promises.
    let leases = unsafe { read_array("leases", leases, count) }?;
    // SAFETY: as the caller promises.
    leases.iter().enumerate().map(|(i, lease)| unsafe { read_lease(i, lease) }).collect()
}

/// # Safety
/// The key keeps to the header's rules for text.
unsafe fn read_lease<'a>(i: usize, lease: &readpast_lease) -> Result<Lease<'a>, CallFailure> {
    let name = |field| Field("leases", i, field);
    if lease.reserved != 0 {
        return Err(CallFailure::new(READPAST_UNSUPPORTED, format!("{} must be 0", name("reserved"))));
    }
    // SAFETY: as the caller promises.
    let key = unsafe { args::text(name("key"), lease.key) }?;
    Ok(Lease { key, attempt: args::attempt(name("attempt"), lease.attempt)? })
}
