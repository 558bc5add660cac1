//! The README's tables and its C program are made from what they describe. `READPAST_UPDATE_README=1` writes them anew.

use readpast::config::{Kind, SETTINGS};
use std::{env, fmt::Write as _, fs, path::PathBuf};

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn settings() -> String {
    let mut out = String::from("| key | values | default | meaning |\n|---|---|---|---|\n");
    for setting in &SETTINGS {
        let default = match (setting.kind, setting.default) {
            (Kind::ConnectionString, _) => "(required)".to_owned(),
            (_, "") => "(empty)".to_owned(),
            (_, value) => format!("`{value}`"),
        };
        writeln!(out, "| `{}` | {} | {default} | {} |", setting.key, setting.range(), setting.meaning).unwrap();
    }
    out
}

/// From the header: the comment before each status.
fn statuses() -> String {
    let header = fs::read_to_string(root("include/readpast.h")).unwrap();
    let mut out = String::from("| number | status | meaning |\n|---|---|---|\n");
    let mut comment = Vec::new();
    for line in header.lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            comment.push(text);
        } else if let Some(definition) = line.strip_prefix("#define READPAST_") {
            let (name, number) = definition.split_once(' ').unwrap_or_default();
            let is_status = number.parse::<i32>().is_ok()
                && !["ACTION_", "STATE_", "TYPE_", "VERSION_", "ABI"].iter().any(|other| name.starts_with(other));
            if is_status {
                writeln!(out, "| {number} | `{name}` | {} |", comment.join(" ")).unwrap();
            }
            comment.clear();
        } else if !line.starts_with("///") {
            comment.clear();
        }
    }
    assert!(out.lines().count() > 25, "the statuses should be found");
    out
}

fn worker() -> String {
    let source = fs::read_to_string(root("bindings/c/examples/minimal_worker.c")).unwrap();
    assert!(source.lines().count() <= 30, "the README promises 30 lines");
    format!("```c\n{source}```\n")
}

#[test]
fn what_the_readme_copies_is_up_to_date() {
    let before = fs::read_to_string(root("README.md")).unwrap();
    let mut after = before.clone();
    for (name, text) in [("settings", settings()), ("statuses", statuses()), ("minimal_worker.c", worker())] {
        let begin = format!("<!-- {name} -->\n");
        let (head, rest) = after.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
        let (_, tail) = rest.split_once("<!-- end -->").unwrap();
        after = format!("{head}{begin}{text}<!-- end -->{tail}");
    }
    if env::var_os("READPAST_UPDATE_README").is_some() {
        fs::write(root("README.md"), after).unwrap();
    } else {
        assert!(before == after, "README.md is out of date: READPAST_UPDATE_README=1 cargo test --test readme");
    }
}

#[test]
fn paths_that_the_readme_names_exist() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let map = readme.split_once("## Map").unwrap().1;
    for line in map.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     ")) {
        let path = line.split_whitespace().next().unwrap();
        assert!(root(path).exists(), "{path}");
    }
    for link in readme.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(link.starts_with("http") || root(link).exists(), "{link}");
    }
}
