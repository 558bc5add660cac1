//! Writes the figures that the last benchmarks kept in `target/figures` into docs/performance.md: `make bench` does so at its end.

mod page;

use serde_json::Value;
use std::fs;
use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut records = Vec::new();
    for entry in fs::read_dir(root.join("target/figures")).into_iter().flatten() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        records.push(serde_json::from_str::<Value>(&text).expect("a record of benches/common/record.rs"));
    }
    assert!(!records.is_empty(), "no benchmark has kept its figures yet: run `.ci/with_cluster.sh cargo bench`");
    // Files are listed in no order.
    records.sort_by_key(|record| record["server"].to_string());
    let generated = page::generated(&read, &records);
    let page = page::replaced(&read(page::PAGE), &generated);
    fs::write(root.join(page::PAGE), page).unwrap();
    println!("{} has the figures of {} benchmarks", page::PAGE, records.len());
}
