//! Other people's text, made fit for a terminal.

/// Text that does nothing to a terminal: whoever enqueued it need not be a friend.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}
