//! The small tokens of an answer that are not rows and not messages: DONE, ENVCHANGE, RETURNSTATUS
//! and RETURNVALUE (MS-TDS 2.2.7).

use super::codec::write_value;
use super::types::{COLLATION, Type};
use super::value::Value;
use super::wire::Put;

/// Which of the three DONE tokens (MS-TDS 2.2.7.6 to 2.2.7.8).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Ends a statement of a batch.
    Statement = 0xFD,
    /// Ends a procedure.
    Procedure = 0xFE,
    /// Ends a statement inside a procedure.
    InProcedure = 0xFF,
}

/// The bits of `Status` in a DONE token.
pub mod status {
    pub const MORE: u16 = 0x01;
    pub const ERROR: u16 = 0x02;
    pub const IN_TRANSACTION: u16 = 0x04;
    pub const COUNT: u16 = 0x10;
    pub const ATTENTION: u16 = 0x20;
}

/// Appends a DONE token; `count` is the number of rows, if it is to be sent.
pub fn write_done(out: &mut Vec<u8>, done: Done, status: u16, count: Option<u64>) {
    out.put_u8(done as u8);
    out.put_u16(status | if count.is_some() { status::COUNT } else { 0 });
    out.put_u16(0); // CurCmd: which kind of statement it was; clients ignore it.
    out.put_u64(count.unwrap_or(0));
}

/// A change of the session's environment (MS-TDS 2.2.7.9).
pub enum EnvChange<'a> {
    Database { new: &'a str, old: &'a str },
    Language(&'a str),
    PacketSize { new: usize, old: usize },
    Collation,
    TransactionBegun(u64),
    TransactionCommitted(u64),
    TransactionRolledBack(u64),
    ConnectionReset,
}

impl EnvChange<'_> {
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        match self {
            EnvChange::Database { new, old } => put_text_change(&mut body, 1, new, old),
            EnvChange::Language(new) => put_text_change(&mut body, 2, new, ""),
            EnvChange::PacketSize { new, old } => {
                put_text_change(&mut body, 4, &new.to_string(), &old.to_string());
            }
            EnvChange::Collation => put_bytes_change(&mut body, 7, &COLLATION, &[]),
            EnvChange::TransactionBegun(id) => {
                put_bytes_change(&mut body, 8, &id.to_le_bytes(), &[]);
            }
            EnvChange::TransactionCommitted(id) => {
                put_bytes_change(&mut body, 9, &[], &id.to_le_bytes());
            }
            EnvChange::TransactionRolledBack(id) => {
                put_bytes_change(&mut body, 10, &[], &id.to_le_bytes());
            }
            EnvChange::ConnectionReset => put_bytes_change(&mut body, 18, &[], &[]),
        }
        out.put_u8(0xE3);
        out.put_u16(body.len() as u16);
        out.put_bytes(&body);
    }
}

fn put_text_change(body: &mut Vec<u8>, kind: u8, new: &str, old: &str) {
    body.put_u8(kind);
    body.put_b_varchar(new);
    body.put_b_varchar(old);
}

fn put_bytes_change(body: &mut Vec<u8>, kind: u8, new: &[u8], old: &[u8]) {
    body.put_u8(kind);
    body.put_b_varbyte(new);
    body.put_b_varbyte(old);
}

/// The value of the procedure's `RETURN` (MS-TDS 2.2.7.18).
pub fn write_return_status(out: &mut Vec<u8>, value: i32) {
    out.put_u8(0x79);
    out.put_u32(value.cast_unsigned());
}

/// The value of an output parameter (MS-TDS 2.2.7.19).
#[derive(Clone, Debug)]
pub struct ReturnValue {
    /// The place of the parameter in the call, counted from 0.
    pub ordinal: u16,
    pub name: String,
    pub sql_type: Type,
    pub value: Value,
}

impl ReturnValue {
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u8(0xAC);
        out.put_u16(self.ordinal);
        out.put_b_varchar(&self.name);
        out.put_u8(0x01); // Status: the output parameter of a procedure.
        out.put_u32(0); // UserType
        out.put_u16(0x0001); // Flags: nullable
        self.sql_type.write(out);
        write_value(out, self.sql_type, &self.value);
    }
}
