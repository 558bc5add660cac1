//! Decides why an item is not being worked on, from its known state, without a database.

use super::{ItemState, Limit, NEVER_MS, Pause, QueueStats, Wait, span_text};
use std::fmt;

/// The keys that are shown of items for which one waits.
const SHOWN: usize = 3;

/// The known state of an item at one moment of the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    /// Its state.
    pub state: ItemState,
    /// Claims so far.
    pub attempt: i32,
    /// Milliseconds until it is due; negative: it has been due for so long. `None` when its table has no due time: due at once.
    pub due_ms: Option<i64>,
    /// The present or last holder.
    pub owner: Option<&'a str>,
    /// Milliseconds until its lease ends; negative: it ended so long ago.
    pub lease_ms: Option<i64>,
    /// Milliseconds since it was last changed.
    pub changed_ms: Option<i64>,
    /// The item of its group that must be finished first: its key and its state.
    pub blocked_by: Option<(&'a str, Option<ItemState>)>,
    /// The items for which it waits or has waited, where it is not due because of them.
    pub after: &'a [Wait],
    /// Why its table refused a claim or a recovery, and the milliseconds until the next try.
    pub refused: Option<(&'a str, i64)>,
    /// The pause of its queue, or of its type.
    pub pause: Option<&'a Pause>,
    /// The limit that keeps it waiting.
    pub limit: Option<&'a Limit>,
    /// Keys of some items that take its room.
    pub in_its_place: &'a [String],
    /// The figures of its queue, where they were asked for.
    pub stats: Option<&'a QueueStats>,
}

/// Why an item is not being worked on, or that it is. Its text is for people; the variants are for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It is not due yet.
    DueLater {
        /// Milliseconds until it is.
        ms: i64,
        /// How many attempts have failed before.
        failed: i32,
    },
    /// Others have to end before.
    After {
        /// The keys and states of the first of those that have not.
        open: Vec<(String, Option<ItemState>)>,
        /// How many have not.
        left: usize,
        /// How many it waits for in all.
        total: usize,
    },
    /// A worker has it.
    Held {
        /// The worker, if known.
        owner: Option<String>,
        /// Milliseconds until its lease ends, unless it renews it.
        ms: Option<i64>,
    },
    /// A worker had it and has let its lease run out.
    LeaseRanOut {
        /// The worker, if known.
        owner: Option<String>,
        /// Milliseconds since.
        ms: i64,
    },
    /// Its table refuses to have it claimed or recovered; it is set aside until the next try.
    Refused {
        /// The refused call, and the reason.
        reason: String,
        /// Milliseconds until the next try; negative: it has been possible for so long.
        ms: i64,
    },
    /// It is due, and its queue or its type is paused.
    QueuePaused(Pause),
    /// An operator has paused it.
    Paused {
        /// Milliseconds since it was last changed, if known.
        ms: Option<i64>,
    },
    /// It is finished.
    Finished {
        /// How it ended.
        state: ItemState,
        /// Milliseconds since it was last changed, if known.
        ms: Option<i64>,
    },
    /// An earlier item of its group is not finished.
    Blocked {
        /// The key of that item.
        by: String,
        /// The state of that item.
        state: Option<ItemState>,
    },
    /// It is due, and a limit of its queue has no room for it.
    Limited {
        /// Milliseconds since it became due, if known.
        ms: Option<i64>,
        /// The limit.
        limit: Box<Limit>,
        /// Keys of some items that take its room.
        in_its_place: Vec<String>,
    },
    /// Another reason, of an item that is not begun any more after a time.
    Expires {
        /// The time, in UTC.
        at: String,
        /// Whether it has passed.
        is_over: bool,
        /// The reason.
        why: Box<Why>,
    },
    /// It is due, and no worker has taken it yet.
    Waiting {
        /// Milliseconds since it became due, if known.
        ms: Option<i64>,
        /// How many items are due, it among them, and how many are worked on, if known.
        queue: Option<(i64, i64)>,
    },
}

