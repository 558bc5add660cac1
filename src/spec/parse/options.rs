//! What a description chooses beyond its columns. Everything has a default.

use super::at::{At, Table};
use super::columns::{Declared, same_name};
use crate::error::Result;
use crate::ident::{Identifier, QueueName};
use crate::spec::{
    BackoffSpec, ClaimBySpec, ColumnKind, Completion, DedupSpec, Direction, LeaseSpec, OrderSpec, PrioritySpec,
    RolesSpec, Storage,
};

/// A day: longer than any lease or pause between attempts should be.
const DAY_MS: i32 = 86_400_000;

/// The longest prefix of a setting's name: the names are held to 100 characters.
const MAX_SETTINGS_CHARS: usize = 60;

/// `order`.
pub(super) fn order(spec: &Table<'_>, declared: &Declared<'_>) -> Result<OrderSpec> {
    let Some(at) = spec.get("order") else { return Ok(OrderSpec::default()) };
    let order = at.table(&["direction", "by", "priority", "group"])?;
    let directions = [Direction::Fifo, Direction::Lifo, Direction::Unordered];
    let direction = match order.get("direction") {
        Some(at) => directions[at.choice(&["fifo", "lifo", "unordered"])?],
        None => Direction::default(),
    };
    let by = match order.get("by") {
        None => Vec::new(),
        Some(at) if matches!(declared.storage, Storage::Own) => {
            return Err(at.refuse("is for adopted tables; readpast's own go by ScheduledFor and EnqueuedAt"));
        }
        Some(at) if direction == Direction::Unordered => {
            return Err(at.refuse("makes no sense with the direction \"unordered\""));
        }
        Some(at) => distinct(&at, |at| declared.any(at))?,
    };
    let priority = order.get("priority").map(|at| priority(&at, declared)).transpose()?;
    let group = match order.get("group") {
        None => None,
        Some(at) if direction != Direction::Fifo => {
            return Err(at.refuse("asks for the oldest item of each group first, so the direction has to be \"fifo\""));
        }
        Some(at) => {
            let group = declared.given(&at)?;
            indexed(&at, &group, declared)?;
            Some(group)
        }
    };
    Ok(OrderSpec { direction, by, priority, group })
}

fn priority(at: &At<'_>, declared: &Declared<'_>) -> Result<PrioritySpec> {
    let priority = at.table(&["column", "first"])?;
    let at = priority.need("column")?;
    let names: Vec<_> = declared.columns.iter().map(|column| &column.name).collect();
    let column = declared.known(&at, at.identifier()?, &names)?;
    let fits = |kind| matches!(kind, ColumnKind::Integer | ColumnKind::BigInteger);
    if !declared.columns.iter().any(|c| c.name == column && fits(c.kind) && !c.nullable) {
        return Err(at.refuse(format!(
            "the column {:?} has to be of type integer or bigint and not nullable, to give the order",
            column.as_str()
        )));
    }
    let lowest = priority.get("first").map(|at| at.choice(&["highest", "lowest"])).transpose()? == Some(1);
    Ok(PrioritySpec { column, highest_first: !lowest })
}

/// `claim_by`.
pub(super) fn claim_by(spec: &Table<'_>, declared: &Declared<'_>) -> Result<ClaimBySpec> {
    let mut claim_by = ClaimBySpec::default();
    let Some(at) = spec.get("claim_by") else { return Ok(claim_by) };
    for at in at.list(0)? {
        let is_step = at.choice(&["type", "step"])? == 1;
        if let Storage::Table(table) = declared.storage {
            let role = if is_step { &table.lifecycle.step } else { &table.lifecycle.kind };
            if role.is_none() {
                let role = if is_step { "step" } else { "type" };
                return Err(at.refuse(format!("the table has no column for it; name it in table.lifecycle.{role}")));
            }
        }
        *(if is_step { &mut claim_by.step } else { &mut claim_by.kind }) = true;
    }
    Ok(claim_by)
}

/// A list of names, each of them once.
pub(super) fn distinct(at: &At<'_>, name: impl Fn(&At<'_>) -> Result<Identifier>) -> Result<Vec<Identifier>> {
    let mut names: Vec<Identifier> = Vec::new();
    for at in at.list(1)? {
        let name = name(&at)?;
        if names.iter().any(|other| same_name(other, &name)) {
            return Err(at.refuse(format!("{:?} stands in the list already", name.as_str())));
        }
        names.push(name);
    }
    Ok(names)
}

/// `attempts`.
pub(super) fn attempts(spec: &Table<'_>) -> Result<i32> {
    let Some(at) = spec.get("attempts") else { return Ok(3) };
    at.table(&["limit"])?.need("limit")?.integer(1..=i32::MAX)
}

