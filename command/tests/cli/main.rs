//! The command, as a shell starts it, against a real PostgreSQL: every subcommand, what users get wrong, signals, and the
//! exit statuses. No password may come out of it, whatever happens: `Done` looks at every run.

mod acting;
mod alerting;
mod besieging;
mod browsing;
mod checking;
mod connecting;
mod discovering;
mod documents;
mod dropping;
mod editing;
mod enqueuing;
mod exporting;
mod help;
mod http;
mod installing;
mod limiting;
mod numbers;
mod operating;
mod outcomes;
mod pages;
mod pausing;
mod plugin;
mod procedure;
mod readme;
mod recording;
mod rights;
mod scheduling;
mod serving;
mod shell;
mod signals;
mod stressing;
mod top;
mod traces;
mod trusting;
mod working;
