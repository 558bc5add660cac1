//! One file a call: arguments become a statement's parameters, its rows become an answer. Nothing here waits or tries again, or
//! changes what a process knows of a queue.

mod answers;
mod attempts;
mod claim;
mod count;
mod enqueue;
mod find;
mod group;
mod kinds;
mod lost;
mod operation;
mod purge;
mod recover;
mod redrive;
mod refused;
mod renew;
mod sessions;
mod settings;
mod settle;
mod settlement;
mod stats;
mod taken;
mod terms;

pub(crate) use self::{
    attempts::attempts,
    claim::{Claimed, Found, claim, claim_apart},
    count::check_count,
    enqueue::{check_size, enqueue, enqueue_within},
    find::{Page, find, look},
    group::{clock, head as head_of_group},
    lost::Tries,
    operation::{Attempts, Operation, in_parts, is_done},
    purge::{purge, retain},
    recover::{GIVEN_BACK, RECOVER_NOW, RECOVER_OWN, Recovered, recover},
    redrive::redrive,
    refused::Refused,
    renew::renew,
    sessions::{Ask, Sessions, YieldsTo},
    settings::{set_setting, settings},
    settle::{Settled, Settling, Telling, claim_within, settle, settle_one_within, settle_within},
    settlement::{check as check_settlement, to_json as settlements_to_json},
    stats::{check_most, stats, watch},
    taken::{Taken, taken},
    terms::Terms,
};
pub use self::{count::MAX_ITEMS, settings::Setting};
