//! Whole scripts, as a DBA reads, keeps and runs them: a new installation, and the way from one description to the next.

use super::{Dialect, SCHEMA_VERSION, objects, statements};
use crate::error::Result;
use crate::ident::{Identifier, QueueName};
use crate::spec::{ColumnChange, Place, QueueSpec, Storage, TableSpec};
use minijinja::{Value, context};
use objects::Made;
use serde_json::json;
use std::collections::BTreeSet;

/// What to do about an object of somebody who is not trusted.
pub(crate) const OWNER_REMEDY: &str = "Its owner's triggers and functions would run with the rights of who installs. Drop it, \
    change its owner, install as that role or as a member of it, or choose another schema.";

/// What is done before and after the scripts of a queue that is there already.
#[derive(Default)]
pub(crate) struct Upgrade {
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Dialect {
    /// The complete SQL of a schema and, with a `spec`, of that queue: what [`crate::install()`] does, as one script to read
    /// and to run by hand. The same description always gives the same text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] when a name is longer than this server takes.
    pub fn render(self, schema: &Identifier, spec: Option<&QueueSpec>) -> Result<String> {
        let title = match spec {
            Some(spec) => format!("The queue {}, and what all queues of its schema share.", spec.queue),
            None => "What all queues of a schema share.".to_owned(),
        };
        let names = self.names(schema, spec.as_slice())?;
        let mut scripts = vec![self.begin(schema, &title, &names)?];
        scripts.extend(self.shared_scripts(schema)?);
        if let Some(spec) = spec {
            scripts.extend(self.queue_scripts(schema, spec)?);
        }
        scripts.push(self.end(schema, spec)?);
        Ok(self.joined(&scripts))
    }

    /// The script that makes the queue that is installed as `old` describes it the queue of `new`, to read and to run by
    /// hand. With one description twice it brings a queue of an earlier release to this one's objects.
    ///
    /// # Errors
    /// [`crate::ErrorKind::SchemaMismatch`] when rows that are there would lose something; the message names the keys.
    pub fn render_upgrade(self, schema: &Identifier, old: &QueueSpec, new: &QueueSpec) -> Result<String> {
        let title = format!("The queue {} as its description is now; its items stay.", new.queue);
        let upgrade = self.upgrade(schema, old, new)?;
        let names = self.names(schema, &[old, new])?;
        let mut scripts = vec![self.begin(schema, &title, &names)?];
        scripts.extend(self.shared_scripts(schema)?);
        scripts.push(upgrade.before);
        scripts.extend(self.queue_scripts(schema, new)?);
        scripts.push(upgrade.after);
        scripts.push(self.end(schema, Some(new))?);
        Ok(self.joined(&scripts))
    }

    /// The names of the indexes that the scripts of `spec` make on somebody else's `table`, unless it has their like.
    pub(crate) fn indexes_on(self, schema: &Identifier, spec: &QueueSpec, table: &TableSpec) -> Result<Vec<String>> {
        let quoted = |name: &Identifier| name.quoted_as_written(self.quote_style());
        let theirs = format!("{}.{}", quoted(&self.schema_of(table.schema.as_ref())), quoted(&table.name));
        let made = objects::made(&self.queue_scripts(schema, spec)?);
        let names = made.iter().filter_map(|made| match made {
            Made::Index { name, table, .. } if table.quoted() == theirs => Some(name.bare()),
            _ => None,
        });
        Ok(names.collect())
    }

    /// What has to go or change before the scripts of `new` run where those of `old` ran, and what follows them.
    pub(crate) fn upgrade(self, schema: &Identifier, old: &QueueSpec, new: &QueueSpec) -> Result<Upgrade> {
        let columns = old.changes_to(new)?;
        let made_by = |spec| Ok::<_, crate::Error>(objects::made(&self.queue_scripts(schema, spec)?));
        let (was, is) = (made_by(old)?, made_by(new)?);
        let touched: Vec<_> = columns.iter().filter(|change| !change.added).collect();
        let mut dropped = Vec::new();
        let mut indexes = Vec::new();
        let mut grants = Vec::new();
        for made in was.iter().rev() {
            match made {
                Made::Object { kind, name } => {
                    // SQL Server alters what is there; PostgreSQL only where parameters and columns are the same.
                    if self == Self::Postgres || !is.contains(made) {
                        dropped.push(context! { kind => *kind, name => name.quoted(), bare => name.bare() });
                    }
                }
                Made::Index { name, table, definition } => {
                    let on_touched = touched.iter().any(|change| {
                        definition.split(' ').any(|word| word == change.column.name.quoted(self.quote_style()))
                    });
                    if on_touched || !is.contains(made) {
                        let qualified = table.beside(name).quoted();
                        indexes.push(context! { name => name.quoted(), table => table.quoted(), qualified });
                    }
                }
                Made::Grant { right, on, role } => {
                    // What is granted on what queues share, another queue may have granted as well.
                    let ours = was.iter().any(|made| matches!(made, Made::Object { name, .. } if name == on));
                    if ours && !is.contains(made) {
                        grants.push(context! {
                            right, on => on.quoted(), bare => on.bare(), role => role.quoted(), role_name => role.bare()
                        });
                    }
                }
            }
        }
        let columns: Vec<_> =
            columns.iter().map(|change| self.change_context(schema, new, change)).collect::<Result<_>>()?;
        let keeps_grants = self == Self::Postgres && !dropped.is_empty();
        let context = context! {
            schema => schema.quoted(self.quote_style()),
            objects => dropped,
            indexes,
            grants,
            columns,
        };
        let before = self.templates().render("schema/upgrade_before.sql", context.clone())?;
        let after =
            if keeps_grants { self.templates().render("schema/upgrade_after.sql", context)? } else { String::new() };
        Ok(Upgrade { before, after })
    }

    fn change_context(self, schema: &Identifier, spec: &QueueSpec, change: &ColumnChange) -> Result<Value> {
        let style = self.quote_style();
        let stem = self.queue_stem(&spec.queue);
        let ours = |name: String| -> Result<String> {
            Ok(format!("{}.{}", schema.quoted(style), Identifier::new("the table", &name)?.quoted(style)))
        };
        let adopted = matches!(spec.storage, Storage::Table(_));
        let table = match (&change.table, &spec.storage) {
            (Place::Queue, Storage::Table(table)) => {
                let schema = self.schema_of(table.schema.as_ref());
                format!("{}.{}", schema.quoted_as_written(style), table.name.quoted_as_written(style))
            }
            (Place::Queue, _) => ours(stem)?,
            (Place::Subtype(name), _) => {
                let name = QueueName::new(name.as_str())?;
                ours(format!("{stem}_{}", self.queue_stem(&name)))?
            }
            (Place::History(name), _) => ours(name.as_str().to_owned())?,
        };
        Ok(context! {
            table,
            change => if change.added { "added" } else { "changed" },
            ..self.column_context(&change.column, adopted)
        })
    }

    /// The names of all that the scripts of the schema and of queues use in the schema, as the catalog has them; but for
    /// tables there that are somebody else's.
    pub(crate) fn names(self, schema: &Identifier, specs: &[&QueueSpec]) -> Result<BTreeSet<String>> {
        let mut scripts = self.shared_scripts(schema)?;
        let mut theirs = BTreeSet::new();
        for spec in specs {
            scripts.extend(self.queue_scripts(schema, spec)?);
            if let Storage::Table(table) = &spec.storage
                && !table.create
            {
                let style = self.quote_style();
                let place = self.schema_of(table.schema.as_ref()).quoted_as_written(style);
                let written = format!("{place}.{}", table.name.quoted_as_written(style));
                theirs.extend(objects::names(self, schema, &written));
            }
        }
        let mut names: BTreeSet<_> = scripts.iter().flat_map(|script| objects::names(self, schema, script)).collect();
        names.retain(|name| !theirs.contains(name));
        Ok(names)
    }

    fn shared_scripts(self, schema: &Identifier) -> Result<Vec<String>> {
        let mut scripts = Vec::new();
        for version in 1..=SCHEMA_VERSION {
            scripts.extend(self.schema_script(version, schema)?);
        }
        scripts.push(self.functions_script(schema)?);
        Ok(scripts)
    }

    fn begin(self, schema: &Identifier, title: &str, names: &BTreeSet<String>) -> Result<String> {
        self.check_length("the setting \"schema\"", schema)?;
        let context = context! {
            title,
            library => env!("CARGO_PKG_VERSION"),
            version => SCHEMA_VERSION,
            lock => super::install_lock(schema),
            schema_name => schema.as_str(),
            names => in_lines(names),
            remedy => OWNER_REMEDY.split_inclusive(". ").collect::<Vec<_>>(),
        };
        self.templates().render("schema/script_begin.sql", context)
    }

    fn end(self, schema: &Identifier, spec: Option<&QueueSpec>) -> Result<String> {
        let context = context! {
            schema => schema.quoted(self.quote_style()),
            library => env!("CARGO_PKG_VERSION"),
            version => SCHEMA_VERSION,
            versions => (1..=SCHEMA_VERSION).collect::<Vec<_>>(),
            queue => spec.map(|spec| spec.queue.as_str()),
            preset => spec.map(QueueSpec::preset),
            spec => spec.map(|spec| laid_out(&spec.to_json())),
        };
        self.templates().render("schema/script_end.sql", context)
    }

    /// One script. SQL Server's tools send what stands between two lines that say GO, and most go on with the next after an
    /// error, which ended the transaction: nothing more is done then. In PostgreSQL a statement ends where it ends.
    fn joined(self, scripts: &[String]) -> String {
        let separator = if self == Self::SqlServer { "\nGO\nIF @@TRANCOUNT = 0 SET NOEXEC ON;\nGO\n" } else { "\n\n" };
        let mut text = String::new();
        for statement in scripts.iter().flat_map(|script| statements(script)) {
            text.push_str(statement);
            text.push_str(separator);
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

/// A description as people read it, so that a change of it is seen line by line.
fn laid_out(json: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(json);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| json.to_owned())
}

/// The names as a JSON list, some to a line.
fn in_lines(names: &BTreeSet<String>) -> String {
    let names: Vec<_> = names.iter().map(|name| json!(name).to_string()).collect();
    let lines: Vec<_> = names.chunks(3).map(|line| line.join(", ")).collect();
    format!("[{}]", lines.join(",\n"))
}
