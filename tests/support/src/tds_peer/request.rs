//! The requests of clients to the peer, as tests read it.

use std::time::Instant;

use super::types::Type;
use super::value::Value;

/// One request of a client.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which connection it came over; the first that logged in or tried to is 0.
    pub connection: usize,
    pub at: Instant,
    /// The client asked for the session to be reset before this request.
    pub reset: bool,
    /// The transaction descriptor the client sent along; 0 is none.
    pub transaction: u64,
    pub call: Call,
}

/// The kinds of request.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Plain SQL text.
    Batch { sql: String },
    /// `sp_prepexec`: prepares a statement and executes it at once. A handle it replaces is
    /// thereby unprepared.
    PrepExec { handle: i32, replaced: Option<i32>, declaration: String, sql: String, params: Vec<Param> },
    /// `sp_prepare`: prepares without executing.
    Prepare { handle: i32, declaration: String, sql: String },
    /// `sp_execute`: executes what was prepared on this connection; `sql` is the remembered text.
    Execute { handle: i32, sql: String, params: Vec<Param> },
    /// `sp_unprepare`.
    Unprepare { handle: i32, sql: String },
    /// `sp_executesql`.
    ExecuteSql { declaration: String, sql: String, params: Vec<Param> },
    /// Any other procedure.
    Procedure { name: String, params: Vec<Param> },
    /// A request of the transaction manager interface.
    Transaction(TransactionCall),
}

/// MS-TDS 2.2.6.9, "Transaction Manager Request". A commit or rollback may begin the next
/// transaction right away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionCall {
    Begin { isolation: u8 },
    Commit { begins_next: bool },
    Rollback { begins_next: bool },
    Save,
}

/// A parameter of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// With its `@`; empty if the client gave none.
    pub name: String,
    pub output: bool,
    pub sql_type: Type,
    pub value: Value,
}

impl Request {
    /// The SQL text that runs, prepared or not; for any other procedure its name. Nothing for a
    /// request that runs nothing, as `sp_unprepare`.
    pub fn sql(&self) -> &str {
        match &self.call {
            Call::Batch { sql }
            | Call::PrepExec { sql, .. }
            | Call::Execute { sql, .. }
            | Call::ExecuteSql { sql, .. } => sql,
            Call::Procedure { name, .. } => name,
            Call::Prepare { .. } | Call::Unprepare { .. } | Call::Transaction(_) => "",
        }
    }

    /// The parameters of the statement or procedure, without the ones of `sp_prepexec` itself.
    pub fn params(&self) -> &[Param] {
        match &self.call {
            Call::PrepExec { params, .. }
            | Call::Execute { params, .. }
            | Call::ExecuteSql { params, .. }
            | Call::Procedure { params, .. } => params,
            _ => &[],
        }
    }

    /// The values of [`Request::params`].
    pub fn values(&self) -> Vec<Value> {
        self.params().iter().map(|param| param.value.clone()).collect()
    }

    /// The kind of the request, by the name MS-TDS gives it: handy in assertions.
    pub fn kind(&self) -> &'static str {
        match &self.call {
            Call::Batch { .. } => "batch",
            Call::PrepExec { .. } => "sp_prepexec",
            Call::Prepare { .. } => "sp_prepare",
            Call::Execute { .. } => "sp_execute",
            Call::Unprepare { .. } => "sp_unprepare",
            Call::ExecuteSql { .. } => "sp_executesql",
            Call::Procedure { .. } => "procedure",
            Call::Transaction(TransactionCall::Begin { .. }) => "begin",
            Call::Transaction(TransactionCall::Commit { .. }) => "commit",
            Call::Transaction(TransactionCall::Rollback { .. }) => "rollback",
            Call::Transaction(TransactionCall::Save) => "save",
        }
    }
}
