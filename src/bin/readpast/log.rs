//! What the library logs goes to standard error: warnings, and with `--verbose` everything.

use crate::output::note;
use log::{LevelFilter, Log, Metadata, Record};

struct ToStandardError;

/// Begins.
pub fn start(verbose: bool, quiet: bool) {
    // Only a second logger is refused, and there is none.
    let _ = log::set_logger(&ToStandardError);
    log::set_max_level(match (verbose, quiet) {
        (true, _) => LevelFilter::Debug,
        (_, true) => LevelFilter::Error,
        _ => LevelFilter::Warn,
    });
}

impl Log for ToStandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The driver manager's own diagnostics come with the errors too.
        metadata.target().starts_with("readpast")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            note(&format!("{}: {}", record.level().as_str().to_ascii_lowercase(), record.args()));
        }
    }

    fn flush(&self) {}
}
