//! The library's log on standard error: warnings, and with `--verbose` everything.

use crate::output::remark;
use log::{LevelFilter, Log, Metadata, Record};

struct ToStandardError;

/// Starts it.
pub fn start(verbose: bool, quiet: bool) {
    // Only a second logger is refused, and there is none.
    let _ = log::set_logger(&ToStandardError);
    set_level(verbose, quiet);
}

/// Sets the level from now on.
pub fn set_level(verbose: bool, quiet: bool) {
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
            remark(record.level(), &format!("{}: {}", record.level().as_str().to_ascii_lowercase(), record.args()));
        }
    }

    fn flush(&self) {}
}
