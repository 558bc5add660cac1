//! `procedures`: a queue whose procedures somebody wrote by hand.

use super::at::At;
use crate::error::Result;
use crate::spec::ProceduresSpec;

/// Reads `procedures`.
pub(super) fn procedures(at: &At<'_>) -> Result<ProceduresSpec> {
    let procedures = at.table(&["schema", "next", "modify", "add", "view", "key", "token", "time"])?;
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
