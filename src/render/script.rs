//! Whole scripts for a DBA to read, keep and run: a new installation, and the way from one description to the next.

use super::object::{Made, Object};
use super::table::in_comment;
use super::{FIRST_NEEDED, SCHEMA_VERSION, Target, Upgrade, install_lock, names};
use crate::description::QueueSpec;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::Identifier;
use minijinja::context;
use serde_json::json;
use std::collections::BTreeSet;

/// The complete SQL of a schema and, with a `spec`, of that queue: the statements of [`crate::install()`], as one script to read
/// and to run by hand. The same description always gives the same text.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] when a name is longer than this server takes.
pub fn script(dialect: Dialect, schema: &Identifier, spec: Option<&QueueSpec>) -> Result<String> {
    part(dialect, schema, spec, Part::All)
}

/// A part of a script, for DBAs who keep tables apart from code and run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// Tables, their indexes and first rows. Objects that are there already as they should be stay unchanged.
    Tables,
    /// Procedures, functions, views and grants, all made anew: also after an upgrade of the library, when the tables stay as they
    /// are. It records the description and the version.
    Code,
}

/// The files of objects that stay, and of nothing else.
const TABLES: [&str; 3] = ["schema/0001_base.sql", "queue/table.sql", "queue/indexes.sql"];

impl Part {
    fn has(self, object: &Object) -> bool {
        let stays = match object.file {
            FIRST_NEEDED => matches!(object.makes, Made::Kept { .. } | Made::Index(_)),
            file => TABLES.contains(&file),
        };
        self == Self::All || (self == Self::Tables) == stays
    }
}

/// The same, or a part of it.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] when a name is longer than this server takes.
pub fn part(dialect: Dialect, schema: &Identifier, spec: Option<&QueueSpec>, part: Part) -> Result<String> {
    let of = match part {
        Part::All => "",
        Part::Tables => "The tables of: ",
        Part::Code => "The code of: ",
    };
    let title = match spec {
        Some(spec) => format!("{of}The queue {}, and what all queues of its schema share.", spec.queue),
        None => format!("{of}What all queues of a schema share."),
    };
    let target = Target::new(dialect, schema);
    let mut objects = target.begin(&title, spec, false, &names(dialect, schema, spec.as_slice())?)?;
    objects.extend(target.shared()?.into_iter().filter(|object| part.has(object)));
    if let Some(spec) = spec {
        objects.extend(target.queue(spec)?.into_iter().filter(|object| part.has(object)));
    }
    objects.extend(if part == Part::Tables { target.end(None, &[])? } else { target.end(spec, &versions())? });
    Ok(guarded(dialect, &objects))
}

/// The script that turns the queue installed as `old` into that of `new`, to read and to run by hand. With one description twice
/// it brings a queue of an earlier release to this one's objects.
///
/// # Errors
/// [`crate::ErrorKind::SchemaMismatch`] when existing rows would lose data; the message names the keys.
pub fn upgrade_script(dialect: Dialect, schema: &Identifier, old: &QueueSpec, new: &QueueSpec) -> Result<String> {
    let title = format!("The queue {} as its description is now; its items stay.", new.queue);
    let target = Target::new(dialect, schema);
    let Upgrade { before, after } = target.upgrade(old, new)?;
    let mut objects = target.begin(&title, Some(new), false, &names(dialect, schema, &[old, new])?)?;
    objects.extend(target.shared()?);
    objects.extend(before);
    objects.extend(target.queue(new)?);
    objects.extend(after);
    objects.extend(target.end(Some(new), &versions())?);
    Ok(guarded(dialect, &objects))
}

/// The statements of `objects` as this server's own tools take them: SQL Server's tools send the text between two lines with GO;
/// in PostgreSQL a statement ends where it ends.
#[must_use]
pub fn text(dialect: Dialect, objects: &[Object]) -> String {
    joined(objects, if dialect == Dialect::SqlServer { "\nGO\n" } else { "\n\n" })
}

