//! The two kinds of server: statement texts, quoting and error classification, nothing else.

mod postgres;
mod sql_server;
mod template;

use crate::description::{ColumnKind, QueueSpec, SqlName, Storage};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QuoteStyle};
use crate::item::{Column, ColumnType};
use std::sync::Arc;
use template::Templates;

pub(crate) use template::Statement;

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
    /// Worker, most items, lease in ms, the recovery (0: none, 1: run-out leases, 2: the worker's own too; more: as 1, unless
    /// another call did within so many ms) and, in queues that have them, the time of the run, the types, the steps and the
    /// claim's number.
    pub claim: Arc<str>,
    /// As `claim`, but for the recovery: around the items that their table refuses.
    pub claim_apart: Arc<str>,
    /// Operation, worker, items, and the parameters of a claim from the second on.
    pub settle: Arc<str>,
    /// As `settle`, and where the server can leave them out, without rows for items that are Completed now, except the first.
    pub settle_tersely: Arc<str>,
    /// Items, operation; inside the caller's transaction.
    pub enqueue_within: Arc<str>,
    /// As `settle`, inside the caller's transaction.
    pub settle_within: Arc<str>,
    /// Fails without an open transaction; `None` where the calls inside one check that themselves.
    pub in_transaction: Option<Arc<str>>,
    /// Operation.
    pub is_done: Arc<str>,
    /// Worker, the number of a claim: its items. Only of queues whose claims mark their items.
    pub claimed: Option<Arc<str>>,
    /// Worker, key: the item of a custom claim procedure; only of queues with one.
    pub taken: Option<Arc<str>>,
    /// Worker, items, lease in ms.
    pub renew: Arc<str>,
    /// Most items, and the recovery, as in `claim`.
    pub recover: Arc<str>,
    /// No parameters.
    pub stats: Arc<str>,
    /// The most rows of each look.
    pub watch: Arc<str>,
    /// Filter, key to go on after, most items.
    pub find: Arc<str>,
    /// A key, and how many of its newest attempts; only of queues that record them.
    pub attempts: Option<Arc<str>>,
    /// A key; only of queues whose items may wait for others.
    pub waits: Option<Arc<str>>,
    /// Keys; only of queues whose handlers report progress.
    pub progress: Option<Arc<str>>,
    /// Worker, items; only of the same.
    pub report: Option<Arc<str>>,
    /// The value of a group; only of queues with groups.
    pub blocked: Option<Arc<str>>,
    /// Operation, items.
    pub redrive: Arc<str>,
    /// Filter, most items.
    pub purge: Arc<str>,
    /// A name in AppSettings.
    pub setting: Arc<str>,
    /// The same, and its new value.
    pub set_setting: Arc<str>,
    /// The statement before it in a transaction, where it does not lock the setting itself.
    pub hold_setting: Option<Arc<str>>,
    /// Interval in ms, most items; only of queues with retention.
    pub retain: Option<Arc<str>>,
    /// The statements of a queue with schedules.
    pub schedules: Option<ScheduleCalls>,
    /// The statements of a queue with limits.
    pub limits: Option<LimitCalls>,
}

/// The statements of a queue with limits.
#[derive(Debug, Clone)]
pub struct LimitCalls {
    /// No parameters.
    pub list: Arc<str>,
    /// Column, key, how many at once, starts, their period in ms, how many together, who, reason.
    pub set: Arc<str>,
}

/// The statements of a queue with schedules.
#[derive(Debug, Clone)]
pub struct ScheduleCalls {
    /// How many, of those that fire; NULL lists all.
    pub list: Arc<str>,
    /// Name, planned time, next time, whether an item is put in.
    pub fire: Arc<str>,
    /// Name, rule, zone, items, missed, overlap, enabled, remove.
    pub set: Arc<str>,
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

    /// The dialect that classifies a failed log-in, before the server has answered.
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

