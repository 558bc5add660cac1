//! Values as `TYPE_VARBYTE` (MS-TDS 2.2.5.2.3) puts them behind their type: a length byte, a two
//! byte length or, for the `(max)` types, a partially length-prefixed (PLP) stream of pieces.

use std::io;

use super::datetime2::DateTime2;
use super::types::{Type, decimal_length};
use super::value::Value;
use super::wire::{Put, Reader, malformed, utf16, utf16_bytes};

const PLP_NULL: u64 = 0xFFFF_FFFF_FFFF_FFFF;
const LONG_NULL: u16 = 0xFFFF;
const HUGE_NULL: u32 = 0xFFFF_FFFF;

/// The size of the pieces in which the peer sends a `(max)` value.
const PIECE: usize = 8000;

/// Appends `value` as the type says; panics if the two do not match, as only a test can mix them up.
pub fn write_value(out: &mut Vec<u8>, sql_type: Type, value: &Value) {
    let bytes = value_bytes(sql_type, value);
    if sql_type.is_max() {
        write_pieces(out, bytes.as_deref());
    } else if has_long_length(sql_type) {
        out.put_u16(bytes.as_ref().map_or(LONG_NULL, |bytes| bytes.len() as u16));
        out.put_bytes(&bytes.unwrap_or_default());
    } else {
        // An absent value and an empty one are the same here: length 0 is NULL.
        out.put_b_varbyte(&bytes.unwrap_or_default());
    }
}

/// Reads a value of the type.
pub fn read_value(reader: &mut Reader<'_>, sql_type: Type) -> io::Result<Value> {
    let bytes = if sql_type.is_max() {
        read_pieces(reader)?
    } else if sql_type == Type::NText {
        match reader.u32()? {
            HUGE_NULL => None,
            length => Some(reader.bytes(length as usize)?.to_vec()),
        }
    } else if has_long_length(sql_type) {
        match reader.u16()? {
            LONG_NULL => None,
            length => Some(reader.bytes(usize::from(length))?.to_vec()),
        }
    } else {
        match reader.u8()? {
            0 => None,
            length => Some(reader.bytes(usize::from(length))?.to_vec()),
        }
    };
    bytes.map_or(Ok(Value::Null), |bytes| decode(sql_type, bytes))
}

fn has_long_length(sql_type: Type) -> bool {
    matches!(sql_type, Type::VarChar(_) | Type::NVarChar(_) | Type::VarBinary(_))
}

fn value_bytes(sql_type: Type, value: &Value) -> Option<Vec<u8>> {
    let bytes = match (sql_type, value) {
        (_, Value::Null) => return None,
        (Type::TinyInt, Value::Int(int)) => int.to_le_bytes()[..1].to_vec(),
        (Type::SmallInt, Value::Int(int)) => int.to_le_bytes()[..2].to_vec(),
        (Type::Int, Value::Int(int)) => int.to_le_bytes()[..4].to_vec(),
        (Type::BigInt, Value::Int(int)) => int.to_le_bytes().to_vec(),
        (Type::Bit, Value::Bit(bit)) => vec![u8::from(*bit)],
        (Type::Float, Value::Float(float)) => float.to_le_bytes().to_vec(),
        (Type::Uuid, Value::Uuid(uuid)) => swap_uuid(*uuid).to_vec(),
        (Type::DateTime2(scale), Value::DateTime2(at)) => at.encode(scale),
        (Type::Decimal { precision, .. }, Value::Decimal(digits)) => {
            let magnitude = digits.unsigned_abs().to_le_bytes();
            let mut bytes = vec![u8::from(*digits >= 0)];
            bytes.extend(&magnitude[..usize::from(decimal_length(precision)) - 1]);
            bytes
        }
        (Type::NVarChar(_) | Type::NVarCharMax, Value::Text(text)) => utf16_bytes(text),
        (Type::VarChar(_) | Type::VarCharMax, Value::Text(text)) => {
            assert!(text.is_ascii(), "the peer sends only ASCII as varchar: {text:?}");
            text.as_bytes().to_vec()
        }
        (Type::VarBinary(_) | Type::VarBinaryMax, Value::Bytes(bytes)) => bytes.clone(),
        (sql_type, value) => panic!("{value:?} is not a value of {sql_type:?}"),
    };
    Some(bytes)
}

fn decode(sql_type: Type, bytes: Vec<u8>) -> io::Result<Value> {
    Ok(match sql_type {
        Type::TinyInt => Value::Int(i64::from(bytes[0])),
        Type::SmallInt | Type::Int | Type::BigInt => Value::Int(signed(&bytes)),
        Type::Bit => Value::Bit(bytes[0] != 0),
        Type::Float => match bytes[..] {
            [a, b, c, d] => Value::Float(f64::from(f32::from_le_bytes([a, b, c, d]))),
            [..] => Value::Float(f64::from_le_bytes(fixed(&bytes)?)),
        },
        Type::Uuid => Value::Uuid(swap_uuid(fixed(&bytes)?)),
        Type::DateTime2(scale) => Value::DateTime2(DateTime2::decode(&bytes, scale)?),
        Type::Decimal { .. } => {
            let (sign, magnitude) = bytes.split_first().ok_or_else(|| malformed("no sign"))?;
            let digits = magnitude.iter().rev().fold(0, |sum, &byte| sum << 8 | i128::from(byte));
            Value::Decimal(if *sign == 0 { -digits } else { digits })
        }
        Type::NVarChar(_) | Type::NVarCharMax | Type::NText => Value::Text(utf16(&bytes)),
        Type::VarChar(_) | Type::VarCharMax => Value::Text(bytes.into_iter().map(char::from).collect()),
        Type::VarBinary(_) | Type::VarBinaryMax => Value::Bytes(bytes),
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> io::Result<[u8; N]> {
    bytes.try_into().map_err(|_| malformed(format!("{} bytes where {N} belong", bytes.len())))
}

fn signed(bytes: &[u8]) -> i64 {
    let sign = if bytes.last().is_some_and(|top| top & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().rev().fold(sign, |sum, &byte| sum << 8 | i64::from(byte))
}

/// The first three groups of a uniqueidentifier are little-endian on the wire.
fn swap_uuid(mut uuid: [u8; 16]) -> [u8; 16] {
    uuid[0..4].reverse();
    uuid[4..6].reverse();
    uuid[6..8].reverse();
    uuid
}

fn write_pieces(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else {
        return out.put_u64(PLP_NULL);
    };
    out.put_u64(bytes.len() as u64);
    for piece in bytes.chunks(PIECE) {
        out.put_u32(piece.len() as u32);
        out.put_bytes(piece);
    }
    out.put_u32(0);
}

fn read_pieces(reader: &mut Reader<'_>) -> io::Result<Option<Vec<u8>>> {
    // The announced length may also be "unknown"; the pieces say it all.
    if reader.u64()? == PLP_NULL {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    loop {
        match reader.u32()? {
            0 => return Ok(Some(bytes)),
            length => bytes.put_bytes(reader.bytes(length as usize)?),
        }
    }
}
