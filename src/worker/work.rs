//! The work that an item carries, read by serde.

use super::job::Job;
use super::unreadable::Unreadable;
use super::verdict::IntoVerdict;
use crate::item::{ColumnType, Item, Value, Verdict};
use serde_core::Deserializer;
use serde_core::de::value::BorrowedStrDeserializer;
use serde_core::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, Visitor};
use serde_core::forward_to_deserialize_any;
use serde_json::{Error, Number, Value as Json};
use std::any::type_name;

/// A handler that gets the JSON in one column as a `T`. An item without such a `T` becomes Failed, with line and column of the JSON, and is
/// not tried again; a column that is not there is an error.
pub fn from_column<T: DeserializeOwned, R: IntoVerdict>(
    column: impl Into<String>,
    handler: impl Fn(T, &Job<'_>) -> R,
) -> impl Fn(&Job<'_>) -> Verdict {
    let column = column.into();
    move |job| handled(&handler, in_column(&job.item(), &column), job)
}

/// A handler that gets the item's columns as a `T`, a struct whose fields are columns by their names (serde's, so
/// `#[serde(rename_all = "PascalCase")]` counts), in any case. A decimal may be a number or a text, and a time is text in UTC with a `Z`. An
/// item without such a `T` becomes Failed, with the name of the column, and is not tried again.
pub fn from_columns<T: DeserializeOwned, R: IntoVerdict>(
    handler: impl Fn(T, &Job<'_>) -> R,
) -> impl Fn(&Job<'_>) -> Verdict {
    move |job| handled(&handler, in_columns(&job.item()), job)
}

fn handled<T, R: IntoVerdict>(
    handler: &impl Fn(T, &Job<'_>) -> R,
    work: Result<T, Unreadable>,
    job: &Job<'_>,
) -> Verdict {
    work.map_or_else(Verdict::from, |work| handler(work, job).into_verdict())
}

/// The JSON in one column, as [`from_column`] reads it; if it is there.
pub(super) fn in_column<T: DeserializeOwned>(item: &Item<'_>, column: &str) -> Result<T, Unreadable> {
    match item.value_of(column) {
        Some(Value::Text(text)) => serde_json::from_str(text).map_err(|error| unread::<T>(&without_values(&error))),
        Some(Value::Null) => Err(unread::<T>("it is null")),
        Some(_) => Err(mistaken(format!("the column {column:?} holds no text"))),
        None => Err(mistaken(format!("the items have no column {column:?}"))),
    }
}

/// The columns, as [`from_columns`] reads them; if it is there.
pub(super) fn in_columns<T: DeserializeOwned>(item: &Item<'_>) -> Result<T, Unreadable> {
    T::deserialize(Columns(*item)).map_err(|error| unread::<T>(&without_values(&error)))
}

/// No other attempt reads it either.
fn unread<T>(why: &str) -> Unreadable {
    let name = type_name::<T>();
    let name = name.split('<').next().and_then(|path| path.rsplit("::").next()).unwrap_or(name);
    Unreadable::new(Verdict::fail(format!("the item carries no {name}: {why}")))
}

/// Another version of the program may ask for a column that is there.
fn mistaken(why: String) -> Unreadable {
    Unreadable::new(Verdict::retry(why))
}

/// An error of serde without what it quotes of the item, which may be secret.
fn without_values(error: &Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(", expected ") {
        Some((found, expected)) => {
            let found = found.split(['"', '`']).next().unwrap_or_default().trim_end();
            format!("{found}, expected {expected}")
        }
        None => message,
    }
}

/// The columns of an item, as a map.
struct Columns<'a>(Item<'a>);

impl<'a> Columns<'a> {
    /// The column at `index`, under this name.
    fn column(&self, name: &'a str, index: usize) -> Option<(&'a str, Column<'a>)> {
        let kind = self.0.columns().get(index)?.kind;
        Some((name, Column { kind, value: self.0.value(index)? }))
    }
}

impl<'a> Deserializer<'a> for Columns<'a> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let named = self.0.columns().iter().enumerate().filter_map(|(i, column)| self.column(&column.name, i));
        visitor.visit_map(Members { rest: named.collect::<Vec<_>>().into_iter(), next: None })
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut places = Vec::new();
        let named = fields.iter().filter_map(|field| {
            let place = self.0.place_of(field).filter(|place| !places.contains(place))?;
            // An alias of another field's name is no other field.
            places.push(place);
            self.column(field, place)
        });
        visitor.visit_map(Members { rest: named.collect::<Vec<_>>().into_iter(), next: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        <W: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

struct Members<'a> {
    rest: std::vec::IntoIter<(&'a str, Column<'a>)>,
    next: Option<(&'a str, Column<'a>)>,
}

impl<'a> MapAccess<'a> for Members<'a> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next = self.rest.next();
        self.next.map(|(name, _)| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, column) = self.next.take().ok_or_else(|| Error::custom("there is no value without a name"))?;
        seed.deserialize(column).map_err(|error| Error::custom(format!("{name}: {}", without_values(&error))))
    }
}

/// A value of a column.
#[derive(Clone, Copy)]
struct Column<'a> {
    kind: ColumnType,
    value: Value<'a>,
}

impl Column<'_> {
    fn json(self) -> Json {
        match (self.value, self.kind) {
            (Value::Null, _) => Json::Null,
            (Value::Boolean(value), _) => value.into(),
            (Value::Integer(value), _) => value.into(),
            (Value::Float(value), _) => value.into(),
            (Value::Text(text), ColumnType::Json) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            // PostgreSQL has others besides, as `infinity`, which stay as they are.
            (Value::Text(text), ColumnType::Timestamp) if text.as_bytes().get(10) == Some(&b'T') => {
                format!("{text}Z").into()
            }
            (Value::Text(text), _) => text.into(),
            (Value::Binary(bytes), _) => bytes.into(),
        }
    }

    /// A decimal as a number, where a number is asked for.
    fn number(self) -> Json {
        match self.value {
            Value::Text(text) if self.kind == ColumnType::Decimal => {
                text.parse::<Number>().map_or_else(|_| text.into(), Json::Number)
            }
            _ => self.json(),
        }
    }
}

macro_rules! read_as {
    ($how:ident: $($method:ident)*) => {
        $(fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            self.$how().$method(visitor)
        })*
    };
}

impl<'a> Deserializer<'a> for Column<'a> {
    type Error = Error;

    read_as! { number:
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    read_as! { json:
        deserialize_any deserialize_bool deserialize_char deserialize_str deserialize_string deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        if matches!(self.value, Value::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_bytes<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Binary(bytes) => visitor.visit_borrowed_bytes(bytes),
            _ => self.json().deserialize_bytes(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.json().deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        // serde_json has its own, for raw values.
        if name.starts_with('$') {
            return self.json().deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.json().deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.json().deserialize_tuple_struct(name, len, visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.json().deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.json().deserialize_enum(name, variants, visitor)
    }
}
