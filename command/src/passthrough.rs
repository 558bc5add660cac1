//! Passes output of started programs on to standard error. A terminal obeys some characters, which are replaced. A file or a
//! journal gets the bytes unchanged.

use crate::printable::printable;
use std::io::{self, IsTerminal, Write};
use std::str;
use std::sync::OnceLock;

/// One output of one program.
pub struct Passthrough {
    cleans: bool,
    /// The beginning of an unfinished character.
    rest: Vec<u8>,
    is_amid_line: bool,
}

impl Passthrough {
    pub fn new() -> Self {
        static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
        Self::of(*IS_TERMINAL.get_or_init(|| io::stderr().is_terminal()))
    }

    fn of(cleans: bool) -> Self {
        Self { cleans, rest: Vec::new(), is_amid_line: false }
    }

    /// Passes bytes on. Nothing depends on their arrival.
    pub fn pass(&mut self, bytes: &[u8]) {
        let _ = if self.cleans {
            let text = self.clean(bytes);
            io::stderr().write_all(text.as_bytes())
        } else {
            io::stderr().write_all(bytes)
        };
        self.is_amid_line = bytes.last().map_or(self.is_amid_line, |last| *last != b'\n');
    }

    fn clean(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let known = std::mem::take(&mut self.rest);
        let (mut text, mut place) = (String::new(), 0);
        for chunk in known.utf8_chunks() {
            text.push_str(chunk.valid());
            place += chunk.valid().len() + chunk.invalid().len();
            let goes_on = |error: str::Utf8Error| error.error_len().is_none();
            if place == known.len() && str::from_utf8(chunk.invalid()).is_err_and(goes_on) {
                self.rest = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        // Programs that show their progress write over their line.
        printable(&text.replace("\r\n", "\n").replace('\r', "\n"))
    }
}

impl Drop for Passthrough {
    /// Lets our next line begin at the left.
    fn drop(&mut self) {
        if self.is_amid_line {
            let _ = io::stderr().write_all(b"\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(pieces: &[&[u8]]) -> String {
        let mut passthrough = Passthrough::of(true);
        pieces.iter().map(|piece| passthrough.clean(piece)).collect()
    }

    #[test]
    fn a_terminal_gets_no_commands() {
        assert_eq!(
            cleaned(&[b"a\x1b[2Jb\x1b]0;title\x07\n\tc\x7f"]),
            "a\u{fffd}[2Jb\u{fffd}]0;title\u{fffd}\n\tc\u{fffd}"
        );
        assert_eq!(cleaned(&["\u{9b}31m".as_bytes()]), "\u{fffd}31m");
        assert_eq!(cleaned(&[b" 50 %\r100 %\r\ndone\n"]), " 50 %\n100 %\ndone\n");
    }

    #[test]
    fn a_character_may_come_in_pieces() {
        assert_eq!(cleaned(&[b"caf\xc3", b"\xa9 \xf0\x9f", b"\x9a\x80", b"."]), "café 🚀.");
        assert_eq!(cleaned(&[b"\xff\xc3", b"x\xe2\x82", b"\x1b"]), "\u{fffd}\u{fffd}x\u{fffd}\u{fffd}");
    }
}
