//! The fence check: the outcome of an item, from the result of its `Modify_` and its row in the view. Such procedures keep no
//! record of operations: the token shows a refusal by an optimistic-concurrency check, and the item, if anything, shows the
//! effect of a lost call.

use super::results::SeenItem;
use crate::item::{Answer, ItemState, Settlement};

/// The result of a call of `Modify_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallResult {
    /// It ended well.
    Done,
    /// It raised an error of its own, or returned another number than 0.
    Refused,
}

/// The outcome by the fence check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceAnswer {
    Is(Answer),
    /// Refused for the reason in the procedure's error.
    Failed,
    /// It was done or not; nothing shows which.
    Unknown,
}

/// Checks one item. `token` is the one that was sent, `fits` whether it was the item's before the call (`None`: there was no
/// item), `lost` whether the answer of an earlier try was lost, `seen` the item's row in the view now.
pub(super) fn check_fence(
    settlement: &Settlement<'_>,
    token: &str,
    result: CallResult,
    fits: Option<bool>,
    lost: bool,
    seen: Option<&SeenItem>,
) -> FenceAnswer {
    let target = settlement.action.target();
    let Some(seen) = seen else {
        return match (result, fits) {
            // The view shows unfinished items only, or the item was deleted when it was done.
            (CallResult::Done, Some(true)) => FenceAnswer::Is(Answer::Ok),
            _ if lost => FenceAnswer::Unknown,
            _ => FenceAnswer::Is(Answer::NotFound),
        };
    };
    // Spent attempts make every state but one Failed.
    let reached = seen
        .state
        .is_none_or(|state| state == target || (state == ItemState::Failed && target != ItemState::Completed));
    let moved = seen.token != token;
    match (result, fits) {
        (CallResult::Done, Some(true)) if moved && (reached || !target.is_finished()) => FenceAnswer::Is(Answer::Ok),
        // Another caller changed it in the moment between: a final state that was reached stays.
        (CallResult::Done, Some(true)) if moved => FenceAnswer::Is(Answer::Conflict),
        _ if moved && lost => recognize(settlement, seen, reached),
        _ if moved || fits == Some(false) => FenceAnswer::Is(Answer::Conflict),
        _ if seen.state.is_some_and(|state| !state.can_become(target)) => FenceAnswer::Is(Answer::IllegalTransition),
        _ => FenceAnswer::Failed,
    }
}

