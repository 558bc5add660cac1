//! The waits for a socket of libpq's, which end with the process.

use std::ffi::c_int;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Read,
    Write,
}

/// Waits until the socket can be read from, or written to, or has failed; false when it was not by then.
///
/// # Errors
/// The process ends, which `end` shows: its threads are to leave.
pub(super) fn until_ready(
    socket: c_int,
    readiness: Readiness,
    deadline: Instant,
    end: Option<c_int>,
) -> Result<bool, String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let ms = c_int::try_from(left.as_millis()).unwrap_or(c_int::MAX).max(1);
        match system::poll(socket, readiness, end, ms) {
            Polled::ProcessEnds => return Err("the process ends".to_owned()),
            Polled::Ready => return Ok(true),
            Polled::Failed => std::thread::sleep(Duration::from_millis(1)),
            Polled::TimedOut => {}
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
    }
}

enum Polled {
    Ready,
    TimedOut,
    /// By a signal, or for a while.
    Failed,
    #[cfg_attr(windows, expect(dead_code, reason = "Windows ends the other threads of a process first"))]
    ProcessEnds,
}

#[cfg(unix)]
mod system {
    use super::{Polled, Readiness};
    use std::ffi::c_int;

    pub(super) fn poll(socket: c_int, readiness: Readiness, end: Option<c_int>, ms: c_int) -> Polled {
        let events = match readiness {
            Readiness::Read => libc::POLLIN,
            Readiness::Write => libc::POLLOUT,
        };
        // A negative descriptor is passed over.
        let mut polled = [(socket, events), (end.unwrap_or(-1), libc::POLLIN)].map(|(fd, events)| libc::pollfd {
            fd,
            events,
            revents: 0,
        });
        // SAFETY: two entries, which are valid.
        match unsafe { libc::poll(polled.as_mut_ptr(), 2, ms) } {
            0 => Polled::TimedOut,
            ..0 => Polled::Failed,
            _ if polled[1].revents != 0 => Polled::ProcessEnds,
            _ => Polled::Ready,
        }
    }
}

#[cfg(windows)]
mod system {
    use super::{Polled, Readiness};
    use std::ffi::c_int;

    /// `WSAPOLLFD`.
    #[repr(C)]
    struct PolledSocket {
        socket: usize,
        events: i16,
        revents: i16,
    }
    const POLLRDNORM: i16 = 0x0100;
    const POLLWRNORM: i16 = 0x0010;

    #[link(name = "ws2_32")]
    unsafe extern "system" {
        fn WSAPoll(polled: *mut PolledSocket, count: u32, ms: c_int) -> c_int;
    }

    pub(super) fn poll(socket: c_int, readiness: Readiness, _: Option<c_int>, ms: c_int) -> Polled {
        let events = match readiness {
            Readiness::Read => POLLRDNORM,
            Readiness::Write => POLLWRNORM,
        };
        let mut polled = PolledSocket { socket: socket as usize, events, revents: 0 };
        // SAFETY: one entry, which is valid.
        match unsafe { WSAPoll(&raw mut polled, 1, ms) } {
            0 => Polled::TimedOut,
            ..0 => Polled::Failed,
            _ => Polled::Ready,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::threads;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_wait_ends_with_the_process_also_where_the_server_is_silent() {
        let ((ours, mut server), (sign, mut end)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let wait = |readiness, wait_ms| {
            let deadline = Instant::now() + Duration::from_millis(wait_ms);
            until_ready(ours.as_raw_fd(), readiness, deadline, Some(sign.as_raw_fd()))
        };
        assert_eq!(wait(Readiness::Read, 1), Ok(false));
        assert_eq!(wait(Readiness::Write, 600_000), Ok(true));
        server.write_all(b"x").unwrap();
        assert_eq!(wait(Readiness::Read, 600_000), Ok(true));
        end.write_all(b"x").unwrap();
        assert_eq!(wait(Readiness::Read, 600_000), Err("the process ends".to_owned()));
    }

    /// The test starts itself as the process that ends.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_end_of_a_process_waits_until_such_a_wait_has_left() {
        const ENDS: &str = "READPAST_TEST_PROCESS_ENDS";

        if std::env::var_os(ENDS).is_none() {
            let name = "bell::libpq::wait::tests::the_end_of_a_process_waits_until_such_a_wait_has_left";
            let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
            let output = itself.args(["--exact", name, "--nocapture"]).env(ENDS, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("it has left: the process ends"), "{output:?}");
            return;
        }
        let (silent, _server) = UnixStream::pair().unwrap();
        let (begins, begun) = std::sync::mpsc::channel();
        let wait = move || {
            begins.send(()).unwrap();
            let deadline = Instant::now() + Duration::from_secs(3600);
            let left = until_ready(silent.as_raw_fd(), Readiness::Read, deadline, threads::end_sign());
            println!("it has left: {}", left.unwrap_err());
        };
        drop(threads::start_unwatched("waits", wait).unwrap());
        begun.recv().unwrap();
        std::process::exit(0);
    }
}
