//! What a command writes, kept in bounded memory: the beginning, the end, and how much there was.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end; it may overlap the beginning.
    pub tail: VecDeque<u8>,
    /// How much there was in all.
    pub total: u64,
}

/// How much to keep.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub head: usize,
    pub tail: usize,
    /// Whether it is passed on to our own standard error.
    pub shown: bool,
}

/// Reads a pipe to its end in a thread, then sends word. The thread is not waited for: a process that the command left behind
/// may hold the pipe open for ever.
pub fn start(
    mut pipe: impl Read + Send + 'static,
    limits: Limits,
    done: Sender<()>,
) -> io::Result<Arc<Mutex<Written>>> {
    let written = Arc::new(Mutex::new(Written::default()));
    let shared = Arc::clone(&written);
    let read = move || {
        let mut buffer = [0; 8192];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let bytes = &buffer[..count];
                    shared.lock().unwrap_or_else(PoisonError::into_inner).keep(bytes, limits);
                    if limits.shown {
                        let _ = io::stderr().write_all(bytes);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // Nobody may be waiting any more.
        let _ = done.send(());
    };
    thread::Builder::new().name("output".to_owned()).spawn(read)?;
    Ok(written)
}

impl Written {
    fn keep(&mut self, bytes: &[u8], limits: Limits) {
        self.total += bytes.len() as u64;
        let room = limits.head.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[bytes.len().saturating_sub(limits.tail)..]);
        let surplus = self.tail.len().saturating_sub(limits.tail);
        self.tail.drain(..surplus);
    }

    /// The last line that is not empty, where all of it was kept, and where it begins.
    pub fn last_line(&self) -> Option<(u64, String)> {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = tail.trim_ascii_end();
        let start = text.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let start = start.or_else(|| (self.total == tail.len() as u64).then_some(0))?;
        let line = String::from_utf8(text[start..].to_vec()).ok().filter(|line| !line.is_empty())?;
        Some((self.total - (tail.len() - start) as u64, line))
    }
}

/// Bytes as text that a database stores: what is not UTF-8, and U+0000, is replaced.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept_and_the_last_line_is_found() {
        let limits = Limits { head: 4, tail: 6, shown: false };
        let mut written = Written::default();
        for part in ["ab", "cdef", "\ngh", "ij\n"] {
            written.keep(part.as_bytes(), limits);
        }
        assert_eq!(written.head, b"abcd");
        assert_eq!(written.tail, b"\nghij\n".as_slice());
        assert_eq!(written.last_line(), Some((7, "ghij".to_owned())));
        written.keep(b"a long line", limits);
        assert_eq!(written.last_line(), None);
    }

    #[test]
    fn what_no_database_stores_is_replaced() {
        assert_eq!(text(b"a\0b\xff\n"), "a\u{fffd}b\u{fffd}");
    }
}
