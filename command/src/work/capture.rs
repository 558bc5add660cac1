//! A command's output in bounded memory: the beginning, the end, and the length.

use super::mark::{self, BEGINNING};
use super::object::DirectiveObject;
use std::collections::VecDeque;

/// An output.
#[derive(Debug, Default)]
pub struct Written {
    limits: Limits,
    /// The beginning.
    pub head: Vec<u8>,
    /// The end; it may overlap the beginning.
    tail: VecDeque<u8>,
    /// Its length in all.
    total: u64,
    /// The beginning of the present line, and its first bytes, which show its kind if it is too long for the tail.
    line: (u64, Vec<u8>),
    /// The same of the line before, while the present line is blank.
    before: (u64, Vec<u8>),
    /// The last object: it may have more lines, or more before its mark, than is kept.
    object: DirectiveObject,
}

/// The limits of an output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    pub head: usize,
    pub tail: usize,
    /// Whether a directive at the end is searched for.
    pub follows: bool,
}

impl Written {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Adds bytes.
    pub fn keep(&mut self, bytes: &[u8]) {
        if self.limits.follows {
            self.follow(bytes);
        }
        self.total += bytes.len() as u64;
        let room = self.limits.head.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[bytes.len().saturating_sub(self.limits.tail)..]);
        let surplus = self.tail.len().saturating_sub(self.limits.tail);
        self.tail.drain(..surplus);
    }

    fn follow(&mut self, bytes: &[u8]) {
        self.object.follow(bytes, self.total);
        let mut total = self.total;
        for part in bytes.split_inclusive(mark::ends_line) {
            self.begin_line(part);
            total += part.len() as u64;
            if part.last().is_some_and(mark::ends_line) {
                let ended = std::mem::replace(&mut self.line, (total, Vec::new()));
                if !mark::is_blank(&ended.1) {
                    self.before = ended;
                }
            }
        }
    }

    /// Keeps the beginning of a line, without the blanks before it.
    fn begin_line(&mut self, mut part: &[u8]) {
        let begun = &mut self.line.1;
        while !part.is_empty() {
            if begun.len() == BEGINNING {
                let blanks = BEGINNING - mark::bare_start(begun).len();
                if blanks == 0 {
                    return;
                }
                begun.drain(..blanks);
            }
            let (now, later) = part.split_at((BEGINNING - begun.len()).min(part.len()));
            begun.extend_from_slice(now);
            part = later;
        }
    }

    /// The end, in one piece.
    pub fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    /// The start of the tail.
    pub fn tail_start(&self) -> u64 {
        self.total - self.tail.len() as u64
    }

    /// The object at the end.
    pub fn object(&self) -> &DirectiveObject {
        &self.object
    }

    /// The first bytes of the last line that is not blank, if the line began before the kept end.
    pub fn cut_line(&self) -> Option<&[u8]> {
        let (start, line) = if mark::is_blank(&self.line.1) { &self.before } else { &self.line };
        (*start < self.tail_start()).then_some(line)
    }
}

/// Bytes as text that a database stores: bytes that are not UTF-8, and U+0000, are replaced.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept_and_a_line_that_is_cut_is_known() {
        let mut written = Written::new(Limits { head: 4, tail: 6, follows: true });
        for part in ["ab", "cdef", "\ngh", "ij\n"] {
            written.keep(part.as_bytes());
        }
        assert_eq!((written.head.as_slice(), written.tail().as_slice()), (&b"abcd"[..], &b"\nghij\n"[..]));
        assert_eq!((written.tail_start(), written.cut_line()), (6, None));
        written.keep(b"a long line");
        assert_eq!(written.cut_line(), Some(&b"a long line"[..]));
        written.keep(b"\n \n");
        assert_eq!(written.cut_line(), Some(&b"a long line\n"[..]), "blank lines after it");
        written.keep(b"b\n");
        assert_eq!(written.cut_line(), None);
    }

    #[test]
    fn bytes_that_no_database_stores_are_replaced() {
        assert_eq!(text(b"a\0b\xff\n"), "a\u{fffd}b\u{fffd}");
    }
}