    /// The first statement on every new connection, so that nothing depends on the server's or the login's defaults.
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
            described => matches!(spec.storage, Storage::Table(_)),
            group => spec.order.group.as_ref().map(|name| match spec.storage {
                Storage::Own => name.quoted(self.quote_style()),
                _ => name.quoted_as_written(self.quote_style()),
            }),
            settings_of => self.settings_of(schema, spec),
            asks_types => spec.asks_types(),
            asks_steps => spec.asks_steps(),
            marks_claims => spec.marks_claims(),
            durable => spec.lease.durable,
            items_number => spec.items_number(),
            tersely => false,
        };
        let rendered = |name: &str, context| -> Result<Arc<str>> {
            Ok(self.templates().render(&format!("call/{name}.sql"), context)?.trim_end().into())
        };
        let call = |name: &str| rendered(name, context.clone());
        Ok(Calls {
            enqueue: call("enqueue")?,
            claim: call("claim")?,
            claim_apart: call("claim_apart")?,
            settle: call("settle")?,
            settle_tersely: rendered("settle", minijinja::context! { tersely => true, ..context.clone() })?,
            enqueue_within: call("enqueue_within")?,
            settle_within: call("settle_within")?,
            in_transaction: Some(call("in_transaction")?).filter(|text| !text.is_empty()),
            is_done: call("is_done")?,
            claimed: spec.marks_claims().then(|| call("claimed")).transpose()?,
            taken: spec.claimed_by().map(|_| call("taken")).transpose()?,
            renew: call("renew")?,
            recover: call("recover")?,
            stats: call("stats")?,
            watch: call("watch")?,
            find: call("find")?,
            attempts: spec.attempt_history.then(|| call("attempts")).transpose()?,
            waits: spec.after.then(|| call("waits")).transpose()?,
            progress: spec.progress.then(|| call("progress")).transpose()?,
            report: spec.progress.then(|| call("report")).transpose()?,
            blocked: spec.order.group.as_ref().map(|_| call("blocked")).transpose()?,
            redrive: call("redrive")?,
            purge: call("purge")?,
            setting: call("setting")?,
            set_setting: call("set_setting")?,
            hold_setting: (self == Self::Postgres && spec.settings_table().is_some())
                .then(|| call("hold_setting"))
                .transpose()?,
            retain: spec.deletes_what_is_over().then(|| call("retain")).transpose()?,
            limits: (!spec.limits.is_empty())
                .then(|| Ok::<_, Error>(LimitCalls { list: call("limits")?, set: call("limit")? }))
                .transpose()?,
            schedules: spec.schedules.is_some().then(|| schedule_calls(|name| call(name))).transpose()?,
        })
    }

    /// A statement that returns the columns of `statement` and does nothing, where times are read faster as text: psqlODBC reads
    /// each time by `sscanf`, at half of the cost of fetching an item.
    pub(crate) fn columns_of(self, statement: &str) -> Result<Option<String>> {
        match self {
            Self::SqlServer => Ok(None),
            Self::Postgres => self.templates().render("call/columns_of.sql", taken_apart(statement)).map(Some),
        }
    }

    /// `statement` with its times as text, if it has any: `columns` are those of its result, and `repeats` marks those that are
    /// not read, since others have the same value.
    pub(crate) fn times_as_text(self, statement: &str, columns: &[Column], repeats: &[bool]) -> Result<Option<String>> {
        if !columns.iter().any(|column| matches!(column.kind, ColumnType::Timestamp | ColumnType::Date)) {
            return Ok(None);
        }
        let named = |(column, repeats): (&Column, &bool)| {
            let quoted = Identifier::new("column", &column.name)?.quoted(self.quote_style());
            let (time, date) = (column.kind == ColumnType::Timestamp, column.kind == ColumnType::Date);
            Ok(minijinja::context! { quoted, time, date, repeats })
        };
        let columns = columns.iter().zip(repeats).map(named).collect::<Result<Vec<_>>>()?;
        let context = minijinja::context! { columns, ..taken_apart(statement) };
        self.templates().render("call/times_as_text.sql", context).map(Some)
    }

    /// Whether an error only repeats that an earlier one has ended the transaction.
    pub(crate) fn is_aborted(self, error: &Error) -> bool {
        self == Self::Postgres && error.sqlstate() == Some("25P02")
    }

    /// Whether a prepared statement is outdated, and a new one may work: its objects were made anew in another shape.
    pub(crate) fn is_outdated(self, error: &Error) -> bool {
        self == Self::Postgres && error.sqlstate().is_some_and(|state| postgres::is_outdated(state, error.message()))
    }

    /// The table of a queue's settings, its columns, and whether it is `theirs`: the user's.
    pub(crate) fn settings_of(self, schema: &Identifier, spec: &QueueSpec) -> minijinja::Value {
        let style = self.quote_style();
        let Some(theirs) = spec.settings_table() else {
            let [name, param, value] = match self {
                Self::SqlServer => ["[AppSettings]", "[Param]", "[ValInt]"],
                Self::Postgres => ["\"app_settings\"", "param", "val_int"],
            };
            let table = format!("{}.{name}", schema.quoted(style));
            return minijinja::context! { table, param, value, theirs => false };
        };
        let schema = self.schema_of(theirs.schema.as_ref());
        let table = format!("{}.{}", schema.quoted_as_written(style), theirs.name.quoted_as_written(style));
        let (param, value) = (theirs.param.quoted_as_written(style), theirs.value.quoted_as_written(style));
        minijinja::context! { table, param, value, theirs => true }
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

    /// A statement around a hand-written procedure, by its file without the ending: `foreign/call`.
    pub(crate) fn statement(self, name: &str, context: minijinja::Value) -> Result<String> {
        Ok(self.templates().render(&format!("{name}.sql"), context)?.trim_end().to_owned())
    }

    /// A name exactly as the catalog has it, with its schema, quoted.
    pub(crate) fn exact(self, schema: &str, name: &str) -> Result<String> {
        let quoted = |name: &str| Ok::<_, Error>(Identifier::new("a name", name)?.quoted(self.quote_style()));
        Ok(format!("{}.{}", quoted(schema)?, quoted(name)?))
    }

    /// The statements of a file, each with its object.
    pub(crate) fn statements(self, file: &str, context: minijinja::Value) -> Result<Vec<Statement>> {
        self.templates().statements(file, context)
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

    /// Whether a table may have refused a row: by a constraint, a value, a trigger. The call around refused rows decides that, by
    /// a function of the database, and fails with the same error if the table did not.
    #[must_use]
    pub(crate) fn may_be_refusal(self, error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::InvalidItem | ErrorKind::Database) && !self.refuses_argument(error)
    }

    /// Whether a procedure itself refuses an argument, and not the server a value.
    #[must_use]
    pub fn refuses_argument(self, error: &Error) -> bool {
        match self {
            Self::SqlServer => error.native_code() == 50021,
            Self::Postgres => error.sqlstate() == Some("RP021"),
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

    /// The schema of the user's objects: the named one, or the server's default.
    #[must_use]
    pub fn schema_of(self, named: Option<&Identifier>) -> Identifier {
        match (named, self) {
            (Some(schema), _) => schema.clone(),
            (None, Self::SqlServer) => Identifier::known("dbo"),
            (None, Self::Postgres) => Identifier::known("public"),
        }
    }

    /// A name in a description's SQL, with its schema, quoted.
    pub(crate) fn written(self, name: &SqlName) -> String {
        let schema = self.schema_of(name.schema.as_ref());
        format!("{}.{}", schema.quoted_as_written(self.quote_style()), name.name.quoted_as_written(self.quote_style()))
    }

    /// A name of the user's as the catalog has it: PostgreSQL lowers the letters of one without quotes.
    pub(crate) fn in_catalog(self, name: &Identifier) -> String {
        match self {
            Self::SqlServer => name.as_str().to_owned(),
            Self::Postgres => name.in_postgres(),
        }
    }

    /// PostgreSQL cuts names at 63 bytes without an error, and the schema would then not be found under its whole name. (The
    /// other names are short enough on either server: see `ident`.)
    pub(crate) fn check_length(self, what: &str, name: &Identifier) -> Result<()> {
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

    /// The queue's name in the names of its objects.
    pub(crate) fn queue_stem(self, queue: &crate::ident::QueueName) -> String {
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

    /// The server's type for a column of this kind.
    pub(crate) fn column_type(self, kind: ColumnKind) -> String {
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

/// A statement around its list of columns, for another list and another condition. A subselect would do for all; but Citus' planner, of
/// which functions in FROM have their own part, has crashed at it.
fn taken_apart(statement: &str) -> minijinja::Value {
    match statement.split_once("r.* FROM ") {
        Some((before, from)) => {
            let joins = if from.contains("\nWHERE (") { "AND" } else { "WHERE" };
            minijinja::context! { before, from, joins }
        }
        None => minijinja::context! { before => "", from => format!("(\n{statement}\n) AS r"), joins => "WHERE" },
    }
}

fn schedule_calls(call: impl Fn(&str) -> Result<Arc<str>>) -> Result<ScheduleCalls> {
    Ok(ScheduleCalls { list: call("schedules")?, fire: call("fire")?, set: call("schedule")? })
}
