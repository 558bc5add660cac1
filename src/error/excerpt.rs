//! Messages of a length that a person reads and a log takes, for any text of a caller.

use std::borrow::Cow;
use std::fmt;

/// The most bytes of a message.
const MOST: usize = 8192;

/// The most bytes of its end that a cut message keeps: the remedy is there.
const END: usize = 1024;

/// How many characters of a caller's text a message shows.
const SHOWN: usize = 200;

/// The most characters of an error in a line of a log.
const LOGGED: usize = 500;

/// An error as text for a log line: whole, or its beginning and its end, which often has the cause, and how many characters were
/// left out. The item's error column has all of it.
#[must_use]
pub fn log_text(error: &str) -> Cow<'_, str> {
    // A text of so few bytes has no more characters.
    let count = if error.len() <= LOGGED { 0 } else { error.chars().count() };
    if count <= LOGGED {
        return error.into();
    }
    let place = |characters| error.char_indices().nth(characters).map_or(error.len(), |(at, _)| at);
    let (begin, end) = (&error[..place(LOGGED / 2)], &error[place(count - LOGGED / 2)..]);
    format!("{begin} … ({} characters left out) … {end}", count - LOGGED).into()
}

/// A caller's text in a message: in quotes, and of long text the beginning and its length.
pub(crate) struct Excerpt<'a>(pub(crate) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        match text.char_indices().nth(SHOWN) {
            None => write!(f, "{text:?}"),
            Some((end, _)) => write!(f, "{:?}... ({} characters)", &text[..end], text.chars().count()),
        }
    }
}

/// `message`, or its beginning and end when it is too long.
pub(crate) fn cut(message: String) -> String {
    if message.len() <= MOST {
        return message;
    }
    let boundary = |mut at: usize| {
        while !message.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (begin, end) = (boundary(MOST - END), boundary(message.len() - END));
    format!("{} ... ({} bytes left out) ... {}", &message[..begin], end - begin, &message[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_to_its_beginning() {
        assert_eq!(Excerpt("a\"b").to_string(), "\"a\\\"b\"");
        let (just, long) = ("\u{e9}".repeat(SHOWN), "\u{e9}".repeat(1_000_000));
        assert_eq!(Excerpt(&just).to_string(), format!("{just:?}"));
        assert_eq!(Excerpt(&long).to_string(), format!("{just:?}... (1000000 characters)"));
    }

    #[test]
    fn a_log_has_beginning_and_end_of_a_long_error() {
        let just = "\u{1f642}".repeat(LOGGED);
        assert_eq!(log_text(&just), just);
        let long = format!("begin {} end", "\u{1f642}".repeat(16_000));
        let line = log_text(&long);
        assert!(line.starts_with("begin \u{1f642}") && line.ends_with("\u{1f642} end"), "{line}");
        assert!(line.contains(" … (15510 characters left out) … ") && line.chars().count() == LOGGED + 33, "{line}");
    }

    #[test]
    fn a_long_message_keeps_beginning_and_end() {
        let just = "x".repeat(MOST);
        assert_eq!(cut(just.clone()), just);
        for filling in ["x", "\u{1f642}"] {
            let message = cut(format!("begin {} end", filling.repeat(100_000)));
            assert!(message.starts_with("begin ") && message.ends_with(" end"), "{message}");
            assert!(message.contains("bytes left out") && message.len() < MOST + 100, "{}", message.len());
        }
    }
}
