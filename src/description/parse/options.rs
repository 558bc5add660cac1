//! A description's options beyond its columns. Each has a default.

use super::at::{At, KnownKeys};
use crate::description::check::{
    ATTEMPTS, BACKOFF_CAP_MS, BACKOFF_FACTOR, BACKOFF_FIRST_MS, BACKOFF_JITTER, LEASE_MS, SHARDS,
};
use crate::description::{
    BackoffSpec, ClaimBySpec, Completion, DedupSpec, Direction, LeaseSpec, OrderSpec, PrioritySpec, RolesSpec,
};
use crate::error::Result;
use crate::ident::{Identifier, QueueName};

const ATTEMPTS_KEYS: [&str; 2] = ["limit", "history"];

/// `order`.
pub(super) fn order(spec: &KnownKeys<'_>) -> Result<OrderSpec> {
    let Some(at) = spec.get("order") else { return Ok(OrderSpec::default()) };
    let order = at.table(&["direction", "by", "priority", "group"])?;
    let directions = [Direction::Fifo, Direction::Lifo, Direction::Unordered];
    let direction = match order.get("direction") {
        Some(at) => directions[at.choice(&["fifo", "lifo", "unordered"])?],
        None => Direction::default(),
    };
    Ok(OrderSpec {
        direction,
        by: order.get("by").map_or_else(|| Ok(Vec::new()), |at| names(&at))?,
        priority: order.get("priority").map(|at| priority(&at)).transpose()?,
        group: order.identifier("group")?,
    })
}

fn priority(at: &At<'_>) -> Result<PrioritySpec> {
    let priority = at.table(&["column", "first"])?;
    let lowest = priority.get("first").map(|at| at.choice(&["highest", "lowest"])).transpose()? == Some(1);
    Ok(PrioritySpec { column: priority.need("column")?.identifier()?, highest_first: !lowest })
}

/// `claim_by`.
pub(super) fn claim_by(spec: &KnownKeys<'_>) -> Result<ClaimBySpec> {
    let mut claim_by = ClaimBySpec::default();
    let Some(at) = spec.get("claim_by") else { return Ok(claim_by) };
    for at in at.list(0)? {
        let is_step = at.choice(&["type", "step"])? == 1;
        *(if is_step { &mut claim_by.step } else { &mut claim_by.kind }) = true;
    }
    Ok(claim_by)
}

/// `shards`.
pub(super) fn shards(spec: &KnownKeys<'_>) -> Result<Option<i32>> {
    spec.get("shards").map(|at| at.integer(SHARDS)).transpose()
}

/// A list of names.
pub(super) fn names(at: &At<'_>) -> Result<Vec<Identifier>> {
    at.list(1)?.iter().map(At::identifier).collect()
}

/// `attempts.limit`.
pub(super) fn max_attempts(spec: &KnownKeys<'_>) -> Result<i32> {
    let Some(at) = spec.get("attempts") else { return Ok(3) };
    at.table(&ATTEMPTS_KEYS)?.get("limit").map_or(Ok(3), |at| at.integer(ATTEMPTS))
}

/// `attempts.history`.
pub(super) fn attempt_history(spec: &KnownKeys<'_>) -> Result<bool> {
    spec.get("attempts").map_or(Ok(false), |at| at.table(&ATTEMPTS_KEYS)?.boolean("history", false))
}

/// `backoff`.
pub(super) fn backoff(spec: &KnownKeys<'_>) -> Result<Option<BackoffSpec>> {
    let Some(at) = spec.get("backoff") else { return Ok(Some(BackoffSpec::default())) };
    if !at.is_table() {
        if !at.is_text() {
            return Err(at.wrong("\"none\" or a table"));
        }
        return at.choice(&["none"]).map(|_| None);
    }
    let default = BackoffSpec::default();
    let backoff = at.table(&["first_ms", "factor", "cap_ms", "jitter"])?;
    let first_ms = backoff.need("first_ms")?.integer(BACKOFF_FIRST_MS)?;
    let least_cap = default.cap_ms.max(first_ms);
    Ok(Some(BackoffSpec {
        first_ms,
        factor_percent: backoff.get("factor").map_or(Ok(default.factor_percent), |at| at.hundredths(BACKOFF_FACTOR))?,
        cap_ms: backoff.get("cap_ms").map_or(Ok(least_cap), |at| at.integer(BACKOFF_CAP_MS))?,
        jitter_percent: backoff.get("jitter").map_or(Ok(default.jitter_percent), |at| at.hundredths(BACKOFF_JITTER))?,
    }))
}

/// `lease`.
pub(super) fn lease(spec: &KnownKeys<'_>) -> Result<LeaseSpec> {
    let default = LeaseSpec::default();
    let Some(at) = spec.get("lease") else { return Ok(default) };
    let lease = at.table(&["ms", "kind", "resume_own", "durable"])?;
    Ok(LeaseSpec {
        ms: lease.get("ms").map_or(Ok(default.ms), |at| at.integer(LEASE_MS))?,
        sliding: lease.get("kind").map_or(Ok(0), |at| at.choice(&["sliding", "fixed"]))? == 0,
        resume_own: lease.boolean("resume_own", default.resume_own)?,
        durable: lease.boolean("durable", default.durable)?,
    })
}

/// `completion`.
pub(super) fn completion(spec: &KnownKeys<'_>) -> Result<Completion> {
    let Some(at) = spec.get("completion") else { return Ok(Completion::Keep) };
    if at.is_table() {
        return Ok(Completion::History(at.table(&["history"])?.need("history")?.identifier()?));
    }
    if !at.is_text() {
        return Err(at.wrong("\"keep\", \"delete\" or a table with the key \"history\""));
    }
    Ok(if at.choice(&["keep", "delete"])? == 1 { Completion::Delete } else { Completion::Keep })
}

/// `dedup`.
pub(super) fn dedup(spec: &KnownKeys<'_>) -> Result<Option<DedupSpec>> {
    let Some(at) = spec.get("dedup") else { return Ok(None) };
    let dedup = at.table(&["columns", "answer", "among"])?;
    Ok(Some(DedupSpec {
        columns: names(&dedup.need("columns")?)?,
        existing: dedup.get("answer").map_or(Ok(0), |at| at.choice(&["ignore", "existing"]))? == 1,
        unfinished_only: dedup.get("among").map_or(Ok(0), |at| at.choice(&["all", "unfinished"]))? == 1,
    }))
}

/// `roles`.
pub(super) fn roles(spec: &KnownKeys<'_>) -> Result<RolesSpec> {
    let Some(at) = spec.get("roles") else { return Ok(RolesSpec::default()) };
    let roles = at.table(&["producer", "worker", "monitor", "operator", "own_types_only"])?;
    Ok(RolesSpec {
        producer: roles.identifier("producer")?,
        worker: roles.identifier("worker")?,
        monitor: roles.identifier("monitor")?,
        operator: roles.identifier("operator")?,
        own_types_only: roles.boolean("own_types_only", false)?,
    })
}

/// `settings`: without it the queue's name in lower case.
pub(super) fn settings(spec: &KnownKeys<'_>, queue: &QueueName) -> Result<String> {
    match spec.get("settings") {
        Some(at) => at.text().map(str::to_owned),
        None => Ok(queue.as_str().to_ascii_lowercase()),
    }
}
