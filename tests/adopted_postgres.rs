//! Tables that others made, as queues, on PostgreSQL.

mod scratch;
#[path = "adopted_postgres/tables.rs"]
mod tables;
#[path = "adopted_postgres/life.rs"]
mod life;
