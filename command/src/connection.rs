//! The settings' sources: a configuration file, the environment, and the command line, later ones above earlier. The connection
//! string is a secret, so that there are three ways to give it that do not show it to other users.

use crate::failure::{Result, usage};
use crate::global::Global;
use crate::output::note;
use crate::secret_file::SecretFile;
use readpast::Config;
use std::env;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Examples of connection strings.
const EXAMPLES: &str = "\
    SQL Server: Driver={ODBC Driver 18 for SQL Server};Server=tcp:HOST,1433;Database=DB;Uid=USER;Pwd=...\n  \
    PostgreSQL: Driver={PostgreSQL Unicode};Server=HOST;Port=5432;Database=DB;Uid=USER;Pwd=...";

/// The places of the configuration file after the current folder, as messages name them.
pub const CONFIG: &str =
    if cfg!(windows) { r"%APPDATA%\readpast\config.toml" } else { "~/.config/readpast/config.toml" };

/// All settings. `patience` is how long transient errors are retried by default.
pub fn config(global: &Global, patience: &str) -> Result<Config> {
    let mut config = Config::new();
    config.set("retry.budget_ms", patience)?;
    config.set("operator", &person())?;
    let given = connection(global)?;
    // The file's connection does not count then.
    let mut connected = settings(&mut config, global, given.is_none())?;
    if let Some(text) = given {
        if text.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Err(usage(format!("the connection is a URL; an ODBC connection string is needed\n  {EXAMPLES}")));
        }
        config.set("connection", &text)?;
        connected = true;
    }
    if !connected {
        return Err(usage(format!(
            "no connection is given\n  set READPAST_CONNECTION to an ODBC connection string, name a file that holds one \
             with --connection-file,\n  or put connection = \"...\" into readpast.toml or {CONFIG}\n  \
             {EXAMPLES}"
        )));
    }
    Ok(readpast::places::found(&config)?)
}

/// All settings but the connection, for subcommands without one.
pub fn unconnected(global: &Global) -> Result<Config> {
    let mut config = Config::new();
    settings(&mut config, global, false)?;
    Ok(config)
}

/// The configuration file, the environment and the command line. Returns whether the file has a connection, which is read only if
/// it is wanted.
fn settings(config: &mut Config, global: &Global, connects: bool) -> Result<bool> {
    let mut connected = false;
    if let Some(place) = place(global) {
        connected = read_file(config, global, &place, connects)?;
    }
    if let Some(schema) = env::var_os("READPAST_SCHEMA") {
        config.set("schema", &schema.to_string_lossy()).map_err(|error| error.in_context("READPAST_SCHEMA"))?;
    }
    if let Some(schema) = &global.schema {
        config.set("schema", schema).map_err(|error| error.in_context("--schema"))?;
    }
    if let Some(place) = env::var_os("READPAST_PLACE").filter(|place| !place.is_empty()) {
        config.set("place", &place.to_string_lossy()).map_err(|error| error.in_context("READPAST_PLACE"))?;
    }
    if let Some(place) = &global.place {
        config.set("place", place).map_err(|error| error.in_context("--place"))?;
    }
    for setting in &global.set {
        let Some((key, value)) = setting.split_once('=') else {
            // The rest may be a secret that lacks its key: it is not shown.
            return Err(usage("--set takes KEY=VALUE, like --set lease.ms=30000"));
        };
        if is_connection(key) {
            return Err(usage("--set does not take a connection; see --connection-file and --config"));
        }
        config.set(key, value)?;
    }
    Ok(connected)
}

/// Whether a setting is a connection string: that of one database, or of a place.
fn is_connection(key: &str) -> bool {
    key == "connection" || key.starts_with("places.") && key != "places.query"
}

/// The user and the machine, for the record of what operators do.
fn person() -> String {
    let user = ["USER", "USERNAME", "LOGNAME"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|user| !user.is_empty()));
    let person = format!("{}@{}", user.as_deref().unwrap_or("somebody"), readpast::config::host_name());
    person.chars().filter(|c| !c.is_control()).take(128).collect()
}

