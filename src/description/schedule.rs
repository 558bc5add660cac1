//! Schedules: items that a queue gets at planned times.

use super::check_item::check_items;
use super::{QueueSpec, items_to_json};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{ITEM_MEMBERS, Missed, NewItem, Overlap, read_new_item};
use crate::schedule::Rule;
use serde_json::Value;

/// The longest name of a schedule.
pub(crate) const MAX_NAME: usize = 100;

/// An item that is put in at planned times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleSpec {
    /// Its name, of 1 to 100 characters; one schedule of a queue has it.
    pub name: String,
    /// When: five or six fields of cron, `@daily` and the like, or `@every 90s`.
    pub cron: String,
    /// The zone in which the rule is read, by its name in the IANA database: `Europe/Zurich`, `UTC`.
    pub zone: String,
    /// The item: an object with `columns` and, where wanted, `type` and `step`.
    pub item: Value,
    /// The times that nobody was there for.
    pub missed: Missed,
    /// Whether an item is put in while the last one is not over.
    pub overlap: Overlap,
}

/// A mistake in a schedule: the key that it is at, and why.
pub(crate) type Mistaken = (&'static str, String);

impl ScheduleSpec {
    /// Checks it for a queue, and returns the array that the procedures take.
    pub(crate) fn check(&self, spec: &QueueSpec) -> std::result::Result<String, Mistaken> {
        check_name(&self.name).map_err(|why| ("name", why))?;
        Rule::new(&self.cron, &self.zone)?;
        let item = read_item(&self.item).map_err(|why| ("item", why))?;
        items_of(spec, &item).map_err(|error| ("item", error.message().to_owned()))
    }

    /// The array that the procedures take, of a schedule that was checked.
    pub(crate) fn items(&self, spec: &QueueSpec) -> String {
        read_item(&self.item).ok().and_then(|item| items_of(spec, &item).ok()).unwrap_or_default()
    }
}

/// Checks the name of a schedule.
pub(crate) fn check_name(name: &str) -> std::result::Result<(), String> {
    let chars = name.encode_utf16().count();
    let is_right = (1..=MAX_NAME).contains(&chars) && !name.chars().any(char::is_control) && name.trim() == name;
    is_right.then_some(()).ok_or_else(|| {
        format!("{name:?} is no name: it has from 1 to {MAX_NAME} characters, no control characters, and no blanks at its ends")
    })
}

/// The array that the procedures take.
///
/// # Errors
/// [`ErrorKind::InvalidItem`] when the item does not fit the queue.
pub(crate) fn items_of(spec: &QueueSpec, item: &NewItem) -> Result<String> {
    if item.due.is_some() || item.delay_ms.is_some() {
        return Err(Error::new(
            ErrorKind::InvalidItem,
            "an item of a schedule is due at the planned time: it has no due and no delay_ms",
        ));
    }
    Ok(items_to_json(check_items(spec, std::slice::from_ref(item))?.iter()))
}

/// An item in the form of a description: an object with `columns` and, where wanted, `type` and `step`.
///
/// # Errors
/// The mistake in words.
pub fn read_item(item: &Value) -> std::result::Result<NewItem, String> {
    read_new_item(&item.to_string(), &ITEM_MEMBERS)
}
