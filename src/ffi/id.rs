//! The 64 bits of a handle.

/// How many bits each part has, from the highest: tag, epoch, generation, slot.
const EPOCH_BITS: u32 = 12;
const GENERATION_BITS: u32 = 28;
const SLOT_BITS: u32 = 20;

/// How often a process may descend from a fork of one that used the library.
pub(super) const EPOCHS: u32 = 1 << EPOCH_BITS;
/// How often a slot is used before it is given up, so that no handle ever comes a second time.
pub(super) const GENERATIONS: u32 = 1 << GENERATION_BITS;
/// How many handles there may be at one time.
pub(super) const SLOTS: usize = 1 << SLOT_BITS;

/// The parts of a handle's number. It is never 0, since no tag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id {
    /// The handle's type, from 1 to 15.
    pub(super) tag: u8,
    /// The process: how many forks it is away from the first.
    pub(super) epoch: u32,
    /// Which use of the slot.
    pub(super) generation: u32,
    /// The place in the table.
    pub(super) slot: u32,
}

impl Id {
    pub(super) fn pack(self) -> u64 {
        let mut bits = u64::from(self.tag);
        for (part, width) in [(self.epoch, EPOCH_BITS), (self.generation, GENERATION_BITS), (self.slot, SLOT_BITS)] {
            debug_assert!(part < 1 << width);
            bits = (bits << width) | u64::from(part);
        }
        bits
    }

    pub(super) fn unpack(bits: u64) -> Self {
        let part = |shift: u32, width: u32| ((bits >> shift) & ((1 << width) - 1)) as u32;
        Self {
            tag: (bits >> (EPOCH_BITS + GENERATION_BITS + SLOT_BITS)) as u8,
            epoch: part(GENERATION_BITS + SLOT_BITS, EPOCH_BITS),
            generation: part(SLOT_BITS, GENERATION_BITS),
            slot: part(0, SLOT_BITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_is_its_parts(bits: u64) {
            prop_assert_eq!(Id::unpack(bits).pack(), bits);
        }
    }

    #[test]
    fn parts_keep_out_of_each_other() {
        let highest = Id { tag: 15, epoch: EPOCHS - 1, generation: GENERATIONS - 1, slot: SLOTS as u32 - 1 };
        assert_eq!(highest.pack(), u64::MAX);
        assert_eq!(Id { tag: 1, epoch: 0, generation: 0, slot: 0 }.pack(), 1 << 60);
    }
}