/// `backoff`.
pub(super) fn backoff(spec: &Table<'_>) -> Result<Option<BackoffSpec>> {
    let Some(at) = spec.get("backoff") else { return Ok(Some(BackoffSpec::default())) };
    if !at.is_table() {
        if !at.is_text() {
            return Err(at.wrong("\"none\" or a table"));
        }
        return at.choice(&["none"]).map(|_| None);
    }
    let default = BackoffSpec::default();
    let backoff = at.table(&["first_ms", "factor", "cap_ms", "jitter"])?;
    let first_ms = backoff.need("first_ms")?.integer(1..=DAY_MS)?;
    let cap_ms = match backoff.get("cap_ms") {
        Some(at) => {
            let cap_ms = at.integer(1..=i32::MAX)?;
            if cap_ms < first_ms {
                return Err(at.refuse(format!("is less than first_ms, which is {first_ms}")));
            }
            cap_ms
        }
        None => default.cap_ms.max(first_ms),
    };
    Ok(Some(BackoffSpec {
        first_ms,
        factor_percent: backoff.get("factor").map_or(Ok(default.factor_percent), |at| at.hundredths(100..=10_000))?,
        cap_ms,
        jitter_percent: backoff.get("jitter").map_or(Ok(default.jitter_percent), |at| at.hundredths(0..=100))?,
    }))
}

/// `lease`.
pub(super) fn lease(spec: &Table<'_>) -> Result<LeaseSpec> {
    let default = LeaseSpec::default();
    let Some(at) = spec.get("lease") else { return Ok(default) };
    let lease = at.table(&["ms", "kind", "resume_own"])?;
    Ok(LeaseSpec {
        ms: lease.get("ms").map_or(Ok(default.ms), |at| at.integer(10..=DAY_MS))?,
        sliding: lease.get("kind").map_or(Ok(0), |at| at.choice(&["sliding", "fixed"]))? == 0,
        resume_own: lease.boolean("resume_own", default.resume_own)?,
    })
}

/// `completion`, and whether completed items leave the table.
pub(super) fn completion(spec: &Table<'_>, declared: &Declared<'_>) -> Result<(Completion, bool)> {
    let Some(at) = spec.get("completion") else { return Ok((Completion::Keep, false)) };
    if !at.is_table() {
        if !at.is_text() {
            return Err(at.wrong("\"keep\", \"delete\" or a table with the key \"history\""));
        }
        let delete = at.choice(&["keep", "delete"])? == 1;
        return Ok((if delete { Completion::Delete } else { Completion::Keep }, delete));
    }
    let at = at.table(&["history"])?.need("history")?;
    if let Some(subtypes) = spec.get("subtypes")
        && !subtypes.list(0)?.is_empty()
    {
        return Err(
            subtypes.refuse("would be lost when an item moves to the history; keep or delete what is completed")
        );
    }
    let history = match declared.storage {
        Storage::Own => at.word()?,
        _ => at.identifier()?,
    };
    if matches!(declared.storage, Storage::Table(table) if same_name(&table.name, &history)) {
        return Err(at.refuse("the history is kept in another table than the queue"));
    }
    Ok((Completion::History(history), true))
}

/// `dedup`.
pub(super) fn dedup(spec: &Table<'_>, declared: &Declared<'_>) -> Result<Option<DedupSpec>> {
    let Some(at) = spec.get("dedup") else { return Ok(None) };
    let dedup = at.table(&["columns", "answer", "among"])?;
    let at = dedup.need("columns")?;
    let columns = distinct(&at, |at| declared.given(at))?;
    for (at, name) in at.list(1)?.iter().zip(&columns) {
        indexed(at, name, declared)?;
    }
    Ok(Some(DedupSpec {
        columns,
        existing: dedup.get("answer").map_or(Ok(0), |at| at.choice(&["ignore", "existing"]))? == 1,
        unfinished_only: dedup.get("among").map_or(Ok(0), |at| at.choice(&["all", "unfinished"]))? == 1,
    }))
}

/// Refuses a column that no index takes.
fn indexed(at: &At<'_>, name: &Identifier, declared: &Declared<'_>) -> Result<()> {
    let column = declared.columns.iter().find(|column| column.name == *name);
    match column.map(|column| column.kind) {
        Some(kind @ (ColumnKind::Json | ColumnKind::Text(None))) => {
            Err(at.refuse(format!("a column of type {kind} cannot be in an index; give it a length")))
        }
        _ => Ok(()),
    }
}

/// `roles`.
pub(super) fn roles(spec: &Table<'_>, declared: &Declared<'_>) -> Result<RolesSpec> {
    let Some(at) = spec.get("roles") else { return Ok(RolesSpec::default()) };
    let roles = at.table(&["producer", "worker", "operator", "own_types_only"])?;
    let own_types_only = roles.boolean("own_types_only", false)?;
    if let (true, Storage::Table(table), Some(at)) = (own_types_only, declared.storage, roles.get("own_types_only"))
        && table.lifecycle.kind.is_none()
    {
        return Err(at.refuse("the table has no column for the type; name it in table.lifecycle.type"));
    }
    Ok(RolesSpec {
        producer: roles.identifier("producer")?,
        worker: roles.identifier("worker")?,
        operator: roles.identifier("operator")?,
        own_types_only,
    })
}

/// `settings`: without it the queue's name in lower case.
pub(super) fn settings(spec: &Table<'_>, queue: &QueueName) -> Result<String> {
    let Some(at) = spec.get("settings") else { return Ok(queue.as_str().to_ascii_lowercase()) };
    let text = at.text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if text.is_empty() || text.len() > MAX_SETTINGS_CHARS || !text.chars().all(plain) {
        return Err(at.refuse(format!(
            "use letters, digits, points, hyphens and underscores (ASCII), {MAX_SETTINGS_CHARS} at most"
        )));
    }
    Ok(text.to_owned())
}
