//! The generated part of docs/performance.md.

use serde_json::Value;
use std::fmt::Write as _;

pub const PAGE: &str = "docs/performance.md";

/// The lines around the generated part.
const BEGIN: &str = "<!-- The figures begin: `make bench` writes them. -->";
const END: &str = "<!-- The figures end. -->";

/// The parts of the page, each with its benchmarks: their files, and the names under which they keep figures.
pub const PARTS: [(&str, &[(&str, &str)]); 4] = [
    (
        "The limit",
        &[("command/benches/limit.rs", "limit"), ("benches/heads.rs", "heads"), ("benches/places.rs", "places")],
    ),
    ("Handlers of one item", &[("benches/handlers.rs", "handlers")]),
    ("Beside other queues", &[("benches/peers.rs", "peers")]),
    (
        "The costs",
        &[
            ("benches/item_cost.rs", "item cost"),
            ("benches/batching.rs", "batching"),
            ("benches/overhead.rs", "overhead"),
            ("benches/claim_cost.rs", "claim cost"),
            ("benches/limits.rs", "limits"),
            ("benches/schedules.rs", "schedules"),
            ("benches/idle.rs", "idle"),
            ("benches/memory.rs", "memory"),
            ("benches/languages.rs", "languages"),
            ("benches/c_abi.rs", "c abi"),
            ("command/benches/watched.rs", "watched"),
        ],
    ),
];

/// The page with another generated part.
pub fn replaced(page: &str, generated: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).expect("the line that begins the figures");
    let (_, after) = rest.split_once(END).expect("the line that ends them");
    format!("{before}{BEGIN}\n\n{generated}\n{END}{after}")
}

/// All parts. `read` gives the text of a file of the repository.
pub fn generated(read: &dyn Fn(&str) -> String, records: &[Value]) -> String {
    let mut out = String::new();
    for (title, benchmarks) in PARTS {
        writeln!(out, "## {title}\n").unwrap();
        for (file, name) in benchmarks {
            let command = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".rs");
            writeln!(out, "### `{command}`\n\n{}\n", header(&read(file))).unwrap();
            if *name == "peers" {
                writeln!(out, "The versions: {}.\n", peers(read)).unwrap();
            }
            let mut kept = records.iter().filter(|record| record["benchmark"] == *name).peekable();
            if kept.peek().is_none() {
                writeln!(out, "Not run for this page: `.ci/with_cluster.sh cargo bench --bench {command}`.\n").unwrap();
            }
            kept.for_each(|record| out += &one(record));
        }
    }
    out.trim_end().to_owned() + "\n"
}

/// The comment at the beginning of a benchmark.
fn header(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The peers' versions, as they are pinned.
fn peers(read: &dyn Fn(&str) -> String) -> String {
    let packages: Value = serde_json::from_str(&read("benches/peers/package.json")).expect("package.json");
    let package = |name: &str| format!("{name} {}", packages["dependencies"][name].as_str().expect("a version"));
    let (river, procrastinate) = (read("benches/peers/river/go.mod"), read("benches/peers/requirements.txt"));
    let after = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.expect("a version").trim_start_matches('v').to_owned()
    };
    format!(
        "{}, {}, River {}, procrastinate {}",
        package("graphile-worker"),
        package("pg-boss"),
        after(&river, "github.com/riverqueue/river "),
        after(&procrastinate, "procrastinate==")
    )
}

/// The circumstances and the tables of one benchmark.
fn one(record: &Value) -> String {
    let text = |name: &str| record[name].as_str().unwrap_or("unknown");
    let server = text("server_version").split(" on ").next().unwrap_or_default().split(" (").next().unwrap_or_default();
    let mut parts = vec![format!("{}, {server}", text("date"))];
    match record["durable"].as_bool() {
        Some(true) => parts.push("every commit on disk".to_owned()),
        Some(false) => parts.push("**commits not flushed to disk**".to_owned()),
        None => {}
    }
    parts.push(format!("{} processors for workers and server ({})", record["processors"], text("processor")));
    let memory = text("memory").trim_end_matches(" kB").parse::<f64>();
    parts.extend(memory.map(|kb| format!("{:.0} GB of memory", kb / 1e6)));
    parts.push(format!("{}, Linux {}", text("system"), text("kernel")));
    parts.push(format!("readpast {}", text("readpast")));
    if let Some(load) = record["load_before"].as_f64() {
        parts.push(format!("{load:.1} processes at work before it (quiet: less than 0.5)"));
    }
    if record["is_short"] == true {
        parts.push("**a short run**".to_owned());
    }
    let mut out = format!("{}.\n\n", parts.join(";\n"));
    for table in record["tables"].as_array().into_iter().flatten() {
        let rows: Vec<_> = table["rows"].as_array().into_iter().flatten().filter_map(Value::as_object).collect();
        let Some(first) = rows.first() else { continue };
        let title = table["title"].as_str().unwrap_or_default();
        let names = first.keys().map(|name| if name.is_empty() { title } else { name });
        writeln!(out, "| {} |", names.collect::<Vec<_>>().join(" | ")).unwrap();
        writeln!(out, "|{}", "---|".repeat(first.len())).unwrap();
        for row in &rows {
            writeln!(out, "| {} |", row.values().map(cell).collect::<Vec<_>>().join(" | ")).unwrap();
        }
        out.push('\n');
    }
    out
}

fn cell(value: &Value) -> String {
    match value {
        Value::Number(number) => shown(number.as_f64().unwrap_or_default()),
        Value::String(text) => text.replace('|', "\\|"),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Three digits at least, and groups of three.
fn shown(number: f64) -> String {
    if number.abs() < 100.0 && number.fract() != 0.0 {
        return format!("{number:.2}");
    }
    let digits = format!("{:.0}", number.abs());
    let mut out = String::from(if number < 0.0 { "-" } else { "" });
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
