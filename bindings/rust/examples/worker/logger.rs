//! Standard error as the logger. The library logs through the crate `log`, and a program chooses where the lines end. Most
//! choose a crate like `env_logger` or `tracing`; this is the least such logger.

use log::{LevelFilter, Log, Metadata, Record};

struct ToStandardError;

pub fn start() {
    // Only a second logger is refused, and there is none.
    let _ = log::set_logger(&ToStandardError);
    log::set_max_level(LevelFilter::Warn);
}

impl Log for ToStandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The driver manager's own diagnostics come with the errors too.
        metadata.target().starts_with("readpast")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("{}: {}", record.level().as_str().to_ascii_lowercase(), record.args());
        }
    }

    fn flush(&self) {}
}
