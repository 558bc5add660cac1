//! The statements that the library sends, of a schema and of a queue.

use readpast::{Dialect, description::QueueSpec, ident::Identifier};

/// The calls that name no queue.
pub fn calls_of_schema(dialect: Dialect, schema: &Identifier) -> Vec<(&'static str, String)> {
    let names = dialect.files().iter().filter_map(|(name, _)| name.strip_prefix("call/")?.strip_suffix(".sql"));
    // Calls of a queue need more than the schema.
    names
        .filter(|name| *name != "session")
        .filter_map(|name| Some((name, dialect.schema_call(name, schema).ok()?)))
        .collect()
}

/// The library's calls of a queue.
pub fn calls_of(dialect: Dialect, schema: &Identifier, spec: &QueueSpec) -> Vec<(&'static str, String)> {
    let calls = dialect.calls(schema, spec).unwrap();
    let each = [
        ("enqueue", calls.enqueue),
        ("claim", calls.claim),
        ("apart", calls.claim_apart),
        ("settle", calls.settle),
        ("enqueue_within", calls.enqueue_within),
        ("settle_within", calls.settle_within),
        ("renew", calls.renew),
        ("recover", calls.recover),
        ("stats", calls.stats),
        ("watch", calls.watch),
        ("find", calls.find),
        ("redrive", calls.redrive),
        ("purge", calls.purge),
        ("setting", calls.setting),
        ("set_setting", calls.set_setting),
    ];
    let (schedules, limits) = (calls.schedules, calls.limits);
    let some = [
        ("schedules", schedules.as_ref().map(|calls| calls.list.clone())),
        ("fire", schedules.as_ref().map(|calls| calls.fire.clone())),
        ("schedule", schedules.as_ref().map(|calls| calls.set.clone())),
        ("limits", limits.as_ref().map(|calls| calls.list.clone())),
        ("limit", limits.as_ref().map(|calls| calls.set.clone())),
        ("blocked", calls.blocked),
        ("attempts", calls.attempts),
        ("waits", calls.waits),
        ("progress", calls.progress),
        ("report", calls.report),
        ("retain", calls.retain),
        ("claimed", calls.claimed),
        ("taken", calls.taken),
        ("hold_setting", calls.hold_setting),
    ];
    let some = some.into_iter().filter_map(|(name, text)| Some((name, text?)));
    each.into_iter().chain(some).map(|(name, text)| (name, text.to_string())).collect()
}
