//! docs/performance.md: its generated part, from figures that a benchmark keeps.

#[path = "../../benches/performance/page.rs"]
mod page;

use crate::tree::{files, root};
use serde_json::{Value, json};
use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn record() -> Value {
    json!({
        "benchmark": "handlers", "server": "PostgreSQL", "server_version": "PostgreSQL 15.1 (Debian 1) on x86_64, compiled by gcc",
        "durable": true, "date": "2026-01-02", "readpast": "0.1.0", "commit": "abcd1234",
        "processor": "A CPU", "processors": 2, "memory": "8100000 kB", "system": "An OS", "kernel": "6.1", "load_before": 0.25,
        "is_short": false,
        "tables": [{"title": "items/s", "rows": [
            {"": "10 handlers", "median": 41234.5, "least": 999.6, "most": 1_234_567.0, "rounds": 5},
            {"": "a | b", "median": 0.126, "least": null, "most": 99.0, "rounds": 5},
        ]}],
    })
}

#[test]
fn figures_become_tables_with_their_circumstances() {
    let text = page::generated(&read, &[record()]);
    for words in [
        "2026-01-02, PostgreSQL 15.1;\nevery commit on disk;\n2 processors for workers and server (A CPU);\n8 GB of memory;\n",
        "readpast 0.1.0;\n0.2 processes at work before it",
        "| items/s | median | least | most | rounds |\n|---|---|---|---|---|\n",
        "| 10 handlers | 41,234 | 1,000 | 1,234,567 | 5 |\n",
        "| a \\| b | 0.13 | - | 99 | 5 |\n",
        "The versions: graphile-worker ",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
    let mut other = record();
    (other["durable"], other["is_short"]) = (false.into(), true.into());
    let text = page::generated(&read, &[other]);
    assert!(text.contains("**commits not flushed to disk**") && text.contains("**a short run**"), "{text}");
}

#[test]
fn a_benchmark_without_figures_is_named_as_such() {
    let text = page::generated(&read, &[record()]);
    assert!(text.contains("cargo bench --bench peers`"), "{text}");
    assert!(!text.contains("--bench handlers`"), "{text}");
}

#[test]
fn the_rest_of_the_page_stays() {
    let page = read(page::PAGE);
    let once = page::replaced(&page, "one");
    let twice = page::replaced(&once, "two");
    assert!(once.contains("\n\none\n") && twice.contains("\n\ntwo\n") && !twice.contains("\n\none\n"), "{twice}");
    let head = |page: &str| page.split("## ").next().unwrap().split("<!--").next().unwrap().to_owned();
    assert_eq!(head(&twice), head(&page));
}

/// The page must not pass over a benchmark.
#[test]
fn all_benchmarks_are_on_the_page() {
    let page = read(page::PAGE);
    let listed: Vec<_> =
        page::PARTS.iter().flat_map(|(_, benchmarks)| benchmarks.iter()).map(|(file, _)| *file).collect();
    let mut count = 0;
    for folder in ["benches", "command/benches"] {
        for path in files(&root(folder)) {
            let name = path.strip_prefix(root("")).unwrap().to_str().unwrap().replace('\\', "/");
            let is_one = name.strip_prefix(folder).unwrap().matches('/').count() == 1 && name.ends_with(".rs");
            if !is_one {
                continue;
            }
            count += 1;
            assert!(listed.contains(&name.as_str()), "{name} is missing in benches/performance/page.rs");
            let heading = format!("### `{}`\n", path.file_stem().unwrap().to_str().unwrap());
            assert!(page.contains(&heading), "{heading} is missing: cargo run --example performance");
            let kept = listed.iter().position(|file| *file == name).unwrap();
            let kept = page::PARTS.iter().flat_map(|(_, benchmarks)| benchmarks.iter()).nth(kept).unwrap().1;
            assert!(read(&name).contains(&format!("Server::each(\"{kept}\"")), "{name} keeps no figures as {kept}");
        }
    }
    assert_eq!(count, listed.len());
}
