//! Options that choose items: the same for all subcommands.

use crate::duration;
use crate::failure::{Result, usage};
use crate::global::Global;
use readpast::item::utc_text;
use readpast::{Batch, Filter, ItemState, Queue, QueueSpec};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Options of a filter. Each one narrows the choice.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which items")]
pub struct FilterArgs {
    /// Items in this state; may be given again, or several with commas
    #[arg(long, visible_alias = "state", value_name = "STATE,...", value_delimiter = ',', value_parser = state)]
    pub status: Vec<ItemState>,
    /// Items of this type; may be given again
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Vec<String>,
    /// The item with this key or short number; may be given again, up to 1000 times
    #[arg(long, value_name = "KEY")]
    pub key: Vec<String>,
    /// Items last changed before this UTC time, like 2026-11-21T08:30:00Z
    #[arg(long, value_name = "TIME")]
    pub before: Option<String>,
    /// Items last changed at this UTC time or later
    #[arg(long, value_name = "TIME")]
    pub after: Option<String>,
    /// Items not changed for this long, by this machine's clock: 90s, 12h, 30d
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse, conflicts_with = "before")]
    pub older_than: Option<Duration>,
    /// Items whose last attempt took longer than this (90s, 5m), or that are in work for longer
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration::parse)]
    pub longer_than: Option<Duration>,
    /// Items with this text in the error; it has no wildcards
    #[arg(long, value_name = "TEXT")]
    pub error: Option<String>,
    /// Items with this value in a column, or in a member of the JSON that a column holds (Payload.customer=42); may be given again
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = column)]
    pub columns: Vec<(String, String)>,
}

impl FilterArgs {
    /// Whether no option narrows the choice.
    pub fn is_open(&self) -> bool {
        self.kind.is_empty() && self.names_no_items()
    }

    /// The same, whatever types are named.
    pub fn names_no_items(&self) -> bool {
        self.status.is_empty()
            && self.key.is_empty()
            && self.before.is_none()
            && self.after.is_none()
            && self.older_than.is_none()
            && self.longer_than.is_none()
            && self.error.is_none()
            && self.columns.is_empty()
    }

    /// The filter.
    pub fn filter(&self) -> Result<Filter> {
        let before = match (&self.before, self.older_than) {
            (_, Some(age)) => Some(ago(age).ok_or_else(|| usage("--older-than reaches too far back"))?),
            (before, None) => before.clone(),
        };
        Ok(Filter {
            keys: if self.key.is_empty() { None } else { Some(self.key.clone()) },
            states: self.status.clone(),
            types: self.kind.clone(),
            before,
            after: self.after.clone(),
            error: self.error.clone(),
            longer_ms: self.longer_than.map(duration::ms),
            columns: self.columns.clone(),
        })
    }
}

/// The same filter with whole keys in place of short numbers.
pub fn named(queue: &Queue, mut filter: Filter) -> readpast::Result<Filter> {
    for key in filter.keys.iter_mut().flatten() {
        *key = queue.whole_key(key)?;
    }
    Ok(filter)
}

/// An item's short number for a line, or a dash where its key is no time.
pub fn spoken(spec: &QueueSpec, key: &str) -> String {
    spec.short_number(key).unwrap_or_else(|| "-".to_owned())
}

/// The time so long ago.
pub fn ago(age: Duration) -> Option<String> {
    let then = SystemTime::now().checked_sub(age)?;
    then.duration_since(UNIX_EPOCH).is_ok().then(|| utc_text(then))
}

/// A state, whatever its case.
fn state(word: &str) -> std::result::Result<ItemState, String> {
    ItemState::ALL.into_iter().find(|state| state.as_str().eq_ignore_ascii_case(word)).ok_or_else(|| {
        let known: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        format!("the states are {}", known.join(", "))
    })
}

/// A column, and the value to look for as JSON: text, which the library reads as the column does.
pub fn column(argument: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = argument.split_once('=').ok_or("this is not COLUMN=VALUE")?;
    Ok((name.to_owned(), serde_json::json!(value).to_string()))
}

/// The items that fit, page by page, each page with up to `size` of them.
pub struct Pages<'a> {
    pub queue: &'a Queue,
    pub filter: &'a Filter,
    pub size: u32,
    after: Option<String>,
    ended: bool,
}

impl<'a> Pages<'a> {
    pub fn of(queue: &'a Queue, filter: &'a Filter, size: u32) -> Self {
        Self { queue, filter, size, after: None, ended: false }
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.ended {
            return None;
        }
        let page = match self.queue.find(self.filter, self.after.as_deref(), self.size) {
            Ok(page) => page,
            Err(error) => {
                self.ended = true;
                return Some(Err(error.into()));
            }
        };
        self.after = self.queue.next_page(&page, self.size);
        self.ended = self.after.is_none();
        (!page.is_empty()).then_some(Ok(page))
    }
}

/// Opens the queue for an operator.
pub fn open(global: &Global, name: &str) -> Result<Queue> {
    Ok(Queue::open(&crate::connection::config(global, "5000")?, name)?)
}
