//! From the bytes of a request to what it asks: SQLBatch (MS-TDS 2.2.6.7), RPC Request (2.2.6.6) and
//! Transaction Manager Request (2.2.6.9).

use std::io;

use super::codec::read_value;
use super::request::{Param, TransactionCall};
use super::types::Type;
use super::wire::{Reader, malformed};

/// Skips ALL_HEADERS (2.2.5.3) and answers the transaction descriptor found in there.
pub fn read_headers(reader: &mut Reader<'_>) -> io::Result<u64> {
    const TRANSACTION_DESCRIPTOR: u16 = 2;
    let total = reader.u32()? as usize;
    let length = total.checked_sub(4).ok_or_else(|| malformed("ALL_HEADERS shorter than itself"))?;
    let mut headers = Reader::new(reader.bytes(length)?);
    let mut transaction = 0;
    while !headers.is_empty() {
        let length = headers.u32()? as usize;
        let length = length.checked_sub(4).ok_or_else(|| malformed("an empty header"))?;
        let mut header = Reader::new(headers.bytes(length)?);
        if header.u16()? == TRANSACTION_DESCRIPTOR {
            transaction = header.u64()?;
        }
    }
    Ok(transaction)
}

/// The text of a batch.
pub fn read_batch(reader: &mut Reader<'_>) -> io::Result<String> {
    let units = reader.rest().len() / 2;
    reader.text(units)
}

/// One call as the RPC request spells it.
pub struct Rpc {
    pub procedure: Procedure,
    pub params: Vec<Param>,
}

pub enum Procedure {
    Named(String),
    Numbered(u16),
}

/// The calls of one RPC request, usually one.
pub fn read_rpcs(reader: &mut Reader<'_>) -> io::Result<Vec<Rpc>> {
    const BY_NUMBER: u16 = 0xFFFF;
    let mut rpcs = Vec::new();
    while !reader.is_empty() {
        let procedure = match reader.u16()? {
            BY_NUMBER => Procedure::Numbered(reader.u16()?),
            length => Procedure::Named(reader.text(usize::from(length))?),
        };
        let _options = reader.u16()?;
        let params = read_params(reader)?;
        rpcs.push(Rpc { procedure, params });
    }
    Ok(rpcs)
}

/// Parameters up to the end of the message or of the call.
fn read_params(reader: &mut Reader<'_>) -> io::Result<Vec<Param>> {
    const BY_REFERENCE: u8 = 0x01;
    const END_OF_CALL: [u8; 2] = [0xFF, 0xFE];
    let mut params = Vec::new();
    while let Some(first) = reader.rest().first() {
        if END_OF_CALL.contains(first) {
            reader.u8()?;
            break;
        }
        let name = reader.b_varchar()?;
        let output = reader.u8()? & BY_REFERENCE != 0;
        let sql_type = Type::read(reader)?;
        let value = read_value(reader, sql_type)?;
        params.push(Param { name, output, sql_type, value });
    }
    Ok(params)
}

/// The body of a transaction manager request.
pub fn read_transaction_call(reader: &mut Reader<'_>) -> io::Result<TransactionCall> {
    const BEGIN: u16 = 5;
    const COMMIT: u16 = 7;
    const ROLLBACK: u16 = 8;
    const SAVE: u16 = 9;
    match reader.u16()? {
        BEGIN => Ok(TransactionCall::Begin { isolation: reader.u8()? }),
        COMMIT => Ok(TransactionCall::Commit { begins_next: read_begins_next(reader)? }),
        ROLLBACK => Ok(TransactionCall::Rollback { begins_next: read_begins_next(reader)? }),
        SAVE => Ok(TransactionCall::Save),
        other => Err(malformed(format!("the peer knows no transaction request {other}"))),
    }
}

/// The name of the ended transaction, then the flag `fBeginXact`.
fn read_begins_next(reader: &mut Reader<'_>) -> io::Result<bool> {
    let length = usize::from(reader.u8()?);
    reader.bytes(length)?;
    Ok(reader.u8()? & 1 != 0)
}
