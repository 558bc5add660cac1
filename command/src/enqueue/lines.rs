//! JSON lines from a file or standard input.

use super::arguments::Defaults;
use crate::failure::{Failure, Result, usage};
use readpast::{NewItem, QueueSpec};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The lines that are not blank, with their numbers.
pub struct InputLines {
    reader: Box<dyn BufRead>,
    name: String,
    number: usize,
    bytes: Option<u64>,
}

/// A line.
pub struct InputLine {
    number: usize,
    text: Vec<u8>,
}

impl InputLines {
    /// A file, or standard input for none and for `-`.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let reader = Box::new(BufReader::with_capacity(1 << 16, io::stdin()));
            return Ok(Self { reader, name: "standard input".to_owned(), number: 0, bytes: None });
        };
        let cannot = |error: io::Error| usage(format!("{} cannot be read: {error}", path.display()));
        let file = File::open(path).map_err(cannot)?;
        let bytes = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        let reader = Box::new(BufReader::with_capacity(1 << 16, file));
        Ok(Self { reader, name: path.display().to_string(), number: 0, bytes })
    }

    /// The length of the input, if known.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }
}

impl Iterator for InputLines {
    type Item = Result<InputLine>;

    fn next(&mut self) -> Option<Result<InputLine>> {
        loop {
            let mut text = Vec::new();
            match self.reader.read_until(b'\n', &mut text) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let message = format!("{} cannot be read further: {error}", self.name);
                    return Some(Err(Failure::Partly(message, crate::exit::Exit::Usage)));
                }
            }
            // Windows programs begin text with a byte order mark.
            if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
                text.drain(..3);
            }
            if !text.iter().all(u8::is_ascii_whitespace) {
                return Some(Ok(InputLine { number: self.number, text }));
            }
        }
    }
}

impl InputLine {
    /// Its length.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The item on it, checked; or its number and the mistake.
    pub fn item(
        &self,
        spec: &QueueSpec,
        defaults: &Defaults,
    ) -> std::result::Result<(usize, NewItem), (usize, String)> {
        let text = std::str::from_utf8(&self.text).map_err(|_| (self.number, "this is not UTF-8".to_owned()))?;
        let item = defaults.parse(text.trim()).map_err(|why| (self.number, why))?;
        spec.check_item(&item).map_err(|error| (self.number, error.message().to_owned()))?;
        Ok((self.number, item))
    }
}
