//! The description of a queue, from TOML or JSON and to JSON. `sql/SPEC.md` describes the keys.

mod at;
mod columns;
mod keys;
mod limits;
mod options;
mod procedures;
mod queue;
mod ranges;
mod reference;
mod retention;
mod rows;
mod schedules;
mod states;
mod table;
mod tree;

pub use reference::reference;

pub(super) use ranges::ranges;

use super::{QueueSpec, check};
use crate::error::{Error, ErrorKind, Result};
use at::At;
use std::{fs, path::Path};
use tree::Node;

/// The format of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// TOML, for descriptions that people write and comment.
    Toml,
    /// JSON, for descriptions that programs write.
    Json,
}

impl Format {
    /// The format of a file called `name`, by its ending.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
        match ending.as_str() {
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The format of `text`: a description in JSON begins with a brace, one in TOML cannot.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        if text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{') {
            Self::Json
        } else {
            Self::Toml
        }
    }
}

impl QueueSpec {
    /// Reads a description in JSON, like
    /// `{"queue": "Notification", "types": ["Email"], "columns": [{"name": "Recipient", "type": "text(254)"}]}`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] with the line and the key of the mistake.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::parse(text, Format::Json)
    }

    /// Reads a description in TOML.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] with the line and the key of the mistake.
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::parse(text, Format::Toml)
    }

    /// Reads a description in either format: JSON if it begins with a brace, else TOML.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] with the line and the key of the mistake.
    pub fn from_text(text: &str) -> Result<Self> {
        let is_name = !text.contains(['\n', '=', '{']) && Format::of_file(text.trim()).is_some();
        if is_name {
            let why = format!(
                "{:?} is the name of a file; a description is expected here: give the text of the file",
                text.trim()
            );
            return Err(refuse(why));
        }
        Self::parse(text, Format::of_text(text))
    }

    /// Reads a description in a file: in the format of its name, else as [`QueueSpec::from_text`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] with the file's name, and if it can be read the line and the key of the mistake.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|error| refuse(format!("{} cannot be read: {error}", path.display())))?;
        let format = Format::of_file(&path.to_string_lossy()).unwrap_or_else(|| Format::of_text(&text));
        Self::parse(&text, format).map_err(|error| error.in_context(path.display()))
    }

    /// Reads a description in the given format.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] with the line and the key of the mistake.
    pub fn parse(text: &str, format: Format) -> Result<Self> {
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = match format {
            Format::Toml => tree::from_toml(text)?,
            Format::Json => tree::from_json(text)?,
        };
        read(&root)
    }
}

fn read(root: &Node) -> Result<QueueSpec> {
    let at = At::root(root);
    let spec = queue::read(&at)?;
    check::mistake(&spec).map_err(|mistake| at.follow(&mistake.place).refuse(mistake.why))?;
    Ok(spec)
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
