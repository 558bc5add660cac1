//! The description of a queue, from TOML or JSON and to JSON. `sql/SPEC.md` describes the keys.

mod at;
mod columns;
mod options;
mod procedures;
mod retention;
mod rows;
mod schedules;
mod states;
mod subtypes;
mod table;
mod tree;
mod write;

use super::{QueueSpec, Storage, TableSpec, check};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::QueueName;
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

/// The keys of a description.
const KEYS: [&str; 20] = [
    "queue",
    "types",
    "steps",
    "columns",
    "subtypes",
    "trace",
    "table",
    "procedures",
    "order",
    "claim_by",
    "shards",
    "attempts",
    "backoff",
    "lease",
    "completion",
    "retention",
    "dedup",
    "schedule",
    "roles",
    "settings",
];

/// Keys that only a queue with a table has: hand-written procedures decide them.
const DECIDED_BY_PROCEDURES: [&str; 14] = [
    "steps",
    "subtypes",
    "order",
    "claim_by",
    "shards",
    "attempts",
    "backoff",
    "lease",
    "completion",
    "retention",
    "dedup",
    "schedule",
    "roles",
    "settings",
];

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
    let spec = described(&at.table(&KEYS)?)?;
    check::mistake(&spec).map_err(|mistake| at.follow(&mistake.place).refuse(mistake.why))?;
    Ok(spec)
}

fn described(spec: &at::KnownKeys<'_>) -> Result<QueueSpec> {
    let at = spec.need("queue")?;
    let queue = QueueName::new(at.text()?).map_err(|error| at.refuse(error.message()))?;
    let storage = storage(spec)?;
    if let Storage::Procedures(_) = storage
        && let Some(at) = DECIDED_BY_PROCEDURES.iter().find_map(|key| spec.get(key))
    {
        return Err(at.refuse("is decided by the hand-written procedures; leave it out"));
    }
    let mut columns = columns::columns(spec)?;
    Ok(QueueSpec {
        types: columns::types(spec)?,
        steps: columns::steps(spec)?,
        trace: columns::trace(spec, &mut columns)?,
        columns,
        subtypes: subtypes::subtypes(spec)?,
        order: options::order(spec)?,
        claim_by: options::claim_by(spec)?,
        shards: options::shards(spec)?,
        max_attempts: options::max_attempts(spec)?,
        attempt_history: options::attempt_history(spec)?,
        backoff: options::backoff(spec)?,
        lease: options::lease(spec)?,
        completion: options::completion(spec)?,
        retention: retention::retention(spec)?,
        attempt_retention: retention::attempts(spec)?,
        dedup: options::dedup(spec)?,
        schedules: schedules::schedules(spec)?,
        roles: options::roles(spec)?,
        settings: options::settings(spec, &queue)?,
        queue,
        storage,
    })
}

fn storage(spec: &at::KnownKeys<'_>) -> Result<Storage> {
    match (spec.get("table"), spec.get("procedures")) {
        (None, None) => Ok(Storage::Own),
        (Some(at), None) => Ok(Storage::Table(Box::new(table::table(&at)?))),
        (None, Some(at)) => Ok(Storage::Procedures(Box::new(procedures::procedures(&at)?))),
        (Some(at), Some(procedures)) => {
            let claimed_by = Some(procedures::claimed_by(&procedures)?);
            Ok(Storage::Table(Box::new(TableSpec { claimed_by, ..table::table(&at)? })))
        }
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
