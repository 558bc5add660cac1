//! A description's options beyond its columns. Each has a default.

use super::at::At;
use super::keys::Kind::{Choice, Either, Flag, Hundredths, Name, Names, Number, OptionalName, Own};
use super::keys::{self, Key, key, needed, or, special};
use crate::description::check::{ATTEMPTS, BACKOFF_CAP_MS, BACKOFF_FACTOR, BACKOFF_FIRST_MS, BACKOFF_JITTER, LEASE_MS};
use crate::description::{
    BackoffSpec, ClaimBySpec, Completion, DedupSpec, Direction, LeaseSpec, OnDuplicate, OrderSpec, PrioritySpec,
    QueueSpec, RolesSpec,
};
use crate::error::Result;
use crate::ident::Identifier;
use serde_json::{Value, json};

pub(super) static ORDER: [Key<OrderSpec>; 4] = [
    key(
        "direction",
        Choice(&Direction::WORDS, |order| order.direction as usize, |order, nth| order.direction = Direction::ALL[nth]),
        "The oldest, the newest, or any first. Not strict: an item that is given back comes after later ones.",
    ),
    or(
        "`due`, else `enqueued`, else the key",
        key(
            "by",
            Names("list of columns", |order| &mut order.by),
            "Only with `table`: the columns that give the age. readpast's own tables use ScheduledFor and EnqueuedAt.",
        ),
    ),
    key(
        "priority",
        Own(
            "`{ column, first }`",
            |at, order| {
                let mut priority = no_priority();
                keys::read(at, &PRIORITY, &mut priority)?;
                order.priority = Some(priority);
                Ok(())
            },
            |order| Some(keys::write(&PRIORITY, order.priority.as_ref()?, &no_priority()).into()),
        ),
        "An `integer` or `bigint` column, not nullable, that comes before everything else; `first` is `\"highest\"` (default) or \
         `\"lowest\"`.",
    ),
    key(
        "group",
        OptionalName(|order| &mut order.group),
        "The column of the ordering key (message group): strict order among items with equal values in it: an item is handed out only \
         when all earlier ones of its group are finished. Only with `\"fifo\"`.",
    ),
];

static PRIORITY: [Key<PrioritySpec>; 2] = [
    needed(key("column", Name(|priority| &mut priority.column), "")),
    key("first", Either(["highest", "lowest"], true, |priority| &mut priority.highest_first), ""),
];

fn no_priority() -> PrioritySpec {
    PrioritySpec { column: Identifier::known("Priority"), highest_first: true }
}

/// Reads `claim_by`.
pub(super) fn claim_by(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    for at in at.list(0)? {
        let is_step = at.choice(&["type", "step"])? == 1;
        *(if is_step { &mut spec.claim_by.step } else { &mut spec.claim_by.kind }) = true;
    }
    Ok(())
}

/// Writes it.
pub(super) fn written_claim_by(spec: &QueueSpec) -> Option<Value> {
    let claim_by = [("type", spec.claim_by.kind), ("step", spec.claim_by.step)];
    let named = || claim_by.into_iter().filter(|(_, is)| *is).map(|(word, _)| json!(word)).collect();
    (spec.claim_by != ClaimBySpec::default()).then(named)
}

pub(super) static ATTEMPTS_KEYS: [Key<QueueSpec>; 2] = [
    key(
        "limit",
        Number(ATTEMPTS, |spec| &mut spec.max_attempts),
        "How many attempts an item has. The setting `<settings>.maxAttempts` overrides it; a value below 1 is ignored.",
    ),
    special(key(
        "history",
        Flag(|spec| &mut spec.attempt_history),
        "Whether the outcome of each attempt is kept: see below.",
    )),
];

pub(super) static BACKOFF: [Key<BackoffSpec>; 4] = [
    or(
        "(required; without the table `5000`)",
        needed(key(
            "first_ms",
            Number(BACKOFF_FIRST_MS, |backoff| &mut backoff.first_ms),
            "The pause after the first failed attempt, in milliseconds.",
        )),
    ),
    key(
        "factor",
        Hundredths(BACKOFF_FACTOR, |backoff| &mut backoff.factor_percent),
        "The factor by which the pause grows with each further attempt; with 1 it is fixed.",
    ),
    key(
        "cap_ms",
        Number(BACKOFF_CAP_MS, |backoff| &mut backoff.cap_ms),
        "The longest pause, not less than `first_ms`.",
    ),
    key(
        "jitter",
        Hundredths(BACKOFF_JITTER, |backoff| &mut backoff.jitter_percent),
        "The share of the pause that is random, so that items that failed together do not come back together.",
    ),
];

