//! `subtypes`: tables of columns that only some items have.

use super::at::{At, KnownKeys};
use super::columns;
use crate::description::SubtypeSpec;
use crate::error::Result;

/// Reads `subtypes`.
pub(super) fn subtypes(spec: &KnownKeys<'_>) -> Result<Vec<SubtypeSpec>> {
    let Some(at) = spec.get("subtypes") else { return Ok(Vec::new()) };
    at.list(0)?.iter().map(subtype).collect()
}

fn subtype(at: &At<'_>) -> Result<SubtypeSpec> {
    let subtype = at.table(&["name", "exclusive", "columns"])?;
    Ok(SubtypeSpec {
        name: subtype.need("name")?.identifier()?,
        exclusive: subtype.boolean("exclusive", false)?,
        columns: columns::list(&subtype.need("columns")?, 1)?,
    })
}
