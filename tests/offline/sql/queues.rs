//! Queues that between them have every option: of what they become, the tests of the SQL are.

/// A column of every kind, one that must have a value, and two kinds of work.
pub const NOTIFICATION: &str = r#"{"queue": "Notification", "types": ["Email", "Sms"], "columns": [
    {"name": "Recipient", "type": "text(254)", "nullable": false}, {"name": "Body", "type": "text"},
    {"name": "Priority", "type": "integer"}, {"name": "Reference", "type": "bigint"},
    {"name": "Urgent", "type": "boolean"}, {"name": "Score", "type": "float"},
    {"name": "Amount", "type": "decimal(10, 2)"}, {"name": "RemindAt", "type": "timestamp"},
    {"name": "Birthday", "type": "date"}, {"name": "Correlation", "type": "guid"},
    {"name": "Extra", "type": "json"}, {"name": "Hash", "type": "binary(32)", "default": "AP8="}], "retention": {"completed": "30d", "failed": "365d"},
    "schedule": [{"name": "daily", "cron": "@daily", "zone": "UTC", "item": {"columns": {"Recipient": "it's"}}}]}"#;

/// Options that only some queues have: strict order within groups after a priority, a history, and no work twice.
pub const DELIVERY: &str = r#"{"queue": "Delivery", "columns": [
    {"name": "Customer", "type": "text(40)"}, {"name": "Reference", "type": "bigint"},
    {"name": "Priority", "type": "integer", "nullable": false}, {"name": "Signed", "type": "timestamp"}],
    "order": {"priority": {"column": "Priority"}, "group": "Customer"},
    "attempts": {"limit": 5}, "backoff": {"first_ms": 500, "factor": 2, "cap_ms": 60000, "jitter": 0.5},
    "lease": {"ms": 30000, "kind": "fixed", "resume_own": true}, "completion": {"history": "Delivery_History"},
    "dedup": {"columns": ["Reference"], "answer": "existing", "among": "unfinished"}, "settings": "delivery"}"#;

/// Subtypes, the newest first, and nothing kept.
pub const NOTICE: &str = r#"{"queue": "Notice", "types": ["ResetPassword", "Welcome"], "steps": ["made", "sent"],
    "attempts": {"history": true}, "columns": [
    {"name": "Reference", "type": "guid", "nullable": false}],
    "subtypes": [
        {"name": "ResetPassword", "exclusive": true, "columns": [{"name": "Code", "type": "text(10)", "nullable": false}]},
        {"name": "Email", "columns": [{"name": "EmailTo", "type": "text(254)"}, {"name": "Extra", "type": "json"},
            {"name": "Body", "type": "binary"}, {"name": "Language", "type": "text(10)", "default": "en", "check": "\"Language\" <> ''"}]}],
    "order": {"direction": "lifo"}, "backoff": {"first_ms": 1000, "factor": 1, "jitter": 0}, "completion": "delete",
    "dedup": {"columns": ["Reference"]}}"#;

/// No columns of its own, and no order.
pub const SYNC: &str =
    r#"{"queue": "SyncQueue", "types": ["Orders"], "columns": [], "order": {"direction": "unordered"}}"#;

/// Limits of each kind of key, items that wait for others, and handlers that report progress.
pub const CALL: &str = r#"{"queue": "Call", "after": true, "progress": true, "columns": [
    {"name": "Customer", "type": "bigint"}, {"name": "Host", "type": "text(253)"}, {"name": "Job", "type": "guid"}],
    "limit": [{"by": "Customer", "at_once": 10}, {"by": "Host", "rate": "60/1m", "burst": 10}, {"at_once": 200},
        {"by": "Job", "at_once": 1, "rate": "5/1s"}]}"#;

/// Roles, and workers that see only their own types.
pub const SHARED: &str = r#"{"queue": "Shared", "types": ["Email", "Sms"], "roles": {
    "producer": "shared producer", "worker": "shared worker", "operator": "shared operator", "own_types_only": true}}"#;

/// Tables that are there, with what the examples do not have: a key of two columns, groups, priorities, a history, types.
pub const ADOPTED: [&str; 3] = [
    // Names that only quoting keeps whole.
    r##"{"queue": "Odd", "types": ["A", "B"], "columns": [
    {"name": "Customer", "type": "integer", "nullable": false}, {"name": "Rank", "type": "integer", "nullable": false},
    {"name": "Subject", "type": "text(40)"}, {"name": "Extra", "type": "json"}],
    "table": {"schema": "odd ones", "name": "c'd*/GO", "create": true,
        "key": [{"name": "Region", "type": "text(10)", "source": "producer"},
                {"name": "it's \"no\"", "type": "bigint", "source": "table"}],
        "lifecycle": {"type": "Kind", "enqueued": "Came", "due": "Due;--'", "started": "Began", "finished": "Ended",
            "duration": "Ms", "attempts": "Tries", "owner": "By", "lease_until": "Until", "step": "Step",
            "response": "Answer", "error": "Trouble", "token": "Version"},
        "status": {"column": "State", "values": {"Pending": "new", "Processing": "busy", "Completed": "done"}}},
    "order": {"priority": {"column": "Rank", "first": "highest"}, "group": "Customer"},
    "completion": {"history": "Odd_History"}, "dedup": {"columns": ["Subject"], "answer": "existing",
        "among": "unfinished"}, "backoff": {"first_ms": 100, "factor": 2.0, "cap_ms": 1000, "jitter": 0.5},
    "lease": {"ms": 60000, "kind": "fixed", "resume_own": true},
    "roles": {"producer": "odd producer", "worker": "odd worker", "operator": "odd operator", "own_types_only": true}}"##,
    r#"{"queue": "Orders", "types": ["New", "Change"], "steps": ["booked", "packed", "it's gone"],
        "attempts": {"history": true}, "columns": [{"name": "customer", "type": "integer"},
        {"name": "urgency", "type": "integer", "nullable": false}, {"name": "wanted", "type": "timestamp"}],
        "table": {"name": "orders", "create": true, "key": [{"name": "region", "type": "text(10)", "source": "producer"},
            {"name": "number", "type": "bigint", "source": "table"}],
            "lifecycle": {"type": "kind", "enqueued": "came", "due": "due_at", "lease_until": "lease", "step": "step",
                "response": "response", "error": "error", "duration": "ms", "token": "changed", "owner": "who"},
            "status": {"column": "state", "values": {"Pending": "new", "Processing": "taken", "Completed": "done",
                "Failed": "failed", "Error": "again"}}},
        "order": {"priority": {"column": "urgency", "first": "highest"}, "group": "customer"},
        "dedup": {"columns": ["customer", "wanted"], "answer": "existing", "among": "unfinished"},
        "completion": {"history": "orders_done"},
        "backoff": {"first_ms": 1000, "factor": 2.0, "cap_ms": 60000, "jitter": 0.5},
        "roles": {"producer": "p", "worker": "w", "operator": "o", "own_types_only": true}}"#,
    r#"{"queue": "Due", "attempts": {"history": true}, "columns": [{"name": "what", "type": "text"}],
        "table": {"name": "due", "key": ["id"], "lifecycle": {"due": "at"},
            "index": {"name": "by_time", "columns": ["state", "at", "id"]},
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
];
