//! The progress of long work, when standard error is a terminal. (Otherwise nothing is drawn.)

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A bar where the length of the input is known, otherwise a count. The drop removes it.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn start(bytes: Option<u64>, hidden: bool) -> Self {
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let (bar, template) = match bytes {
            Some(bytes) => {
                (ProgressBar::with_draw_target(Some(bytes), target), "{bar:40} {percent:>3} %  {msg}  {eta} left")
            }
            None => (ProgressBar::with_draw_target(None, target), "{spinner} {msg}  {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        // One call may take long: the clock goes on.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Counts bytes read.
    pub fn read(&self, bytes: usize) {
        self.0.inc(bytes as u64);
    }

    /// Sets the number of items done.
    pub fn done(&self, items: u64) {
        self.0.set_message(format!("{items} items"));
    }

    /// Writes to standard error without tearing the bar.
    pub fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
