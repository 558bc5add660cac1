//! Descriptions that have each option, alone and together, on a table of readpast's own and on one that was there before.

use readpast::description::{EXAMPLES, QueueSpec};
use serde_json::{Value, json};

/// The parts that both kinds have: two types, and columns that the options speak of.
fn base() -> Value {
    json!({"queue": "Job", "types": ["A", "B"], "columns": [
        {"name": "Customer", "type": "text(40)"},
        {"name": "Rank", "type": "integer", "nullable": false},
        {"name": "Reference", "type": "guid"},
    ]})
}

/// Those, and a column of every kind with a default; one that refers to another table, and one of which something holds.
fn defaulted() -> Value {
    json!({"columns": [
        {"name": "Customer", "type": "text(40)", "default": "it's \u{fc}ber"},
        {"name": "Rank", "type": "integer", "nullable": false, "default": -5},
        {"name": "Reference", "type": "guid", "default": "d6513312-4dcc-4c44-b044-08b98257037c"},
        {"name": "Big", "type": "bigint", "default": i64::MIN}, {"name": "Good", "type": "boolean", "default": true},
        {"name": "Score", "type": "float", "default": 1e-300}, {"name": "Amount", "type": "decimal(38, 2)", "default": "0.10"},
        {"name": "At", "type": "timestamp", "default": "2026-11-21T08:30:00Z"},
        {"name": "Day", "type": "date", "default": "2026-11-21"}, {"name": "Extra", "type": "json", "default": {"a": ["b"]}},
        {"name": "Letter", "type": "text", "default": ""},
        {"name": "Hash", "type": "binary(32)", "default": "AP8="}, {"name": "Raw", "type": "binary"},
        {"name": "Code", "type": "text(6)", "sql_type": "dbo.OtpCode"},
        {"name": "UserID", "type": "bigint", "references": "dbo.Users(ID)"},
        {"name": "Parts", "type": "integer", "check":
            {"sql_server": "[Parts] BETWEEN 1 AND [Rank]", "postgresql": "1 < 2"}},
    ]})
}

/// A table that has a column for nearly everything, and a key of two columns.
fn whole_table() -> Value {
    json!({"schema": "dbo", "name": "jobs", "create": true,
        "key": [{"name": "Region", "type": "text(10)", "source": "producer"},
                {"name": "Id", "type": "bigint", "source": "table"}],
        "lifecycle": {"type": "Kind", "enqueued": "Came", "due": "Due", "started": "Began", "finished": "Ended",
            "duration": "Ms", "attempts": "Attempts", "owner": "Owner", "lease_until": "Until", "step": "Step",
            "response": "Answer", "error": "Trouble", "token": "Version"},
        "status": {"column": "State", "values": {"Pending": "new", "Processing": "busy", "Completed": "done"}}})
}

/// A table that has next to nothing.
fn bare_table() -> Value {
    json!({"name": "jobs", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}})
}

/// A table in which a row is there as long as its work is not done.
fn present_table() -> Value {
    json!({"name": "jobs", "create": true, "key": [{"name": "Id", "type": "bigint", "source": "table"}],
        "lifecycle": {"type": "Kind"}})
}

/// A table that shows all there is to know of an item: nothing stands beside it.
fn full_table() -> Value {
    let mut table = whole_table();
    table["status"]["values"] = json!({"Pending": "new", "Processing": "busy", "Completed": "done", "Error": "again",
        "Failed": "bad", "PartiallyCompleted": "half", "Cancelled": "off", "Terminated": "cut", "Paused": "rest"});
    table
}

