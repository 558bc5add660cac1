//! The items that hang together because they wait for each other, as a picture: those that others wait for at the left.

use readpast::ItemState;
use readpast::item::Wait;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A call asks for the neighbours of one item, so that many items are drawn without theirs.
const ASKED: usize = 24;
/// The items of the picture, and those that one item brings in at most.
const ITEMS: usize = 60;
const OF_ONE: usize = 10;

/// The size of an item, and the room between two.
const BOX: (usize, usize) = (168, 40);
const GAP: (usize, usize) = (56, 12);

/// The items of a picture, by their keys. An item waits for earlier ones alone, so their order is one of the waits too.
struct Graph {
    items: BTreeMap<String, Option<ItemState>>,
    /// Pairs of an item that is waited for and one that waits; whether the wait is over.
    waits: BTreeMap<(String, String), bool>,
    /// How many neighbours of an item are not drawn.
    left_out: BTreeMap<String, usize>,
    /// Items whose neighbours were not asked for.
    unasked: usize,
}

/// The items around one whose waits are known; `ask` gives the waits of another.
///
/// # Errors
/// Those of `ask`.
pub fn around<E>(
    key: &str,
    state: Option<ItemState>,
    waits: &[Wait],
    label: impl Fn(&str) -> String,
    mut ask: impl FnMut(&str) -> Result<Vec<Wait>, E>,
) -> Result<Json, E> {
    if waits.is_empty() {
        return Ok(Json::Null);
    }
    let mut graph = Graph {
        items: BTreeMap::from([(key.to_owned(), state)]),
        waits: BTreeMap::new(),
        left_out: BTreeMap::new(),
        unasked: 0,
    };
    let mut next = VecDeque::from(graph.add(key, waits));
    for _ in 0..ASKED {
        let Some(key) = next.pop_front() else { break };
        let found = ask(&key)?;
        next.extend(graph.add(&key, &found));
    }
    graph.unasked = next.len();
    Ok(graph.drawn(key, label))
}

impl Graph {
    /// Adds the neighbours of an item, those that are still waited for first. The new ones.
    fn add(&mut self, key: &str, waits: &[Wait]) -> Vec<String> {
        let mut new = Vec::new();
        let mut sorted: Vec<_> = waits.iter().collect();
        sorted.sort_by_key(|wait| wait.is_over);
        for wait in sorted {
            let is_known = self.items.contains_key(&wait.key);
            if !is_known && (new.len() == OF_ONE || self.items.len() == ITEMS) {
                *self.left_out.entry(key.to_owned()).or_default() += 1;
                continue;
            }
            if !is_known {
                self.items.insert(wait.key.clone(), wait.state);
                new.push(wait.key.clone());
            }
            let (parent, item) = if wait.is_parent { (&*wait.key, key) } else { (key, &*wait.key) };
            self.waits.insert((parent.to_owned(), item.to_owned()), wait.is_over);
        }
        new
    }

    /// The column of each item: right of all that it waits for.
    fn columns(&self) -> BTreeMap<&str, usize> {
        let mut columns = BTreeMap::new();
        for key in self.items.keys() {
            let parents = self.waits.keys().filter(|(_, item)| item == key);
            let column = parents.filter_map(|(parent, _)| columns.get(&**parent)).max().map_or(0, |column| column + 1);
            columns.insert(&**key, column);
        }
        columns
    }

    /// The place of each item, in columns and rows: beside those that it waits for, as far as there is room.
    fn places(&self) -> BTreeMap<&str, (usize, usize)> {
        let columns = self.columns();
        let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let used: BTreeSet<_> = columns.values().copied().collect();
        for column in used {
            let mut of_column: Vec<_> = columns.iter().filter(|(_, of)| **of == column).map(|(key, _)| *key).collect();
            of_column.sort_by_key(|key| {
                let parents = self.waits.keys().filter(|(_, item)| item == key);
                let rows: Vec<_> = parents.filter_map(|(parent, _)| Some(places.get(&**parent)?.1)).collect();
                // In tenths of a row.
                rows.iter().sum::<usize>() * 10 / rows.len().max(1)
            });
            places.extend(of_column.into_iter().enumerate().map(|(row, key)| (key, (column, row))));
        }
        places
    }

