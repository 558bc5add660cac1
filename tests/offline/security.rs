//! SECURITY.md names a test for each line of its threat model: these tests exist.

use crate::tree::{files, root};
use std::fs;

/// Whether a file called `module` in a suite, or in the sources, has a test of this name.
fn exists(suite: &str, module: &str, name: &str) -> bool {
    let places = match suite {
        "command" => vec![root("command/src")],
        "library" => vec![root("src")],
        suite => vec![
            root("tests").join(suite),
            root("tests").join(format!("{suite}.rs")),
            root("command/tests").join(suite),
        ],
    };
    places.iter().flat_map(|place| files(place)).any(|file| {
        let is_it = file.extension().is_some_and(|end| end == "rs") && file.file_stem().unwrap() == module;
        is_it && fs::read_to_string(&file).unwrap().contains(&format!("fn {name}("))
    })
}

#[test]
fn each_line_of_the_threat_model_has_its_test() {
    let page = fs::read_to_string(root("SECURITY.md")).unwrap();
    let (_, model) = page.split_once("\n## Threat model\n").expect("a threat model");
    let lines = model.lines().filter(|line| line.starts_with("| ") && !line.contains("| test |"));
    let mut count = 0;
    for line in lines {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, tests] = cells[..] else { panic!("two cells are needed: {line}") };
        if tests.starts_with("not tested: ") {
            continue;
        }
        for test in tests.split(", ") {
            let path = test.trim_matches('`').split("::").collect::<Vec<_>>();
            let [suite, module, name] = path[..] else { panic!("{test} is no suite::file::test: {line}") };
            assert!(exists(suite, module, name), "there is no test {test}");
            count += 1;
        }
    }
    assert!(count >= 50, "{count} tests are named");
    assert!(!exists("cli", "outcomes", "nobody_has_written_this"));
}
