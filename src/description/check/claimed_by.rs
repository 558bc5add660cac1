//! A table with a custom claim procedure: the columns it must have, so that readpast can see the holder of a claim, and the
//! options that the procedure decides.

use super::{Checked, DescriptionPath};
use crate::description::{QueueSpec, TableSpec};
use crate::item::ItemState;

pub(super) fn check(spec: &QueueSpec, table: &TableSpec) -> Checked {
    if table.claimed_by.is_none() {
        return Ok(());
    }
    let life = &table.lifecycle;
    let place = DescriptionPath::default().key("table").key("lifecycle");
    let why = || {
        "needs \"owner\", the column into which the procedure of procedures.next writes the holder of the claim"
            .to_owned()
    };
    place.need(life.owner.is_some(), why)?;
    let why = || {
        "needs \"started\", the column into which the procedure of procedures.next writes the time of the claim"
            .to_owned()
    };
    place.need(life.started.is_some(), why)?;
    let why = || {
        "leave it out: the procedure of procedures.next knows no such column, and lease.ms says how long its claims hold"
            .to_owned()
    };
    place.key("lease_until").need(life.lease_until.is_none(), why)?;
    let processing = table.conditions(ItemState::Processing);
    let shows = table.encodings().iter().any(|e| e.default == ItemState::Processing && e.conditions == processing);
    let why = || "has to differ from all other states: only the table shows the claims of the procedure".to_owned();
    DescriptionPath::default().key("table").key("states").key("Processing").need(shows, why)?;
    decided(spec, table)
}

/// Refuses options that the procedure decides.
fn decided(spec: &QueueSpec, table: &TableSpec) -> Checked {
    let root = DescriptionPath::default();
    let why = || "is decided by the procedure of procedures.next; leave it out".to_owned();
    root.key("order").key("priority").need(spec.order.priority.is_none(), why)?;
    root.key("order").key("group").need(spec.order.group.is_none(), why)?;
    root.key("claim_by").need(!spec.claim_by.kind && !spec.claim_by.step, why)?;
    root.key("roles").key("own_types_only").need(!spec.roles.own_types_only, why)?;
    root.key("table").key("run_time").need(!table.run_time, why)?;
    root.key("lease").key("resume_own").need(!spec.lease.resume_own, why)?;
    let why = || {
        "has to be \"fixed\": the procedure of procedures.next breaks a lock by the time of its claim, and no renewal moves that"
            .to_owned()
    };
    root.key("lease").key("kind").need(!spec.lease.sliding, why)
}
