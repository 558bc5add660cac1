//! The file in which a running command writes how far it is: READPAST_PROGRESS names it. Its last line counts, so that a command may
//! write it anew each time or append to it. It is looked at while the command runs, and never read as a directive: no mistake in it
//! can cost the item anything.

use super::directive_file::{DirectiveFile, open, utf16};
use readpast::Engine;
use std::cell::{Cell, RefCell};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

/// The variable that names the file.
pub const VARIABLE: &str = "READPAST_PROGRESS";

/// The least pause between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// The bytes of its end that are read: more than the longest line that is kept.
const END: u64 = 4096;

/// The file of one command. The drop removes it.
pub struct ProgressFile {
    path: PathBuf,
    looked: Cell<Option<Instant>>,
    /// The last line that was reported.
    reported: RefCell<String>,
}

impl ProgressFile {
    /// Beside the file for the directive.
    pub fn beside(directive: &DirectiveFile) -> Self {
        let path = directive.path().with_extension("progress");
        Self { path, looked: Cell::default(), reported: RefCell::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reports the last line, if it is another than before.
    pub fn look(&self, engine: &Engine, key: &str, attempt: i32) {
        if self.looked.get().is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked.set(Some(Instant::now()));
        let Some(line) = last_line(&self.path).ok().filter(|line| *line != *self.reported.borrow()) else { return };
        let (percent, text) = parts(&line);
        // The queue keeps progress: nothing else can be wrong that a command could do anything about.
        let _ = engine.progress(key, attempt, percent, text);
        self.reported.replace(line);
    }
}

impl Drop for ProgressFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The last line that is not blank; empty where there is none.
fn last_line(path: &Path) -> io::Result<String> {
    let mut file = open(path)?;
    let mut mark = [0; 2];
    let is_wide = file.read(&mut mark)? == 2 && mark == [0xff, 0xfe];
    let length = file.metadata()?.len();
    // A character of UTF-16 begins at an even place.
    file.seek(SeekFrom::Start(if is_wide {
        length.saturating_sub(END).max(2) & !1
    } else {
        length.saturating_sub(END)
    }))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    let text = if is_wide { utf16(&end).unwrap_or_default() } else { String::from_utf8_lossy(&end).into_owned() };
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok(line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').to_owned())
}

/// The percentage with which a line begins, if it does, and the rest.
fn parts(line: &str) -> (Option<i32>, Option<&str>) {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    let rest = rest.trim_start().strip_prefix('%').unwrap_or(rest);
    match number.parse().ok().filter(|_| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
        Some(percent) => (Some(percent), Some(rest.trim_start()).filter(|rest| !rest.is_empty())),
        None => (None, Some(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::directive_file::DirectiveFolder;
    use super::*;

    #[test]
    fn a_line_begins_with_a_percentage_or_is_text() {
        for (line, is) in [
            ("42", (Some(42), None)),
            ("42 %", (Some(42), None)),
            ("42% page 42 of 100", (Some(42), Some("page 42 of 100"))),
            ("42 page 42 of 100", (Some(42), Some("page 42 of 100"))),
            ("page 42", (None, Some("page 42"))),
            ("3rd page", (None, Some("3rd page"))),
            ("99999999999 bytes", (None, Some("99999999999 bytes"))),
        ] {
            assert_eq!(parts(line), is, "{line}");
        }
    }

    #[test]
    fn the_last_line_counts_as_each_shell_writes_it() {
        let folder = DirectiveFolder::begin().unwrap();
        let file = ProgressFile::beside(&folder.next().unwrap());
        assert!(last_line(file.path()).is_err(), "not there yet");
        let wide: Vec<u8> = "\u{feff}1 a\r\n2 b\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let long = format!("{}\n3 é\n", "x".repeat(9000));
        for (bytes, line) in [
            (&b""[..], ""),
            (b"\n \n", ""),
            (b"1 a\n2 b", "2 b"),
            (b"1 a\n2 b\n\n", "2 b"),
            (b"\xef\xbb\xbf5 a\r\n", "5 a"),
            (&wide, "2 b"),
            (long.as_bytes(), "3 é"),
        ] {
            fs::write(file.path(), bytes).unwrap();
            assert_eq!(last_line(file.path()).unwrap(), line);
        }
        let path = file.path().to_owned();
        drop(file);
        assert!(!path.exists());
    }
}
