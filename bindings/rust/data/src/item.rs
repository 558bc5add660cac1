//! Items as the procedures take them.

use crate::Unfit;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::{Duration, SystemTime};

/// An item to enqueue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewItem {
    /// The values of the queue's own columns, by name in any case. One that is left out has its default, or NULL. Bytes are base64, and a
    /// decimal of many digits is text, which keeps them all.
    pub columns: Map<String, Value>,
    /// The kind of work, one of the queue's types; `None`: the first of them.
    pub kind: Option<String>,
    /// The step to begin with; `None`: none.
    pub step: Option<String>,
    /// When it is due, from now on the server's clock; a part of a millisecond counts as a whole one. `None`: at `due`.
    pub delay: Option<Duration>,
    /// When it is due; `None`: now, or after `delay`.
    pub due: Option<SystemTime>,
    /// The items for which it waits. Only in a queue whose description has `after`.
    pub after: Vec<After>,
    /// Its fate when one of them ends in another way than Completed.
    pub on_failed: OnFailed,
}

/// An item for which another waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// An item of the queue, by its key.
    Key(String),
    /// An earlier item of the same call, by its place, from 0 on.
    Item(usize),
}

/// The fate of an item when one that it waits for ends in another way than Completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailed {
    /// It fails too.
    #[default]
    Fail,
    /// It runs all the same.
    Run,
    /// It waits on.
    Wait,
}

impl NewItem {
    /// An item with the columns of `value`, a struct or a map.
    ///
    /// # Errors
    /// [`Unfit`]: it is no object in JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, Unfit> {
        match serde_json::to_value(value).map_err(|error| Unfit::new(error.to_string()))? {
            Value::Object(columns) => Ok(Self { columns, ..Self::default() }),
            other => Err(Unfit::new(format!("columns are an object, not {other}"))),
        }
    }

    fn written(&self) -> Result<Value, Unfit> {
        let mut item = json!({ "columns": self.columns });
        let mut put = |name: &str, value: Value| item[name] = value;
        if let Some(kind) = &self.kind {
            put("type", json!(kind));
        }
        if let Some(step) = &self.step {
            put("step", json!(step));
        }
        if let Some(delay) = self.delay {
            put("delay_ms", json!(delay.as_nanos().div_ceil(1_000_000)));
        }
        if let Some(due) = self.due {
            put("due", json!(moment(due)?));
        }
        if !self.after.is_empty() {
            let of = |after: &After| match after {
                After::Key(key) => json!(key),
                After::Item(place) => json!(place),
            };
            put("after", self.after.iter().map(of).collect());
            put("on_failed", json!(["fail", "run", "wait"][self.on_failed as usize]));
        }
        Ok(item)
    }
}

/// The array of the items, in their order.
pub(crate) fn items_json(items: &[NewItem]) -> Result<String, Unfit> {
    Ok(Value::Array(items.iter().map(NewItem::written).collect::<Result<_, _>>()?).to_string())
}

/// A time as SQL Server's procedures read it: in UTC, and with seven digits of a second.
fn moment(time: SystemTime) -> Result<String, Unfit> {
    let time = Timestamp::try_from(time).map_err(|error| Unfit::new(format!("due: {error}")))?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S%.7fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_written_as_the_procedures_take_them() {
        #[derive(Serialize)]
        struct Mail {
            to: &'static str,
            n: i32,
        }
        let mail = NewItem {
            kind: Some("A".to_owned()),
            delay: Some(Duration::from_micros(1)),
            after: vec![After::Key("k".to_owned()), After::Item(0)],
            on_failed: OnFailed::Run,
            ..NewItem::of(&Mail { to: "a", n: 1 }).unwrap()
        };
        let due = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        let items = [mail, NewItem { due: Some(due), ..NewItem::default() }];
        assert_eq!(
            items_json(&items).unwrap(),
            r#"[{"after":["k",0],"columns":{"n":1,"to":"a"},"delay_ms":1,"on_failed":"run","type":"A"},"#.to_owned()
                + r#"{"columns":{},"due":"2023-11-14T22:13:20.1234567Z"}]"#
        );
        assert!(NewItem::of(&5).unwrap_err().to_string().contains("not 5"));
    }
}
