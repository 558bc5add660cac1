//! Plain English in the whole repository: many of its readers know little English.
//!
//! A comment, a test's name, a line of the changelog and a commit's subject begin with the thing that they speak of, and use none
//! of the words of narration below. `tests/snapshots/words.txt` allows each folder the breaches that it still has. A breach more
//! is red; one less is, too, until `READPAST_UPDATE_SNAPSHOTS=1 cargo test --test offline words::` has lowered the number.

mod comments;

use crate::tree::root;
use comments::Text;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, process::Command};

/// Words that begin no comment, name or subject: a noun does.
const BEGINNINGS: [&str; 6] = ["what", "who", "whoever", "whose", "that", "of"];

/// Words of narration. The active verbs are report, return, receive, log, distinguish.
const NARRATION: [&str; 5] = ["told", "tells", "said", "heard", "whoever"];

/// The commit from which on subjects are held to the rule.
const FROM: &str = "5e135cd4";

const ALLOWED: &str = "tests/snapshots/words.txt";

/// Folders with texts of other authors, or made from texts that are read elsewhere.
const LEFT_OUT: [&str; 3] = ["tests/snapshots/", "include/", "proptest-regressions/"];

/// The output of git by lines; none where there is no repository, as in an archive of the sources.
fn git(arguments: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("git").arg("-C").arg(root("")).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn begins_badly(text: &str) -> Option<String> {
    words(text).next().filter(|word| BEGINNINGS.contains(&word.as_str()))
}

/// The words of a text that break the rule.
fn breaches(text: &str) -> Vec<String> {
    let narrating = words(text).filter(|word| NARRATION.contains(&word.as_str()));
    let mut found: Vec<_> = begins_badly(text).into_iter().chain(narrating).collect();
    found.dedup();
    found
}

/// All breaches of the repository by folder, each as `path:line: words: text`.
fn found(paths: &[String]) -> (usize, BTreeMap<String, Vec<String>>) {
    let (mut read, mut found) = (0, BTreeMap::<_, Vec<_>>::new());
    for path in paths.iter().filter(|path| !LEFT_OUT.iter().any(|out| path.contains(out))) {
        let Ok(text) = fs::read_to_string(root(path)) else { continue };
        for Text { line, text } in comments::texts(path, &text) {
            read += 1;
            let breaches = breaches(&text);
            if !breaches.is_empty() {
                let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
                let shown = format!("{path}:{line}: {}: {text:.100}", breaches.join(", "));
                found.entry(folder.to_owned()).or_default().push(shown);
            }
        }
    }
    (read, found)
}

fn allowed() -> Option<BTreeMap<String, usize>> {
    let text = fs::read_to_string(root(ALLOWED)).ok()?;
    let line = |line: &str| Some((line.rsplit_once(' ')?.0.trim().to_owned(), line.rsplit_once(' ')?.1.parse().ok()?));
    Some(text.lines().filter_map(line).collect())
}

#[test]
fn comments_and_names_begin_with_their_noun() {
    let Some(paths) = git(&["ls-files", "--cached", "--others", "--exclude-standard"]) else { return };
    let (read, found) = found(&paths);
    assert!(read > 5000, "only {read} comments and names were found");
    let counts: BTreeMap<_, _> = found.iter().map(|(folder, lines)| (folder.clone(), lines.len())).collect();
    let updates = env::var_os("READPAST_UPDATE_SNAPSHOTS").is_some();
    let before = allowed().unwrap_or_else(|| if updates { counts.clone() } else { BTreeMap::new() });
    let more: Vec<_> = found
        .iter()
        .filter(|(folder, lines)| lines.len() > before.get(*folder).copied().unwrap_or(0))
        .flat_map(|(_, lines)| lines)
        .collect();
    assert!(more.is_empty(), "more breaches than {ALLOWED} allows (CONTRIBUTING.md, Style), in one of {more:#?}");
    if updates {
        let mut table = String::new();
        counts.iter().for_each(|(folder, count)| writeln!(table, "{folder:<50} {count}").unwrap());
        fs::write(root(ALLOWED), table).unwrap();
    } else {
        let less: Vec<_> = before.iter().filter(|(folder, count)| counts.get(*folder).unwrap_or(&0) < count).collect();
        assert!(less.is_empty(), "fewer breaches than {ALLOWED} has: READPAST_UPDATE_SNAPSHOTS=1 lowers {less:?}");
    }
}

#[test]
fn subjects_of_commits_are_short_orders() {
    let range = format!("{FROM}..HEAD");
    // A shallow clone may not have it.
    let Some(subjects) = git(&["log", "--no-merges", "--format=%s", &range]) else { return };
    let wrong: Vec<_> =
        subjects.iter().filter(|subject| subject.chars().count() > 60 || begins_badly(subject).is_some()).collect();
    assert!(wrong.is_empty(), "an order of 60 characters at most (CONTRIBUTING.md, Commits): {wrong:#?}");
}

#[test]
fn each_kind_of_breach_is_found() {
    let of = |path: &str, text: &str| -> Vec<String> {
        comments::texts(path, text).iter().flat_map(|text| breaches(&text.text)).collect()
    };
    for (path, text, expected) in [
        ("a.rs", "/// What it is.\nfn a() {}\n", &["what"][..]),
        ("a.rs", "//! Rules.\n//!\n//! Whoever asks is told.\n", &["whoever", "told"]),
        ("a.rs", "let a = 1; // of the table\nlet b = \"// what\";\n", &["of"]),
        ("a.rs", "#[test]\nfn who_claims_is_named() {}\n", &["who"]),
        ("a.rs", "#[test]\nfn a_claim_is_named() {}\nfn what_is_it() {}\n", &[]),
        ("a.c", "/* That which\n * it said. */\nint a;\n", &["that", "said"]),
        ("a.cs", "/// <summary>Whose it is</summary>\n[Fact]\npublic void WhatIsThere() {}\n", &["whose", "what"]),
        ("a.cs", "/// <summary>Its key</summary>\n/// <returns>What it is</returns>\n", &["what"]),
        ("a.go", "func TestOfAll(t *testing.T) {}\n// Claim tells it.\n", &["of", "tells"]),
        ("a.py", "def test_what_is_there():\n    \"\"\"Who asks.\"\"\"\n    # That\n", &["what", "who", "that"]),
        ("a.sh", "#!/bin/sh\n# Whose\ntrue\n# heard\n", &["whose", "heard"]),
        ("a.sql", "{# What #}\nSELECT 1; -- of it\n/*\nThat */\n", &["what", "of", "that"]),
        ("CHANGELOG.md", "# What\n- Of it\n- a: it tells\n", &["of", "tells"]),
        ("a.rs", "// Whether it is, and what.\n// So that all of it ends.\n", &[]),
    ] {
        let mut found = of(path, text);
        let mut expected: Vec<_> = expected.iter().map(|word| (*word).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{path}: {text}");
    }
}
