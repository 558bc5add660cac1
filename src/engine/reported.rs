//! A handler's result, from any language, made sendable. This is the one place that decides about texts that are not UTF-8 and
//! values out of range; `docs/worker.md` has the rule.

use super::log_lines;
use crate::calls::check_settlement;
use crate::description::QueueSpec;
use crate::error::{Error, ErrorKind};
use crate::item::{Action, Settlement, Verdict, without_half_pairs};

/// The most characters of an error that are kept: enough for a backtrace, and not for a dump.
const LONGEST_ERROR: usize = 16_000;

/// The remark on a JSON text that was cut within a character.
const HALF_PAIR: &str = "half of a surrogate pair in it was replaced by U+FFFD";

/// A handler's result before it is checked: its texts may be any bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedResult<'a> {
    pub(crate) key: &'a str,
    pub(crate) attempt: i32,
    /// `None`: the number names no action.
    pub(crate) action: Option<Action>,
    pub(crate) step: Option<&'a [u8]>,
    pub(crate) response: Option<&'a [u8]>,
    pub(crate) error: Option<&'a [u8]>,
    pub(crate) delay_ms: Option<i64>,
    pub(crate) due: Option<&'a [u8]>,
    pub(crate) set: Option<&'a [u8]>,
    pub(crate) then: Option<&'a [u8]>,
}

/// The values that were left out, and why.
#[derive(Debug)]
pub(super) struct LeftOut {
    /// By name and length.
    pub(super) what: String,
    pub(super) why: Error,
}

impl<'a> From<&Settlement<'a>> for ReportedResult<'a> {
    fn from(settlement: &Settlement<'a>) -> Self {
        Self {
            key: settlement.key,
            attempt: settlement.attempt,
            action: Some(settlement.action),
            step: settlement.step.map(str::as_bytes),
            response: settlement.response.map(str::as_bytes),
            error: settlement.error.map(str::as_bytes),
            delay_ms: settlement.delay_ms,
            due: settlement.due.map(str::as_bytes),
            set: settlement.set.map(str::as_bytes),
            then: settlement.then.map(str::as_bytes),
        }
    }
}

impl ReportedResult<'_> {
    /// The sendable part. An error is for people: bytes that are not text become U+FFFD. Other values are for programs: they are
    /// sent unchanged or left out, and then the error says so. An action that does not end a claim, columns that cannot be set, or items
    /// that cannot follow are a mistake of a program whose work is done: the item fails, and is not tried again. A text may have at most `most` bytes, or no
    /// worker would claim the item again.
    pub(super) fn sendable(&self, spec: &QueueSpec, most: usize) -> (Verdict, Option<LeftOut>) {
        let mut refused = Refusals { most, what: Vec::new(), why: Vec::new() };
        let action = match self.action {
            Some(action) if action.ends_a_claim() => action,
            given => {
                let name = given.map_or("that was given".to_owned(), |action| format!("{action:?}"));
                refused.add("action".to_owned(), format!("the action {name} does not end an item"));
                Action::Fail
            }
        };
        let bare = Settlement { attempt: 1, ..Settlement::control("-", Some("-"), action) };
        let step = refused.checked(spec, "step", self.step, |step| Settlement { step, ..bare.clone() });
        let response =
            refused.checked(spec, "response", self.response, |response| Settlement { response, ..bare.clone() });
        let mended = self.set.and_then(|set| without_half_pairs(std::str::from_utf8(set).ok()?));
        if let Some(mended) = &mended {
            refused.add(log_lines::length("set", mended), HALF_PAIR.to_owned());
        }
        let set = mended.as_deref().map(str::as_bytes).or(self.set);
        let set = refused.checked(spec, "set", set, |set| Settlement { set, ..bare.clone() });
        let then = refused.checked(spec, "then", self.then, |then| Settlement { then, ..bare.clone() });
        let lacks = (set.is_none() && self.set.is_some()) || (then.is_none() && self.then.is_some());
        let action = if lacks { without_values(action) } else { action };
        let mut due = refused.checked(spec, "due", self.due, |due| Settlement { due, ..bare.clone() });
        let mut delay_ms = self.delay_ms;
        if delay_ms.is_some()
            && let Err(why) = check_settlement(spec, &Settlement { delay_ms, due, ..bare.clone() })
        {
            refused.add("delay".to_owned(), why.message().to_owned());
            // A delay and a due time contradict each other.
            (delay_ms, due) = (None, None);
        }
        let own = self.error.map(text_of);
        let left_out = refused.into_left_out();
        let error = match (own, &left_out) {
            (own, Some(left_out)) => Some(with_refusal(own.as_deref(), left_out.why.message())),
            (own, None) => own,
        };
        let error = error.as_deref();
        (Verdict::from(&Settlement { action, step, response, error, delay_ms, due, set, then, ..bare }), left_out)
    }
}

