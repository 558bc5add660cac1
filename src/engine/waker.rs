//! The descriptor that an event loop polls: it can be read from once there is something for the loop to do. Each system has pipes, and
//! one byte in the pipe is enough, so that no write waits.

use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// It has no pipe before an event loop asks for one.
#[derive(Default)]
pub(super) struct Waker(Mutex<Option<Pipe>>);

struct Pipe {
    reader: PipeReader,
    writer: PipeWriter,
    is_full: bool,
}

impl Waker {
    /// Empties the pipe, and returns its descriptor, which stays the same and open for as long as this.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`]: the system has no descriptor left.
    pub(super) fn arm(&self) -> Result<RawFd> {
        self.empty().map_err(|error| {
            Error::new(ErrorKind::Unavailable, format!("no descriptor could be opened for the event loop: {error}"))
        })
    }

    fn empty(&self) -> io::Result<RawFd> {
        let mut kept = self.0.lock();
        let pipe = match &mut *kept {
            Some(pipe) => pipe,
            none => {
                let (reader, writer) = io::pipe()?;
                none.insert(Pipe { reader, writer, is_full: false })
            }
        };
        if pipe.is_full {
            pipe.reader.read_exact(&mut [0])?;
            pipe.is_full = false;
        }
        Ok(pipe.reader.as_raw_fd())
    }

    #[cfg(test)]
    pub(super) fn is_full(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|pipe| pipe.is_full)
    }

    /// Wakes the loop, if there is one.
    pub(super) fn wake(&self) {
        if let Some(pipe) = &mut *self.0.lock()
            && !pipe.is_full
        {
            pipe.is_full = pipe.writer.write_all(&[0]).is_ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_woken_once_until_it_looks() {
        let waker = Waker::default();
        waker.wake();
        assert!(!waker.is_full(), "nobody polls");
        // More than a pipe holds.
        for wakes in [1, 70_000] {
            waker.arm().unwrap();
            assert!(!waker.is_full());
            (0..wakes).for_each(|_| waker.wake());
            assert!(waker.is_full());
        }
    }
}
