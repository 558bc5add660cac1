//! The figures of a benchmark, kept for docs/performance.md: `target/figures/<benchmark>.<server>.json`, with the machine, the
//! versions and the date.

use super::Server;
use readpast::item::Value as Cell;
use serde_json::{Value, json};
use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

/// The tables so far, each with its title and its rows. A row is an object, and its names are the columns.
static TABLES: Mutex<Vec<(String, Vec<Value>)>> = Mutex::new(Vec::new());

fn tables() -> MutexGuard<'static, Vec<(String, Vec<Value>)>> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a row of the table of that title.
pub fn row(title: &str, row: Value) {
    let mut tables = tables();
    match tables.iter_mut().find(|(known, _)| known == title) {
        Some((_, rows)) => rows.push(row),
        None => tables.push((title.to_owned(), vec![row])),
    }
}

/// Keeps the rounds of one figure: their median, and how far they spread.
pub fn rounds(title: &str, name: &str, values: &[f64]) {
    let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(l, m), &value| (l.min(value), m.max(value)));
    let median = super::median(values.to_vec());
    row(title, json!({"": name, "median": median, "least": least, "most": most, "rounds": values.len()}));
}

/// Before a benchmark: none of another one's is left. Returns how busy the machine is before it.
pub fn begin() -> Value {
    tables().clear();
    load()
}

/// After it.
pub fn end(server: &Server, name: &str, load: &Value) {
    let tables: Vec<_> = tables().drain(..).map(|(title, rows)| json!({"title": title, "rows": rows})).collect();
    let record = json!({
        "benchmark": name,
        "server": server.label,
        "server_version": text(server, if server.is_sql_server() { "SELECT @@VERSION" } else { "SELECT VERSION()" }),
        "durable": durable(server),
        "date": text(server, if server.is_sql_server() {
            "SELECT CONVERT(nvarchar(10), SYSDATETIME(), 23)"
        } else {
            "SELECT TO_CHAR(NOW(), 'YYYY-MM-DD')"
        }),
        "readpast": env!("CARGO_PKG_VERSION"),
        "commit": output("git", &["rev-parse", "--short=8", "HEAD"]),
        "processor": line("/proc/cpuinfo", "model name"),
        "processors": thread::available_parallelism().map_or(1, usize::from),
        "memory": line("/proc/meminfo", "MemTotal"),
        "system": line("/etc/os-release", "PRETTY_NAME"),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
        "load_before": load,
        "is_short": env::var_os("READPAST_BENCH_SHORT").is_some(),
        "tables": tables,
    });
    let folder = folder();
    fs::create_dir_all(&folder).unwrap();
    let file = format!("{}.{}.json", name.replace(' ', "_"), server.label.to_lowercase().replace(' ', "_"));
    fs::write(folder.join(file), format!("{record:#}\n")).unwrap();
}

/// The folder of the repository in which the benchmarks are, whichever crate this one is of.
fn folder() -> std::path::PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = if here.join("benches/common").exists() { here } else { here.parent().unwrap() };
    root.join("target/figures")
}

/// The number of processes that ran or waited for a processor in the last minute.
fn load() -> Value {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse::<f64>().ok()).map_or(Value::Null, Value::from)
}

/// Whether a commit is on disk when it returns.
fn durable(server: &Server) -> Value {
    if server.is_sql_server() {
        return Value::Null;
    }
    let on = |name| text(server, &format!("SELECT CURRENT_SETTING('{name}')")).as_deref() != Some("off");
    (on("fsync") && on("synchronous_commit")).into()
}

fn text(server: &Server, query: &str) -> Option<String> {
    let rows = super::run(&mut server.session(), query);
    if let Cell::Text(text) = rows.value(0, 0) {
        Some(text.lines().next().unwrap_or_default().to_owned())
    } else {
        None
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The value of the first line that begins with that name.
fn line(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([' ', '\t', ':', '=']).trim_matches('"').trim().to_owned())
}
