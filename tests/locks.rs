//! A model of the locks that the procedures take on SQL Server, and all interleavings of two and three sessions: no item is
//! claimed twice, nothing is lost, our own procedures never end one another, and a claim waits for nobody who changes items.
//!
//! What each procedure does stands in `statement`, once: the search runs it, and `rendered` holds it to the rendered SQL.
//! Not in the model: prefetching, which the statements rule out by their hints, and what `world` leaves out.

#[path = "locks/proofs.rs"]
mod proofs;
#[path = "locks/rendered.rs"]
mod rendered;
#[path = "locks/search.rs"]
mod search;
#[path = "locks/session.rs"]
mod session;
#[path = "locks/statement.rs"]
mod statement;
#[expect(dead_code, reason = "the rules on rendered T-SQL use more of it")]
#[path = "tsql/text.rs"]
mod text;
#[path = "locks/variants.rs"]
mod variants;
#[path = "locks/world.rs"]
mod world;
