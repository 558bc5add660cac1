//! Tables that others made, as queues, on PostgreSQL.

mod behaviour;
mod life;
mod plans;
mod races;
mod shapes;
mod tables;
mod types;
