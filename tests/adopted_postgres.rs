//! Tables that others made, as queues, on PostgreSQL.

#[path = "adopted_postgres/behaviour.rs"]
mod behaviour;
#[path = "adopted_postgres/life.rs"]
mod life;
mod scratch;
#[path = "adopted_postgres/tables.rs"]
mod tables;
