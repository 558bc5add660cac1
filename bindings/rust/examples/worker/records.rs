//! The worker's records, by which another program can prove what happened: one record per line, its fields separated
//! by tabs.
//!
//!     T key attempt                the item was taken
//!     S key attempt answer state   what the server answered to settling it, and the state it is in now: a status and a
//!                                  READPAST_STATE_ of readpast.h
//!     L microseconds               how long a call took that settled one batch and claimed the next
//!
//! A claim is on record before its work begins, so a worker that is killed leaves no work without a record.

use readpast::worker::Event;
use readpast::{Answer, ItemState};
use std::io::{self, Write};

/// Writes the records of an event. A proof with gaps is none: when they cannot be written, the worker ends.
pub fn write(event: &Event<'_>) {
    write_to(&mut io::stdout().lock(), event).expect("records can be written");
}

fn write_to(out: &mut impl Write, event: &Event<'_>) -> io::Result<()> {
    match event {
        Event::Claimed { batch, .. } => {
            for item in batch.iter() {
                writeln!(out, "T\t{}\t{}", item.key(), item.attempt())?;
            }
        }
        Event::Settled { settlements, outcomes, claimed, took, .. } => {
            for (settlement, outcome) in settlements.iter().zip(*outcomes) {
                let (answer, state) = (status(outcome.answer), number(outcome.state));
                writeln!(out, "S\t{}\t{}\t{answer}\t{state}", settlement.key, settlement.attempt)?;
            }
            if *claimed > 0 {
                writeln!(out, "L\t{}", took.as_micros())?;
            }
        }
        _ => {}
    }
    out.flush()
}

/// The number of an answer in C.
fn status(answer: Answer) -> i32 {
    match answer {
        Answer::Ok => 0,
        Answer::LeaseLost => 2,
        Answer::Conflict => 3,
        Answer::IllegalTransition => 4,
        Answer::NotFound => 5,
        Answer::Duplicate => 7,
    }
}

/// The number of a state in C; 0 for an item that was not found.
fn number(state: Option<ItemState>) -> usize {
    ItemState::ALL.iter().position(|one| Some(*one) == state).map_or(0, |index| index + 1)
}
