//! The life of an item as stages: waiting, in work, ended; with the times that the item has.

use crate::roles;
use readpast::{Item, ItemState, QueueSpec};
use serde_json::{Value, json};

/// The states of each stage.
const STAGES: [(&str, &[ItemState]); 3] = [
    ("Waiting", &[ItemState::Pending, ItemState::Error, ItemState::Paused]),
    ("In work", &[ItemState::Processing]),
    (
        "Ended",
        &[
            ItemState::Completed,
            ItemState::PartiallyCompleted,
            ItemState::Failed,
            ItemState::Cancelled,
            ItemState::Terminated,
        ],
    ),
];

/// The stages with their states, where the item is, and the times of each stage. One that waits for others has no due time yet.
pub fn stages(spec: &QueueSpec, item: &Item<'_>, waits_for_others: bool) -> Vec<Value> {
    let of = |role| roles::text(spec, item, role);
    let now = item.state();
    let current = STAGES.iter().position(|(_, states)| now.is_some_and(|state| states.contains(&state)));
    let stage = |(at, (name, states)): (usize, &(&str, &[ItemState]))| {
        let is_here = current == Some(at);
        let times = match at {
            0 => vec![("enqueued", of("enqueued")), ("due", of("due").filter(|_| is_here && !waits_for_others))],
            1 => vec![
                (if is_here { "claimed" } else { "last claimed" }, of("started")),
                ("lease until", of("lease_until").filter(|_| is_here)),
            ],
            _ => vec![("ended", of("changed").filter(|_| is_here))],
        };
        let times: Vec<_> = times.into_iter().filter_map(|(name, at)| Some(json!({"name": name, "at": at?}))).collect();
        let states: Vec<_> =
            states.iter().map(|state| json!({"state": state.as_str(), "current": now == Some(*state)})).collect();
        json!({"stage": name, "current": is_here, "states": states, "times": times})
    };
    STAGES.iter().enumerate().map(stage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_in_one_stage() {
        for state in ItemState::ALL {
            let count = STAGES.iter().flat_map(|(_, states)| *states).filter(|of| **of == state).count();
            assert_eq!(count, 1, "{state:?}");
        }
    }
}
