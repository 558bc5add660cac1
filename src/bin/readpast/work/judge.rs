//! What becomes of an item, from the exit status and the output of its command.

use super::Args;
use super::capture::text;
use super::child::{End, Why, written};
use readpast::{Action, Item, Settlement};
use serde_json::{Map, Value};

/// The end of an item's claim, as its command wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub action: Action,
    pub step: Option<String>,
    pub response: Option<String>,
    pub error: Option<String>,
    pub delay_ms: Option<i64>,
    pub due: Option<String>,
}

impl Verdict {
    /// `action`, and nothing more to say.
    pub fn new(action: Action) -> Self {
        Self { action, step: None, response: None, error: None, delay_ms: None, due: None }
    }

    /// Another attempt, and why.
    pub fn retry(error: String) -> Self {
        Self { error: Some(error), ..Self::new(Action::Retry) }
    }

    /// The settlement of `item`.
    pub fn settlement<'a>(&'a self, item: &Item<'a>) -> Settlement<'a> {
        Settlement {
            step: self.step.as_deref(),
            response: self.response.as_deref(),
            error: self.error.as_deref(),
            delay_ms: self.delay_ms,
            due: self.due.as_deref(),
            ..Settlement::new(item, self.action)
        }
    }
}

/// What is to become of the item; `None` when it is not ours to say.
pub fn verdict(end: &End, args: &Args) -> Option<Verdict> {
    let said = match end.why {
        Some(Why::Lost) => return None,
        Some(Why::Terminated) => return Some(Verdict::new(Action::Release)),
        Some(Why::TimedOut) => Verdict::retry(with_errors(end, "the command took too long and was ended")),
        None => judged(end, args),
    };
    let needs_delay = said.action == Action::Retry && said.delay_ms.is_none() && said.due.is_none();
    let delay = args.retry_delay.filter(|_| needs_delay).and_then(|delay| i64::try_from(delay.as_millis()).ok());
    Some(Verdict { delay_ms: delay.or(said.delay_ms), ..said })
}

fn judged(end: &End, args: &Args) -> Verdict {
    let (directive, response) = match read_output(end) {
        Ok(output) => output,
        Err(why) => return Verdict::retry(format!("the command's last line is not understood: {why}")),
    };
    let asked = directive.unwrap_or_default();
    let (action, error) = match (end.code, end.signal) {
        (Some(0), _) => (asked.action.unwrap_or(Action::Complete), None),
        (Some(code), _) => {
            let fails = u8::try_from(code).is_ok_and(|code| args.fail_on.contains(&code));
            let action = if fails { Action::Fail } else { Action::Retry };
            (action, Some(with_errors(end, &format!("exit status {code}"))))
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            (Action::Retry, Some(with_errors(end, &format!("the command was ended by signal {signal}"))))
        }
    };
    Verdict {
        action,
        step: asked.step,
        // Of an attempt that failed, only what it says expressly is a response.
        response: asked.response.or(Some(response).filter(|text| action == Action::Complete && !text.is_empty())),
        error: asked.error.or(error),
        delay_ms: asked.delay_ms,
        due: asked.due,
    }
}

/// What the last line of standard output may ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Directive {
    action: Option<Action>,
    step: Option<String>,
    response: Option<String>,
    error: Option<String>,
    delay_ms: Option<i64>,
    due: Option<String>,
}

/// The directive on the last line, if there is one, and what stands before it.
fn read_output(end: &End) -> Result<(Option<Directive>, String), String> {
    written(&end.stdout, |stdout| {
        if let Some((start, line)) = stdout.last_line()
            && let Some(directive) = directive(&line)?
        {
            let before = usize::try_from(start).unwrap_or(usize::MAX).min(stdout.head.len());
            return Ok((Some(directive), text(&stdout.head[..before])));
        }
        Ok((None, text(&stdout.head)))
    })
}

/// A line that begins like a directive must be one: a mistake in it would otherwise be taken for consent.
fn directive(line: &str) -> Result<Option<Directive>, String> {
    let bare: String = line.chars().filter(|c| !c.is_whitespace()).take(12).collect();
    if bare != r#"{"readpast":"# {
        return Ok(None);
    }
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let members =
        value.as_object().filter(|object| object.len() == 1).and_then(|object| object["readpast"].as_object());
    members.ok_or_else(|| "\"readpast\" must be an object, and alone".to_owned()).and_then(members_of).map(Some)
}

fn members_of(members: &Map<String, Value>) -> Result<Directive, String> {
    let mut directive = Directive::default();
    for (key, value) in members {
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| format!("{key:?} must be text"));
        match key.as_str() {
            _ if value.is_null() => {}
            "action" => directive.action = Some(action(&text()?)?),
            "step" => directive.step = Some(text()?),
            // Any JSON will do for a response.
            "response" => directive.response = Some(text().unwrap_or_else(|_| value.to_string())),
            "error" => directive.error = Some(text()?),
            "due" => directive.due = Some(text()?),
            "delay_ms" => directive.delay_ms = Some(value.as_i64().ok_or("\"delay_ms\" must be a whole number")?),
            _ => return Err(format!("there is no {key:?}")),
        }
    }
    Ok(directive)
}

fn action(word: &str) -> Result<Action, String> {
    Ok(match word {
        "complete" => Action::Complete,
        "complete_partially" => Action::CompletePartially,
        "fail" => Action::Fail,
        "retry" => Action::Retry,
        "release" => Action::Release,
        "cancel" => Action::Cancel,
        "pause" => Action::Pause,
        "terminate" => Action::Terminate,
        _ => return Err(format!("there is no action {word:?}")),
    })
}

/// The end of standard error, and how the command ended.
fn with_errors(end: &End, how: &str) -> String {
    let errors = written(&end.stderr, |stderr| text(&stderr.tail.iter().copied().collect::<Vec<_>>()));
    if errors.is_empty() { how.to_owned() } else { format!("{} ({how})", errors.trim_start_matches('\u{fffd}')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read_or_refused_but_never_guessed() {
        let line = r#"{"readpast": {"action": "retry", "delay_ms": 5, "step": "sent", "response": {"id": 1}}}"#;
        let read = directive(line).unwrap().unwrap();
        assert_eq!((read.action, read.delay_ms), (Some(Action::Retry), Some(5)));
        assert_eq!((read.step.as_deref(), read.response.as_deref()), (Some("sent"), Some(r#"{"id":1}"#)));
        assert_eq!(directive("done").unwrap(), None);
        assert_eq!(directive(r#"{"id": 1}"#).unwrap(), None);
        for line in [
            r#"{"readpast": "#,
            r#"{"readpast": 1}"#,
            r#"{"readpast": {"action": "explode"}}"#,
            r#"{"readpast": {"acton": "fail"}}"#,
            r#"{"readpast": {"delay_ms": "5"}}"#,
            r#"{"readpast": {}, "more": 1}"#,
        ] {
            assert!(directive(line).is_err(), "{line}");
        }
    }
}