/// The same, with nothing done after an error: most of SQL Server's tools go on with the next statement, when the error has ended
/// the transaction. An error of compilation ends the batch and leaves the transaction open. Only the end of NOEXEC stands behind
/// the commit; otherwise the user's window would execute nothing from then on.
pub(super) fn guarded(dialect: Dialect, objects: &[Object]) -> String {
    if dialect == Dialect::Postgres {
        return text(dialect, objects);
    }
    let guard =
        "\nGO\nIF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;\nGO\n";
    let (body, end) = objects.split_at(objects.len().saturating_sub(END));
    body.iter().flat_map(|object| [object.definition.as_str(), guard]).collect::<String>() + &text(dialect, end)
}

/// The commit and the end of NOEXEC.
const END: usize = 2;

fn joined(objects: &[Object], separator: &str) -> String {
    let mut text: String = objects.iter().flat_map(|object| [object.definition.as_str(), separator]).collect();
    text.truncate(text.trim_end().len());
    text + "\n"
}

impl Target<'_> {
    /// The beginning of a script, with its contents if it makes a queue. `drops`: the rest makes nothing.
    pub(super) fn begin(
        self,
        title: &str,
        made: Option<&QueueSpec>,
        drops: bool,
        names: &BTreeSet<String>,
    ) -> Result<Vec<Object>> {
        let queue = made.and_then(|spec| Some((spec, spec.table()?)));
        let context = context! {
            queue => queue.as_ref().map(|(spec, _)| self.dialect.queue_stem(&spec.queue)),
            called => queue.as_ref().map(|(_, table)| in_comment(&table.name)),
            own => queue.as_ref().is_some_and(|(spec, _)| spec.is_own()),
            beside => queue.as_ref().is_some_and(|(_, table)| table.beside()),
            searchable => queue.as_ref().is_some_and(|(spec, _)| spec.searchable().next().is_some()),
            progress => queue.as_ref().is_some_and(|(spec, _)| spec.progress),
            limits => queue.as_ref().is_some_and(|(spec, _)| !spec.limits.is_empty()),
            rates => queue.as_ref().is_some_and(|(spec, _)| spec.limits.iter().any(|limit| limit.rate.is_some())),
            turns => queue.as_ref().is_some_and(|(spec, _)| spec.takes_turns()),
            adds_in_turn => queue.as_ref().is_some_and(|(spec, _)| spec.dedup.is_some() && !spec.is_own()),
            retains => queue.as_ref().is_some_and(|(spec, _)| spec.deletes_what_is_over()),
            schedules => queue.as_ref().is_some_and(|(spec, _)| spec.schedules.is_some()),
            title,
            drops,
            library => env!("CARGO_PKG_VERSION"),
            version => SCHEMA_VERSION,
            lock => install_lock(self.schema),
            names => in_lines(names),
        };
        self.objects("schema/script_begin.sql", context)
    }

    /// The end of a script: it records these versions, and a queue.
    pub(super) fn end(self, spec: Option<&QueueSpec>, versions: &[i32]) -> Result<Vec<Object>> {
        let context = context! {
            library => env!("CARGO_PKG_VERSION"),
            version => SCHEMA_VERSION,
            versions => versions.to_vec(),
            queue => spec.map(|spec| spec.queue.as_str()),
            preset => spec.map(QueueSpec::preset),
            spec => spec.map(|spec| laid_out(&spec.to_json())),
        };
        self.objects("schema/script_end.sql", context)
    }
}

/// The versions that a script records.
fn versions() -> Vec<i32> {
    (1..=SCHEMA_VERSION).collect()
}

/// A description for people, a member a line, so that a change of it is visible.
fn laid_out(json: &str) -> String {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_str(json) else { return json.to_owned() };
    let lines: Vec<_> = members.iter().map(|(name, value)| format!("  {}: {value}", json!(name))).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// The names as a JSON list, some to a line.
fn in_lines(names: &BTreeSet<String>) -> String {
    let names: Vec<_> = names.iter().map(|name| json!(name).to_string()).collect();
    let lines: Vec<_> = names.chunks(5).map(|line| line.join(", ")).collect();
    format!("[{}]", lines.join(",\n"))
}
