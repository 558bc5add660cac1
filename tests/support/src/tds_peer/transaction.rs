//! The transaction of a session and the ENVCHANGE tokens that tell the client of it
//! (MS-TDS 2.2.7.9, types 8 to 10).

use super::token::EnvChange;

/// The session's transaction: the client repeats its descriptor in every request.
#[derive(Debug, Default)]
pub struct Transaction {
    open: Option<u64>,
    last: u64,
}

impl Transaction {
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Begins a transaction, unless one is open already.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.open.is_none() {
            self.last += 1;
            self.open = Some(self.last);
            EnvChange::TransactionBegun(self.last).write(out);
        }
    }

    /// Commits the open transaction, if any.
    pub fn commit(&mut self, out: &mut Vec<u8>) {
        if let Some(id) = self.open.take() {
            EnvChange::TransactionCommitted(id).write(out);
        }
    }

    /// Rolls the open transaction back, if any.
    pub fn roll_back(&mut self, out: &mut Vec<u8>) {
        if let Some(id) = self.open.take() {
            EnvChange::TransactionRolledBack(id).write(out);
        }
    }
}
