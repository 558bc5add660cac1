//! How the header is made: cbindgen reads the files of one section after the other, so that types and constants stand
//! beside the calls that use them. (Left to itself it writes all constants, then all types, then all functions.)

use std::fmt::Write;
use std::path::Path;

/// A title, and the files of `src/ffi` whose items stand below it. A type stands above its first use: C reads once.
const SECTIONS: [(&str, &[&str]); 10] = [
    ("What every call answers with", &["status", "error", "made_text", "version"]),
    ("Settings, and installing", &["config", "install", "list"]),
    ("A queue's handle", &["queue"]),
    ("Enqueuing", &["enqueue", "receipts"]),
    ("Claiming, and what a claim gives", &["claim", "batch", "column", "value", "made", "trace"]),
    ("Settling", &["action", "outcome", "settle"]),
    ("Leases of items that were claimed by hand", &["renew", "renewal"]),
    ("A worker: claims, leases, settles and stops by itself", &["worker", "watch", "events", "log"]),
    ("Operating a queue", &["ask", "find"]),
    ("What this process has done", &["metrics"]),
];

/// The files that have a place in the header.
pub fn files() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().flat_map(|(_, files)| files.iter().copied())
}

/// The whole header, from the sources below `root`.
pub fn header(root: &Path) -> String {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let preface = config.header.take().expect("what holds for all calls");
    let initialisers = config.after_includes.take().expect("the initialisers of structs");
    config.no_includes = true;

    let mut text = format!(
        "{}\n\n#ifndef READPAST_H\n#define READPAST_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
        preface.trim()
    );
    for (title, files) in SECTIONS {
        let mut builder = cbindgen::Builder::new().with_config(config.clone());
        for file in files {
            builder = builder.with_src(root.join(format!("src/ffi/{file}.rs")));
        }
        let mut section = Vec::new();
        builder.generate().unwrap_or_else(|error| panic!("{title}: {error}")).write(&mut section);
        let section = String::from_utf8(section).unwrap();
        write!(text, "\n\n/* ---- {title} ---- */\n\n{}\n", with(&initialisers, section.trim())).unwrap();
    }
    text + "\n#ifdef __cplusplus\n}  // extern \"C\"\n#endif\n\n#endif  // READPAST_H\n"
}

/// A section whose structs are followed by their initialisers. cbindgen knows no macros.
fn with(initialisers: &str, section: &str) -> String {
    let mut text = String::new();
    for line in section.lines() {
        text += line;
        text.push('\n');
        let name = line.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';')).unwrap_or_default();
        let define = format!("#define {}_INIT ", name.to_uppercase());
        if let Some(initialiser) = initialisers.lines().find(|line| line.starts_with(&define)) {
            text += initialiser;
            text.push('\n');
        }
    }
    text
}
