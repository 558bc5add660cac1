//! Settings by key and value, from one table. The README's table of settings is made from it.

mod attributes;
mod connection;
mod doorbell;
mod places;
mod secrets;
mod settings;

pub(crate) use self::connection::driver_named;
pub(crate) use self::doorbell::LibpqLogin;
pub(crate) use self::secrets::redact;
pub(crate) use self::settings::{MAX_KINDS, WORKER_NAME_CHARS};

pub use self::settings::{SETTINGS, Setting, SettingKind, host_name};

use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use std::{collections::BTreeMap, fmt, time::Duration};

/// The settings to open a queue with. One thread at a time sets it; opening copies it.
#[derive(Clone)]
pub struct Config {
    values: [Option<String>; SETTINGS.len()],
    /// The connection string of each place, by its name.
    places: BTreeMap<String, String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { values: [const { None }; SETTINGS.len()], places: BTreeMap::new() }
    }
}

impl Config {
    /// All settings at their defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key` to `value`; setting it again replaces the value.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidConfig`] when there is no such key or the value is out of its range; the message names the
    /// key and the range, never the value of a secret.
    pub fn set(&mut self, key: &str, value: &str) -> Result<&mut Self> {
        let (index, setting) = settings::find(key)?;
        setting.check(value)?;
        if let Some(place) = settings::place_in(key) {
            return self.set_place(place, value);
        }
        self.values[index] = Some(value.to_owned());
        Ok(self)
    }

    /// The connection string, as a driver takes it.
    pub(crate) fn connection_string(&self) -> Result<String> {
        connection::assemble(self.connection()?, self.application())
    }

    /// One more log-in to the same PostgreSQL, through libpq; `None` where only the driver knows the server, and where it is not
    /// wanted.
    pub(crate) fn doorbell(&self) -> Option<LibpqLogin> {
        if self.text("poll.doorbell") == "off" { None } else { self.libpq_login() }
    }

    /// The same, wanted or not.
    pub(crate) fn libpq_login(&self) -> Option<LibpqLogin> {
        LibpqLogin::new(self.connection_string().ok()?)
    }

    /// A value of the connection string that is not secret, such as the driver's name; `key` in lower case.
    pub(crate) fn connection_value(&self, key: &str) -> Option<String> {
        connection::value(self.connection().ok()?, key)
    }

    /// The chosen dialect; `auto` asks the server.
    #[must_use]
    pub fn dialect(&self) -> &str {
        self.text("dialect")
    }

    /// The schema that holds readpast's objects and queues.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it cannot be a schema's name.
    pub fn schema(&self) -> Result<Identifier> {
        Identifier::new("the setting \"schema\"", self.text("schema"))
    }

    /// The name of the connections at the server.
    pub(crate) fn application(&self) -> &str {
        self.text("application")
    }

    /// The worker's name; without one, a name that no other handle has.
    pub(crate) fn worker(&self) -> String {
        match self.text("worker") {
            "" => settings::unique_worker(),
            name => name.to_owned(),
        }
    }

    /// The person behind a handle, if it was given.
    pub(crate) fn operator(&self) -> Option<&str> {
        Some(self.text("operator")).filter(|name| !name.is_empty())
    }

    /// Whether the worker was given a name: only such a name comes back after a restart.
    pub(crate) fn has_worker(&self) -> bool {
        !self.text("worker").is_empty()
    }

    /// The time that all claims of a handle carry, if one was given.
    pub(crate) fn run_at(&self) -> Option<&str> {
        Some(self.text("worker.run_at")).filter(|time| !time.is_empty())
    }

    /// A setting that is a list of texts; none where it is not set.
    pub(crate) fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        settings::texts(self.text(key))
    }

    /// How long a lease lasts; `None`: as the queue says.
    pub(crate) fn lease_ms(&self) -> Option<i32> {
        self.text("lease.ms").parse().ok()
    }

    /// How long opening a queue waits for the server; `None`: as long as any call.
    pub(crate) fn open_timeout(&self) -> Option<Duration> {
        self.text("open.timeout_ms").parse().ok().map(Duration::from_millis)
    }

    /// The most bytes of one item.
    pub(crate) fn most_item_bytes(&self) -> usize {
        match self.number("item.max_bytes") {
            0 => usize::MAX,
            most => most as usize,
        }
    }

    /// A setting that is a number.
    pub(crate) fn number(&self, key: &'static str) -> u32 {
        // The default and any value that was set have passed the setting's check.
        self.text(key).parse().unwrap_or_default()
    }

    /// A setting in milliseconds.
    pub(crate) fn duration(&self, key: &'static str) -> Duration {
        Duration::from_millis(self.number(key).into())
    }

    fn values_of(&mut self, key: &'static str) -> &mut Option<String> {
        let index = settings::find(key).map_or(0, |(index, _)| index);
        &mut self.values[index]
    }

    fn text(&self, key: &'static str) -> &str {
        match settings::find(key) {
            Ok((index, setting)) => self.values[index].as_deref().unwrap_or(setting.default),
            Err(_) => "",
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (setting, value) in SETTINGS.iter().zip(&self.values) {
            match value {
                Some(_) if setting.is_secret() => map.entry(&setting.key, &"(hidden)"),
                Some(value) => map.entry(&setting.key, value),
                None => &mut map,
            };
        }
        for place in self.places.keys() {
            map.entry(&format_args!("places.{place}"), &"(hidden)");
        }
        map.finish()
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidConfig, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_passes_its_own_check() {
        for setting in &SETTINGS {
            if !setting.default.is_empty() {
                setting.check(setting.default).unwrap();
            }
        }
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = Config::new().set("lease_ms", "1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        assert!(error.message().contains("\"lease_ms\" (did you mean \"lease.ms\"?)"), "{error}");
    }

    #[test]
    fn a_secret_is_never_shown() {
        let mut config = Config::new();
        config.set("connection", "Driver={X};Pwd=s3cret;").unwrap();
        assert!(!format!("{config:?}").contains("s3cret"));
        let error = config.set("connection", "Driver={X;Pwd=s3cret;").unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn numbers_keep_to_their_range() {
        let mut config = Config::new();
        for value in ["0", "-1", "1001", "four", "", "1e3", "99999999999"] {
            let error = config.set("pool.size", value).unwrap_err();
            assert!(error.message().contains("pool.size") && error.message().contains("1 to 1000"), "{error}");
        }
        config.set("pool.size", "3").unwrap();
        assert_eq!(config.number("pool.size"), 3);
    }
}
