//! Finds the places of a queue by a query: the nodes of Citus, a shard map, a table of the user's.

use crate::config::Config;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::item::{Rows, Value};
use crate::session::Session;

/// The word for the query of the nodes of Citus.
const CITUS: &str = "citus";

/// The most places of one queue: each has connections and threads of its own.
const MOST: usize = 1000;

/// The settings with the places that their setting `places.query` finds, by its query on `connection`; these settings where it is not
/// set.
///
/// # Errors
/// The failure of the log-in or of the query; [`ErrorKind::InvalidConfig`] when it finds none, too many, or what is no place.
pub fn found(config: &Config) -> Result<Config> {
    let query = config.places_query();
    if query.is_empty() {
        return Ok(config.clone());
    }
    let mut one = config.clone();
    one.set("place", "")?;
    let asked = Session::open(&one).and_then(|mut session| {
        let query = if query == CITUS { session.dialect().query("ask/places")? } else { query.to_owned() };
        session.execute(&query, &[])
    });
    let rows = asked.map_err(|error| error.in_context("places.query"))?;
    let refuse = |why: String| Err(Error::new(ErrorKind::InvalidConfig, format!("\"places.query\" {why}")));
    if rows.is_empty() || rows.len() > MOST {
        return refuse(format!("has found {} places; 1 to {MOST} can be worked with", rows.len()));
    }
    let mut found = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let (Some(name), Some(attributes)) = (text(&rows, row, 0), text(&rows, row, 1)) else {
            return refuse(
                "must return two columns of text: the name of each place, and how its connection string differs, like \
                 Server=tcp:north;Database=work"
                    .to_owned(),
            );
        };
        found.push((name, attributes));
    }
    let with = config.with_places(&found);
    with.map_err(|error| error.in_context(format_args!("places.query {}", Excerpt(query))))
}

fn text(rows: &Rows, row: usize, column: usize) -> Option<&str> {
    match rows.value(row, column) {
        Value::Text(text) => Some(text.trim()),
        _ => None,
    }
}
