//! The keys of a description itself.

use super::at::{At, KnownKeys};
use super::keys::Kind::{Flag, Names, Own, Text, Texts};
use super::keys::{self, Key, key, needed, or, special};
use super::options::{self, ATTEMPTS_KEYS, DEDUP, LEASE, ORDER, ROLES};
use super::{columns, limits, procedures, retention, schedules, table};
use crate::description::check::SHARDS;
use crate::description::{
    BackoffSpec, ClaimBySpec, ColumnKind, ColumnSpec, Completion, LeaseSpec, OrderSpec, QueueSpec, RolesSpec, Storage,
};
use crate::error::Result;
use crate::ident::{Identifier, QueueName};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The keys of every description.
pub(super) static QUEUE: [Key<QueueSpec>; 6] = [
    needed(key(
        "queue",
        Own("name: letters, digits, underscores, 40 at most", |_, _| Ok(()), |spec| Some(json!(spec.queue.as_str()))),
        "Its name, and the stem of its objects' names: `Next_Notification_trx`, in PostgreSQL `next_notification_trx`.",
    )),
    key(
        "types",
        Texts("list of texts, each 1 to 60 characters", |spec| &mut spec.types),
        "The kinds of work. An item that names none has the first.",
    ),
    or(
        "a table that readpast makes",
        key("table", Own("table", table::read, table::written), "The existing table that holds the items: see below."),
    ),
    key("procedures", Own("table", procedures::read, procedures::written), "Procedures written by hand: see below."),
    or(
        "one column `Payload` of type `text`; required with `table`",
        key(
            "columns",
            Own(
                "list of columns",
                |at, spec| columns::list(at, 0).map(|columns| spec.columns = columns),
                |spec| Some(columns::written(&spec.columns)),
            ),
            "The columns that producers give and workers see. May be empty.",
        ),
    ),
    key(
        "trace",
        Own("true, or the name of a column", columns::trace, |spec| {
            spec.trace.as_ref().map(|name| json!(name.as_written()))
        }),
        "Which column has the trace of an item's producer: see below.",
    ),
];

/// Those of a queue with a table; hand-written procedures decide them.
pub(super) static OPTIONS: [Key<QueueSpec>; 19] = [
    or(
        "any step is allowed",
        key(
            "steps",
            Texts("list of texts, each 1 to 60 characters", |spec| &mut spec.steps),
            "The steps of jobs that have several. An item that names none is at the first: see below.",
        ),
    ),
    key(
        "subtypes",
        Own("list of subtypes", columns::subtypes, |spec| {
            (!spec.subtypes.is_empty()).then(|| columns::written_subtypes(spec))
        }),
        "Extension tables, for values that only some items have.",
    ),
    or(
        "first in, first out",
        key(
            "order",
            Own(
                "table",
                |at, spec| keys::read(at, &ORDER, &mut spec.order).map(drop),
                |spec| Some(keys::write(&ORDER, &spec.order, &OrderSpec::default()).into()),
            ),
            "The order in which due items are handed out.",
        ),
    ),
    key(
        "expires",
        Own(
            "name of a column",
            |at, spec| at.identifier().map(|name| spec.expires = Some(name)),
            |spec| spec.expires.as_ref().map(|name| json!(name.as_written())),
        ),
        "Which column has the time after which an item is not begun any more: see below.",
    ),
    special(key(
        "after",
        Flag(|spec| &mut spec.after),
        "Whether an item may wait until others have ended: see below. Not with `table`.",
    )),
    special(key(
        "progress",
        Flag(|spec| &mut spec.progress),
        "Whether handlers may report how far they are: see below.",
    )),
    key(
        "claim_by",
        Own("list of `\"type\"`, `\"step\"`", options::claim_by, options::written_claim_by),
        "By what a claim can choose items: see below.",
    ),
    or(
        "one head",
        key(
            "shards",
            Own(
                "2 to 64",
                |at, spec| at.integer(SHARDS).map(|shards| spec.shards = Some(shards)),
                |spec| spec.shards.map(|shards| json!(shards)),
            ),
            "Into how many parts waiting items are dealt out, so that many workers do not all claim at one end: see below. Not with \
         `table`.",
        ),
    ),
    key(
        "limit",
        Own("list of tables", limits::read, limits::written),
        "How many items of a key are in work at once, and how many of it start in a time: see below.",
    ),
    or(
        "any place",
        key(
            "spread_by",
            Names("list of columns", |spec| &mut spec.spread_by),
            "The columns by whose values an item finds its place, where the queue is spread over several databases: see below.",
        ),
    ),
    or(
        "3, which are not recorded",
        key(
            "attempts",
            Own(
                "table",
                |at, spec| keys::read(at, &ATTEMPTS_KEYS, spec).map(drop),
                |spec| Some(keys::write(&ATTEMPTS_KEYS, spec, &start(spec.queue.clone())).into()),
            ),
            "How many attempts an item has, and whether they are recorded.",
        ),
    ),
    or(
        "5 s, then twice as long each time, less a random part of up to half",
        key(
            "backoff",
            Own("table, or `\"none\"`", options::backoff, options::written_backoff),
            "When a failed attempt is repeated, unless the worker says; with `\"none\"` at once.",
        ),
    ),
    or(
        "60 s, sliding",
        key(
            "lease",
            Own(
                "table",
                |at, spec| keys::read(at, &LEASE, &mut spec.lease).map(drop),
                |spec| Some(keys::write(&LEASE, &spec.lease, &LeaseSpec::default()).into()),
            ),
            "How long a claim belongs to its worker.",
        ),
    ),
    key(
        "completion",
        Own("`\"keep\"`, `\"delete\"` or `{ history = name }`", options::completion, options::written_completion),
        "The place of completed items: they stay, are deleted, or are moved to that table, which has the same columns and is in the \
         same schema.",
    ),
    or(
        "all stay",
        key("retention", Own("table", retention::read, retention::written), "How long ended items stay: see below."),
    ),
    key(
        "dedup",
        Own(
            "table",
            |at, spec| {
                let mut dedup = options::no_dedup();
                keys::read(at, &DEDUP, &mut dedup)?;
                spec.dedup = Some(dedup);
                Ok(())
            },
            |spec| Some(keys::write(&DEDUP, spec.dedup.as_ref()?, &options::no_dedup()).into()),
        ),
        "Which items count as the same work.",
    ),
    key(
        "schedule",
        Own("list of tables", schedules::read, |spec| Some(schedules::written(spec.schedules.as_ref()?))),
        "Items that the queue puts in by itself; `[]` takes only those made at run time.",
    ),
    or(
        "none",
        key(
            "roles",
            Own(
                "table",
                |at, spec| keys::read(at, &ROLES, &mut spec.roles).map(drop),
                |spec| Some(keys::write(&ROLES, &spec.roles, &RolesSpec::default()).into()),
            ),
            "The rights of each role.",
        ),
    ),
    or(
        "the queue's name in lower case",
        key(
            "settings",
            Text("letters, digits, `.`, `-`, `_`, 60 at most", |spec| &mut spec.settings),
            "The queue's settings in `AppSettings` begin with this and a point.",
        ),
    ),
];

