//! Untrusted text, made fit for a terminal.

/// Replaces control characters; queue content is untrusted.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}
