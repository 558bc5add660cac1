//! The table behind the handles: slots that are checked at every use.
//!
//! Each process of a family of forks has a table of its own. The child cannot use its parent's: another thread may have held a
//! lock of it at the fork, for ever. Neither does the child destroy the objects in it, since closing an inherited connection
//! would end the parent's.

use super::fork;
use super::id::{EPOCHS, GENERATIONS, Id, SLOTS};
use crate::sync::{Mutex, MutexGuard};
use std::any::Any;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

/// Slots come in segments, so that the table grows without moving: a look-up takes no lock but the slot's.
const SEGMENT: usize = 1024;

/// The object of a handle. The table holds one reference, every call under way another.
pub(super) type Object = Arc<dyn Any + Send + Sync>;

/// Why a handle cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is the null handle.
    Null,
    /// It was freed, or never handed out.
    Dead,
    /// It is from before a fork.
    Forked,
    /// A call on it panicked.
    Poisoned,
}

#[derive(Default)]
struct HandleSlot(Mutex<HandleEntry>);

#[derive(Default)]
struct HandleEntry {
    /// The handle of this object; 0 while there is none.
    id: u64,
    generation: u32,
    poisoned: bool,
    object: Option<Object>,
}

/// The free slots: those given back, and all from `fresh` on.
#[derive(Default)]
struct Vacant {
    returned: Vec<u32>,
    fresh: usize,
}

struct HandleTable {
    epoch: u32,
    segments: Box<[OnceLock<Box<[HandleSlot]>>]>,
    vacant: Mutex<Vacant>,
}

/// The table of this process, or still that of the process it was forked from. NULL at first; a table is never freed.
static TABLE: AtomicPtr<HandleTable> = AtomicPtr::new(ptr::null_mut());

/// Stores `object` and gives the handle for it; `None` when no more handles fit.
pub(super) fn insert(tag: u8, object: Object) -> Option<u64> {
    if !fork::watch() || fork::epoch() >= EPOCHS {
        return None;
    }
    current().or_else(start)?.insert(tag, object)
}

/// The object of a handle.
pub(super) fn get(id: u64) -> Result<Object, Fault> {
    let entry = entry(id)?;
    match &entry.object {
        Some(_) if entry.poisoned => Err(Fault::Poisoned),
        Some(object) => Ok(Arc::clone(object)),
        None => Err(Fault::Dead),
    }
}

/// Takes the object of a handle out; the handle is dead from here on. The caller destroys the object.
pub(super) fn remove(id: u64) -> Result<Object, Fault> {
    let mut entry = entry(id)?;
    let object = entry.object.take().ok_or(Fault::Dead)?;
    *entry = HandleEntry { generation: entry.generation + 1, ..HandleEntry::default() };
    let reusable = entry.generation < GENERATIONS;
    drop(entry);
    if reusable {
        // There was an entry, so there is a table.
        if let Some(table) = current() {
            table.vacant.lock().returned.push(Id::unpack(id).slot);
        }
    }
    Ok(object)
}

/// Lets all later calls on a handle fail, after one that may have left its object half-changed.
pub(super) fn poison(id: u64) {
    if let Ok(mut entry) = entry(id) {
        entry.poisoned = true;
    }
}

/// The table of this process, once it has one.
fn current() -> Option<&'static HandleTable> {
    // SAFETY: it is NULL, or `start` made it of a table that is never freed.
    let table = unsafe { TABLE.load(Ordering::Acquire).as_ref() };
    table.filter(|table| table.epoch == fork::epoch())
}

/// Gives this process a table, unless another thread has just done so.
fn start() -> Option<&'static HandleTable> {
    let old = TABLE.load(Ordering::Acquire);
    let new = Box::into_raw(Box::new(HandleTable::new(fork::epoch())));
    if TABLE.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: it was made above, and no other thread has seen it.
        drop(unsafe { Box::from_raw(new) });
    }
    current()
}

