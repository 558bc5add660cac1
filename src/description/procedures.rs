//! A queue with hand-written procedures: they are called as they are.

use crate::ident::Identifier;

/// Hand-written procedures, in the shape of `Next_` and `Modify_`: the database's catalog has their parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProceduresSpec {
    /// Their schema; without it the server's usual one, `dbo` or `public`.
    pub schema: Option<Identifier>,
    /// Claims one item: returns its key and its token, or no row.
    pub next: Identifier,
    /// Reports on one item: takes key, token, status and, by their names, step, response, error and scheduled-for.
    pub modify: Identifier,
    /// Enqueues one item: takes its columns by their names.
    pub add: Option<Identifier>,
    /// The view that shows a worker its items.
    pub view: Identifier,
    /// The column of the view that is the key.
    pub key: Identifier,
    /// The column of the view that is the token.
    pub token: Identifier,
    /// Whether the procedures take times as the server's local time, like the first document, or as UTC.
    pub local_time: bool,
}

/// A custom claim procedure of a described table: readpast's own procedures do the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedBySpec {
    /// Its schema; without it the server's usual one, `dbo` or `public`.
    pub schema: Option<Identifier>,
    /// Locks one item for the given worker, and returns its key, or no row.
    pub next: Identifier,
}
