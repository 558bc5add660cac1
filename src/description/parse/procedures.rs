//! `procedures`: hand-written ones, all of them or, beside a table, the claim procedure.

use super::at::At;
use super::keys::Kind::{Either, Name, OptionalName};
use super::keys::{self, Key, key, needed, or};
use crate::description::{ClaimedBySpec, ProceduresSpec, QueueSpec, Storage};
use crate::error::Result;
use crate::ident::Identifier;
use serde_json::Value;

pub(super) static PROCEDURES: [Key<ProceduresSpec>; 8] = [
    or("`dbo`; in PostgreSQL `public`", key("schema", OptionalName(|all| &mut all.schema), "Their schema.")),
    needed(key("next", Name(|all| &mut all.next), "Claims one item: returns its key and its token, or no row.")),
    needed(key(
        "modify",
        Name(|all| &mut all.modify),
        "Settles one item: takes key, token, status and, by their names, step, response, error and the next due time.",
    )),
    key("add", OptionalName(|all| &mut all.add), "Enqueues one item: takes its columns by their names."),
    needed(key("view", Name(|all| &mut all.view), "Shows a worker its items.")),
    needed(key("key", Name(|all| &mut all.key), "The column of the view that is the key.")),
    needed(key("token", Name(|all| &mut all.token), "The column of the view that is the token.")),
    key(
        "time",
        Either(["local", "utc"], true, |all| &mut all.local_time),
        "In which time the procedures read and write times without a zone.",
    ),
];

static CLAIMED_BY: [Key<ClaimedBySpec>; 2] =
    [key("schema", OptionalName(|own| &mut own.schema), ""), needed(key("next", Name(|own| &mut own.next), ""))];

/// Procedures without names, as reading begins.
pub(super) fn start() -> ProceduresSpec {
    let name = || Identifier::known("none");
    let (next, modify, view, key, token) = (name(), name(), name(), name(), name());
    ProceduresSpec { schema: None, next, modify, add: None, view, key, token, local_time: true }
}

fn no_claim_procedure() -> ClaimedBySpec {
    ClaimedBySpec { schema: None, next: Identifier::known("none") }
}

/// Reads `procedures`. Beside a `table` it is a custom claim procedure, and nothing else.
pub(super) fn read(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    let Storage::Table(table) = &mut spec.storage else {
        let mut procedures = start();
        keys::read(at, &PROCEDURES, &mut procedures)?;
        spec.storage = Storage::Procedures(Box::new(procedures));
        return Ok(());
    };
    let given = at.table(&PROCEDURES.each_ref().map(Key::name))?;
    let is_claim = |name: &str| CLAIMED_BY.iter().any(|key| key.name() == name);
    for key in PROCEDURES.iter().map(Key::name).filter(|name| !is_claim(name)) {
        if let Some(at) = given.get(key) {
            return Err(at.refuse("is decided by \"table\", beside which only a claim procedure can be your own"));
        }
    }
    let mut claimed_by = no_claim_procedure();
    keys::read_known(&given, &CLAIMED_BY, &mut claimed_by)?;
    table.claimed_by = Some(claimed_by);
    Ok(())
}

/// Writes it.
pub(super) fn written(spec: &QueueSpec) -> Option<Value> {
    let written = match &spec.storage {
        Storage::Own => return None,
        Storage::Table(table) => keys::write(&CLAIMED_BY, table.claimed_by.as_ref()?, &no_claim_procedure()),
        Storage::Procedures(procedures) => keys::write(&PROCEDURES, procedures, &start()),
    };
    Some(written.into())
}
