//! Tests of the library on real servers: on PostgreSQL, and on SQL Server where `READPAST_TEST_SQLSERVER` names one. Each test has a
//! database of its own.

mod adopt;
mod adopted_postgres;
mod alike;
mod attach;
mod bad_input;
mod begun;
mod beside;
mod callers;
mod discover;
mod doctor;
mod dropping;
mod evolution;
mod freed;
mod hidden;
mod infinite;
mod isolation;
mod keys;
mod lives;
mod postgres_claims;
mod postgres_plans;
mod presence;
mod procedure;
mod procedures;
mod random_tables;
mod readme_sql;
mod refused;
mod rows;
mod settings;
mod several_values;
mod strangers;
mod stress;
mod transfer;
mod watch;
mod why;
mod worker;
