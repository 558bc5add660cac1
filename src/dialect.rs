//! The two kinds of server: statement texts, quoting and error classification, nothing else.

mod access;
mod kinds;
mod names;
mod objects;
mod own;
mod postgres;
mod script;
mod shape;
mod shown;
mod sql_server;
mod subtypes;
mod table;
mod template;
mod tsql;
mod wrap;

use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QuoteStyle};
use crate::spec::{ColumnKind, QueueSpec, Storage};
use std::sync::Arc;
use template::Templates;

pub(crate) use script::{OWNER_REMEDY, Upgrade};

/// The version of the objects that this library installs and works with: the number of the last schema script.
pub const SCHEMA_VERSION: i32 = 3;

/// The longest name that PostgreSQL keeps whole.
const POSTGRES_NAME_BYTES: usize = 63;

/// Which SQL the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Microsoft SQL Server and Azure SQL.
    SqlServer,
    /// PostgreSQL.
    Postgres,
}

/// The statements that a queue handle sends.
#[derive(Debug, Clone)]
pub struct Calls {
    /// Operation, items.
    pub enqueue: Arc<str>,
    /// Worker, most items, lease in ms, what to recover (0, 1: what has run out, 2: the worker's own too) and, in queues
    /// that have them, the time of the run, the types and the steps.
    pub claim: Arc<str>,
    /// Operation, worker, items, and the parameters of a claim from the second on.
    pub settle: Arc<str>,
    /// Worker, items, lease in ms.
    pub renew: Arc<str>,
    /// Most items.
    pub recover: Arc<str>,
    /// No parameters.
    pub stats: Arc<str>,
    /// Filter, key to go on after, most items.
    pub find: Arc<str>,
    /// The value of a group; only of queues with groups.
    pub blocked: Option<Arc<str>>,
    /// Operation, items.
    pub redrive: Arc<str>,
    /// Filter, most items.
    pub purge: Arc<str>,
}

impl Dialect {
    /// The dialect that the setting `dialect` names, or that of a server that calls itself `dbms_name`.
    pub fn choose(setting: &str, dbms_name: &str) -> Result<Self> {
        match (setting, dbms_name) {
            ("sqlserver", _) | ("auto", "Microsoft SQL Server") => Ok(Self::SqlServer),
            ("postgres", _) | ("auto", "PostgreSQL") => Ok(Self::Postgres),
            _ => Err(Error::new(
                ErrorKind::InvalidConfig,
                format!("the server calls itself {dbms_name:?}; readpast speaks to SQL Server and PostgreSQL only"),
            )),
        }
    }

    /// The dialect to read a failed log-in with, before the server has said who it is.
    #[must_use]
    pub fn guess(setting: &str, connection_string: &str) -> Self {
        let text = connection_string.to_ascii_lowercase();
        match setting {
            "postgres" => Self::Postgres,
            "sqlserver" => Self::SqlServer,
            _ if text.contains("postgres") || text.contains("psqlodbc") => Self::Postgres,
            _ => Self::SqlServer,
        }
    }

    /// What to send first on every new connection, so that nothing depends on the server's or the login's defaults.
    pub fn session_settings(self, lock_timeout_ms: u32, query_timeout_ms: u32, application: &str) -> Result<String> {
        let application = self.text_literal(application);
        let context = minijinja::context! { lock_timeout_ms, query_timeout_ms, application };
        self.templates().render("call/session.sql", context)
    }

    /// The statements of a queue.
    pub fn calls(self, schema: &Identifier, spec: &QueueSpec) -> Result<Calls> {
        let context = minijinja::context! {
            schema => schema.quoted(self.quote_style()),
            queue => self.queue_stem(&spec.queue),
            run_time => spec.run_time(),
            adopted => matches!(spec.storage, Storage::Table(_)),
            group => spec.order.group.as_ref().map(|name| match spec.storage {
                Storage::Own => name.quoted(self.quote_style()),
                _ => name.quoted_as_written(self.quote_style()),
            }),
            ..kinds::asked(spec)
        };
        let call = |name: &str| -> Result<Arc<str>> {
            Ok(self.templates().render(&format!("call/{name}.sql"), context.clone())?.trim_end().into())
        };
        Ok(Calls {
            enqueue: call("enqueue")?,
            claim: call("claim")?,
            settle: call("settle")?,
            renew: call("renew")?,
            recover: call("recover")?,
            stats: call("stats")?,
            find: call("find")?,
            blocked: spec.order.group.as_ref().map(|_| call("blocked")).transpose()?,
            redrive: call("redrive")?,
            purge: call("purge")?,
        })
    }

