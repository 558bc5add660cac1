//! The work of this machine's processors during a run: of this process, and of all programs.

use readpast::stress::Busy;
use std::thread;
use std::time::{Duration, Instant};

/// The figures at the beginning.
pub struct Processors {
    begun: Instant,
    own: Option<Duration>,
    machine: Option<[u64; 2]>,
}

impl Processors {
    pub fn start() -> Self {
        Self { begun: Instant::now(), own: own_time(), machine: machine_time() }
    }

    /// The shares since then.
    #[allow(clippy::cast_precision_loss, reason = "shares, for people")]
    pub fn busy(&self) -> Busy {
        let processors = thread::available_parallelism().map_or(1, Into::into);
        let own = self.own.zip(own_time()).map(|(before, now)| {
            let time = now.saturating_sub(before).as_secs_f64();
            time / (self.begun.elapsed().as_secs_f64() * processors as f64).max(f64::MIN_POSITIVE)
        });
        let machine = self.machine.zip(machine_time()).and_then(|(before, now)| share(before, now));
        Busy { processors, own, machine, has_server: false }
    }
}

/// The share of the busy time in all time; none when no time has passed.
#[allow(clippy::cast_precision_loss, reason = "shares, for people")]
fn share([busy, all]: [u64; 2], [busy_now, all_now]: [u64; 2]) -> Option<f64> {
    let all = all_now.checked_sub(all).filter(|all| *all > 0)?;
    Some(busy_now.saturating_sub(busy) as f64 / all as f64)
}

/// The processor time of this process.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "Windows may refuse it")]
fn own_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(windows)]
fn own_time() -> Option<Duration> {
    crate::windows::times::process()
}

/// The busy time of all processors, and all their time, in a unit of the system's.
#[cfg(not(windows))]
fn machine_time() -> Option<[u64; 2]> {
    // Other Unix systems have no such file, and leave the figure out.
    of_stat(&std::fs::read_to_string("/proc/stat").ok()?)
}

#[cfg(windows)]
fn machine_time() -> Option<[u64; 2]> {
    crate::windows::times::machine()
}

/// The line of all processors: user, nice, system, idle, iowait, irq, softirq, steal; guests are counted as users already.
#[cfg(not(windows))]
fn of_stat(text: &str) -> Option<[u64; 2]> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = times.get(3)? + times.get(4).unwrap_or(&0);
    let all = times.iter().sum::<u64>();
    Some([all - idle, all])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(windows))]
    #[test]
    fn waiting_for_a_disk_is_not_work() {
        let text = "cpu  100 1 50 800 40 2 3 4 90 9\ncpu0 1 2 3\n";
        assert_eq!(of_stat(text), Some([160, 1000]));
        for text in ["", "cpu0 1 2 3 4", "cpu  1 2", "cpu  1 x 3 4 5"] {
            assert_eq!(of_stat(text), None, "{text}");
        }
    }

    #[test]
    fn shares_are_of_the_time_that_passed() {
        assert_eq!(share([10, 100], [60, 200]), Some(0.5));
        assert_eq!(share([10, 100], [60, 100]), None);
        assert_eq!(share([10, 100], [60, 50]), None);
    }

    #[test]
    fn the_work_of_this_process_is_seen() {
        let processors = Processors::start();
        // The clock of some systems has steps of 16 ms.
        while processors.busy().own == Some(0.0) {
            std::hint::black_box((0..10_000_u64).sum::<u64>());
        }
        assert!(processors.busy().own.unwrap() > 0.0);
    }
}
