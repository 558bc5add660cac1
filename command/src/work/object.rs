//! The object at the end of output, followed byte by byte, once: an object that is too long to be kept leaves no other trace.

use super::mark::{self, BEGINNING};

/// An object as far as it has been written. Output that is not JSON is followed as far as possible.
#[derive(Debug, Default)]
pub struct DirectiveObject {
    /// Its beginning, and its first bytes.
    begun: Option<(u64, Vec<u8>)>,
    /// The number of open braces and brackets.
    depth: usize,
    text: Text,
    /// The name of its present or last own member.
    name: Vec<u8>,
    has_directive: bool,
    line: LineState,
}

/// The state of the present line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LineState {
    #[default]
    Nothing,
    Blanks,
    Something,
}

/// The state of the present text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
    /// It has ended, and only blanks have come since.
    Ended,
}

/// The member of a directive.
const NAME: &[u8] = b"readpast";

impl DirectiveObject {
    /// Adds bytes; `at` is their place in the output.
    pub fn follow(&mut self, bytes: &[u8], at: u64) {
        for (byte, at) in bytes.iter().zip(at..) {
            self.next(*byte, at);
        }
    }

    /// The start of the last object, if nothing follows it and it looks like a directive: by its beginning, or by one of its own
    /// members, wherever it stands among them.
    pub fn directive_at(&self) -> Option<u64> {
        let (at, beginning) = self.begun.as_ref()?;
        (self.has_directive || mark::looks_like_one(beginning)).then_some(*at)
    }

    fn next(&mut self, byte: u8, at: u64) {
        if mark::ends_line(&byte) {
            self.line = LineState::Nothing;
            // A JSON text ends with its line.
            if matches!(self.text, Text::Inside | Text::Escaped) {
                self.text = Text::Outside;
            }
        } else if self.line != LineState::Something {
            if byte.is_ascii_whitespace() || byte.is_ascii_control() {
                self.line = LineState::Blanks;
            } else {
                self.begin_line(byte, at);
            }
        }
        let Some((_, beginning)) = &mut self.begun else { return };
        if beginning.len() < BEGINNING {
            beginning.push(byte);
        }
        match (self.text, byte) {
            (Text::Inside, b'\\') => self.text = Text::Escaped,
            (Text::Inside, b'"') => self.text = Text::Ended,
            (Text::Inside | Text::Escaped, _) => {
                self.text = Text::Inside;
                // One character more than the name's shows a longer one.
                if self.name.len() <= NAME.len() {
                    self.name.push(byte);
                }
            }
            (_, b'"') => {
                self.text = Text::Inside;
                self.name.clear();
            }
            (Text::Ended, b':') => {
                self.has_directive |= self.depth == 1 && self.name == NAME;
                self.text = Text::Outside;
            }
            (_, byte) if byte.is_ascii_whitespace() => {}
            (_, byte) => {
                self.text = Text::Outside;
                match byte {
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }

    /// Handles a line's first visible byte: a brace begins an object, and behind a whole one anything else is other output.
    /// Within an open object only an unindented brace begins another.
    fn begin_line(&mut self, byte: u8, at: u64) {
        let is_open = self.begun.is_some() && self.depth > 0;
        let begins = byte == b'{' && (!is_open || self.line == LineState::Nothing);
        if begins || !is_open {
            *self = Self { begun: begins.then(|| (at, Vec::new())), ..Self::default() };
        }
        self.line = LineState::Something;
    }
}