impl Standing<'_> {
    /// Whether it can be claimed, as far as it alone decides.
    #[must_use]
    pub fn is_due(&self) -> bool {
        matches!(self.state, ItemState::Pending | ItemState::Error) && self.due_ms.is_none_or(|ms| ms <= 0)
    }

    /// Whether its worker has let its lease run out.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.state == ItemState::Processing && self.lease_ms.is_some_and(|ms| ms <= 0)
    }

    /// The reason that holds first.
    #[must_use]
    pub fn why(&self) -> Why {
        let owner = self.owner.filter(|owner| !owner.is_empty()).map(str::to_owned);
        if let Some((reason, ms)) = self.refused.filter(|_| self.is_due() || self.is_left()) {
            return Why::Refused { reason: reason.to_owned(), ms };
        }
        if let Some(pause) = self.pause.filter(|_| self.is_due()) {
            return Why::QueuePaused(pause.clone());
        }
        match (self.state, self.lease_ms, self.due_ms) {
            (ItemState::Processing, Some(left), _) if left <= 0 => Why::LeaseRanOut { owner, ms: -left },
            (ItemState::Processing, ms, _) => Why::Held { owner, ms },
            (ItemState::Paused, ..) => Why::Paused { ms: self.changed_ms },
            (state, ..) if state.is_finished() => Why::Finished { state, ms: self.changed_ms },
            _ if self.after.iter().any(|wait| !wait.is_over) => {
                let open = || self.after.iter().filter(|wait| !wait.is_over);
                Why::After {
                    open: open().take(SHOWN).map(|wait| (wait.key.clone(), wait.state)).collect(),
                    left: open().count(),
                    total: self.after.len(),
                }
            }
            (state, _, Some(ms)) if ms > 0 => {
                Why::DueLater { ms, failed: if state == ItemState::Error { self.attempt } else { 0 } }
            }
            (_, _, due_ms) => match (self.blocked_by, self.limit) {
                (Some((by, state)), _) => Why::Blocked { by: by.to_owned(), state },
                (None, Some(limit)) => Why::Limited {
                    ms: due_ms.map(|ms| -ms),
                    limit: Box::new(limit.clone()),
                    in_its_place: self.in_its_place.to_vec(),
                },
                (None, None) => {
                    Why::Waiting { ms: due_ms.map(|ms| -ms), queue: self.stats.map(|stats| (stats.due, stats.claimed)) }
                }
            },
        }
    }
}

impl Why {
    /// The reason itself, without the time at which the item expires.
    #[must_use]
    pub fn reason(&self) -> &Self {
        if let Self::Expires { why, .. } = self { why.reason() } else { self }
    }

