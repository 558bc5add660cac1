//! `procedures`: a queue with hand-written procedures.

use super::at::At;
use crate::description::{ClaimedBySpec, ProceduresSpec};
use crate::error::Result;

/// The keys of `procedures`.
const KEYS: [&str; 8] = ["schema", "next", "modify", "add", "view", "key", "token", "time"];

/// Reads `procedures` beside a `table`: a custom claim procedure, and nothing else.
pub(super) fn claimed_by(at: &At<'_>) -> Result<ClaimedBySpec> {
    let procedures = at.table(&KEYS)?;
    for key in KEYS.into_iter().filter(|key| !["schema", "next"].contains(key)) {
        if let Some(at) = procedures.get(key) {
            return Err(at.refuse("is decided by \"table\", beside which only a claim procedure can be your own"));
        }
    }
    Ok(ClaimedBySpec { schema: procedures.identifier("schema")?, next: procedures.need("next")?.identifier()? })
}

/// Reads `procedures`.
pub(super) fn procedures(at: &At<'_>) -> Result<ProceduresSpec> {
    let procedures = at.table(&KEYS)?;
    Ok(ProceduresSpec {
        schema: procedures.identifier("schema")?,
        next: procedures.need("next")?.identifier()?,
        modify: procedures.need("modify")?.identifier()?,
        add: procedures.identifier("add")?,
        view: procedures.need("view")?.identifier()?,
        key: procedures.need("key")?.identifier()?,
        token: procedures.need("token")?.identifier()?,
        local_time: procedures.get("time").map_or(Ok(0), |at| at.choice(&["local", "utc"]))? == 0,
    })
}
