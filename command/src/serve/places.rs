//! Queues over several databases: pages go through their places.

use super::encoding::encode;
use readpast::Queue;

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
