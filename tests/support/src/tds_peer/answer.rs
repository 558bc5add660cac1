//! Building the answer to a request: result sets, counts, messages, output values.
//!
//! The same answer serves a batch and a procedure call; only when it is sent does
//! [`Answer::tokens`] choose between DONE and DONEINPROC and add what a call ends with.

use super::codec::write_value;
use super::message::ServerMessage;
use super::token::{Done, ReturnValue, status, write_done, write_return_status};
use super::transaction::Transaction;
use super::types::Type;
use super::value::Value;
use super::wire::Put;

const COLUMN_METADATA: u8 = 0x81;
const ROW: u8 = 0xD1;

/// The answer of the server to one request. Built from left to right, in the order it is sent.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    parts: Vec<Part>,
    /// The result set that rows go to, until something ends it.
    open: Option<ResultSet>,
    /// An error was sent, and its DONE has yet to come.
    failed: bool,
    /// The error ended the whole request: nothing of a call's ending follows.
    aborted: bool,
    no_count: bool,
    return_status: i32,
    outputs: Vec<ReturnValue>,
}

#[derive(Clone, Debug)]
enum Part {
    Tokens(Vec<u8>),
    Done { count: Option<u64>, failed: bool },
    BeginTransaction,
    RollBackTransaction,
}

#[derive(Clone, Debug)]
struct ResultSet {
    types: Vec<Type>,
    rows: u64,
}

/// The facts that an answer's framing depends on.
pub enum Ending {
    Batch,
    /// A call, with the handle that `sp_prepexec` and `sp_prepare` give out; more calls of the
    /// same message may follow.
    Call {
        handle: Option<i32>,
        more: bool,
    },
}

impl Answer {
    /// An answer that says no more than "done".
    pub fn new() -> Self {
        Answer::default()
    }

    /// Behaves as under `SET NOCOUNT ON`: the row counts that follow are not sent.
    pub fn no_count(mut self) -> Self {
        self.no_count = true;
        self
    }

