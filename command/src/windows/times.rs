//! Processor times.
#![allow(unsafe_code, reason = "Windows offers these as C functions only")]

use std::time::Duration;
use windows::Win32::Foundation::FILETIME;
use windows::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes, GetSystemTimes};

/// The processor time of this process.
pub fn process() -> Option<Duration> {
    let [mut begun, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the handle stands for this process, and the four places are ours.
    unsafe { GetProcessTimes(GetCurrentProcess(), &mut begun, &mut ended, &mut kernel, &mut user) }.ok()?;
    Some(Duration::from_nanos((ticks(kernel) + ticks(user)).saturating_mul(100)))
}

/// The busy time of all processors, and all their time.
pub fn machine() -> Option<[u64; 2]> {
    let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
    // SAFETY: the three places are ours.
    unsafe { GetSystemTimes(Some(&mut idle), Some(&mut kernel), Some(&mut user)) }.ok()?;
    // The kernel's time has the idle time in it.
    let all = ticks(kernel) + ticks(user);
    Some([all.saturating_sub(ticks(idle)), all])
}

fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}
