//! The arguments of a question.

use super::question::Question;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::did_you_mean;
use crate::item::{Filter, ItemRef};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The given arguments, each as it is written: a column's number keeps its digits.
pub(super) struct Given<'a>(BTreeMap<String, &'a RawValue>);

/// An item, by its key.
pub(super) struct GivenItem {
    key: String,
    token: Option<String>,
}

impl GivenItem {
    pub(super) fn as_ref(&self) -> ItemRef<'_> {
        ItemRef { key: &self.key, token: self.token.as_deref() }
    }
}

impl<'a> Given<'a> {
    pub(super) fn read(of: &Question, text: Option<&'a str>) -> Result<Self> {
        let members: Option<BTreeMap<String, &RawValue>> = serde_json::from_str(text.unwrap_or("null"))
            .map_err(|error| refuse(format!("the arguments are no JSON object: {error}")))?;
        let mut members = members.unwrap_or_default();
        let known = || of.arguments.iter().map(|argument| argument.path).filter(|path| !path.contains('['));
        if let Some(other) = members.keys().find(|name| !known().any(|argument| argument == name.as_str())) {
            let near = did_you_mean(other, known());
            let all = known().collect::<Vec<_>>().join(", ");
            let all = if all.is_empty() { "it takes none".to_owned() } else { format!("it takes {all}") };
            return Err(refuse(format!("there is no argument {}{near}; {all}", Excerpt(other))));
        }
        members.retain(|_, value| value.get() != "null");
        let given = Self(members);
        match of.arguments.iter().find(|argument| argument.is_needed && given.raw(argument.path).is_none()) {
            Some(missing) if !missing.path.contains('[') => {
                Err(refuse(format!("the argument {:?} is missing", missing.path)))
            }
            _ => Ok(given),
        }
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    fn value<T>(&self, name: &str, wanted: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<Option<T>> {
        let wrong = |raw| refuse(format!("the argument {name:?} is {}; it must be {wanted}", Excerpt(raw)));
        self.raw(name).map(|raw| read(raw).ok_or_else(|| wrong(raw))).transpose()
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        self.value(name, "text", |raw| serde_json::from_str(raw).ok())
    }

    /// A text that the question needs: [`Given::read`] has found it.
    pub(super) fn needed_text(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub(super) fn number(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.value(name, &wanted, |raw| raw.parse().ok().filter(|number| range.contains(number)))
    }

    /// How many items a call takes.
    pub(super) fn count(&self, name: &str, most: u32, otherwise: u32) -> Result<u32> {
        let number = self.number(name, 1..=most.into())?;
        Ok(number.and_then(|number| u32::try_from(number).ok()).unwrap_or(otherwise))
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>> {
        self.value(name, "true or false", |raw| raw.parse().ok())
    }

    pub(super) fn is_set(&self, name: &str) -> Result<bool> {
        Ok(self.boolean(name)?.unwrap_or(false))
    }

    /// An object, as it is written.
    pub(super) fn object(&self, name: &str) -> Result<Option<&'a str>> {
        self.value(name, "an object", |raw| raw.starts_with('{').then_some(raw))
    }

    pub(super) fn filter(&self) -> Result<Option<Filter>> {
        self.raw("filter").map(Filter::from_json).transpose()
    }

    /// Texts; none where the argument is left out.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>> {
        let texts = self.value(name, "an array of texts", |raw| serde_json::from_str(raw).ok())?;
        Ok(texts.unwrap_or_default())
    }

    pub(super) fn items(&self) -> Result<Option<Vec<GivenItem>>> {
        let wanted = "an array of objects with a \"key\" and, if it is to be unchanged, a \"token\"";
        self.value("items", wanted, |raw| {
            let items: Vec<BTreeMap<String, Value>> = serde_json::from_str(raw).ok()?;
            items.into_iter().map(given_item).collect()
        })
    }
}

fn given_item(mut members: BTreeMap<String, Value>) -> Option<GivenItem> {
    let Some(Value::String(key)) = members.remove("key") else { return None };
    let token = match members.remove("token") {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(token),
        Some(_) => return None,
    };
    members.is_empty().then_some(GivenItem { key, token })
}

pub(super) fn refuse(why: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, why)
}
