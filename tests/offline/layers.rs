//! The architecture, held: modules in one downward order, ODBC in one place, unsafe code in one place, SQL in files.

use crate::tree::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Each module uses only those before it. `install` and `queue` stand side by side but for the look-up of a queue.
const ORDER: [&str; 30] = [
    "error",
    "sync",
    "threads",
    "ident",
    "finding",
    "config",
    "item",
    "metrics",
    "schedule",
    "description",
    "dialect",
    "render",
    "session",
    "places",
    "bell",
    "pool",
    "catalog",
    "install",
    "adopt",
    "discover",
    "calls",
    "backend",
    "shared",
    "queue",
    "doctor",
    "stress",
    "ask",
    "engine",
    "worker",
    "ffi",
];

/// The sources of the command.
const COMMAND: &str = "command/src/";

/// The sources: module, path, text without comments and without the tests at the end of the file.
fn sources() -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for path in [files(&root("src")), files(&root(COMMAND))].concat() {
        let relative = path.strip_prefix(root("")).unwrap().to_str().unwrap().to_owned();
        let of_library = relative.strip_prefix("src/").map(|path| path.split('/').next().unwrap());
        let module = of_library.map_or("command", |file| file.trim_end_matches(".rs")).to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        found.push((module, relative, code.join("\n")));
    }
    assert!(found.len() > 40, "the sources should be found");
    found
}

#[test]
fn modules_use_only_those_before_them() {
    for (module, path, code) in sources() {
        let Some(place) = ORDER.iter().position(|name| *name == module) else {
            assert!(module == "lib" || module == "command", "{path}: add the module to the order");
            continue;
        };
        for (used, later) in ORDER.iter().enumerate() {
            if used > place {
                assert!(!code.contains(&format!("crate::{later}")), "{path} uses {later}, which stands below it");
            }
        }
    }
}

/// A command that reached around the face of the library would do what no other caller can.
#[test]
fn the_command_uses_what_every_caller_uses() {
    let command: Vec<_> = sources().into_iter().filter(|(module, ..)| module == "command").collect();
    assert!(command.len() > 10, "the command should be found");
    for (_, path, code) in command {
        for inner in ["session", "pool", "ffi"] {
            assert!(!code.contains(&format!("readpast::{inner}")), "{path} uses {inner}");
        }
        assert!(!code.contains("#[path"), "{path}");
    }
}

/// The files of the command use each other in one direction too: what no other file uses that is left is taken away, until
/// nothing is.
#[test]
fn the_files_of_the_command_form_no_circle() {
    let of_command =
        sources().into_iter().filter_map(|(_, path, code)| Some((path.strip_prefix(COMMAND)?.to_owned(), code)));
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, code) in of_command {
        let file = path.split(['/', '.']).next().unwrap().to_owned();
        let words = code.split("crate::").skip(1).flat_map(|rest| {
            let (list, is_list) = rest.strip_prefix('{').map_or((rest, false), |list| (list, true));
            let end = list.find(|c: char| if is_list { c == '}' } else { !(c.is_alphanumeric() || c == '_') });
            list[..end.unwrap_or(list.len())].split(',').map(|word| word.trim().split("::").next().unwrap().to_owned())
        });
        let used: BTreeSet<_> = words.filter(|word| *word != file && !word.is_empty()).collect();
        uses.entry(file).or_default().extend(used);
    }
    assert!(uses["enqueue"].contains("failure") && uses["cli"].contains("work"), "{uses:?}");
    without_leaves(&mut uses);
    assert!(uses.is_empty(), "these use each other in a circle: {uses:#?}");
}

/// Takes away each file that uses no other that is left, until nothing changes: a circle stays.
fn without_leaves(uses: &mut BTreeMap<String, BTreeSet<String>>) {
    loop {
        let is_leaf = |used: &BTreeSet<String>| !used.iter().any(|word| uses.contains_key(word));
        let leaves: Vec<_> = uses.iter().filter(|(_, used)| is_leaf(used)).map(|(file, _)| file.clone()).collect();
        if leaves.is_empty() {
            return;
        }
        leaves.iter().for_each(|leaf| drop(uses.remove(leaf)));
    }
}

/// The rooms from a call to a worker.
const ROOMS: [&str; 8] =
    ["calls", "backend", "backend/hand_written", "shared", "queue", "engine", "worker", "worker/procedure"];

/// A file of a room uses its neighbours and what stands before the room, and never the face above it, which uses them all.
#[test]
fn rooms_have_no_arrow_up_and_no_circle() {
    for room in ROOMS {
        let place = format!("src/{room}/");
        let files = sources().into_iter().filter_map(|(_, path, code)| {
            let file = path.strip_prefix(&place)?.strip_suffix(".rs").filter(|file| !file.contains('/'))?;
            Some((file.to_owned(), code))
        });
        let mut uses: BTreeMap<_, _> = files.map(|(file, code)| (file, used_of_parent(&code))).collect();
        assert!(uses.len() > 3, "the files of {room} should be found");
        let names: BTreeSet<_> = uses.keys().cloned().collect();
        for (file, used) in &mut uses {
            let above: Vec<_> = used.difference(&names).collect();
            assert!(above.is_empty(), "{place}{file}.rs uses {above:?} of the face above it");
            used.remove(file);
        }
        without_leaves(&mut uses);
        assert!(uses.is_empty(), "these files of {room} use each other in a circle: {uses:#?}");
    }
}

/// The first words behind each `super::`.
fn used_of_parent(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for rest in code.replace("pub(super)", "").split("super::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            used.insert(first_word(rest));
            continue;
        };
        let mut depth = 0;
        for piece in list.split_inclusive([',', '{', '}']) {
            if depth == 0 && !first_word(piece).is_empty() {
                used.insert(first_word(piece));
            }
            depth += i32::from(piece.ends_with('{')) - i32::from(piece.ends_with('}'));
            if depth < 0 {
                break;
            }
        }
    }
    used
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn only_session_names_odbc() {
    for (module, path, code) in sources() {
        assert!(module == "session" || !code.contains("odbc_api"), "{path}");
    }
}

#[test]
fn unsafe_code_is_only_where_it_is_known_to_be_needed() {
    for (module, path, code) in sources() {
        // At the C boundary, where threads start, where a connection is handed over, where a statement goes on behind a result
        // without columns, where Windows is asked, and where libpq is called: a doorbell needs notifications, which ODBC has not.
        let is_allowed = ["ffi", "threads"].contains(&module.as_str())
            || ["src/session/attached.rs", "src/session/behind.rs"].contains(&path.as_str())
            || path.starts_with("src/bell/libpq")
            || path.starts_with("command/src/windows/");
        assert!(is_allowed || !code.contains("unsafe"), "{path}");
    }
}

#[test]
fn sql_is_in_files() {
    for (_, path, code) in sources() {
        for keyword in ["SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM", "EXECUTE ", "CREATE TABLE"] {
            assert!(!code.contains(keyword), "{path} contains {keyword:?}");
        }
    }
}

#[test]
fn no_file_is_long() {
    for (_, path, _) in sources() {
        let lines = fs::read_to_string(root(&path)).unwrap().lines().count();
        assert!(lines <= 600, "{path} has {lines} lines");
    }
}
