//! Descriptions of queues: each mistake is named with its line and key; what is read is written back as it was.

mod built;
mod columns;
mod limits;
mod mistakes;
mod round_trip;
mod spread;

use crate::tree::{fenced, root};
use readpast::description::{EXAMPLES, OTHERS};
use readpast::{Dialect, QueueSpec, ident::Identifier};
use std::fs;

/// `{"queue": "Notification"}` is all that readpast's own queue needs, and what the first release stored still reads.
#[test]
fn defaults_are_filled_in() {
    let short = QueueSpec::from_json(r#"{"queue":"Notification"}"#).unwrap();
    let stored =
        r#"{"queue":"Notification","types":["Default"],"columns":[{"name":"Payload","type":"text","nullable":true}]}"#;
    assert_eq!(short, QueueSpec::from_json(stored).unwrap());
    assert_eq!(short, QueueSpec::from_toml("queue = 'Notification'").unwrap());
    assert_eq!(short.settings, "notification");
    assert_eq!(short.max_attempts, 3);
}

#[test]
fn the_file_or_the_text_decides_the_format() {
    use readpast::description::Format;
    assert_eq!(Format::of_file("a/b.v2.TOML"), Some(Format::Toml));
    assert_eq!(Format::of_file("q.json"), Some(Format::Json));
    assert_eq!(Format::of_file("json"), None);
    for text in ["\u{feff}\n {\"queue\": \"Q\"}", "\u{feff}queue = 'Q'\r\n", "# {\nqueue = 'Q'"] {
        assert_eq!(QueueSpec::from_text(text).unwrap().queue.as_str(), "Q", "{text:?}");
    }
}

#[test]
fn examples_read_and_come_back_from_json() {
    for (folder, examples) in [("sql/specs", EXAMPLES), ("sql/specs/others", OTHERS)] {
        for (name, text) in examples {
            let spec = QueueSpec::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec, "{name}");
        }
        let files = fs::read_dir(root(folder)).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = files.filter(|name| name.ends_with(".toml")).collect();
        files.sort();
        let mut compiled: Vec<_> = examples.iter().map(|(name, _)| format!("{name}.toml")).collect();
        compiled.sort();
        assert_eq!(compiled, files, "every file is compiled in");
    }
}

/// Every block of TOML or JSON in the reference is a description, or the beginning of one that the others complete.
#[test]
fn the_blocks_of_the_reference_are_descriptions() {
    let text = fs::read_to_string(root("sql/SPEC.md")).unwrap();
    let mut blocks = 0;
    for (language, format) in
        [("toml", readpast::description::Format::Toml), ("json", readpast::description::Format::Json)]
    {
        for block in fenced(&text, language) {
            QueueSpec::parse(&block, format).unwrap_or_else(|error| panic!("{error}\n{block}"));
            blocks += 1;
        }
    }
    assert!(blocks >= 4, "the blocks should be found");
}

/// PostgreSQL would cut them, and another name would be looked for.
#[test]
fn names_too_long_for_postgresql_are_refused_there() {
    let long = "x".repeat(64);
    let text = format!(
        "queue = 'Q'\ncolumns = []\n[table]\nname = 't'\nkey = ['id']\nlifecycle = {{ owner = '{long}' }}\n\
         status = {{ column = 's', values = {{ Pending = 1, Processing = 2, Completed = 3 }} }}\n"
    );
    let spec = QueueSpec::from_toml(&text.replace("[]", "[{ name = 'c', type = 'date' }]")).unwrap();
    let schema = Identifier::new("the schema", "s").unwrap();
    let error = readpast::render::queue(Dialect::Postgres, &schema, &spec).unwrap_err();
    assert!(error.message().contains("table.lifecycle.owner has 64 bytes"), "{error}");
    readpast::render::queue(Dialect::SqlServer, &schema, &spec).unwrap();
}