    /// A statement that concerns the schema as a whole, by the name of its file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when this server would cut the schema's name.
    pub fn schema_call(self, name: &str, schema: &Identifier) -> Result<String> {
        self.check_length("the setting \"schema\"", schema)?;
        Ok(self.render_objects(&format!("call/{name}.sql"), schema)?.trim_end().to_owned())
    }

    /// A query that concerns no schema of readpast's, by its file without the ending: `ask/columns`.
    pub fn query(self, name: &str) -> Result<String> {
        Ok(self.templates().render(&format!("{name}.sql"), minijinja::context! {})?.trim_end().to_owned())
    }

    /// A query about an adopted table, by its file without the ending: `ask/states`.
    pub fn table_query(
        self,
        name: &str,
        schema: &Identifier,
        spec: &QueueSpec,
        table: &crate::spec::TableSpec,
    ) -> Result<String> {
        let context = minijinja::context! {
            schema => schema.quoted(self.quote_style()),
            queue => self.queue_stem(&spec.queue),
            ..table::context(self, schema, spec, table)
        };
        Ok(self.templates().render(&format!("{name}.sql"), context)?.trim_end().to_owned())
    }

    /// A statement around a procedure that somebody wrote by hand, by its file without the ending: `foreign/call`.
    pub(crate) fn statement(self, name: &str, context: minijinja::Value) -> Result<String> {
        Ok(self.templates().render(&format!("{name}.sql"), context)?.trim_end().to_owned())
    }

    /// A name exactly as the catalog has it, with its schema, quoted.
    pub(crate) fn exact(self, schema: &str, name: &str) -> Result<String> {
        let quoted = |name: &str| Ok::<_, Error>(Identifier::new("a name", name)?.quoted(self.quote_style()));
        Ok(format!("{}.{}", quoted(schema)?, quoted(name)?))
    }

    /// The script that takes a schema from `version - 1` to `version`; `None` when there is no such version. Statements
    /// are separated by lines that say GO.
    pub fn schema_script(self, version: i32, schema: &Identifier) -> Result<Option<String>> {
        let name = match version {
            1 => "schema/0001_base.sql",
            2 => "schema/0002_type_access.sql",
            3 => "schema/0003_turn.sql",
            _ => return Ok(None),
        };
        self.render_objects(name, schema).map(Some)
    }

    /// The script of what every install makes anew: the functions that classify a status.
    pub fn functions_script(self, schema: &Identifier) -> Result<String> {
        self.render_objects("schema/functions.sql", schema)
    }

    /// The scripts of one queue, in the order to run them.
    pub fn queue_scripts(self, schema: &Identifier, spec: &QueueSpec) -> Result<Vec<String>> {
        for (role, name) in
            [("producer", &spec.roles.producer), ("worker", &spec.roles.worker), ("operator", &spec.roles.operator)]
        {
            name.iter().try_for_each(|name| self.check_length(&format!("roles.{role}"), name))?;
        }
        if let Storage::Table(table) = &spec.storage {
            table.names().into_iter().try_for_each(|(key, name)| self.check_length(&key, name))?;
        }
        let adopted = matches!(spec.storage, Storage::Table(_));
        let columns: Vec<_> = spec.columns.iter().map(|column| self.column_context(column, adopted)).collect();
        let queue = minijinja::context! {
            schema => schema.quoted(self.quote_style()),
            queue => self.queue_stem(&spec.queue),
            columns,
        };
        let options = table::options(self, spec);
        // They are somebody else's where there is no table.
        let Some(table) = spec.table() else { return Ok(Vec::new()) };
        let kind = table::whole(self, schema, spec, &table);
        let context = match self {
            Self::SqlServer => {
                let table = minijinja::context! { t => tsql::context(schema, spec, &table, &kind) };
                minijinja::context! { ..table, ..queue, ..kind, ..options }
            }
            Self::Postgres => minijinja::context! { ..queue, ..kind, ..options },
        };
        let scripts = self.queue_files(spec).iter().map(|file| self.templates().render(file, context.clone()));
        scripts.map(|script| Ok(wrap::wrapped(&script?))).collect()
    }

