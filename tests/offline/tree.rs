//! The files of the repository, and the blocks of its pages.

use std::fs;
use std::path::{Path, PathBuf};

/// A path of the repository.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All files below a folder, or the file itself.
pub fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    entries.flat_map(|entry| files(&entry.unwrap().path())).collect()
}

/// The blocks of a page in a language, without what they are indented by.
pub fn fenced(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut within: Option<(usize, Vec<&str>)> = None;
    for line in page.lines() {
        let text = line.trim_start();
        match (&mut within, text.strip_prefix("```")) {
            (None, Some(of)) => within = Some((line.len() - text.len(), vec![of])),
            (Some((_, lines)), Some("")) => {
                if lines[0] == language {
                    found.push(lines[1..].join("\n"));
                }
                within = None;
            }
            (Some((indent, lines)), _) => lines.push(line.get(*indent..).unwrap_or("")),
            (None, None) => {}
        }
    }
    found
}