    fn drawn(&self, own: &str, label: impl Fn(&str) -> String) -> Json {
        let places = self.places();
        let at = |key: &str| {
            let (column, row) = places.get(key).copied().unwrap_or_default();
            (column * (BOX.0 + GAP.0), row * (BOX.1 + GAP.1))
        };
        let items = self.items.iter().map(|(key, state)| {
            let (x, y) = at(key);
            json!({
                "key": key, "label": label(key), "state": state.map(ItemState::as_str), "x": x, "y": y, "here": key == own,
                "left_out": self.left_out.get(key),
            })
        });
        let waits = self.waits.iter().map(|((parent, item), is_over)| {
            let ((from_x, from_y), (to_x, to_y)) = (at(parent), at(item));
            let (from, to) = ((from_x + BOX.0, from_y + BOX.1 / 2), (to_x, to_y + BOX.1 / 2));
            let bend = GAP.0 / 2;
            let path = format!(
                "M{} {}C{} {} {} {} {} {}",
                from.0,
                from.1,
                from.0 + bend,
                from.1,
                to.0 - bend,
                to.1,
                to.0,
                to.1
            );
            json!({"path": path, "over": is_over})
        });
        let size = places.values().fold((0, 0), |most, place| (most.0.max(place.0), most.1.max(place.1)));
        json!({
            "width": (size.0 + 1) * (BOX.0 + GAP.0) - GAP.0, "height": (size.1 + 1) * (BOX.1 + GAP.1) - GAP.1,
            "box": {"width": BOX.0, "height": BOX.1},
            "items": items.collect::<Vec<_>>(), "waits": waits.collect::<Vec<_>>(),
            "is_whole": self.left_out.is_empty() && self.unasked == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readpast::item::OnFailed;
    use std::convert::Infallible;

    fn wait(key: &str, is_parent: bool, is_over: bool) -> Wait {
        Wait {
            is_parent,
            key: key.to_owned(),
            state: Some(ItemState::Pending),
            on_failed: OnFailed::Fail,
            is_over,
            outcome: None,
        }
    }

    /// The picture around an item of these waits: who is waited for, and who waits.
    fn drawn(own: &str, waits: &[(String, String)]) -> Json {
        let of = |key: &str| -> Vec<Wait> {
            let parents = waits.iter().filter(|(_, item)| item == key).map(|(parent, _)| wait(parent, true, false));
            parents
                .chain(waits.iter().filter(|(parent, _)| parent == key).map(|(_, item)| wait(item, false, false)))
                .collect()
        };
        around::<Infallible>(own, None, &of(own), str::to_uppercase, |key| Ok(of(key))).unwrap()
    }

    fn pairs(waits: &[(&str, &str)]) -> Vec<(String, String)> {
        waits.iter().map(|(parent, item)| ((*parent).to_owned(), (*item).to_owned())).collect()
    }

    #[test]
    fn an_item_stands_right_of_all_that_it_waits_for() {
        let graph = drawn("c", &pairs(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")]));
        let places: Vec<_> = graph["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| {
                (
                    item["key"].as_str().unwrap(),
                    item["x"].as_u64().unwrap(),
                    item["y"].as_u64().unwrap(),
                    item["here"] == true,
                )
            })
            .collect();
        assert_eq!(places, [("a", 0, 0, false), ("b", 224, 0, false), ("c", 224, 52, true), ("d", 448, 0, false)]);
        assert_eq!((&graph["width"], &graph["height"]), (&json!(616), &json!(92)));
        assert_eq!(graph["waits"].as_array().unwrap().len(), 5);
        assert_eq!((&graph["items"][0]["label"], &graph["is_whole"]), (&json!("A"), &json!(true)));
    }

    #[test]
    fn an_item_without_waits_has_no_picture() {
        assert_eq!(drawn("a", &[]), Json::Null);
    }

    #[test]
    fn a_picture_has_an_end_and_counts_what_it_leaves_out() {
        let waits: Vec<_> = (0..1000).map(|n| ("a".to_owned(), format!("b{n:03}"))).collect();
        let graph = drawn("a", &waits);
        assert_eq!(graph["items"].as_array().unwrap().len(), 1 + OF_ONE);
        assert_eq!((&graph["items"][0]["left_out"], &graph["is_whole"]), (&json!(990), &json!(false)));
        let graph = drawn("b999", &waits);
        assert_eq!(graph["items"][0]["left_out"], 989, "its own place is drawn");

        let chain: Vec<_> = (0..100).map(|n| (format!("{n:03}"), format!("{:03}", n + 1))).collect();
        let graph = drawn("000", &chain);
        assert_eq!(graph["items"].as_array().unwrap().len(), ASKED + 2);
        assert_eq!(graph["is_whole"], false);
    }

    #[test]
    fn items_that_are_still_waited_for_come_first() {
        let waits: Vec<_> = (0..30).map(|n| wait(&format!("a{n:02}"), true, n < 25)).collect();
        let graph = around::<Infallible>("b", None, &waits, str::to_owned, |_| Ok(Vec::new())).unwrap();
        let drawn: Vec<_> =
            graph["items"].as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap()).collect();
        assert_eq!(drawn, ["a00", "a01", "a02", "a03", "a04", "a25", "a26", "a27", "a28", "a29", "b"]);
    }
}
