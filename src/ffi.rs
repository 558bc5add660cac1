//! The C API. The header `include/readpast.h`, with its documentation, is made from these files.
//!
//! Every function has the same three steps: read the arguments, call the core, hand out the answer, inside one boundary that no
//! panic leaves. C holds no addresses of ours: a handle is a number that `table` looks up, so that a wrong one is a refusal and
//! not a crash.
#![allow(unsafe_code, reason = "C passes raw pointers; nowhere else in the crate are there any")]
#![allow(non_camel_case_types, reason = "a type has the same name on both sides of the boundary")]
#![allow(
    clippy::missing_safety_doc,
    reason = "what holds for every pointer stands once, at the top of the header (cbindgen.toml)"
)]

// The base of the rest: handles, the boundary, arguments.
mod answer;
mod args;
mod boundary;
mod failure;
mod fork;
mod handle;
mod id;
mod out;
mod sized;
mod table;
mod text;

// The header, in its order: first the answers of every call.
mod error;
mod made_text;
mod status;
mod version;

// Before a queue is open.
mod config;
mod install;
mod list;

// The calls on an open queue.
mod queue;

mod action;
mod ask;
mod claim;
mod enqueue;
mod find;
mod outcome;
mod receipts;
mod renew;
mod settle;

// Claimed items.
mod batch;
mod column;
mod made;
mod trace;
mod value;

mod renewal;

// Workers.
mod events;
mod log;
mod watch;
mod worker;

// Figures and receipts.
mod metrics;

#[cfg(test)]
mod tests;

pub use self::{
    action::*, ask::*, batch::*, claim::*, column::*, config::*, enqueue::*, error::*, events::*, find::*, install::*,
    list::*, log::*, made::*, made_text::*, metrics::*, outcome::*, queue::*, receipts::*, renew::*, renewal::*,
    settle::*, status::*, trace::*, value::*, version::*, watch::*, worker::*,
};
