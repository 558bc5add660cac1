//! The Rust side of a SQL value: what tests put into rows and what they read out of parameters.

use super::datetime2::DateTime2;

/// A value of any type the peer speaks. How it looks on the wire is decided by the
/// [`Type`](super::Type) it is paired with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bit(bool),
    /// Every integer type from tinyint to bigint.
    Int(i64),
    Float(f64),
    /// The unscaled digits; the scale belongs to the type. `12.50` as decimal(9, 2) is `1250`.
    Decimal(i128),
    Text(String),
    Bytes(Vec<u8>),
    DateTime2(DateTime2),
    /// The sixteen bytes of a uniqueidentifier in the order of its text form.
    Uuid([u8; 16]),
}

impl Value {
    /// A `datetime2` from its text; panics if it is none.
    pub fn datetime2(text: &str) -> Value {
        Value::DateTime2(DateTime2::parse(text))
    }

    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

macro_rules! value_from {
    ($($source:ty => $convert:expr),+ $(,)?) => {
        $(impl From<$source> for Value {
            fn from(source: $source) -> Value {
                $convert(source)
            }
        })+
    };
}

value_from! {
    bool => Value::Bit,
    i32 => |int| Value::Int(i64::from(int)),
    i64 => Value::Int,
    f64 => Value::Float,
    &str => |text: &str| Value::Text(text.to_owned()),
    String => Value::Text,
    &[u8] => |bytes: &[u8]| Value::Bytes(bytes.to_vec()),
    Vec<u8> => Value::Bytes,
    DateTime2 => Value::DateTime2,
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(source: Option<T>) -> Value {
        source.map_or(Value::Null, Into::into)
    }
}
