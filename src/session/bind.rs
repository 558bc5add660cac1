//! Values as ODBC parameters.

use odbc_api::{
    DataType, IntoParameter,
    parameter::{InputParameter, VarWCharBox, WithDataType},
};

/// A value for a parameter marker.
#[derive(Debug, Clone, Copy)]
pub enum Param<'a> {
    /// Text of any length.
    Text(&'a str),
    /// Text of any length, or NULL.
    OptionalText(Option<&'a str>),
    /// A whole number.
    Integer(i32),
    /// A whole number, or NULL.
    OptionalInteger(Option<i32>),
    /// A whole number of 64 bits, or NULL.
    OptionalLong(Option<i64>),
}

pub(super) fn all(params: &[Param<'_>]) -> Vec<Box<dyn InputParameter>> {
    params.iter().map(|param| one(*param)).collect()
}

/// NULLs for a statement that ignores its parameters.
pub(super) fn nulls(count: usize) -> Vec<Box<dyn InputParameter>> {
    (0..count).map(|_| one(Param::OptionalText(None))).collect()
}

fn one(param: Param<'_>) -> Box<dyn InputParameter> {
    match param {
        // Wide, since the Microsoft driver sends narrow text in the server's code page and loses other characters. Without a
        // length, which is nvarchar(max): a length would make long text ntext, and every length a plan.
        Param::OptionalText(None) => {
            Box::new(WithDataType { value: VarWCharBox::null(), data_type: DataType::WVarchar { length: None } })
        }
        Param::Text(text) | Param::OptionalText(Some(text)) => Box::new(WithDataType {
            value: VarWCharBox::from_vec(to_utf16(text)),
            data_type: DataType::WVarchar { length: None },
        }),
        // With an indicator: a plain integer has none, which ODBC allows and Wine 10 dereferences all the same.
        Param::Integer(number) => Box::new(Some(number).into_parameter()),
        Param::OptionalInteger(number) => Box::new(number.into_parameter()),
        Param::OptionalLong(number) => Box::new(number.into_parameter()),
    }
}

/// Converts text. Long text is JSON of ours, most of it ASCII, which needs no decoding.
fn to_utf16(text: &str) -> Vec<u16> {
    if text.is_ascii() { text.bytes().map(u16::from).collect() } else { text.encode_utf16().collect() }
}