/// A description with the default of each key.
pub(super) fn start(queue: QueueName) -> QueueSpec {
    QueueSpec {
        types: vec!["Default".to_owned()],
        steps: Vec::new(),
        columns: vec![ColumnSpec::new(Identifier::known("Payload"), ColumnKind::Text(None))],
        subtypes: Vec::new(),
        trace: None,
        expires: None,
        after: false,
        progress: false,
        order: OrderSpec::default(),
        claim_by: ClaimBySpec::default(),
        shards: None,
        limits: Vec::new(),
        spread_by: Vec::new(),
        max_attempts: 3,
        attempt_history: false,
        backoff: Some(BackoffSpec::default()),
        lease: LeaseSpec::default(),
        completion: Completion::Keep,
        retention: Vec::new(),
        attempt_retention: None,
        dedup: None,
        schedules: None,
        roles: RolesSpec::default(),
        settings: queue.as_str().to_ascii_lowercase(),
        storage: Storage::Own,
        queue,
    }
}

/// Reads a description.
pub(super) fn read(at: &At<'_>) -> Result<QueueSpec> {
    let names: Vec<_> = QUEUE.iter().chain(&OPTIONS).map(Key::name).collect();
    let given = at.table(&names)?;
    let queue = given.need("queue")?;
    let mut spec = start(QueueName::new(queue.text()?).map_err(|error| queue.refuse(error.message()))?);
    columns_left_out(&given, &mut spec)?;
    keys::read_known(&given, &QUEUE, &mut spec)?;
    if let Storage::Procedures(_) = spec.storage
        && let Some(at) = OPTIONS.iter().find_map(|key| given.get(key.name()))
    {
        return Err(at.refuse("is decided by the hand-written procedures; leave it out"));
    }
    keys::read_known(&given, &OPTIONS, &mut spec)?;
    Ok(spec)
}

/// Hand-written procedures have no column by default, a described table needs the key.
fn columns_left_out(given: &KnownKeys<'_>, spec: &mut QueueSpec) -> Result<()> {
    match given.get("columns") {
        None if given.get("procedures").is_some() => spec.columns.clear(),
        None if given.get("table").is_some() => {
            let why = "the key \"columns\" is missing: the columns that producers give and workers see";
            return Err(given.at().refuse(why));
        }
        _ => {}
    }
    Ok(())
}

impl QueueSpec {
    /// The description as JSON, complete: with the default of each option that was left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        let start = start(self.queue.clone());
        let mut out: Map<_, _> = keys::write(&QUEUE, self, &start);
        if !matches!(self.storage, Storage::Procedures(_)) {
            out.extend(keys::write(&OPTIONS, self, &start));
        }
        Value::Object(out).to_string()
    }

    /// All that the members of a new item go by, as a number that differs when it does: who has checked an item by it has checked it
    /// by what is installed.
    #[must_use]
    pub(crate) fn items_number(&self) -> String {
        let table = if let Storage::Table(_) = self.storage { table::written(self) } else { None };
        let all =
            json!([self.types, self.steps, columns::written(&self.columns), columns::written_subtypes(self), table]);
        // Most have none, whose number stays as it was.
        let all = if self.after { json!([all, "after"]) } else { all };
        Uuid::new_v5(&Uuid::NAMESPACE_OID, all.to_string().as_bytes()).to_string()
    }
}
