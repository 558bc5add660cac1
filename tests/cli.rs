//! The command, as a shell starts it, against a real PostgreSQL: every subcommand, what users get wrong, signals, and the
//! exit statuses. No password may come out of it, whatever happens: `Done` looks at every run.

#[path = "cli/alerting.rs"]
#[cfg(feature = "serve")]
mod alerting;
#[path = "cli/checking.rs"]
mod checking;
#[path = "cli/connecting.rs"]
mod connecting;
#[path = "cli/documents.rs"]
mod documents;
#[path = "cli/enqueuing.rs"]
mod enqueuing;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/http.rs"]
#[cfg(feature = "serve")]
mod http;
#[path = "cli/installing.rs"]
mod installing;
#[path = "cli/operating.rs"]
mod operating;
#[path = "cli/outcomes.rs"]
mod outcomes;
#[path = "cli/plugin.rs"]
mod plugin;
#[path = "cli/procedure.rs"]
mod procedure;
#[path = "cli/readme.rs"]
mod readme;
mod scratch;
#[path = "cli/serving.rs"]
#[cfg(feature = "serve")]
mod serving;
#[path = "cli/shell.rs"]
mod shell;
#[path = "cli/signals.rs"]
mod signals;
#[path = "cli/working.rs"]
mod working;
