//! The handle types: the object of each, and the ways between the two.

use super::failure::CallFailure;
use super::status::{READPAST_EXHAUSTED, READPAST_FORKED, READPAST_INVALID_HANDLE, READPAST_PANIC};
use super::table::{self, Fault};
use std::sync::Arc;

/// The names of the handle types, at their tags.
const NAMES: [&str; 10] = [
    "",
    "readpast_config",
    "readpast_queue",
    "readpast_batch",
    "readpast_renewal",
    "readpast_error",
    "readpast_receipts",
    "readpast_worker",
    "readpast_events",
    "readpast_text",
];

/// A handle in C.
pub(super) trait Handle: Copy {
    /// Its object.
    type Object: Send + Sync + 'static;

    /// Marks the type in the handle's number; from 1 to 15.
    const TAG: u8;

    /// The handle of this number.
    fn from_id(id: u64) -> Self;

    /// Its number.
    fn id(self) -> u64;

    /// The null handle.
    fn null() -> Self {
        Self::from_id(0)
    }

    /// A handle for `object`; `None` when no more fit.
    fn hand_out(object: Self::Object) -> Option<Self> {
        table::insert(Self::TAG, Arc::new(object)).map(Self::from_id)
    }

    /// Its object. The result keeps it alive, even while another thread frees the handle.
    fn find(self) -> Result<Arc<Self::Object>, Fault> {
        table::get(self.id())?.downcast().map_err(|_| Fault::Dead)
    }

    /// Its object, or the error for C.
    fn get(self) -> Result<Arc<Self::Object>, CallFailure> {
        self.find().map_err(|fault| refuse(fault, self.id(), Self::TAG))
    }

    /// Frees it. Has no effect when it cannot be found, or is of another type.
    fn free(self) {
        if tag(self.id()) == Self::TAG {
            drop(table::remove(self.id()));
        }
    }
}

/// The failure when no more handles fit.
pub(super) fn exhausted() -> CallFailure {
    CallFailure::new(READPAST_EXHAUSTED, "there are too many handles in use; free those that are done with")
}

fn tag(id: u64) -> u8 {
    super::id::Id::unpack(id).tag
}

fn refuse(fault: Fault, id: u64, expected: u8) -> CallFailure {
    let name = |tag: u8| NAMES.get(usize::from(tag)).copied().filter(|name| !name.is_empty());
    let expected_name = name(expected).unwrap_or_default();
    match fault {
        Fault::Null => CallFailure::new(READPAST_INVALID_HANDLE, format!("the {expected_name} is the null handle")),
        Fault::Forked => CallFailure::new(
            READPAST_FORKED,
            format!("the {expected_name} is from before a fork; open what the child process needs in the child"),
        ),
        Fault::Poisoned => CallFailure::new(
            READPAST_PANIC,
            format!("an earlier call on this {expected_name} met a bug in readpast; free it and make a new one"),
        ),
        Fault::Dead => CallFailure::new(
            READPAST_INVALID_HANDLE,
            match name(tag(id)) {
                Some(other) if tag(id) != expected => format!("a {expected_name} is needed; this is a {other}"),
                _ => format!("the {expected_name} was freed before, or never handed out"),
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::{
        readpast_batch, readpast_config, readpast_error, readpast_events, readpast_queue, readpast_receipts,
        readpast_renewal, readpast_text, readpast_worker,
    };
    use std::any::type_name;

    #[test]
    fn every_type_has_its_name_at_its_tag() {
        fn check<H: Handle>() {
            let path = type_name::<H>();
            assert!(path.ends_with(&format!("::{}", NAMES[usize::from(H::TAG)])), "{path}");
        }
        check::<readpast_config>();
        check::<readpast_queue>();
        check::<readpast_batch>();
        check::<readpast_renewal>();
        check::<readpast_error>();
        check::<readpast_receipts>();
        check::<readpast_worker>();
        check::<readpast_events>();
        check::<readpast_text>();
    }
}
