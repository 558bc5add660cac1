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
mod procedure;
mod procedures;
mod readme_sql;
mod records;
mod refused;
mod settings;
mod several_values;
mod strangers;
mod stress;
mod transfer;
mod watch;
mod why;
mod worker;