/// The locked entry of a handle that is of this process and not dead.
fn entry(id: u64) -> Result<MutexGuard<'static, HandleEntry>, Fault> {
    if id == 0 {
        return Err(Fault::Null);
    }
    let parts = Id::unpack(id);
    if parts.epoch < fork::epoch() {
        return Err(Fault::Forked);
    }
    let slot = current().and_then(|table| table.slot(parts.slot)).ok_or(Fault::Dead)?;
    let entry = slot.0.lock();
    // The whole number is compared: a wrong tag or generation is as dead as a wrong slot.
    if entry.id == id { Ok(entry) } else { Err(Fault::Dead) }
}

impl HandleTable {
    fn new(epoch: u32) -> Self {
        let segments = (0..SLOTS / SEGMENT).map(|_| OnceLock::new()).collect();
        Self { epoch, segments, vacant: Mutex::default() }
    }

    fn insert(&self, tag: u8, object: Object) -> Option<u64> {
        let slot = self.take_vacant()?;
        let mut entry = self.slot_or_new(slot)?.0.lock();
        entry.id = Id { tag, epoch: self.epoch, generation: entry.generation, slot }.pack();
        let before = entry.object.replace(object);
        debug_assert!(before.is_none());
        Some(entry.id)
    }

    fn take_vacant(&self) -> Option<u32> {
        let mut vacant = self.vacant.lock();
        vacant.returned.pop().or_else(|| {
            let slot = u32::try_from(vacant.fresh).ok().filter(|_| vacant.fresh < SLOTS)?;
            vacant.fresh += 1;
            Some(slot)
        })
    }

    fn slot(&self, slot: u32) -> Option<&HandleSlot> {
        self.segments.get(slot as usize / SEGMENT)?.get()?.get(slot as usize % SEGMENT)
    }

    fn slot_or_new(&self, slot: u32) -> Option<&HandleSlot> {
        let segment = self.segments.get(slot as usize / SEGMENT)?;
        segment.get_or_init(|| (0..SEGMENT).map(|_| HandleSlot::default()).collect()).get(slot as usize % SEGMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_lives_from_insert_to_remove() {
        let id = insert(9, Arc::new(7_u32)).unwrap();
        assert_eq!(get(id).unwrap().downcast_ref(), Some(&7_u32));
        assert!(remove(id).is_ok());
        assert_eq!(get(id).unwrap_err(), Fault::Dead);
        assert_eq!(remove(id).unwrap_err(), Fault::Dead);
        assert_eq!(get(0).unwrap_err(), Fault::Null);
    }

    #[test]
    fn a_slot_is_used_again_under_another_number() {
        let table = HandleTable::new(3);
        let first = Id::unpack(table.insert(1, Arc::new(())).unwrap());
        assert_eq!((first.tag, first.epoch, first.generation, first.slot), (1, 3, 0, 0));
        let second = Id::unpack(table.insert(2, Arc::new(())).unwrap());
        assert_eq!((second.tag, second.slot), (2, 1));
    }

    #[test]
    fn one_bit_wrong_is_dead() {
        // A tag that no other test uses: one of their handles may well be a bit away.
        let id = insert(15, Arc::new(())).unwrap();
        for bit in 0..64 {
            assert!(get(id ^ (1 << bit)).is_err(), "bit {bit}");
        }
        assert!(remove(id).is_ok());
    }

    #[test]
    fn an_object_in_use_outlives_its_handle() {
        let id = insert(1, Arc::new(String::from("here"))).unwrap();
        let held = get(id).unwrap();
        drop(remove(id).unwrap());
        assert_eq!(held.downcast_ref::<String>().unwrap(), "here");
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_poisoned_handle_can_only_be_removed() {
        let id = insert(1, Arc::new(())).unwrap();
        poison(id);
        assert_eq!(get(id).unwrap_err(), Fault::Poisoned);
        assert!(remove(id).is_ok());
        assert_eq!(get(id).unwrap_err(), Fault::Dead);
    }

    #[test]
    fn threads_never_get_each_others_objects() {
        let rounds = if cfg!(miri) { 20 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                scope.spawn(move || {
                    for round in 0..rounds {
                        let mark = (thread, round);
                        let id = insert(1, Arc::new(mark)).unwrap();
                        assert_eq!(get(id).unwrap().downcast_ref(), Some(&mark));
                        assert_eq!(remove(id).unwrap().downcast_ref(), Some(&mark));
                        assert_eq!(get(id).unwrap_err(), Fault::Dead);
                    }
                });
            }
        });
    }
}
