//! The cost that each language adds to the C API: the same work, claiming and completing in batches of 100 with one thread, by the
//! program `drain` of each binding, against that of C; and whether it keeps memory as items go by.
//!
//! Why: a team that writes workers in a comfortable language should not pay for it in items per second, and workers run for
//! months.
//!
//! How to read it: one run, in which C and the language take turns and change who is first; the ratio is the median of the
//! ratios of neighbouring rounds, of wall time, which is what an item takes with the server's part in it. The processor
//! time is the worker's own, without the server. Then each drains 1,000,000 items at once; growth is the resident memory
//! at the end above that after 50,000 items (`READPAST_BENCH_SHORT`: a tenth of all that). `READPAST_BENCH_LANGUAGES` names
//! those to measure (`cpp,go`); otherwise it is all whose `bindings/<language>/build/drain` is there.

mod common;

use common::{Server, median, verdict};
use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// A language, and what its wall time may be as a multiple of C's.
const LANGUAGES: [(&str, &str, f64); 6] = [
    ("cpp", "C++", 1.02),
    ("rust", "Rust", 1.02),
    ("go", "Go", 1.15),
    ("csharp", "C#", 1.15),
    ("python", "Python", 1.5),
    ("c", "C", f64::NAN),
];

/// Items a round, rounds.
const ROUND: u32 = 20_000;
const ROUNDS: usize = 9;

const MANY: u32 = 1_000_000;

/// Memory that is no leak: allocators' arenas and late initialisations, and a collector's idea of how much garbage may lie about.
const GROWTH_MB: f64 = 16.0;

fn main() {
    Server::each("languages", |server| {
        server.install("Bench");
        let programs: Vec<_> = LANGUAGES.iter().filter_map(|entry| Some((entry, program(entry.0)?))).collect();
        let c = program("c").expect("bindings/c/build/drain is not built: run `make bench`");
        println!("  {:<34}{:>10}{:>10}{:>16}{:>10}", "us an item", "wall", "C's", "processor", "C's");
        for ((_, label, most), program) in programs.iter().filter(|(entry, _)| entry.0 != "c") {
            compare(server, label, *most, &c, program);
        }
        for ((_, label, _), program) in &programs {
            drain_many(server, label, program);
        }
    });
}

/// The built program, if the language is wanted and there.
fn program(language: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("bindings/{language}/build/drain"));
    let wanted = env::var("READPAST_BENCH_LANGUAGES").ok();
    let wanted = wanted.is_none_or(|names| language == "c" || names.split(',').any(|name| name.trim() == language));
    (wanted && program.exists()).then_some(program)
}

/// The figures that a `drain` prints.
struct Drained {
    seconds: f64,
    cpu_seconds: f64,
    rss_begin_kb: f64,
    rss_end_kb: f64,
}

fn compare(server: &Server, label: &str, most: f64, c: &Path, program: &Path) {
    let items = server.scaled(ROUND);
    // The first round of each warms it up.
    drain(server, c, items);
    drain(server, program, items);
    let rounds: Vec<_> = (0..ROUNDS)
        .map(|i| {
            if i % 2 == 0 {
                (drain(server, c, items), drain(server, program, items))
            } else {
                let theirs = drain(server, program, items);
                (drain(server, c, items), theirs)
            }
        })
        .collect();
    let of = |figure: fn(&(Drained, Drained)) -> f64| median(rounds.iter().map(figure).collect());
    let per_item = |seconds: f64| seconds * 1e6 / f64::from(items);
    println!(
        "  {label:<34}{:>10.1}{:>10.1}{:>16.1}{:>10.1}",
        per_item(of(|(_, theirs)| theirs.seconds)),
        per_item(of(|(c, _)| c.seconds)),
        per_item(of(|(_, theirs)| theirs.cpu_seconds)),
        per_item(of(|(c, _)| c.cpu_seconds)),
    );
    let ratio = of(|(c, theirs)| theirs.seconds / c.seconds);
    verdict(&format!("{label} against C"), &format!("{ratio:.3} x"), &format!("<= {most} x"), ratio <= most);
}

fn drain_many(server: &Server, label: &str, program: &Path) {
    let items = server.scaled(MANY);
    let drained = drain(server, program, items);
    let growth = (drained.rss_end_kb - drained.rss_begin_kb) / 1024.0;
    let end = drained.rss_end_kb / 1024.0;
    verdict(
        &format!("{label}: growth over {items} items, to {end:.0} MB"),
        &format!("{growth:.1} MB"),
        &format!("<= {GROWTH_MB} MB"),
        growth <= GROWTH_MB,
    );
}

/// Fills the queue and lets a program empty it.
fn drain(server: &Server, program: &Path, items: u32) -> Drained {
    server.empty("Bench");
    server.fill("Bench", "Pending", 2000, items);
    server.settle_down("Bench");
    let output = Command::new(program)
        // The lease is named, as in all measurements: the server then need not look it up.
        .args(["-o", "lease.ms=60000", "Bench", &items.to_string()])
        .env("READPAST_CONNECTION", server.scratch())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {}{}", program.display(), said, String::from_utf8_lossy(&output.stderr));
    let figures: Value = serde_json::from_str(&said).expect("a line of JSON");
    let figure = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("{name} is missing: {said}"));
    Drained {
        seconds: figure("seconds"),
        cpu_seconds: figure("cpu_seconds"),
        rss_begin_kb: figure("rss_begin_kb"),
        rss_end_kb: figure("rss_end_kb"),
    }
}
