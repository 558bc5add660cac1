//! The result mapping: the exit status and the output of a command become a verdict.

use super::Args;
use super::capture::text;
use super::child::{ChildEnd, EndReason};
use super::directive::Directive;
use readpast::{Action, Item, Settlement};

/// The end of an item's claim, as its command decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandVerdict {
    pub action: Action,
    pub step: Option<String>,
    pub response: Option<String>,
    pub error: Option<String>,
    pub delay_ms: Option<i64>,
    pub due: Option<String>,
    pub set: Option<String>,
    pub then: Option<String>,
    /// The error without the command's output.
    pub brief: Option<String>,
}

impl CommandVerdict {
    /// `action`, without any texts.
    pub fn new(action: Action) -> Self {
        let (response, error, brief) = (None, None, None);
        Self { action, step: None, response, error, delay_ms: None, due: None, set: None, then: None, brief }
    }

    /// Another attempt, after this end of a command.
    fn retry(end: &ChildEnd, how: String) -> Self {
        Self { error: Some(with_errors(end, &how)), brief: Some(how), ..Self::new(Action::Retry) }
    }

    /// The settlement of `item`.
    pub fn settlement<'a>(&'a self, item: &Item<'a>) -> Settlement<'a> {
        Settlement {
            step: self.step.as_deref(),
            response: self.response.as_deref(),
            error: self.error.as_deref(),
            delay_ms: self.delay_ms,
            due: self.due.as_deref(),
            set: self.set.as_deref(),
            then: self.then.as_deref(),
            ..Settlement::new(item, self.action)
        }
    }
}

/// The verdict; `None` for a lost item.
pub fn verdict(end: &ChildEnd, args: &Args) -> Option<CommandVerdict> {
    let verdict = match end.why {
        Some(EndReason::Lost) => return None,
        Some(EndReason::Terminated) => return Some(CommandVerdict::new(Action::Release)),
        Some(EndReason::TimedOut) => CommandVerdict::retry(end, "the command took too long and was ended".to_owned()),
        // Another worker may have it.
        Some(EndReason::NoMemory) => {
            let how = "this worker lacks the memory to start a command for the item";
            CommandVerdict::retry(end, how.to_owned())
        }
        None => from_exit(end, args),
    };
    let needs_delay = verdict.action == Action::Retry && verdict.delay_ms.is_none() && verdict.due.is_none();
    let delay = args.retry_delay.filter(|_| needs_delay).and_then(|delay| i64::try_from(delay.as_millis()).ok());
    Some(CommandVerdict { delay_ms: delay.or(verdict.delay_ms), ..verdict })
}

/// The remark on a directive that was cut within a character.
const MENDED: &str = "half of a surrogate pair in the directive was replaced by U+FFFD";

fn from_exit(end: &ChildEnd, args: &Args) -> CommandVerdict {
    let nothing = Directive::default();
    let (asked, unread) = match &end.found.directive {
        Ok(asked) => (asked.as_ref().unwrap_or(&nothing), None),
        Err(why) => (&nothing, Some(format!("the command's directive cannot be read: {why}"))),
    };
    if let (Some(0), Some(why)) = (end.code, &unread) {
        // An unreadable directive must not count as success.
        return CommandVerdict::retry(end, why.clone());
    }
    let (action, how) = match (end.code, end.signal) {
        (Some(0), _) => (asked.action.unwrap_or(Action::Complete), None),
        (Some(code), _) => {
            let fails = u8::try_from(code).is_ok_and(|code| args.fail_on.contains(&code));
            let action = if fails { Action::Fail } else { Action::Retry };
            (action, Some(format!("exit status {code}")))
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            (Action::Retry, Some(format!("the command was ended by signal {signal}")))
        }
    };
    // The exit status says enough.
    let with_why = |error: String| unread.as_ref().map_or_else(|| error.clone(), |why| format!("{error}; {why}"));
    let error = how.as_ref().map(|how| with_why(with_errors(end, how)));
    // A failed attempt has only an explicit response.
    let response = || text(&end.stdout.head[..end.found.before.min(end.stdout.head.len())]);
    let written = (action == Action::Complete).then(response).filter(|text| !text.is_empty());
    let mended = |error: Option<String>| match error {
        error if !asked.is_mended => error,
        error => Some(error.map(|error| error + "; ").unwrap_or_default() + MENDED),
    };
    CommandVerdict {
        action,
        step: asked.step.clone(),
        response: asked.response.clone().or(written),
        error: mended(asked.error.clone().or(error)),
        brief: asked.error.clone().or(how.map(with_why)),
        delay_ms: asked.delay_ms,
        due: asked.due.clone(),
        set: asked.set.clone(),
        then: asked.then.clone(),
    }
}

/// The end of standard error, and of the command.
fn with_errors(end: &ChildEnd, how: &str) -> String {
    let errors = text(&end.stderr.tail());
    if errors.is_empty() { how.to_owned() } else { format!("{} ({how})", errors.trim_start_matches('\u{fffd}')) }
}