    /// The files that [`Self::queue_scripts`] renders, one script each.
    #[must_use]
    pub fn queue_files(self, spec: &QueueSpec) -> &'static [&'static str] {
        match (&spec.storage, self) {
            // They are somebody else's.
            (Storage::Procedures(_), _) => &[],
            (_, Self::SqlServer) => sql_server::QUEUE_FILES,
            (_, Self::Postgres) => postgres::QUEUE_FILES,
        }
    }

    /// The SQL files that are compiled in: their names below `sql/<dialect>/`, and their text.
    #[must_use]
    pub fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::SqlServer => sql_server::FILES,
            Self::Postgres => postgres::FILES,
        }
    }

    /// The class of a diagnostic record.
    #[must_use]
    pub fn classify(self, sqlstate: &str, native_code: i32, message: &str) -> ErrorKind {
        match self {
            Self::SqlServer => sql_server::classify(sqlstate, native_code, message),
            Self::Postgres => postgres::classify(sqlstate, message),
        }
    }

    /// How this server quotes names.
    #[must_use]
    pub fn quote_style(self) -> QuoteStyle {
        match self {
            Self::SqlServer => QuoteStyle::Brackets,
            Self::Postgres => QuoteStyle::DoubleQuotes,
        }
    }

    /// The schema of somebody else's objects: the one that is named, or the one that this server takes without a name.
    #[must_use]
    pub fn schema_of(self, named: Option<&Identifier>) -> Identifier {
        match (named, self) {
            (Some(schema), _) => schema.clone(),
            (None, Self::SqlServer) => Identifier::known("dbo"),
            (None, Self::Postgres) => Identifier::known("public"),
        }
    }

    /// PostgreSQL cuts names at 63 bytes without a word, and the schema would then not be found under its whole name. (The
    /// other names are short enough on either server: see `ident`.)
    fn check_length(self, what: &str, name: &Identifier) -> Result<()> {
        let bytes = name.as_str().len();
        if self == Self::SqlServer || bytes <= POSTGRES_NAME_BYTES {
            return Ok(());
        }
        let message = format!(
            "{what} has {bytes} bytes; PostgreSQL takes names of at most {POSTGRES_NAME_BYTES} bytes: \
             shorten it"
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// `value` as a text literal.
    #[must_use]
    pub fn text_literal(self, value: &str) -> String {
        template::text_literal(if self == Self::SqlServer { "N" } else { "" }, value)
    }

    /// The queue's name as it stands in the names of its objects.
    fn queue_stem(self, queue: &crate::ident::QueueName) -> String {
        match self {
            Self::SqlServer => queue.as_str().to_owned(),
            Self::Postgres => queue.snake_case(),
        }
    }

    fn render_objects(self, name: &str, schema: &Identifier) -> Result<String> {
        let context = minijinja::context! {
            schema => schema.quoted(self.quote_style()),
            schema_name => schema.as_str(),
        };
        self.templates().render(name, context)
    }

    fn column_context(self, column: &crate::spec::ColumnSpec, adopted: bool) -> minijinja::Value {
        let name = column.name.as_str();
        let parameter = match self {
            Self::SqlServer => format!("@{name}"),
            Self::Postgres => format!("\"{name}_\""),
        };
        let quoted = column.name.quoted(self.quote_style());
        // Text is read from JSON at any length, so that what is too long is an error instead of being cut.
        let json_kind = match column.kind {
            ColumnKind::Text(_) => ColumnKind::Text(None),
            kind => kind,
        };
        minijinja::context! {
            name,
            quoted => if adopted { column.name.quoted_as_written(self.quote_style()) } else { quoted.clone() },
            shown => quoted,
            type => self.column_type(column.kind),
            json_type => self.column_type(json_kind),
            parameter,
            path => column_path(name),
            is_json => column.kind == ColumnKind::Json,
            nullable => column.nullable,
        }
    }

    fn column_type(self, kind: ColumnKind) -> String {
        match self {
            Self::SqlServer => sql_server::column_type(kind),
            Self::Postgres => postgres::column_type(kind),
        }
    }

    fn templates(self) -> &'static Templates {
        match self {
            Self::SqlServer => &sql_server::TEMPLATES,
            Self::Postgres => &postgres::TEMPLATES,
        }
    }
}

/// Where a column stands in the JSON of an item.
fn column_path(name: &str) -> String {
    format!("$.columns.\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What installs of one schema lock, so that they take turns.
pub(crate) fn install_lock(schema: &Identifier) -> String {
    format!("readpast/install/{}", schema.as_str())
}

/// The statements of a script: it is cut at lines that say GO, as SQL Server's own tools do.
pub fn statements(script: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(script);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            if line.trim_end() == "GO" {
                rest = Some(&text[end + line.len()..]);
                return Some(text[..end].trim());
            }
            end += line.len();
        }
        rest = None;
        Some(text.trim())
    })
    .filter(|statement| !statement.is_empty())
}
