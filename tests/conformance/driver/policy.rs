//! Each line of the table of policies in `docs/worker.md` names the scenarios which hold all languages to it.

use super::scenario::Scenario;
use std::collections::BTreeSet;

/// The lines that name no scenario, or one that does not exist.
pub fn unproven(manual: &str, scenarios: &[Scenario]) -> Vec<String> {
    let known: BTreeSet<_> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    let lines = manual.lines().skip_while(|line| !line.starts_with("| what happens |")).skip(2);
    let lines: Vec<_> = lines.take_while(|line| line.starts_with('|')).collect();
    assert!(lines.len() > 15, "the table of policies was not understood: {lines:?}");
    let is_proven = |line: &str| {
        let mut cells = line.trim_matches('|').rsplit(" | ");
        let names: Vec<_> =
            cells.next().unwrap_or_default().split(',').map(|name| name.trim().trim_matches('`')).collect();
        cells.count() == 3 && names.iter().all(|name| known.contains(name))
    };
    lines.into_iter().filter(|line| !is_proven(line)).map(str::to_owned).collect()
}
