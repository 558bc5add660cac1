//! The places of a queue that is spread over several databases: a connection string for each.

use super::{Config, connection, refuse};
use crate::error::{Excerpt, Result};
use crate::ident::did_you_mean;

impl Config {
    pub(super) fn set_place(&mut self, name: &str, connection: &str) -> Result<&mut Self> {
        check(name)?;
        self.places.insert(name.to_owned(), connection.to_owned());
        Ok(self)
    }

    /// The names of all places, in their order; none where there is one database.
    #[must_use]
    pub fn places(&self) -> Vec<&str> {
        self.places.keys().map(String::as_str).collect()
    }

    /// The place of these settings; `None` for those of one database, or of all places.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        Some(self.text("place")).filter(|place| !place.is_empty())
    }

    /// The query that finds the places; empty where they are named, or there are none.
    pub(crate) fn places_query(&self) -> &str {
        self.text("places.query")
    }

    /// The settings with these places in the place of the query: the name of each, and how its connection differs.
    pub(crate) fn with_places(&self, found: &[(&str, &str)]) -> Result<Self> {
        let mut with = self.clone();
        let base = with.values_of("connection").take().unwrap_or_default();
        with.values_of("places.query").take();
        for (name, attributes) in found {
            if with.places.contains_key(*name) {
                return Err(refuse(format!("there are two places called {}", Excerpt(name))));
            }
            let connection = connection::changed(&base, attributes)
                .map_err(|error| error.in_context(format_args!("place {name}")))?;
            check(name)?;
            with.set(&format!("places.{name}"), &connection)?;
        }
        Ok(with)
    }

    /// The text before the keys of a place.
    pub(crate) fn key_prefix(&self) -> Option<String> {
        self.place().map(|place| format!("{place}/"))
    }

    /// The settings for one place.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) names the places that there are.
    pub fn at(&self, place: &str) -> Result<Self> {
        let mut at = self.clone();
        at.set("place", place)?;
        at.connection().map(drop)?;
        Ok(at)
    }

    /// The settings for each database: those of each place, or these.
    ///
    /// # Errors
    /// As [`Config::at`].
    pub fn each(&self) -> Result<Vec<Self>> {
        if self.places.is_empty() || self.place().is_some() {
            return Ok(vec![self.clone()]);
        }
        self.places.keys().map(|place| self.at(place)).collect()
    }

    /// The connection string of the place, or the only one.
    pub(super) fn connection(&self) -> Result<&str> {
        if self.places.is_empty() {
            return match self.place() {
                None => Ok(self.text("connection")),
                Some(place) => Err(refuse(format!(
                    "\"place\" is {}, and no place has a connection: set \"places.{place}\"",
                    Excerpt(place)
                ))),
            };
        }
        if !self.places_query().is_empty() {
            return Err(refuse(
                "\"places.query\" finds the places, and there are named ones: leave one of them out".to_owned(),
            ));
        }
        if !self.text("connection").is_empty() {
            return Err(refuse(
                "\"connection\" is for one database, and there are places: leave one of them out".to_owned(),
            ));
        }
        let names = self.places().join(", ");
        let place =
            self.place().ok_or_else(|| refuse(format!("this works at one place: set \"place\" to one of {names}")))?;
        self.places.get(place).map(String::as_str).ok_or_else(|| {
            let near = did_you_mean(place, self.places());
            refuse(format!("there is no place {}{near}; there are {names}", Excerpt(place)))
        })
    }
}

/// Checks the name of a place, which stands before keys.
fn check(name: &str) -> Result<()> {
    // `places.query` is another setting.
    let fits = name != "query"
        && (1..=40).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if fits {
        return Ok(());
    }
    let name = Excerpt(name);
    Err(refuse(format!(
        "a place cannot be called {name}: use letters, digits, hyphens and underscores (ASCII), 40 at most, and not query"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn found_places_differ_from_the_connection() {
        let mut config = Config::new();
        config.set("connection", "Driver={X};Server=a;Port=1;Uid=u;Pwd={p;}}w}").unwrap();
        config.set("places.query", "SELECT 1").unwrap().set("place", "n2").unwrap();
        let found = config.with_places(&[("n1", "server=b; DATABASE={d;}"), ("n2", "Port=2;Server=c")]).unwrap();
        assert_eq!((found.places(), found.places_query()), (vec!["n1", "n2"], ""));
        let of = |place: &str| found.at(place).unwrap().connection().unwrap().to_owned();
        assert_eq!(of("n1"), "Driver={X};Server=b;Port=1;Uid=u;Pwd={p;}}w};DATABASE={d;};");
        assert_eq!(of("n2"), "Driver={X};Server=c;Port=2;Uid=u;Pwd={p;}}w};");
        assert_eq!(found.place(), Some("n2"));
        for (found, part) in [
            (&[("n1", "Server=b"), ("n1", "Server=c")][..], "two places"),
            (&[("a b", "Server=b")], "letters"),
            (&[("query", "Server=b")], "not query"),
            (&[("n1", "Server")], "place n1"),
            (&[("n1", "")], "place n1"),
        ] {
            let error = config.with_places(found).unwrap_err();
            assert!(error.message().contains(part) && !error.message().contains("p;}"), "{error}");
        }
    }

    #[test]
    fn each_place_has_a_connection_of_its_own() {
        let mut config = Config::new();
        config.set("places.b", "Driver={X};Pwd=s3cret").unwrap().set("places.a", "Driver={Y}").unwrap();
        assert_eq!(config.places(), ["a", "b"]);
        assert!(!format!("{config:?}").contains("s3cret") && format!("{config:?}").contains("places.b"));
        let each = config.each().unwrap();
        assert_eq!(each.iter().map(Config::place).collect::<Vec<_>>(), [Some("a"), Some("b")]);
        assert!(each[0].connection_string().unwrap().starts_with("Driver={Y};"));
        assert_eq!(each[1].each().unwrap().len(), 1);
        for (wrong, part) in [
            (config.connection_string().unwrap_err(), "\"place\" to one of a, b"),
            (config.at("c").map(drop).unwrap_err(), "there are a, b"),
            (config.clone().set("places.a/b", "Driver={Y}").map(drop).unwrap_err(), "letters, digits"),
            (config.clone().set("places.c", "Pwd=s3cret").map(drop).unwrap_err(), "Driver"),
            (config.set("connection", "Driver={Z}").unwrap().at("a").map(drop).unwrap_err(), "leave one"),
            (Config::new().set("place", "a").unwrap().connection_string().unwrap_err(), "places.a"),
        ] {
            assert_eq!(wrong.kind(), ErrorKind::InvalidConfig);
            assert!(wrong.message().contains(part) && !wrong.message().contains("s3cret"), "{wrong}");
        }
    }
}