/// After a lost call, the token has changed: decides whether that call changed it, or another caller.
fn recognize(settlement: &Settlement<'_>, seen: &SeenItem, reached: bool) -> FenceAnswer {
    let target = settlement.action.target();
    // An empty text may be stored as none.
    let same =
        |sent: Option<&str>, shown: &Option<String>| sent.is_none_or(|sent| shown.as_deref().unwrap_or("") == sent);
    let as_sent = same(settlement.step, &seen.step)
        && same(settlement.response, &seen.response)
        && same(settlement.error, &seen.error);
    let same_attempt = settlement.attempt == 0 || seen.attempt == 0 || seen.attempt == settlement.attempt;
    let is_final = seen.state.is_some_and(ItemState::is_finished);
    if seen.state.is_some() && reached && as_sent && (same_attempt || is_final) {
        FenceAnswer::Is(Answer::Ok)
    } else if is_final && !reached && target.is_finished() {
        // Had the call been done, the item would have stayed as it left it.
        FenceAnswer::Is(Answer::Conflict)
    } else {
        FenceAnswer::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Action;

    fn settlement(action: Action) -> Settlement<'static> {
        Settlement { attempt: 1, response: Some("r"), ..Settlement::control("k", Some("t1"), action) }
    }

    fn seen(state: ItemState, token: &str) -> SeenItem {
        let (step, response, error) = (None, Some("r".to_owned()), None);
        SeenItem { state: Some(state), token: token.to_owned(), attempt: 1, step, response, error }
    }

    #[test]
    fn the_token_shows_the_outcome() {
        use ItemState::{Cancelled, Completed, Error, Failed, Pending, Processing};
        let is = FenceAnswer::Is;
        let cases = [
            (Action::Complete, CallResult::Done, Some(true), Completed, "t2", is(Answer::Ok)),
            (Action::Retry, CallResult::Done, Some(true), Failed, "t2", is(Answer::Ok)),
            (Action::Retry, CallResult::Done, Some(true), Error, "t2", is(Answer::Ok)),
            // Due again at once, and claimed by another worker before the query.
            (Action::Retry, CallResult::Done, Some(true), Processing, "t3", is(Answer::Ok)),
            // A procedure that refuses without an error: another caller had changed the token before the call.
            (Action::Complete, CallResult::Done, Some(false), Processing, "t2", is(Answer::Conflict)),
            (Action::Complete, CallResult::Done, Some(false), Completed, "t2", is(Answer::Conflict)),
            (Action::Complete, CallResult::Done, Some(true), Cancelled, "t2", is(Answer::Conflict)),
            (Action::Complete, CallResult::Refused, Some(false), Processing, "t2", is(Answer::Conflict)),
            (Action::Complete, CallResult::Refused, Some(true), Cancelled, "t1", is(Answer::IllegalTransition)),
            (Action::Complete, CallResult::Done, Some(true), Completed, "t1", is(Answer::IllegalTransition)),
            (Action::Resume, CallResult::Refused, Some(true), Pending, "t1", is(Answer::IllegalTransition)),
            // Legal, and refused all the same: the procedure's error has the reason.
            (Action::Complete, CallResult::Refused, Some(true), Processing, "t1", FenceAnswer::Failed),
        ];
        for (action, result, fits, state, token, verdict) in cases {
            let found = check_fence(&settlement(action), "t1", result, fits, false, Some(&seen(state, token)));
            assert_eq!(found, verdict, "{action:?} {result:?} {fits:?} {state} {token}");
        }
        let nothing = |result, fits, lost| check_fence(&settlement(Action::Complete), "t1", result, fits, lost, None);
        assert_eq!(nothing(CallResult::Done, Some(true), false), is(Answer::Ok));
        assert_eq!(nothing(CallResult::Refused, None, false), is(Answer::NotFound));
        assert_eq!(nothing(CallResult::Refused, None, true), FenceAnswer::Unknown);
    }

    #[test]
    fn a_lost_call_is_recognized_by_what_it_left_or_not_at_all() {
        use ItemState::{Completed, Error, Failed, Processing};
        let lost = |action, seen: &SeenItem| {
            check_fence(&settlement(action), "t1", CallResult::Refused, Some(false), true, Some(seen))
        };
        assert_eq!(lost(Action::Complete, &seen(Completed, "t2")), FenceAnswer::Is(Answer::Ok));
        assert_eq!(lost(Action::Retry, &seen(Error, "t2")), FenceAnswer::Is(Answer::Ok));
        assert_eq!(lost(Action::Complete, &seen(Failed, "t2")), FenceAnswer::Is(Answer::Conflict));
        let others = SeenItem { response: Some("other".to_owned()), ..seen(Completed, "t2") };
        assert_eq!(lost(Action::Complete, &others), FenceAnswer::Unknown);
        assert_eq!(lost(Action::Retry, &seen(Processing, "t3")), FenceAnswer::Unknown);
        let later = SeenItem { attempt: 2, ..seen(Error, "t3") };
        assert_eq!(lost(Action::Retry, &later), FenceAnswer::Unknown);
        // The second try did it: the first never arrived.
        let settled = check_fence(
            &settlement(Action::Complete),
            "t1",
            CallResult::Done,
            Some(true),
            true,
            Some(&seen(Completed, "t2")),
        );
        assert_eq!(settled, FenceAnswer::Is(Answer::Ok));
    }
}