/// Collects the refused values.
struct Refusals {
    most: usize,
    what: Vec<String>,
    why: Vec<String>,
}

impl Refusals {
    fn add(&mut self, what: String, why: String) {
        self.what.push(what);
        self.why.push(why);
    }

    /// The text, if it is valid and a settlement with it can be sent.
    fn checked<'a>(
        &mut self,
        spec: &QueueSpec,
        name: &str,
        given: Option<&'a [u8]>,
        with: impl Fn(Option<&'a str>) -> Settlement<'a>,
    ) -> Option<&'a str> {
        let given = given?;
        let checked = match std::str::from_utf8(given) {
            _ if given.len() > self.most => Err(format!(
                "the {name} has {} bytes; {} are the most (setting \"item.max_bytes\")",
                given.len(),
                self.most
            )),
            Ok(text) => {
                check_settlement(spec, &with(Some(text))).map(|()| text).map_err(|why| why.message().to_owned())
            }
            Err(why) => Err(format!("the {name} is not UTF-8: see its byte {}", why.valid_up_to())),
        };
        checked.map_err(|why| self.add(log_lines::length(name, &String::from_utf8_lossy(given)), why)).ok()
    }

    fn into_left_out(self) -> Option<LeftOut> {
        let why = Error::new(ErrorKind::InvalidArgument, self.why.join("; "));
        (!self.what.is_empty()).then(|| LeftOut { what: self.what.join(", "), why })
    }
}

