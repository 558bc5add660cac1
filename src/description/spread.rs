//! The place of an item, where one queue is spread over several databases: the same in every language, by the rule of `sql/SPEC.md`.

use super::{CheckedItem, ColumnKind, QueueSpec, Storage};
use crate::error::{Error, ErrorKind, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The most columns of `spread_by`.
pub(super) const MOST_COLUMNS: usize = 4;

/// The one of `places`, by their names, that has what belongs to `text`: rendezvous hashing, so that a new place takes a share from each
/// of the others, and nothing else moves. `None` where there are no places.
pub fn place_of<'a>(places: impl IntoIterator<Item = &'a str>, text: &str) -> Option<&'a str> {
    let scored = places.into_iter().map(|place| (score(place, text), place));
    // Equal scores do not occur; the name that comes first would decide.
    scored.max_by(|one, other| one.0.cmp(&other.0).then_with(|| other.1.cmp(one.1))).map(|(_, place)| place)
}

/// The first eight bytes of a SHA-256, as a number.
fn score(place: &str, text: &str) -> u64 {
    let hash = Sha256::new().chain_update(place).chain_update("/").chain_update(text).finalize();
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl QueueSpec {
    /// The text by which an item finds its place: a JSON array with a text or null for each column of `spread_by`. `None`: any place
    /// will do.
    pub(crate) fn spread_text(&self, item: &CheckedItem) -> Option<String> {
        let text = |name: &crate::ident::Identifier| {
            let column = self.columns.iter().find(|column| column.name == *name)?;
            let (_, json) = item.columns.iter().find(|(given, _)| given == name.as_str())?;
            canonical(column.kind, json)
        };
        let texts: Value = self.spread_by.iter().map(text).collect();
        (!self.spread_by.is_empty()).then(|| texts.to_string())
    }
}

impl QueueSpec {
    /// Refuses a queue that several databases cannot hold together.
    pub(crate) fn check_several(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::new(ErrorKind::InvalidArgument, format!("queue {}: {why}", self.queue)));
        if matches!(self.storage, Storage::Procedures(_)) {
            return refuse("procedures that were written by hand work in one database".to_owned());
        }
        let together = [
            (self.order.group.is_some(), "order.group"),
            (self.dedup.is_some(), "dedup"),
            (!self.limits.is_empty(), "limit"),
        ];
        if let Some((_, option)) = together.into_iter().find(|(is, _)| *is && self.spread_by.is_empty()) {
            return refuse(format!(
                "over several places {option} needs spread_by with its columns, or else what belongs together is at different places"
            ));
        }
        if self.schedules.as_ref().is_some_and(|schedules| !schedules.is_empty()) {
            return refuse(
                "each place would put in the items of its schedule: write schedule = [], and make the schedule at one place"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// A checked value as one text, however it was written.
fn canonical(kind: ColumnKind, json: &str) -> Option<String> {
    match (kind, serde_json::from_str(json).ok()?) {
        (_, Value::Number(number)) => Some(number.as_i64()?.to_string()),
        (ColumnKind::Guid, Value::String(text)) => {
            Some(Uuid::parse_str(&text).map_or(text, |guid| guid.hyphenated().to_string()))
        }
        (_, Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Whether values of this kind have one text.
pub(super) fn spreads(kind: ColumnKind) -> bool {
    matches!(
        kind,
        ColumnKind::Integer | ColumnKind::BigInteger | ColumnKind::Guid | ColumnKind::Date | ColumnKind::Text(_)
    )
}

/// The error for an item of another place.
pub(crate) fn elsewhere(here: &str, place: &str) -> Error {
    let message = format!("by the queue's spread_by the item belongs at the place {place}, and this is {here}");
    Error::new(ErrorKind::InvalidItem, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::check_items;
    use crate::item::{Columns, NewItem};

    #[test]
    fn the_examples_of_the_specification_hold() {
        let spec = include_str!("../../sql/SPEC.md");
        let rows = spec
            .split("<!-- places -->")
            .nth(1)
            .expect("SPEC.md has the table of places")
            .split("<!-- end")
            .next()
            .unwrap()
            .lines();
        let mut count = 0;
        for row in rows.filter(|row| row.starts_with("| `")) {
            let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let &[_, text, north, east, south, place, _] = cells.as_slice() else { panic!("{row}") };
            for (name, number) in [("north", north), ("east", east), ("south", south)] {
                assert_eq!(format!("{:016x}", score(name, text)), number, "{name} {text}");
            }
            assert_eq!(place_of(["north", "east", "south"], text), Some(place), "{text}");
            count += 1;
        }
        assert!(count >= 6, "{count}");
    }

    #[test]
    fn a_new_place_takes_from_each_of_the_others_and_nothing_else_moves() {
        let (before, after) = (["a", "b", "c"], ["a", "b", "c", "d"]);
        let mut taken = [0; 3];
        for number in 0..3000 {
            let text = format!("[\"{number}\"]");
            let (was, is) = (place_of(before, &text).unwrap(), place_of(after, &text).unwrap());
            if is == "d" {
                taken[before.iter().position(|place| *place == was).unwrap()] += 1;
            } else {
                assert_eq!(was, is, "{text}");
            }
        }
        assert!(taken.iter().all(|count| (180..330).contains(count)), "{taken:?} of 750 expected together");
        assert_eq!(place_of([], "[]"), None);
    }

    #[test]
    fn one_value_has_one_text_however_it_is_written() {
        let spec = QueueSpec::from_json(
            r#"{"queue": "Q", "columns": [{"name": "G", "type": "guid"}, {"name": "T", "type": "text(20)"}, {"name": "B", "type": "bigint"}],
                "spread_by": ["G", "T", "B"]}"#,
        )
        .unwrap();
        let text = |columns: &str| {
            let item = NewItem { columns: Columns::from_json(columns).unwrap(), ..NewItem::default() };
            spec.spread_text(&check_items(&spec, &[item]).unwrap()[0]).unwrap()
        };
        let one = text(r#"{"G": "D6513312-4DCC-4C44-B044-08B98257037C", "T": "a\u00e9\"", "B": -5}"#);
        assert_eq!(one, r#"["d6513312-4dcc-4c44-b044-08b98257037c","aé\"","-5"]"#);
        assert_eq!(text(r#"{"b": 7, "t": "A "}"#), r#"[null,"A ","7"]"#);
    }
}