/// The connection string from the command line or the environment.
fn connection(global: &Global) -> Result<Option<String>> {
    if let Some(text) = &global.connection {
        let lower = text.to_ascii_lowercase();
        if lower.contains("pwd=") || lower.contains("password=") {
            note(
                "warning: a password on the command line is shown to every user of this machine by ps; \
                 READPAST_CONNECTION and --connection-file do not show it",
            );
        }
        return Ok(Some(text.clone()));
    }
    if let Some(path) = &global.connection_file {
        return read_connection(global, &FileOrigin::Named(path.clone())).map(Some);
    }
    if let Some(text) = env::var_os("READPAST_CONNECTION").filter(|text| !text.is_empty()) {
        return Ok(Some(text.into_string().map_err(|_| usage("READPAST_CONNECTION is not UTF-8"))?));
    }
    match env::var_os("READPAST_CONNECTION_FILE").filter(|path| !path.is_empty()) {
        Some(path) => read_connection(global, &FileOrigin::Named(path.into())).map(Some),
        None => Ok(None),
    }
}

/// The origin of a file.
enum FileOrigin {
    /// The caller has named it, and answers for its folder.
    Named(PathBuf),
    /// It was found by itself, or named by a file that was.
    Found(PathBuf),
}

impl FileOrigin {
    fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Found(path) => path,
        }
    }

    /// Opens the file; `option` would name it.
    fn read(&self, option: &str) -> Result<SecretFile> {
        match self {
            Self::Named(path) => SecretFile::read(path),
            Self::Found(path) => SecretFile::found(path, option),
        }
    }

    /// A file that this one names, which has the same origin.
    fn beside(&self, name: &str) -> Self {
        let path = self.path().parent().unwrap_or(Path::new("")).join(name);
        match self {
            Self::Named(_) => Self::Named(path),
            Self::Found(_) => Self::Found(path),
        }
    }
}

/// A file that holds the connection string and nothing else.
fn read_connection(global: &Global, place: &FileOrigin) -> Result<String> {
    let file = place.read("--connection-file")?;
    file.keeps_secret(global)?;
    let text = file.text.trim();
    if text.is_empty() || text.contains('\n') {
        return Err(usage(format!("{} must hold one line, the connection string", place.path().display())));
    }
    Ok(text.to_owned())
}

/// The configuration file: the named one, or the first of the usual ones that exists.
fn place(global: &Global) -> Option<FileOrigin> {
    if let Some(path) = &global.config {
        return Some(FileOrigin::Named(path.clone()));
    }
    let at_home = home().map(|home| home.join("readpast").join("config.toml"));
    let usual = [Some(PathBuf::from("readpast.toml")), at_home];
    usual.into_iter().flatten().find(|path| path.is_file()).map(FileOrigin::Found)
}

/// The folder of the user's configuration files. An empty or relative path would lead into the current folder.
fn home() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return folder("APPDATA");
    }
    folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))
}

/// Settings by their keys, as in docs/reference.md, and `connection_file`. Those of places are connections, too. Returns whether it has a connection.
fn read_file(config: &mut Config, global: &Global, place: &FileOrigin, connects: bool) -> Result<bool> {
    let file = place.read("--config")?;
    let path = place.path();
    let text = &file.text;
    // Without the line itself, which may hold a password.
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        usage(format!("{}, line {line}: {}", path.display(), error.message()))
    })?;
    let mut settings = Vec::new();
    flatten("", table.get_ref(), &mut settings);
    let mut connected = false;
    for (key, value) in settings {
        let value = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            _ => return Err(usage(format!("{}: {key} must be text or a whole number", path.display()))),
        };
        match (key.as_str(), connects) {
            ("connection_file", false) => continue,
            (key, false) if is_connection(key) => continue,
            ("connection_file", true) => {
                config.set("connection", &read_connection(global, &place.beside(&value))?)?;
            }
            (key, true) if is_connection(key) => {
                file.keeps_secret(global)?;
                config.set(key, &value).map_err(|error| error.in_context(path.display()))?;
            }
            _ => {
                config.set(&key, &value).map_err(|error| error.in_context(path.display()))?;
                continue;
            }
        }
        connected = true;
    }
    Ok(connected)
}

/// `lease.ms = 5` and `[lease] ms = 5` are the same in TOML.
fn flatten<'a>(prefix: &str, table: &'a DeTable<'_>, settings: &mut Vec<(String, &'a DeValue<'a>)>) {
    for (key, value) in table {
        match value.get_ref() {
            DeValue::Table(table) => flatten(&format!("{prefix}{}.", key.get_ref()), table, settings),
            value => settings.push((format!("{prefix}{}", key.get_ref()), value)),
        }
    }
}
