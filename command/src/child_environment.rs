//! Variables that are withheld from started programs.

use std::env;
use std::process::Command;

/// The prefix of the columns' variables.
pub const COLUMN: &str = "READPAST_COL_";

/// Access to the database: the connection string, or the file that holds it.
const CONNECTION: [&str; 2] = ["READPAST_CONNECTION", "READPAST_CONNECTION_FILE"];

/// The token of `serve`; and of an item whose command this process is, its trace and the file for its directive.
const NEVER: [&str; 4] = ["READPAST_SERVE_TOKEN", "TRACEPARENT", "TRACESTATE", "READPAST_DIRECTIVE"];

/// Withholds secrets, and variables of another item, from a program that is about to be started: one that prints its environment
/// would store them, or send them somewhere. The connection is passed on if the user wants it.
pub fn withhold(command: &mut Command, passes_connection: bool) {
    for (name, _) in env::vars_os() {
        // Windows ignores the case of letters here; a Unix variable that differs only in case is no loss.
        let upper = name.to_ascii_uppercase();
        let is_one_of = |names: &[&str]| names.iter().any(|known| upper == *known);
        let is_column = upper.as_encoded_bytes().starts_with(COLUMN.as_bytes());
        if is_column || is_one_of(&NEVER) || (is_one_of(&CONNECTION) && !passes_connection) {
            command.env_remove(name);
        }
    }
}
