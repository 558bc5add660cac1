//! Tables that others made, as queues, on PostgreSQL.

#[path = "adopted_postgres/behaviour.rs"]
mod behaviour;
#[path = "adopted_postgres/life.rs"]
mod life;
#[path = "adopted_postgres/plans.rs"]
mod plans;
#[path = "adopted_postgres/races.rs"]
mod races;
mod scratch;
#[path = "adopted_postgres/shapes.rs"]
mod shapes;
#[path = "adopted_postgres/tables.rs"]
mod tables;