/// The text of an error, with U+FFFD for each NUL and each invalid character. Half of a surrogate pair, encoded as a character,
/// counts as one.
fn text_of(given: &[u8]) -> String {
    let mut text = String::with_capacity(given.len());
    let mut goes_on = false;
    for chunk in given.utf8_chunks() {
        text.push_str(chunk.valid());
        goes_on &= chunk.valid().is_empty() && chunk.invalid().first().is_some_and(|byte| byte & 0xC0 == 0x80);
        if !chunk.invalid().is_empty() && !goes_on {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        goes_on = !chunk.invalid().is_empty();
    }
    if text.contains('\0') {
        text = text.replace('\0', "\u{fffd}");
    }
    if let Some((end, _)) = text.char_indices().nth(LONGEST_ERROR) {
        text.truncate(end);
    }
    text
}

/// The action of an item whose columns or followers its handler wanted otherwise: it must not count as done without them.
pub(super) fn without_values(action: Action) -> Action {
    match action {
        Action::Complete | Action::CompletePartially => Action::Fail,
        other => other,
    }
}

/// An error with the remark that a value was refused.
pub(super) fn with_refusal(own: Option<&str>, why: &str) -> String {
    let own = own.map(|error| format!("{error}; ")).unwrap_or_default();
    text_of(format!("{own}a part of the result was refused: {why}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Columns;

    const COMPLETE: ReportedResult<'_> = ReportedResult {
        key: "k",
        attempt: 1,
        action: Some(Action::Complete),
        step: None,
        response: None,
        error: None,
        delay_ms: None,
        due: None,
        set: None,
        then: None,
    };

    fn reported(reported: ReportedResult<'_>) -> (Verdict, String) {
        let columns = r#"{"queue": "Q", "steps": ["one"], "columns": [{"name": "Sent", "type": "text(3)"}]}"#;
        let (verdict, left_out) = reported.sendable(&QueueSpec::from_json(columns).unwrap(), 1000);
        let text = left_out.map(|left_out| format!("{}: {}", left_out.what, left_out.why.message()));
        (verdict, text.unwrap_or_default())
    }

    #[test]
    fn an_error_is_made_text_without_a_report() {
        for (given, text) in [
            (&b"a\0b"[..], "a\u{fffd}b"),
            (b"a\xffb\xc3", "a\u{fffd}b\u{fffd}"),
            (b"half \xed\xa0\xbd of it", "half \u{fffd} of it"),
            (b"\xed\xa0\xbd\xed\xb2\xa5", "\u{fffd}\u{fffd}"),
            (b"\xf0\x9f\x92\xa5", "\u{1f4a5}"),
        ] {
            let (verdict, refused) =
                reported(ReportedResult { action: Some(Action::Retry), error: Some(given), ..COMPLETE });
            assert_eq!((verdict, refused.as_str()), (Verdict::retry(text), ""));
        }
        let long = "\u{e9}".repeat(20_000);
        let (verdict, _) = reported(ReportedResult { error: Some(long.as_bytes()), ..COMPLETE });
        assert_eq!(verdict.error_text().unwrap().chars().count(), LONGEST_ERROR);
    }

    #[test]
    fn anything_else_is_kept_or_left_out_by_itself() {
        let (verdict, text) = reported(ReportedResult { response: Some(b"a\xff"), step: Some(b"one"), ..COMPLETE });
        assert_eq!(text, "response of 2 characters: the response is not UTF-8: see its byte 1");
        let error = "a part of the result was refused: the response is not UTF-8: see its byte 1";
        assert_eq!(verdict, Verdict::complete().step("one").error(error));

        let (verdict, text) = reported(ReportedResult { response: Some(b"a\0"), error: Some(b"own"), ..COMPLETE });
        assert!(text.contains("U+0000"), "{text}");
        assert!(verdict.error_text().unwrap().starts_with("own; a part of the result was refused"), "{verdict:?}");

        let (verdict, text) =
            reported(ReportedResult { response: Some(&[b'a'; 1001]), step: Some(b"one"), ..COMPLETE });
        assert!(text.starts_with("response of 1001 characters: ") && text.contains("item.max_bytes"), "{text}");
        assert_eq!(verdict.clone().error(""), Verdict::complete().step("one").error(""));

        let step = [b's'; 61];
        let (verdict, text) = reported(ReportedResult { step: Some(&step), response: Some(b"pong"), ..COMPLETE });
        assert!(text.starts_with("step of 61 characters: ") && verdict.error_text().is_some(), "{text}");
        assert_eq!(verdict.clone().error(""), Verdict::complete().response("pong").error(""));
    }

    #[test]
    fn a_cut_character_is_replaced_and_the_rest_is_kept() {
        let (verdict, text) = reported(ReportedResult { set: Some(br#"{"Sent":"a\ud83d"}"#), ..COMPLETE });
        assert_eq!(text, format!("set of 18 characters: {HALF_PAIR}"));
        let error = verdict.error_text().unwrap().to_owned();
        assert!(error.contains("U+FFFD"), "{error}");
        let kept = Columns::from_json(r#"{"Sent": "a\ufffd"}"#).unwrap();
        assert_eq!(verdict, Verdict::complete().set(kept).error(error));
    }

    #[test]
    fn a_step_that_the_queue_has_not_is_left_out() {
        let (verdict, text) = reported(ReportedResult { step: Some(b"two"), response: Some(b"pong"), ..COMPLETE });
        assert!(text.starts_with("step of 3 characters: ") && text.contains("none of the queue's"), "{text}");
        let error = verdict.error_text().unwrap().to_owned();
        assert_eq!(verdict, Verdict::complete().response("pong").error(error));
    }

    #[test]
    fn an_item_whose_columns_cannot_be_set_is_not_done() {
        let good = br#"{"sent": "yes"}"#;
        let (verdict, text) = reported(ReportedResult { set: Some(good), response: Some(b"pong"), ..COMPLETE });
        let sent = verdict.settlement("k", "t", 1);
        assert_eq!((sent.set.map(str::as_bytes), sent.response, text.as_str()), (Some(&good[..]), Some("pong"), ""));
        for (bad, part) in [
            (&br#"{"sent": "maybe"}"#[..], "column \"Sent\" (text(3)) is 5 characters long"),
            (br#"{"Cost": 1}"#, "queue Q has no column \"Cost\""),
            (b"yes", "takes an object"),
            (b"{\xff}", "the set is not UTF-8: see its byte 1"),
        ] {
            let (verdict, text) = reported(ReportedResult { set: Some(bad), response: Some(b"pong"), ..COMPLETE });
            assert!(text.starts_with("set of ") && text.contains(part), "{text}");
            let error = verdict.error_text().unwrap().to_owned();
            assert!(error.contains(part), "{error}");
            assert_eq!(verdict, Verdict::fail(error).response("pong"));
            let again = ReportedResult { action: Some(Action::Retry), set: Some(bad), ..COMPLETE };
            assert_eq!(reported(again).0.action(), Action::Retry, "it is tried again anyhow");
        }
    }

    #[test]
    fn times_out_of_range_keep_the_action() {
        let retry = ReportedResult { action: Some(Action::Retry), error: Some(b"busy"), ..COMPLETE };
        for (said_so, part) in [
            (ReportedResult { delay_ms: Some(-5), ..retry }, "-5"),
            (ReportedResult { due: Some(b"soon"), ..retry }, "soon"),
            (ReportedResult { due: Some(b"2026-01-01T00:00:00Z"), delay_ms: Some(1), ..retry }, "not both"),
        ] {
            let (verdict, text) = reported(said_so);
            assert!(text.contains(part), "{text}");
            let error = verdict.error_text().unwrap().to_owned();
            assert!(error.starts_with("busy; a part of the result was refused: ") && error.contains(part), "{error}");
            assert_eq!(verdict, Verdict::retry(error));
        }
    }

    #[test]
    fn an_action_that_ends_no_claim_fails_the_item() {
        for action in [Some(Action::Step), Some(Action::Resume), None] {
            let (verdict, text) = reported(ReportedResult { action, response: Some(b"done"), ..COMPLETE });
            assert!(text.starts_with("action: ") && text.contains("does not end an item"), "{text}");
            assert_eq!(verdict.action(), Action::Fail);
            assert!(verdict.error_text().unwrap().contains("does not end an item"));
        }
    }
}
