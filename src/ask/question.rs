//! The form of a question: its name, its arguments and the members of its answer.

use super::given::Given;
use crate::error::Result;
use crate::queue::Queue;

/// A question to a queue.
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// The answer, in a sentence or two.
    pub meaning: &'static str,
    /// Its arguments.
    pub arguments: &'static [Field],
    /// The members of its answer, in groups that several answers share.
    pub answer: &'static [&'static [Field]],
    pub(super) run: fn(&Queue, &Given<'_>) -> Result<String>,
}

/// An argument, or a member of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its place: `counts.*` are all members of the object `counts`, `steps[].step` is a member of each element of `steps`.
    pub path: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// Whether it is always there. An argument is left out or null otherwise, and so is a member of an answer.
    pub is_needed: bool,
    /// Its meaning.
    pub meaning: &'static str,
}

/// A kind of JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// True or false.
    Boolean,
    /// An object of any members.
    Object,
    /// An array.
    List,
}

impl Kind {
    /// Its name for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::List => "array",
        }
    }
}

impl Field {
    const fn new(path: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self { path, kind, is_needed: true, meaning }
    }

    /// The same, which may be left out.
    pub(super) const fn or_none(self) -> Self {
        Self { is_needed: false, ..self }
    }
}

pub(super) const fn text(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Text, meaning)
}

pub(super) const fn number(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Number, meaning)
}

pub(super) const fn boolean(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Boolean, meaning)
}

pub(super) const fn object(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::Object, meaning)
}

pub(super) const fn list(path: &'static str, meaning: &'static str) -> Field {
    Field::new(path, Kind::List, meaning)
}
