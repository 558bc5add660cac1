//! The state of one session: its prepared statements and its transaction.

use std::collections::BTreeMap;
use std::io;

use super::answer::{Answer, Ending};
use super::decode::{Procedure, Rpc};
use super::request::{Call, Param, TransactionCall};
use super::transaction::Transaction;
use super::value::Value;
use super::wire::malformed;

/// The memory of a session between requests.
#[derive(Debug, Default)]
pub struct Session {
    prepared: BTreeMap<i32, String>,
    last_handle: i32,
    transaction: Transaction,
}

impl Session {
    /// Forgets everything, as a reset of the connection does.
    pub fn reset(&mut self) {
        self.prepared.clear();
    }

    /// Understands a call: the special procedures of MS-TDS 2.2.6.6 by number or name, with what
    /// was prepared before looked up and what is prepared now remembered.
    pub fn understand(&mut self, rpc: Rpc) -> io::Result<Call> {
        let mut params = Params(rpc.params.into_iter());
        let name = match rpc.procedure {
            Procedure::Named(name) => name,
            Procedure::Numbered(number) => special_name(number)?.to_owned(),
        };
        Ok(match name.as_str() {
            "sp_executesql" => {
                let (sql, declaration) = (params.text()?, params.text()?);
                Call::ExecuteSql { declaration, sql, params: params.rest() }
            }
            "sp_execute" => {
                let handle = params.handle()?;
                let sql = self.prepared.get(&handle).cloned().unwrap_or_default();
                Call::Execute { handle, sql, params: params.rest() }
            }
            "sp_unprepare" => {
                let handle = params.handle()?;
                let sql = self.prepared.remove(&handle).unwrap_or_default();
                Call::Unprepare { handle, sql }
            }
            "sp_prepexec" | "sp_prepare" => {
                let replaced = params.optional_handle()?;
                if let Some(replaced) = replaced {
                    self.prepared.remove(&replaced);
                }
                let (declaration, sql) = (params.text()?, params.text()?);
                self.last_handle += 1;
                let handle = self.last_handle;
                self.prepared.insert(handle, sql.clone());
                if name == "sp_prepare" {
                    Call::Prepare { handle, declaration, sql }
                } else {
                    Call::PrepExec { handle, replaced, declaration, sql, params: params.rest() }
                }
            }
            _ => Call::Procedure { name, params: params.rest() },
        })
    }

    /// The bytes of an answer to the call; `more` calls of the same message may follow.
    pub fn answer(&mut self, call: &Call, answer: Answer, more: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let ending = match call {
            Call::Batch { .. } => Ending::Batch,
            Call::Transaction(transaction_call) => {
                self.transact(*transaction_call, &mut out);
                Ending::Batch
            }
            Call::PrepExec { handle, .. } | Call::Prepare { handle, .. } => {
                Ending::Call { handle: Some(*handle), more }
            }
            _ => Ending::Call { handle: None, more },
        };
        out.extend(answer.tokens(&ending, &mut self.transaction));
        out
    }

    fn transact(&mut self, call: TransactionCall, out: &mut Vec<u8>) {
        let begins_next = match call {
            TransactionCall::Begin { .. } => true,
            TransactionCall::Commit { begins_next } => {
                self.transaction.commit(out);
                begins_next
            }
            TransactionCall::Rollback { begins_next } => {
                self.transaction.roll_back(out);
                begins_next
            }
            TransactionCall::Save => false,
        };
        if begins_next {
            self.transaction.begin(out);
        }
    }
}

/// The parameters of a special procedure, taken one after the other.
struct Params(std::vec::IntoIter<Param>);

impl Params {
    fn next(&mut self) -> io::Result<Value> {
        let param = self.0.next().ok_or_else(|| malformed("a special procedure lacks parameters"));
        param.map(|param| param.value)
    }

    fn handle(&mut self) -> io::Result<i32> {
        self.optional_handle()?.ok_or_else(|| malformed("NULL is no handle"))
    }

    /// The handle that goes in where a handle comes out; NULL or 0 is none.
    fn optional_handle(&mut self) -> io::Result<Option<i32>> {
        match self.next()? {
            Value::Null | Value::Int(0) => Ok(None),
            Value::Int(handle) => Ok(Some(handle as i32)),
            other => Err(malformed(format!("{other:?} is no handle"))),
        }
    }

    /// Text; NULL is empty, as the declaration of a statement without parameters may be.
    fn text(&mut self) -> io::Result<String> {
        match self.next()? {
            Value::Text(text) => Ok(text),
            Value::Null => Ok(String::new()),
            other => Err(malformed(format!("{other:?} is no text"))),
        }
    }

    fn rest(self) -> Vec<Param> {
        self.0.collect()
    }
}

/// The procedures that clients call by number (MS-TDS 2.2.6.6, `ProcID`).
fn special_name(number: u16) -> io::Result<&'static str> {
    const NAMES: [&str; 15] = [
        "sp_cursor",
        "sp_cursoropen",
        "sp_cursorprepare",
        "sp_cursorexecute",
        "sp_cursorprepexec",
        "sp_cursorunprepare",
        "sp_cursorfetch",
        "sp_cursoroption",
        "sp_cursorclose",
        "sp_executesql",
        "sp_prepare",
        "sp_execute",
        "sp_prepexec",
        "sp_prepexecrpc",
        "sp_unprepare",
    ];
    let index = usize::from(number).checked_sub(1);
    let name = index.and_then(|index| NAMES.get(index));
    name.copied().ok_or_else(|| malformed(format!("no procedure has the number {number}")))
}
