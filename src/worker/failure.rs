//! The text of a failed handler for the error column.

use std::{any::Any, backtrace::Backtrace, backtrace::BacktraceStatus, cell::Cell, error::Error, fmt::Write as _};
use std::{panic, sync::Once};

/// The text of an error, and of its sources, a line for each.
pub(super) fn text_of(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors quote their source.
        if !text.ends_with(&cause_text) {
            let _ = write!(text, "\ncaused by: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The text of a panic, from its payload.
pub(super) fn text_of_panic(payload: &(dyn Any + Send)) -> String {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message.as_str(),
        _ => "with a value that is not text",
    };
    format!("panicked: {message}{}", PLACE.take().unwrap_or_default())
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Forgets an earlier panic that a handler caught by itself.
pub(super) fn forget_place() {
    PLACE.set(None);
}

/// Adds the place to the errors of panicking handlers: file and line, and, if `RUST_BACKTRACE` is set, the backtrace.
///
/// Only a panic hook receives these, and a program has just one. So the program decides: this puts a hook before the present one,
/// which is still called. Call it when the program starts, after it has set a hook of its own. Further calls do nothing.
pub fn trace_panics() {
    static ONCE: Once = Once::new();

    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let mut place = info.location().map(|location| format!("\nat {location}")).unwrap_or_default();
            let backtrace = Backtrace::capture();
            if backtrace.status() == BacktraceStatus::Captured {
                let _ = write!(place, "\n{backtrace}");
            }
            PLACE.set(Some(place));
            previous(info);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot send")]
    struct Cannot(#[source] Why);

    #[derive(Debug, thiserror::Error)]
    #[error("no route: {0}")]
    struct Why(#[source] std::num::ParseIntError);

    #[test]
    fn sources_are_named_once() {
        let error = Cannot(Why("x".parse::<i32>().unwrap_err()));
        assert_eq!(text_of(&error), "cannot send\ncaused by: no route: invalid digit found in string");
    }

    #[test]
    fn whatever_a_panic_carries_there_is_a_text() {
        assert_eq!(text_of_panic(&"a"), "panicked: a");
        assert_eq!(text_of_panic(&String::from("b")), "panicked: b");
        assert_eq!(text_of_panic(&7), "panicked: with a value that is not text");
    }
}
