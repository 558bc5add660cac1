//! Out parameters for handles.

use super::failure::CallFailure;
use super::handle::{Handle, exhausted};

/// An out parameter for a handle. It holds the null handle until a handle is put there.
pub(super) struct OutParameter<H>(*mut H);

impl<H: Handle> OutParameter<H> {
    /// # Safety
    /// `place` is NULL, or can be written until the call ends.
    pub(super) unsafe fn new(name: &str, place: *mut H) -> Result<Self, CallFailure> {
        if place.is_null() {
            return Err(CallFailure::argument(format!("{name} is NULL; it must say where to put the handle")));
        }
        // SAFETY: not NULL, so as the caller promises.
        unsafe { place.write(H::null()) };
        Ok(Self(place))
    }

    /// Puts a handle for `object` there.
    pub(super) fn put(self, object: H::Object) -> Result<(), CallFailure> {
        let handle = H::hand_out(object).ok_or_else(exhausted)?;
        // SAFETY: as the caller of `new` promised.
        unsafe { self.0.write(handle) };
        Ok(())
    }
}