/// Tables of others whose items report how far they are: with a row beside each item and without.
fn with_reports() -> Vec<(String, QueueSpec)> {
    let of = |name: &str, table: Value, more: Value| {
        let mut spec = with(with(base(), "progress", true), "table", table);
        merge(&mut spec, &more);
        let spec = QueueSpec::from_text(&spec.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
        (format!("reports_{name}"), spec)
    };
    let mut odd = whole_table();
    odd["key"] = odd_key();
    let mut local = full_table();
    local["time"] = json!("local");
    let rights = json!({"worker": "w", "monitor": "m", "own_types_only": true});
    vec![
        of("odd", odd, json!({"completion": "delete", "attempts": {"history": true}})),
        of("full", full_table(), json!({"roles": rights, "retention": {"failed": "365d"}})),
        of("full_delete", local, json!({"completion": "delete"})),
        of(
            "full_history",
            full_table(),
            json!({"completion": {"history": "Job_History"}, "attempts": {"history": true}}),
        ),
    ]
}

/// The options that are of account to it.
const OF_PRESENT: [&str; 16] = [
    "plain",
    "expires",
    "lifo",
    "unordered",
    "priority",
    "group",
    "by_type",
    "attempt_history",
    "history",
    "dedup_existing",
    "retention_failed",
    "progress",
    "own_types",
    "parts",
    "lease",
    "schedule",
];

/// Conditions on the rows of a table.
fn rows() -> Value {
    json!({"Tenant": 3, "Region2": ["it's x", "y"], "Weight": {">=": 1, "<": 9}, "Shown": {"=": "yes"}})
}

/// Tables whose items somebody else's procedure claims: one with little, and one that counts, remembers and has two keys.
fn claimed_by_others() -> Vec<(String, QueueSpec)> {
    let states = json!({"Pending": {"State": 0, "Began": {"is": "null"}}, "Processing": {"State": 0, "Began": {"is": "set"}},
        "Completed": {"State": 1}});
    let mut bare = json!({"queue": "Job", "columns": [], "procedures": {"next": "Take"}, "lease": {"kind": "fixed"}});
    bare["table"] = json!({"name": "jobs", "key": [{"name": "Id", "type": "bigint"}], "states": states,
        "lifecycle": {"started": "Began", "owner": "By"}});
    let mut whole = bare.clone();
    whole["table"]["key"] = whole_table()["key"].clone();
    whole["table"]["time"] = json!("local");
    whole["table"]["lifecycle"] = json!({"started": "Began", "owner": "By", "attempts": "Tries", "due": "Due", "step": "Step",
        "error": "Trouble", "token": "Version", "finished": "Ended"});
    // The team's settings, and an error that is cut: two tables of settings.
    whole["table"]["settings"] = json!({"schema": "team's", "name": "Settings]", "param": "Key", "value": "Number"});
    whole["attempts"] = json!({"history": true});
    whole["roles"] = json!({"worker": "w"});
    let read = |spec: Value| QueueSpec::from_text(&spec.to_string()).unwrap_or_else(|error| panic!("{spec}: {error}"));
    vec![("claimed_bare".to_owned(), read(bare)), ("claimed_whole".to_owned(), read(whole))]
}

fn odd_key() -> Value {
    json!([{"name": "Region", "type": "text(10)", "stored": "char", "collation": "Latin1_General_BIN2"},
        {"name": "Code", "type": "text(10)", "collation": "Latin1_General_BIN2"}, {"name": "Hash", "type": "binary(16)"},
        {"name": "Number", "type": "decimal(20, 2)"}, {"name": "Id", "type": "bigint", "source": "table"}])
}

/// Tables whose key has each kind of column that is not like the others: one that has nearly everything, and one that has nothing.
fn with_odd_keys() -> Vec<(String, QueueSpec)> {
    let parts = json!([{"name": "Mail", "columns": [{"name": "MailTo", "type": "text(254)"}]}]);
    let of = |name: &str, table: Value, more: Value| {
        let mut spec = with(base(), "table", table);
        spec["table"]["key"] = odd_key();
        merge(&mut spec, &more);
        let spec = QueueSpec::from_text(&spec.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
        (format!("keys_{name}"), spec)
    };
    vec![
        of(
            "whole",
            whole_table(),
            json!({"attempts": {"history": true}, "order": {"group": "Customer"}, "subtypes": parts}),
        ),
        of(
            "bare",
            bare_table(),
            json!({"types": ["A"], "dedup": {"columns": ["Reference"], "answer": "existing"}, "schedule": []}),
        ),
    ]
}

/// Each option by itself.
fn options() -> Vec<(&'static str, Value)> {
    vec![
        ("plain", json!({})),
        // Before the other columns, which have it too.
        (
            "expires",
            json!({"expires": "At", "columns": [{"name": "Customer", "type": "text(40)"},
            {"name": "Rank", "type": "integer", "nullable": false}, {"name": "Reference", "type": "guid"},
            {"name": "At", "type": "timestamp"}]}),
        ),
        ("defaults", defaulted()),
        ("lifo", json!({"order": {"direction": "lifo"}})),
        ("unordered", json!({"order": {"direction": "unordered"}})),
        ("priority", json!({"order": {"priority": {"column": "Rank", "first": "highest"}}})),
        ("group", json!({"order": {"group": "Customer"}})),
        ("by_type", json!({"claim_by": ["type"]})),
        ("by_step", json!({"claim_by": ["step"]})),
        ("by_kind", json!({"claim_by": ["type", "step"]})),
        ("shards", json!({"shards": 8})),
        (
            "shards_ordered",
            json!({"shards": 64, "completion": "delete", "types": ["A", "B"],
            "order": {"direction": "lifo", "priority": {"column": "Rank"}}}),
        ),
        (
            "limit",
            json!({"limit": [{"by": "Customer", "at_once": 10, "weight": "Rank"},
            {"by": "Reference", "at_once": 5, "weight": "Rank", "rate": "60/1m", "burst": 10}, {"at_once": 200}], "roles": {"worker": "w", "monitor": "m", "operator": "o"}}),
        ),
        ("limit_queue", json!({"limit": [{"at_once": 5, "rate": "10/1s"}]})),
        (
            "limit_ordered",
            json!({"limit": [{"rate": "1000/1h"}, {"by": "Rank", "at_once": {"from": "Customer", "it's": 9, "free": 1}, "rate": "5/1s"}],
            "completion": "delete",
            "order": {"direction": "lifo", "priority": {"column": "Rank"}}}),
        ),
        ("steps", json!({"steps": ["new", "it's \u{fc}ber"]})),
        ("attempts", json!({"attempts": {"limit": 5}, "settings": "jobs"})),
        ("attempt_history", json!({"attempts": {"history": true}})),
        ("backoff", json!({"backoff": {"first_ms": 500, "factor": 2, "cap_ms": 60000, "jitter": 0.5}})),
        ("no_backoff", json!({"backoff": "none"})),
        ("lease", json!({"lease": {"ms": 30000, "kind": "fixed", "resume_own": true}})),
        ("lazy", json!({"lease": {"durable": false}})),
        ("delete", json!({"completion": "delete"})),
        ("history", json!({"completion": {"history": "Job_History"}})),
        (
            "retention",
            json!({"retention": {"completed": "30d", "failed": "365d"}, "roles": {"worker": "w", "operator": "o"}}),
        ),
        ("retention_history", json!({"attempts": {"history": true}, "retention": {"failed": "365d", "history": "7d"}})),
        ("retention_history_only", json!({"attempts": {"history": true}, "retention": {"history": "7d"}})),
        ("retention_failed", json!({"retention": {"failed": "365d", "cancelled": "12h"}})),
        ("trace", json!({"trace": true})),
        ("dedup", json!({"dedup": {"columns": ["Reference"]}})),
        (
            "dedup_existing",
            json!({"dedup": {"columns": ["Customer", "Reference"], "answer": "existing",
            "among": "unfinished"}}),
        ),
        (
            "after",
            json!({"after": true, "dedup": {"columns": ["Customer", "Reference"], "answer": "existing", "among": "unfinished"}}),
        ),
        (
            "after_kept",
            json!({"after": true, "retention": {"completed": "30d", "failed": "365d"}, "claim_by": ["type"]}),
        ),
        ("after_shards", json!({"after": true, "shards": 3, "completion": "delete"})),
        ("progress", json!({"progress": true})),
        ("progress_types", json!({"progress": true, "roles": {"worker": "w", "monitor": "m", "own_types_only": true}})),
        (
            "dedup_replace",
            json!({"dedup": {"columns": ["Customer", "Reference"], "on_duplicate": "replace", "among": "unfinished"},
            "limit": [{"by": "Customer", "at_once": 10}], "steps": ["new"],
            "subtypes": [{"name": "A", "exclusive": true, "columns": [{"name": "Code", "type": "text(10)"}]},
                {"name": "Mail", "columns": [{"name": "Extra", "type": "json"}, {"name": "Body", "type": "binary(9)"}]}]}),
        ),
        ("dedup_later", json!({"dedup": {"columns": ["Reference"], "on_duplicate": "later"}})),
        ("schedule", json!({"schedule": []})),
        ("roles", json!({"roles": {"producer": "p", "worker": "w", "operator": "o"}})),
        ("monitor", json!({"roles": {"monitor": "m"}, "order": {"group": "Customer"}})),
        ("own_types", json!({"roles": {"producer": "p", "worker": "w", "operator": "o", "own_types_only": true}})),
        (
            "parts",
            json!({"subtypes": [{"name": "Mail", "columns": [
            {"name": "MailTo", "type": "text(254)", "nullable": false}, {"name": "Extra", "type": "json"},
            {"name": "Body", "type": "binary(9)"}, {"name": "SentAt", "type": "timestamp"},
            {"name": "Language", "type": "text(10)", "nullable": false, "default": "en"}]}]}),
        ),
        (
            "subtypes",
            json!({"subtypes": [
            {"name": "A", "exclusive": true, "columns": [{"name": "Code", "type": "text(10)", "nullable": false}]},
            {"name": "Mail", "columns": [{"name": "MailTo", "type": "text(254)"}, {"name": "Extra", "type": "json"},
                {"name": "Body", "type": "binary(9)"},
                {"name": "Language", "type": "text(10)", "nullable": false, "default": "en",
                    "check": {"sql_server": "[Language] <> ''", "postgresql": "1 < 2"}}]}]}),
        ),
    ]
}

fn with(mut spec: Value, key: &str, value: impl Into<Value>) -> Value {
    spec[key] = value.into();
    spec
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Those that the library refuses, since a table that is there cannot have the option.
const REFUSED: &[&str] = &[
    "whole_shards",
    "whole_shards_ordered",
    "whole_after",
    "whole_after_kept",
    "whole_after_shards",
    "whole_dedup_replace",
    "whole_dedup_later",
    "bare_by_type",
    "bare_by_step",
    "bare_by_kind",
    "bare_shards",
    "bare_shards_ordered",
    "bare_retention",
    "bare_after",
    "bare_after_kept",
    "bare_after_shards",
    "bare_progress_types",
    "bare_dedup_replace",
    "bare_dedup_later",
    "bare_own_types",
    "bare_subtypes",
];

/// A name for the script, and the description.
pub fn specs() -> Vec<(String, QueueSpec)> {
    let mut found = Vec::new();
    let mut refused = Vec::new();
    let tables = [
        ("own", None),
        ("whole", Some(whole_table())),
        ("bare", Some(bare_table())),
        ("present", Some(present_table())),
    ];
    for (kind, table) in tables {
        let is_present = kind == "present";
        let base = || if is_present { with(base(), "completion", "delete") } else { base() };
        let mut together = base();
        for (option, fragment) in options().into_iter().filter(|(name, _)| !is_present || OF_PRESENT.contains(name)) {
            let mut spec = base();
            merge(&mut spec, &fragment);
            if let Some(table) = &table {
                spec["table"] = table.clone();
                if kind == "bare" {
                    spec.as_object_mut().unwrap().remove("types");
                }
            }
            let name = format!("{kind}_{option}");
            match QueueSpec::from_text(&spec.to_string()) {
                Ok(spec) => {
                    found.push((name, spec));
                    // Options that go with none of the others, or are the opposite of one.
                    let alone = [
                        "lifo",
                        "unordered",
                        "no_backoff",
                        "history",
                        "dedup",
                        "dedup_replace",
                        "dedup_later",
                        "lazy",
                        "retention",
                        "shards",
                        "shards_ordered",
                        "limit",
                        "limit_queue",
                        "limit_ordered",
                        "after_kept",
                        "after_shards",
                    ];
                    if !alone.contains(&option) {
                        merge(&mut together, &fragment);
                    }
                }
                Err(error) => {
                    assert!(REFUSED.contains(&name.as_str()), "{name}: {error}");
                    refused.push(name);
                }
            }
        }
        if let Some(table) = &table {
            together["table"] = table.clone();
            if kind == "bare" {
                together.as_object_mut().unwrap().remove("types");
            }
        }
        let spec = QueueSpec::from_text(&together.to_string()).unwrap_or_else(|error| panic!("{kind}: {error}"));
        found.push((format!("{kind}_everything"), spec));
        if table.is_none() {
            let item = json!({"type": "B", "columns": {"Rank": 1, "Customer": "it's \u{fc}ber"}});
            let schedule = json!([
                {"name": "it's \u{fc}ber", "cron": "0 3 * * MON-FRI", "zone": "Europe/Zurich", "item": item, "overlap": "skip"},
                {"name": "often", "cron": "@every 90s", "zone": "UTC", "item": item, "missed": "each"},
            ]);
            let spec = with(base(), "schedule", schedule);
            found.push(("own_schedules".to_owned(), QueueSpec::from_text(&spec.to_string()).unwrap()));
        }
        if let Some(table) = &table {
            let mut spec = with(base(), "table", table.clone());
            spec["table"]["where"] = rows();
            if kind == "bare" {
                spec.as_object_mut().unwrap().remove("types");
            }
            let spec = QueueSpec::from_text(&spec.to_string()).unwrap_or_else(|error| panic!("{kind}: {error}"));
            found.push((format!("{kind}_where"), spec));
        }
        if table.is_some() && !is_present {
            // Several values that mean one state.
            let values = &mut together["table"]["status"]["values"];
            for (state, more) in [("Pending", ["7", "8"]), ("Completed", ["9", "10"])] {
                let first = values[state].clone();
                let more = more
                    .map(|number| if first.is_i64() { json!(number.parse::<i64>().unwrap()) } else { json!(number) });
                values[state] = json!([first, more[0], more[1]]);
            }
            let spec = QueueSpec::from_text(&together.to_string()).unwrap_or_else(|error| panic!("{kind}: {error}"));
            found.push((format!("{kind}_values"), spec));
        }
    }
    assert_eq!(refused, REFUSED, "one that is not refused any more");
    found.extend(claimed_by_others());
    found.extend(with_odd_keys());
    found.extend(with_reports());
    let examples = EXAMPLES.iter().map(|(name, text)| (format!("example_{name}"), QueueSpec::from_text(text).unwrap()));
    found.into_iter().chain(examples).collect()
}
