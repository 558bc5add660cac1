//! `work --metrics-file`: the process's figures in a file, for collectors of such files.

use crate::failure::{Result, usage};
use crate::output::note;
use readpast::{Error, ErrorKind};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use uuid::Uuid;

/// Prometheus' usual interval.
const INTERVAL: Duration = Duration::from_secs(15);

/// Writes the file until it is dropped, and then a last time.
pub struct FiguresFile {
    path: PathBuf,
    /// Sends nothing: the thread ends when it is gone.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FiguresFile {
    /// Writes it for the first time: a wrong path must show before there is work.
    pub fn begin(path: Option<&Path>) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        write(path).map_err(|error| usage(format!("--metrics-file: {} cannot be written: {error}", path.display())))?;
        let (stop, stopped) = mpsc::channel();
        let of_thread = path.to_owned();
        let run = move || {
            let mut is_reported = false;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                is_reported = keep(&of_thread, is_reported);
            }
        };
        let thread = thread::Builder::new().name("figures".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Exhausted, format!("the thread that writes the metrics cannot be started: {error}"))
        })?;
        Ok(Some(Self { path: path.to_owned(), stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for FiguresFile {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It returns nothing, and cannot have panicked.
        let _ = self.thread.take().map(JoinHandle::join);
        keep(&self.path, false);
    }
}

/// Writes it; work goes on when that fails, which is reported once. Returns whether it was.
fn keep(path: &Path, is_reported: bool) -> bool {
    match write(path) {
        Ok(()) => false,
        Err(error) => {
            if !is_reported {
                note(&format!("{} cannot be written: {error}", path.display()));
            }
            true
        }
    }
}

/// Writes it whole or not at all: a reader meanwhile sees the old figures. Others may write into the folder too: a new random
/// name cannot be a link to another file, and only a new file is written.
fn write(path: &Path) -> io::Result<()> {
    let mut beside = OsString::from(path);
    beside.push(format!(".{}.new", Uuid::now_v7().simple()));
    let mut file = File::create_new(&beside)?;
    let written = file.write_all(readpast::metrics().to_string().as_bytes());
    drop(file);
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}
