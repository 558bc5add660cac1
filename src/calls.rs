//! One file a call: arguments become a statement's parameters, its rows become an answer. No call here waits or retries, or
//! changes a process's knowledge of a queue.

mod answers;
mod attempts;
mod claim;
mod count;
mod due;
mod edit;
mod enqueue;
mod find;
mod group;
mod kind_filter;
mod limit;
mod lost;
mod operation;
mod pause;
mod progress;
mod purge;
mod record;
mod recover;
mod redrive;
mod refused;
mod renew;
mod schedule;
mod sessions;
mod settings;
mod settle;
mod settlement;
mod stats;
mod taken;
mod terms;
mod waits;

pub use self::settings::QueueSetting;
pub(crate) use self::{
    attempts::attempts,
    claim::{ClaimResult, Claimed, claim, claim_apart},
    count::check_count,
    due::{AskedQueue, Awaited, Due, KnownQueues, await_ends, due, sleep},
    edit::edit,
    enqueue::{check_size, enqueue, enqueue_within, put_within},
    find::{Page, find, look},
    group::{clock, head as head_of_group},
    limit::{limits_of, list as limits, set as set_limit},
    lost::Tries,
    operation::{Attempts, Operation, in_parts, is_done, new_identity},
    pause::{pause as pause_queue, pauses, pauses_of, resume as resume_queue},
    progress::{progress, report as report_progress, unsupported as no_progress},
    purge::{check_states as check_purged_states, purge, retain},
    record::{
        ActionStep, NewAction, SeenWorker, actions, has_arrived, keep_minutes, minutes, note, open as open_actions,
        prove, seen, stem, step, take_lifeline, workers,
    },
    recover::{GIVEN_BACK, RECOVER_NOW, RECOVER_OWN, Recovered, recover},
    redrive::redrive,
    refused::RefusedItem,
    renew::renew,
    schedule::{ScheduleList, ScheduleSet, fire, list as list_schedules, set as set_schedule},
    sessions::{Ask, Sessions, YieldsTo},
    settings::{set_setting, settings},
    settle::{Answers, SettleAnswer, Settling, claim_within, settle, settle_one_within, settle_within},
    settlement::{check as check_settlement, to_json as settlements_to_json},
    stats::{check_most, stats, watch},
    taken::{CustomClaimResult, taken},
    terms::CallTerms,
    waits::waits,
};
pub use crate::item::MAX_ITEMS;
