//! Queues over several databases: pages go through their places.

use super::encoding::encode;
use readpast::{Batch, Error, Filter, Queue};

/// A bounded look at each place.
#[derive(Default)]
pub struct Looked {
    pub pages: Vec<Batch>,
    /// Whether there may be more items than these.
    pub more: bool,
    /// Why a place has none.
    pub failure: Option<Error>,
}

/// Up to `max` items of all places.
pub fn look(queue: &Queue, filter: &Filter, max: u32, most: u32) -> Looked {
    let places = queue.places();
    let (mut looked, mut left, mut number) = (Looked::default(), max, 0);
    loop {
        let after = places.get(number).filter(|_| number > 0).map(|place| format!("{place}/"));
        match queue.look(filter, after.as_deref(), left, most) {
            Ok((page, further)) => {
                looked.more |= further.is_some_and(|key| !key.ends_with('/')) || page.len() >= left as usize;
                left = left.saturating_sub(u32::try_from(page.len()).unwrap_or(left));
                // The page is of the next place that has keys of the filter.
                let of = page.iter().last().and_then(|item| places.iter().position(|place| is_at(item.key(), place)));
                number = number.max(of.unwrap_or(number));
                looked.pages.push(page);
            }
            Err(error) => drop(looked.failure.get_or_insert(error)),
        }
        number += 1;
        if number >= places.len() || left == 0 {
            return looked;
        }
    }
}

fn is_at(key: &str, place: &str) -> bool {
    key.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

/// The handle at the place that an address names; that of all places, or of the one database, where it names none.
pub fn at(queue: &Queue, place: Option<&str>) -> readpast::Result<Queue> {
    place.filter(|place| !place.is_empty()).map_or_else(|| Ok(queue.share()), |place| queue.at(place))
}

/// A handle at each place, with its name; one without a name where there is one database.
pub fn each(queue: &Queue) -> Vec<(Option<String>, readpast::Result<Queue>)> {
    let places = queue.places();
    if places.len() < 2 {
        return vec![(None, Ok(queue.share()))];
    }
    places.into_iter().map(|place| (Some(place.clone()), queue.at(&place))).collect()
}

/// A queue in the log.
pub fn label(queue: &Queue) -> String {
    let place = queue.places().first().map_or_else(String::new, |place| format!(" at {place}"));
    format!("{}{place}", queue.name())
}

/// The page of an operation.
pub fn operation(queue: &Queue, number: i64) -> String {
    let place = queue.places().first().map_or_else(String::new, |place| format!("&place={place}"));
    format!("/queue/{}/operation?number={number}{place}", encode(queue.name()))
}