    /// Starts a result set: COLMETADATA (MS-TDS 2.2.7.4), every column nullable.
    pub fn columns<'n>(mut self, columns: impl IntoIterator<Item = (&'n str, Type)>) -> Self {
        self.end_statement();
        let columns: Vec<_> = columns.into_iter().collect();
        let mut token = vec![COLUMN_METADATA];
        token.put_u16(columns.len() as u16);
        for (name, sql_type) in &columns {
            token.put_u32(0); // UserType
            token.put_u16(0x0001); // Flags: nullable
            sql_type.write(&mut token);
            token.put_b_varchar(name);
        }
        self.parts.push(Part::Tokens(token));
        let types = columns.into_iter().map(|(_name, sql_type)| sql_type).collect();
        self.open = Some(ResultSet { types, rows: 0 });
        self
    }

    /// Adds a row (MS-TDS 2.2.7.20) to the result set that [`Answer::columns`] started.
    pub fn row(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        let open = self.open.as_mut().expect("`columns` comes before `row`");
        let values: Vec<Value> = values.into_iter().collect();
        assert_eq!(values.len(), open.types.len(), "a row has a value for every column");
        let mut token = vec![ROW];
        for (sql_type, value) in open.types.iter().zip(&values) {
            write_value(&mut token, *sql_type, value);
        }
        open.rows += 1;
        self.parts.push(Part::Tokens(token));
        self
    }

    /// A whole result set of one row and one column.
    pub fn scalar(self, name: &str, sql_type: Type, value: impl Into<Value>) -> Self {
        self.columns([(name, sql_type)]).row([value.into()]).end()
    }

    /// Ends the open result set or the failed statement, so that what follows comes after its DONE.
    /// Only needed before a message: another result set, a count and the end of the answer imply it.
    pub fn end(mut self) -> Self {
        self.end_statement();
        self
    }

    /// A statement without rows that changed `rows` of them.
    pub fn affected(mut self, rows: u64) -> Self {
        self.end_statement();
        self.push_done(Some(rows));
        self
    }

    /// A message, at this place of the answer: before, between or after rows. An error marks the
    /// DONE that follows it.
    pub fn message(mut self, message: &ServerMessage) -> Self {
        let mut token = Vec::new();
        message.write(&mut token);
        self.parts.push(Part::Tokens(token));
        self.failed |= message.is_error();
        self
    }

    /// An error that ends the whole request, as XACT_ABORT makes of any error and a deadlock is by
    /// nature: an open transaction is rolled back, no return status and no output value follow.
    pub fn abort(mut self, message: &ServerMessage) -> Self {
        self = self.message(message);
        self.parts.push(Part::RollBackTransaction);
        self.aborted = true;
        self
    }

    /// The return value of the procedure; 0 unless the test sets one.
    pub fn return_status(mut self, value: i32) -> Self {
        self.return_status = value;
        self
    }

    /// The value of an output parameter; `ordinal` counts from 0.
    pub fn output(mut self, ordinal: u16, name: &str, sql_type: Type, value: impl Into<Value>) -> Self {
        let (name, value) = (name.to_owned(), value.into());
        self.outputs.push(ReturnValue { ordinal, name, sql_type, value });
        self
    }

    /// `BEGIN TRANSACTION` happened in the request.
    pub fn begin_transaction(mut self) -> Self {
        self.end_statement();
        self.parts.push(Part::BeginTransaction);
        self
    }

    /// The transaction was rolled back in the request.
    pub fn roll_back_transaction(mut self) -> Self {
        self.end_statement();
        self.parts.push(Part::RollBackTransaction);
        self
    }

    /// The tokens of the answer up to where it would end: rows and messages.
    pub fn unfinished_tokens(self) -> Vec<u8> {
        let tokens = self.parts.into_iter().map(|part| match part {
            Part::Tokens(tokens) => tokens,
            _ => panic!("an unfinished answer is one result set at most"),
        });
        tokens.collect::<Vec<_>>().concat()
    }

    /// The token stream of the answer (MS-TDS 2.2.4, "Packet Data Token Stream").
    pub fn tokens(mut self, ending: &Ending, transaction: &mut Transaction) -> Vec<u8> {
        if !self.aborted {
            self.end_statement();
        }
        let in_batch = matches!(ending, Ending::Batch);
        if in_batch && !matches!(self.parts.last(), Some(Part::Done { .. })) {
            self.push_done(None);
        }
        let last = self.parts.len().saturating_sub(1);
        let mut out = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Tokens(tokens) => out.put_bytes(tokens),
                Part::BeginTransaction => transaction.begin(&mut out),
                Part::RollBackTransaction => transaction.roll_back(&mut out),
                Part::Done { count, failed } => {
                    let done = if in_batch { Done::Statement } else { Done::InProcedure };
                    let more = !in_batch || index != last;
                    let status = done_status(more, *failed, transaction);
                    write_done(&mut out, done, status, *count);
                }
            }
        }
        if let Ending::Call { handle, more } = ending {
            self.write_call_end(&mut out, *handle, done_status(*more, self.failed, transaction));
        }
        out
    }

    fn write_call_end(&self, out: &mut Vec<u8>, handle: Option<i32>, status: u16) {
        if !self.aborted {
            write_return_status(out, self.return_status);
            if let Some(handle) = handle {
                let (sql_type, value) = (Type::Int, Value::from(handle));
                ReturnValue { ordinal: 0, name: String::new(), sql_type, value }.write(out);
            }
            for output in &self.outputs {
                output.write(out);
            }
        }
        write_done(out, Done::Procedure, status, None);
    }

    fn end_statement(&mut self) {
        match self.open.take() {
            Some(open) => self.push_done(Some(open.rows)),
            None if self.failed => self.push_done(None),
            None => {}
        }
    }

    fn push_done(&mut self, count: Option<u64>) {
        let failed = std::mem::take(&mut self.failed);
        let count = count.filter(|_| !self.no_count && !failed);
        self.parts.push(Part::Done { count, failed });
    }
}

fn done_status(more: bool, failed: bool, transaction: &Transaction) -> u16 {
    (if more { status::MORE } else { 0 })
        | (if failed { status::ERROR } else { 0 })
        | (if transaction.is_open() { status::IN_TRANSACTION } else { 0 })
}
