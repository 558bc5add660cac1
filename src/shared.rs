//! State that one process shares about a queue: turns to poll it, to clean it and to renew leases; and how calls are called off
//! and repeated.

mod cleaner;
mod doorbell;
mod ends;
mod interrupt;
mod lease_renewer;
mod lifeline;
mod minute_turns;
mod of_queue;
mod outage;
mod pace;
mod poll_coordinator;
mod poller;
mod presence;
mod regularly;
mod retry;
mod schedule_turns;
mod turns;

pub(crate) use self::{
    cleaner::{CHUNK, CleaningDue},
    doorbell::BellPull,
    ends::{End, Turn},
    interrupt::Interrupt,
    lease_renewer::{LeaseHolder, LeaseRenewer, Renewals, Renews},
    lifeline::{Doubt, Lifeline},
    of_queue::{OfQueue, RunningWorker},
    outage::Outage,
    poll_coordinator::{PollWaiter, before_recovery},
    poller::{AsksDue, Poller, Served},
    presence::Presence,
    retry::Policy,
};
