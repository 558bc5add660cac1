//! Which statements the linter is to read. It is slow, and most of a queue's SQL is that of another queue under other names.

use std::collections::HashSet;

/// The indexes of `statements`, which have no comments, that together have each kind of line that any of them has: those first that have most that is
/// new for their length.
pub fn choose(statements: &[String]) -> HashSet<usize> {
    let mut left: Vec<_> =
        statements.iter().map(|text| text.lines().map(kind).collect::<HashSet<_>>()).enumerate().collect();
    let mut chosen = HashSet::new();
    loop {
        // A line more for each thousand bytes, in whole numbers.
        let gain =
            |(index, kinds): &(usize, HashSet<String>)| kinds.len() * 1_000_000 / statements[*index].len().max(1);
        let Some(best) = (0..left.len()).rev().max_by_key(|place| gain(&left[*place])) else { return chosen };
        let (index, new) = left.swap_remove(best);
        chosen.insert(index);
        for (_, kinds) in &mut left {
            kinds.retain(|kind| !new.contains(kind));
        }
        left.retain(|(_, kinds)| !kinds.is_empty());
    }
}

/// A line with one name for all names, one text for all texts, one number for all numbers, and lists of names as one.
pub fn kind(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line.trim().chars();
    while let Some(first) = rest.next() {
        let word = match first {
            '\'' => Some('\''),
            '"' => Some('"'),
            '[' => Some(']'),
            _ => None,
        };
        match word {
            Some(end) => {
                rest.by_ref().find(|char| *char == end);
                out.push(if end == '\'' { '\'' } else { '"' });
            }
            None if first.is_ascii_digit() => {
                if !out.ends_with('0') {
                    out.push('0');
                }
            }
            None => out.push(first),
        }
        while out.ends_with("\", \"") {
            out.truncate(out.len() - 3);
        }
    }
    out
}

#[test]
fn each_kind_of_line_is_read_once() {
    let texts = [
        "SELECT \"a\", \"b\"\nFROM \"one\"",
        "SELECT \"c\"\nFROM \"two\"",
        "SELECT [c]\nFROM [two]\nWHERE x = 'it'",
        "SELECT \"a\", \"b\", \"d\"\nFROM \"three\"\nWHERE x = 17",
        "",
    ]
    .map(str::to_owned);
    let mut chosen: Vec<_> = choose(&texts).into_iter().collect();
    chosen.sort_unstable();
    assert!(chosen.contains(&2) && chosen.contains(&3), "what only they have is not read: {chosen:?}");
    let kinds = |index: &usize| texts[*index].lines().map(kind).collect::<Vec<_>>();
    let read: HashSet<_> = chosen.iter().flat_map(kinds).collect();
    assert!((0..texts.len()).flat_map(|index| kinds(&index)).all(|kind| read.contains(&kind)));
    assert!(chosen.len() < 4, "what others have is read again: {chosen:?}");
    assert_eq!(kind("VALUES ('a', \"b\", \"c\", 12)"), kind("VALUES ('', \"d\", 9)"));
}
