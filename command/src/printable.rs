//! Untrusted text, made fit for a terminal and for a page. JSON has it as it is.

/// Characters that a reader does not see, or that turn text around: with them one text passes for another.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Text of many lines: a visible mark stands for each hidden character but line breaks and tabs.
pub fn printable(text: &str) -> String {
    let shown = |c: char| if is_hidden(c) && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

/// The same on one line: no text begins a line or a column that looks like ours.
pub fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_hidden() {
        for hidden in [
            '\0',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\r',
            '\u{61c}',
            '\u{200b}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0000}',
            '\u{e007f}',
        ] {
            for shown in [printable, one_line] {
                assert_eq!(shown(&format!("a{hidden}b")), "a\u{fffd}b", "{hidden:?}");
            }
        }
        assert_eq!(printable("a\r\nb\tc é 漢 🚀"), "a\nb\tc é 漢 🚀");
        assert_eq!(one_line("a\r\nb\nc\td é"), "a\u{fffd}b\u{fffd}c\u{fffd}d é");
    }
}
