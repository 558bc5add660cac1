//! A model of the locks that the procedures take on SQL Server, and all interleavings of two and three sessions: no item is
//! claimed twice, nothing is lost, our own procedures never end one another, and a claim waits for nobody who changes items.
//!
//! What each procedure does stands in `programs`, once: the search runs it, and `rendered` holds it to the rendered SQL.
//! In it are claims of all, by type and by step, and of shards, groups, limits, `dedup` among unfinished items, which new ones may replace, rows of `<queue>_Lease`, attempts that
//! are remembered, and retention.
//!
//! `lifeline` is a model of its own: of the locks by which a dead worker is known.
//!
//! Not in the model: prefetching, which the statements rule out by their hints; the tables of subtypes, of which a rule says that
//! they are written after their item; finished items that count for `dedup`; what enqueueing into a described table deletes of an
//! item that once had the key; retention beside `<queue>_Lease`; and what `world` leaves out.

mod adding;
mod history;
mod lifeline;
mod limits;
mod programs;
mod proofs;
mod proofs_after;
mod proofs_attempts;
mod proofs_kinds;
mod reading;
mod rendered;
mod rendered_attempts;
mod rendered_kinds;
mod replacing;
mod search;
mod session;
mod shards;
mod statement;
mod variants;
mod variants_attempts;
mod world;
