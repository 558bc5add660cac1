//! `readpast_list`, `readpast_drop`: the queues of a schema, and the end of one.

use super::answer::answer;
use super::args;
use super::batch::count;
use super::boundary::{contained, read};
use super::config::readpast_config;
use super::error::readpast_error;
use super::handle::Handle;
use super::out::OutParameter;
use super::sized::{OutStructs, Versioned};
use super::status::{READPAST_OK, readpast_status};
use super::text::{c_text, lend_optional};
use crate::install::{self, Installed};
use std::ffi::{CString, c_char};

/// The queues that are installed in a schema, by their names. Immutable; any number of threads may read it. It does not need
/// its configuration.
///
/// Made by `readpast_list`, freed by `readpast_queues_free`. The texts it lends live as long as it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct readpast_queues {
    /// Not an address; 0 is the null handle.
    pub id: u64,
}

/// The object behind a `readpast_queues`.
pub(super) struct Queues(Box<[LentList]>);

struct LentList {
    queue: CString,
    table: Option<CString>,
    description: CString,
    own: bool,
}

impl Queues {
    fn new(installed: Vec<Installed>) -> Self {
        let lent = installed.iter().map(|known| LentList {
            queue: c_text(&known.queue),
            table: known.table.as_ref().map(|table| c_text(&table.to_string())),
            description: c_text(&known.description),
            own: known.own,
        });
        Self(lent.collect())
    }

    fn installed(&self, index: i32) -> Option<readpast_installed> {
        let lent = self.0.get(usize::try_from(index).ok()?)?;
        Some(readpast_installed {
            struct_size: 0,
            queue: lent.queue.as_ptr(),
            table: lend_optional(lent.table.as_deref()),
            description: lent.description.as_ptr(),
            own: lent.own.into(),
            reserved: 0,
        })
    }
}

impl Handle for readpast_queues {
    type Object = Queues;
    const TAG: u8 = 10;

    fn from_id(id: u64) -> Self {
        Self { id }
    }

    fn id(self) -> u64 {
        self.id
    }
}

/// A queue that is installed. Initialise it with `READPAST_INSTALLED_INIT`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct readpast_installed {
    /// The size of this struct.
    pub struct_size: usize,
    /// Its name.
    pub queue: *const c_char,
    /// The table of its items with its schema, as the catalog has it; NULL where hand-written procedures hide it.
    pub table: *const c_char,
    /// Its description, JSON.
    pub description: *const c_char,
    /// 1 when the items are in a table of readpast's own, which `readpast_drop` drops with them; otherwise 0.
    pub own: i32,
    /// 0.
    pub reserved: i32,
}

// SAFETY: numbers and pointers only, the size first.
unsafe impl Versioned for readpast_installed {
    const INIT: &'static str = "READPAST_INSTALLED_INIT";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Lists the queues that are installed in the schema that `config` names. A login that may use one of them may ask.
///
/// *Ownership*: the caller frees `*queues` with `readpast_queues_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*queues` holds them; there may be none.
/// - `READPAST_SCHEMA_MISSING`: nothing is installed in the schema.
/// - `READPAST_INVALID_ARGUMENT`: `queues` is NULL.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_list(
    config: readpast_config,
    queues: *mut readpast_queues,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            let place = OutParameter::new("queues", queues)?;
            place.put(Queues::new(install::installed(&config.settings()?)?))?;
            Ok(READPAST_OK)
        })
    }
}

/// How many queues were listed.
///
/// *Returns*: the number; 0 for a list that is null or freed.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queues_count(queues: readpast_queues) -> i32 {
    read(queues, 0, |queues| count(queues.0.len()))
}

/// The queue at `index`, counted from 0.
///
/// *Ownership*: the texts are the list's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*installed` is written.
/// - `READPAST_NOT_FOUND`: there is no such queue; `*installed` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `installed` is NULL or not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_queues_get(
    queues: readpast_queues,
    index: i32,
    installed: *mut readpast_installed,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(queues, err, || {
            let place = OutStructs::one("installed", installed)?;
            Ok(place.fill_or_not_found(queues.get()?.installed(index)))
        })
    }
}

/// Frees a list, and what it lent. The null handle, and one that was freed already, are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn readpast_queues_free(queues: readpast_queues) {
    contained((), || queues.free());
}

/// Drops the queue called `queue` from the schema that `config` names. **It asks nothing.** If the items are in a table of
/// readpast's own, they all go with it, those in work as well. A table that was there before stays with its rows, and loses only
/// the objects that an install added. Objects that the queues of a schema share stay.
///
/// All of it happens in one transaction, under the lock of `readpast_install`. It needs the rights of the login that installed
/// the queue.
///
/// *Threads*: workers that are at work meanwhile get `READPAST_UNKNOWN_QUEUE` from their next call.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_UNKNOWN_QUEUE`: there is no such queue; the message names those that there are.
/// - `READPAST_SCHEMA_MISSING`: nothing is installed in the schema.
/// - `READPAST_INVALID_ARGUMENT`: another queue works on the queue's table.
/// - `READPAST_PERMISSION_DENIED`: the objects are not the login's.
/// - any other failure of the connection or the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readpast_drop(
    config: readpast_config,
    queue: *const c_char,
    err: *mut readpast_error,
) -> readpast_status {
    // SAFETY: the header's rules for pointers.
    unsafe {
        answer(config, err, || {
            install::drop_queue(&config.settings()?, args::text("queue", queue)?)?;
            Ok(READPAST_OK)
        })
    }
}
