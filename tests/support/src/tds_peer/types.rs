//! SQL types as `TYPE_INFO` (MS-TDS 2.2.5.6) describes them in columns and parameters.

use std::io;

use super::wire::{Put, Reader, malformed};

/// The type bytes of MS-TDS 2.2.5.4 that the peer speaks.
mod token {
    pub const UUID: u8 = 0x24;
    pub const INT_N: u8 = 0x26;
    pub const BIT_N: u8 = 0x68;
    pub const DECIMAL_N: u8 = 0x6A;
    pub const NUMERIC_N: u8 = 0x6C;
    pub const FLOAT_N: u8 = 0x6D;
    pub const NTEXT: u8 = 0x63;
    pub const DATETIME2_N: u8 = 0x2A;
    pub const BIG_VARBINARY: u8 = 0xA5;
    pub const BIG_VARCHAR: u8 = 0xA7;
    pub const NVARCHAR: u8 = 0xE7;
}

/// The length that says `max`: values come in pieces (PLP, MS-TDS 2.2.5.2.3).
const MAX: u16 = 0xFFFF;

/// `SQL_Latin1_General_CP1_CI_AS` as MS-TDS 2.2.5.1.2 spells a collation.
pub const COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];

/// A SQL type. Lengths count characters for text and bytes for binary data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Bit,
    Float,
    Decimal {
        precision: u8,
        scale: u8,
    },
    VarChar(u16),
    VarCharMax,
    NVarChar(u16),
    NVarCharMax,
    /// Only read: some drivers prepare statements with it.
    NText,
    VarBinary(u16),
    VarBinaryMax,
    DateTime2(u8),
    Uuid,
}

impl Type {
    /// Appends the `TYPE_INFO`.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Type::TinyInt => out.put_bytes(&[token::INT_N, 1]),
            Type::SmallInt => out.put_bytes(&[token::INT_N, 2]),
            Type::Int => out.put_bytes(&[token::INT_N, 4]),
            Type::BigInt => out.put_bytes(&[token::INT_N, 8]),
            Type::Bit => out.put_bytes(&[token::BIT_N, 1]),
            Type::Float => out.put_bytes(&[token::FLOAT_N, 8]),
            Type::Uuid => out.put_bytes(&[token::UUID, 16]),
            Type::DateTime2(scale) => out.put_bytes(&[token::DATETIME2_N, scale]),
            Type::Decimal { precision, scale } => {
                let length = decimal_length(precision);
                out.put_bytes(&[token::DECIMAL_N, length, precision, scale]);
            }
            Type::VarChar(length) => write_text(out, token::BIG_VARCHAR, length),
            Type::VarCharMax => write_text(out, token::BIG_VARCHAR, MAX),
            Type::NVarChar(length) => write_text(out, token::NVARCHAR, length * 2),
            Type::NVarCharMax => write_text(out, token::NVARCHAR, MAX),
            Type::NText => panic!("the peer does not send ntext"),
            Type::VarBinary(length) => write_binary(out, length),
            Type::VarBinaryMax => write_binary(out, MAX),
        }
    }

    /// Reads a `TYPE_INFO`; a type the peer does not speak is an error.
    pub fn read(reader: &mut Reader<'_>) -> io::Result<Type> {
        let token = reader.u8()?;
        Ok(match token {
            token::INT_N => match reader.u8()? {
                1 => Type::TinyInt,
                2 => Type::SmallInt,
                4 => Type::Int,
                8 => Type::BigInt,
                length => return Err(malformed(format!("an integer of {length} bytes"))),
            },
            token::BIT_N => reader.u8().map(|_length| Type::Bit)?,
            token::FLOAT_N => reader.u8().map(|_length| Type::Float)?,
            token::UUID => reader.u8().map(|_length| Type::Uuid)?,
            token::DATETIME2_N => Type::DateTime2(reader.u8()?),
            token::DECIMAL_N | token::NUMERIC_N => {
                let _length = reader.u8()?;
                Type::Decimal { precision: reader.u8()?, scale: reader.u8()? }
            }
            token::BIG_VARBINARY => match reader.u16()? {
                MAX => Type::VarBinaryMax,
                length => Type::VarBinary(length),
            },
            token::BIG_VARCHAR => match read_text(reader)? {
                MAX => Type::VarCharMax,
                length => Type::VarChar(length),
            },
            token::NTEXT => {
                let _length = reader.u32()?;
                reader.bytes(COLLATION.len())?;
                Type::NText
            }
            token::NVARCHAR => match read_text(reader)? {
                MAX => Type::NVarCharMax,
                length => Type::NVarChar(length / 2),
            },
            other => return Err(malformed(format!("the peer does not speak type {other:#04x}"))),
        })
    }

    /// Whether values travel in pieces, as those of the `(max)` types do.
    pub fn is_max(self) -> bool {
        matches!(self, Type::VarCharMax | Type::NVarCharMax | Type::VarBinaryMax)
    }
}

/// Bytes of a decimal, sign included (MS-TDS 2.2.5.5.1.6).
pub fn decimal_length(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

fn write_text(out: &mut Vec<u8>, token: u8, length: u16) {
    out.put_u8(token);
    out.put_u16(length);
    out.put_bytes(&COLLATION);
}

fn write_binary(out: &mut Vec<u8>, length: u16) {
    out.put_u8(token::BIG_VARBINARY);
    out.put_u16(length);
}

fn read_text(reader: &mut Reader<'_>) -> io::Result<u16> {
    let length = reader.u16()?;
    reader.bytes(COLLATION.len())?;
    Ok(length)
}