/// Reads `backoff`.
pub(super) fn backoff(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    if at.is_text() {
        at.choice(&["none"])?;
        spec.backoff = None;
        return Ok(());
    }
    if !at.is_table() {
        return Err(at.wrong("\"none\" or a table"));
    }
    let mut backoff = BackoffSpec::default();
    let given = keys::read(at, &BACKOFF, &mut backoff)?;
    if given.get("cap_ms").is_none() {
        backoff.cap_ms = backoff.cap_ms.max(backoff.first_ms);
    }
    spec.backoff = Some(backoff);
    Ok(())
}

/// Writes it.
pub(super) fn written_backoff(spec: &QueueSpec) -> Option<Value> {
    Some(match &spec.backoff {
        Some(backoff) => keys::write(&BACKOFF, backoff, &BackoffSpec::default()).into(),
        None => json!("none"),
    })
}

pub(super) static LEASE: [Key<LeaseSpec>; 4] = [
    key(
        "ms",
        Number(LEASE_MS, |lease| &mut lease.ms),
        "How long it lasts, in milliseconds. The setting `<settings>.leaseMs` and a worker's own `lease.ms` override it.",
    ),
    key(
        "kind",
        Either(["sliding", "fixed"], true, |lease| &mut lease.sliding),
        "Whether a renewal moves the deadline.",
    ),
    key(
        "resume_own",
        Flag(|lease| &mut lease.resume_own),
        "Whether a worker that restarts under its old name takes up at once what it left in flight. Each worker then needs a name of \
         its own.",
    ),
    key(
        "durable",
        Flag(|lease| &mut lease.durable),
        "Whether claims and renewals wait until the server's log has them. With `false` a crash of the server may forget the last of \
         them: [what that costs](../docs/dba.md#lazy-claims). Not with a `group`. On SQL Server the database must allow it \
         (`DELAYED_DURABILITY = ALLOWED`); otherwise it changes nothing.",
    ),
];

/// Reads `completion`.
pub(super) fn completion(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    spec.completion = if at.is_table() {
        Completion::History(at.table(&["history"])?.need("history")?.identifier()?)
    } else if !at.is_text() {
        return Err(at.wrong("\"keep\", \"delete\" or a table with the key \"history\""));
    } else if at.choice(&["keep", "delete"])? == 1 {
        Completion::Delete
    } else {
        Completion::Keep
    };
    Ok(())
}

/// Writes it.
pub(super) fn written_completion(spec: &QueueSpec) -> Option<Value> {
    Some(match &spec.completion {
        Completion::Keep => json!("keep"),
        Completion::Delete => json!("delete"),
        Completion::History(table) => json!({"history": table.as_written()}),
    })
}

pub(super) static DEDUP: [Key<DedupSpec>; 4] = [
    needed(key(
        "columns",
        Names("list of columns that producers give", |dedup| &mut dedup.columns),
        "Items with equal values in all of them are the same work.",
    )),
    key(
        "answer",
        Either(["ignore", "existing"], false, |dedup| &mut dedup.existing),
        "The producer of a duplicate gets this besides `DUPLICATE`: nothing, or the key of the existing item.",
    ),
    key(
        "among",
        Either(["all", "unfinished"], false, |dedup| &mut dedup.unfinished_only),
        "Whether finished items count.",
    ),
    special(key(
        "on_duplicate",
        Choice(
            &OnDuplicate::WORDS,
            |dedup| dedup.on_duplicate as usize,
            |dedup, nth| dedup.on_duplicate = OnDuplicate::ALL[nth],
        ),
        "The item that waits stays as it is; or it gets the values of the new one, and its due time; or its due time only where \
         that is later: see below. Not with `table`.",
    )),
];

/// A rule without columns, as reading begins.
pub(super) fn no_dedup() -> DedupSpec {
    DedupSpec { columns: Vec::new(), existing: false, unfinished_only: false, on_duplicate: OnDuplicate::Keep }
}

pub(super) static ROLES: [Key<RolesSpec>; 5] = [
    key(
        "producer",
        OptionalName(|roles| &mut roles.producer),
        "May enqueue, and see items in a view without their secret columns.",
    ),
    key("worker", OptionalName(|roles| &mut roles.worker), "May claim, settle and renew, and read the worker view."),
    key(
        "monitor",
        OptionalName(|roles| &mut roles.monitor),
        "May look at figures and items, but not at secret columns, and change nothing.",
    ),
    key("operator", OptionalName(|roles| &mut roles.operator), "May do everything."),
    key(
        "own_types_only",
        Flag(|roles| &mut roles.own_types_only),
        "Whether a worker's login sees and claims only the types that the table `QueueTypeAccess` gives it.",
    ),
];
