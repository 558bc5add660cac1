//! Properties of the server, the database and the session.

use super::{optional_text, text};
use crate::error::Result;
use crate::session::Session;
use std::collections::HashMap;

/// Facts by name.
pub(crate) struct ServerFacts(pub(crate) HashMap<String, String>);

impl ServerFacts {
    /// A fact; empty where it is unknown.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.get(name).parse().ok()
    }
}

pub(crate) fn server_facts(session: &mut Session) -> Result<ServerFacts> {
    let rows = session.execute(&session.dialect().query("ask/server")?, &[])?;
    let facts = (0..rows.len()).filter_map(|row| Some((text(&rows, row, 0), optional_text(&rows, row, 1)?)));
    Ok(ServerFacts(facts.collect()))
}
