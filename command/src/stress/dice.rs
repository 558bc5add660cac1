//! Random numbers.

/// Random numbers, which choose the claims that kill.
pub struct Dice(u64);

impl Dice {
    pub fn new(number: u32) -> Self {
        Self(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn percent(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % 100).unwrap_or(0)
    }
}
