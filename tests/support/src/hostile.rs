//! Names that a description may give to what is somebody else's, and that end, open or are something in SQL or for the tools that run
//! it. Each has its place in quotes.

use serde_json::json;

pub const NAMES: [&str; 19] = [
    ":setvar a b",
    ":r x",
    "!!rm x",
    "GO",
    "go 5",
    "$(v)",
    "\\! rm x",
    "*/ x /*",
    "/*",
    "-- x",
    "a;b",
    "q\"x",
    "s'y",
    "b]z",
    "[c",
    "{{ queue }}",
    "%s {0}",
    "\u{e9}\u{65e5}\u{1f600}",
    "'; DROP TABLE v; --",
];

/// The queue `queue` over a table whose names are all made of this one, with what names most. The role is to be the caller's own.
pub fn described(queue: &str, name: &str, role: &str) -> String {
    let column = |of: &str| format!("{name}{of}");
    json!({
        "queue": queue, "types": ["A", "B"],
        "columns": [{"name": "Number", "type": "integer"}],
        "attempts": {"history": true}, "dedup": {"columns": ["Number"]}, "order": {"group": "Number"},
        "lease": {"resume_own": true}, "completion": {"history": column("h")}, "roles": {"operator": role, "own_types_only": true},
        "table": {
            "name": name, "create": true, "key": [{"name": column("k"), "type": "bigint", "source": "table"}],
            "lifecycle": {"type": column("t"), "due": column("d"), "error": column("e"), "token": column("v")},
            "status": {"column": column("s"), "values": {
                "Pending": column("p"), "Processing": column("r"), "Completed": column("c")
            }}
        }
    })
    .to_string()
}
