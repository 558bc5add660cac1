//! A queue whose procedures somebody wrote by hand: they are called as they are.

use crate::ident::Identifier;

/// Hand-written procedures, in the shape of `Next_` and `Modify_`: what parameters they take is asked of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProceduresSpec {
    /// The schema they stand in; without it the server's usual one, `dbo` or `public`.
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
    /// Whether the procedures take times as the server's local time, as the document has it, or as UTC.
    pub local_time: bool,
}

/// A procedure that claims the items of a described table, and the only one of its queue that somebody wrote: the table is
/// settled by readpast's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedBySpec {
    /// The schema it stands in; without it the server's usual one, `dbo` or `public`.
    pub schema: Option<Identifier>,
    /// Locks one item for the worker that it is given, and returns its key, or no row.
    pub next: Identifier,
}