    /// The reason in one word, for programs that do not see the variants.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::DueLater { .. } => "due_later",
            Self::After { .. } => "after",
            Self::Held { .. } => "held",
            Self::LeaseRanOut { .. } => "lease_ran_out",
            Self::Refused { .. } => "refused",
            Self::QueuePaused(_) => "queue_paused",
            Self::Paused { .. } => "paused",
            Self::Finished { .. } => "finished",
            Self::Blocked { .. } => "blocked",
            Self::Limited { .. } => "limited",
            Self::Waiting { .. } => "waiting",
            Self::Expires { why, .. } => why.as_str(),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = |ms: &Option<i64>| ms.map_or_else(String::new, |ms| format!(" for {}", span_text(ms)));
        let by = |owner: &Option<String>| owner.clone().unwrap_or_else(|| "a worker".to_owned());
        match self {
            Self::DueLater { ms, .. } if *ms > NEVER_MS => write!(f, "never due, or not for a thousand years"),
            Self::DueLater { ms, failed: 0 } => write!(f, "due in {}", span_text(*ms)),
            Self::DueLater { ms, failed } => {
                write!(f, "due in {}: attempt {failed} has failed, and the next one waits", span_text(*ms))
            }
            Self::After { open, left, total } => {
                write!(f, "waits until others have ended: {} of {total} have, and not", total - left)?;
                for (place, (key, state)) in open.iter().enumerate() {
                    let state = state.map_or("gone", ItemState::as_str);
                    write!(f, "{} {key} ({state})", if place == 0 { "" } else { "," })?;
                }
                if *left > open.len() { f.write_str(", ...") } else { Ok(()) }
            }
            Self::Held { owner, ms: Some(ms) } => {
                write!(f, "held by {}, whose lease ends in {} unless it is renewed", by(owner), span_text(*ms))
            }
            Self::Held { owner, ms: None } => write!(f, "held by {}, without a lease that is known here", by(owner)),
            Self::LeaseRanOut { owner, ms } => write!(
                f,
                "the lease of {} ran out {} ago: the next worker that looks for items, or recover, makes it due again",
                by(owner),
                span_text(*ms)
            ),
            Self::Refused { reason, ms } => {
                let again = if *ms > 0 { format!("in {}", span_text(*ms)) } else { "now".to_owned() };
                write!(f, "its table refuses it, and it is tried again {again} ({reason})")
            }
            Self::QueuePaused(pause) => write!(f, "due, and {pause}"),
            Self::Paused { ms } => {
                write!(f, "paused{}, until it is resumed (who paused it is not recorded)", since(ms))
            }
            Self::Finished { state: ItemState::Failed, ms } => {
                write!(f, "Failed{}: it is not tried again unless it is redriven", since(ms))
            }
            Self::Finished { state, ms } => write!(f, "{state}{}: nothing is left to do", since(ms)),
            Self::Blocked { by, state } => {
                let state = state.map_or_else(String::new, |state| format!(", which is {state}"));
                write!(f, "its group is blocked by {by}{state}")
            }
            Self::Limited { ms, limit, in_its_place } => {
                write!(f, "due{}, and {limit}", since(ms))?;
                let more = usize::try_from(limit.in_work).is_ok_and(|count| count > in_its_place.len());
                match &in_its_place[..] {
                    [] => Ok(()),
                    keys => write!(f, " ({}{})", keys.join(", "), if more { ", ..." } else { "" }),
                }
            }
            Self::Expires { at, is_over, why } => {
                let at = at.get(..19).unwrap_or(at);
                if *is_over {
                    return write!(f, "{why}; expired at {at}Z: it is Cancelled at the next claim that meets it");
                }
                write!(f, "{why}; expires at {at}Z")
            }
            Self::Waiting { ms, queue: None } => write!(f, "due{}, and not taken yet", since(ms)),
            Self::Waiting { ms, queue: Some((_, 0)) } => {
                write!(f, "due{}, and no worker holds an item: does one run?", since(ms))
            }
            Self::Waiting { ms, queue: Some((due, busy)) } => {
                write!(f, "due{}, and waits for its turn: items due {due}, in work {busy}", since(ms))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Standing<'_> = Standing {
        state: ItemState::Pending,
        attempt: 0,
        due_ms: Some(-5000),
        owner: None,
        lease_ms: None,
        changed_ms: Some(60_000),
        blocked_by: None,
        after: &[],
        refused: None,
        pause: None,
        limit: None,
        in_its_place: &[],
        stats: None,
    };

    #[test]
    fn each_reason_has_its_words() {
        let idle = QueueStats { due: 3, ..QueueStats::default() };
        let busy = QueueStats { due: 3, claimed: 2, ..QueueStats::default() };
        let texts = r#"{"who": "ann", "login": "app", "reason": "the bank is down"}"#;
        let pause = Pause::of_look("", 1_795_000_000_000_000, None, texts);
        let [by, key] = ["CustomerId", "42"].map(|text| Some(text.to_owned()));
        let keys = ["k1", "k2"].map(str::to_owned);
        let full = Limit { by, key, at_once: Some(10), in_work: 10, ..Limit::default() };
        let processing = Standing { state: ItemState::Processing, attempt: 1, owner: Some("w1"), ..DUE };
        for (standing, word, text) in [
            (DUE, "waiting", "due for 5.0 s, and not taken yet"),
            (Standing { due_ms: None, ..DUE }, "waiting", "due, and not taken yet"),
            (
                Standing { refused: Some(("claim: no", 3000)), ..DUE },
                "refused",
                "its table refuses it, and it is tried again in 3.0 s (claim: no)",
            ),
            (
                Standing { lease_ms: Some(-1), refused: Some(("recover: no", -5)), ..processing },
                "refused",
                "its table refuses it, and it is tried again now (recover: no)",
            ),
            (Standing { due_ms: Some(43_000), refused: Some(("claim: no", 1)), ..DUE }, "due_later", "due in 43.0 s"),
            (
                Standing { stats: Some(&idle), ..DUE },
                "waiting",
                "due for 5.0 s, and no worker holds an item: does one run?",
            ),
            (
                Standing { stats: Some(&busy), ..DUE },
                "waiting",
                "due for 5.0 s, and waits for its turn: items due 3, in work 2",
            ),
            (Standing { due_ms: Some(43_000), ..DUE }, "due_later", "due in 43.0 s"),
            (Standing { due_ms: Some(i64::MAX), ..DUE }, "due_later", "never due, or not for a thousand years"),
            (
                Standing { state: ItemState::Error, attempt: 2, due_ms: Some(43_000), ..DUE },
                "due_later",
                "due in 43.0 s: attempt 2 has failed, and the next one waits",
            ),
            (
                Standing { lease_ms: Some(30_000), ..processing },
                "held",
                "held by w1, whose lease ends in 30.0 s unless it is renewed",
            ),
            (
                Standing { owner: Some(""), ..processing },
                "held",
                "held by a worker, without a lease that is known here",
            ),
            (
                Standing { lease_ms: Some(-2000), ..processing },
                "lease_ran_out",
                "the lease of w1 ran out 2.0 s ago: the next worker that looks for items, or recover, makes it due \
                 again",
            ),
            (
                Standing { state: ItemState::Paused, ..DUE },
                "paused",
                "paused for 1 m 00 s, until it is resumed (who paused it is not recorded)",
            ),
            (
                Standing { state: ItemState::Failed, ..DUE },
                "finished",
                "Failed for 1 m 00 s: it is not tried again unless it is redriven",
            ),
            (
                Standing { state: ItemState::Completed, changed_ms: None, ..DUE },
                "finished",
                "Completed: nothing is left to do",
            ),
            (
                Standing { pause: Some(&pause), stats: Some(&idle), ..DUE },
                "queue_paused",
                "due, and the queue is paused since 2026-11-18T11:06:40Z by ann: the bank is down",
            ),
            (Standing { pause: Some(&pause), due_ms: Some(43_000), ..DUE }, "due_later", "due in 43.0 s"),
            (
                Standing { blocked_by: Some(("k", Some(ItemState::Paused))), stats: Some(&busy), ..DUE },
                "blocked",
                "its group is blocked by k, which is Paused",
            ),
            (
                Standing { limit: Some(&full), stats: Some(&busy), ..DUE },
                "limited",
                "due for 5.0 s, and waits: 10 of 10 of CustomerId 42 are in work",
            ),
            (
                Standing { limit: Some(&full), in_its_place: &keys, ..DUE },
                "limited",
                "due for 5.0 s, and waits: 10 of 10 of CustomerId 42 are in work (k1, k2, ...)",
            ),
            (Standing { limit: Some(&full), due_ms: Some(43_000), ..DUE }, "due_later", "due in 43.0 s"),
            // An item that is not due waits for its time first, whatever its group.
            (Standing { blocked_by: Some(("k", None)), due_ms: Some(1), ..DUE }, "due_later", "due in 1 ms"),
        ] {
            let why = standing.why();
            assert_eq!((why.as_str(), why.to_string().as_str()), (word, text));
        }
    }

    #[test]
    fn an_item_that_expires_says_when() {
        let at = "2026-11-21T08:30:00.1234567".to_owned();
        let expires = Why::Expires { at, is_over: false, why: Box::new(Why::Waiting { ms: None, queue: None }) };
        assert_eq!(expires.to_string(), "due, and not taken yet; expires at 2026-11-21T08:30:00Z");
        assert_eq!((expires.as_str(), expires.reason().as_str()), ("waiting", "waiting"));
        let Why::Expires { at, why, .. } = expires else { unreachable!() };
        assert_eq!(
            Why::Expires { at, is_over: true, why }.to_string(),
            "due, and not taken yet; expired at 2026-11-21T08:30:00Z: it is Cancelled at the next claim that meets it"
        );
    }

    #[test]
    fn only_what_waits_can_be_due() {
        for state in ItemState::ALL {
            let is_waiting = matches!(state, ItemState::Pending | ItemState::Error);
            assert_eq!(Standing { state, ..DUE }.is_due(), is_waiting, "{state}");
            assert!(!Standing { state, due_ms: Some(1), ..DUE }.is_due(), "{state}");
            assert_eq!(matches!(Standing { state, ..DUE }.why(), Why::Waiting { .. }), is_waiting, "{state}");
        }
    }
}
