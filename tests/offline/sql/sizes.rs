//! Sizes of the SQL that a DBA reads: a table of all descriptions in `sql/specs`, compared with the last one, and no procedure
//! or function of theirs has more lines than one reads. `READPAST_UPDATE_SNAPSHOTS=1 cargo test --test offline sizes` writes the table anew.

use crate::snapshots;
use readpast::{
    Dialect, QueueSpec,
    description::EXAMPLES,
    ident::Identifier,
    render::{self, CodeKind, Made},
};
use std::{collections::BTreeMap, fmt::Write};

const MOST_LINES: usize = 200;

/// Procedures that still have more, the queue's name in them as Q, each with about the most that it has of all. The list only shrinks:
/// one that is shorter now is given its new length, or taken out.
const LONGER: [(&str, usize); 8] = [
    ("Find_Q", 274),
    ("Purge_Q_trx", 236),
    ("Q_Claim", 443),
    ("Q_Recover", 495),
    ("Q_Settle", 420),
    ("Redrive_Q_Set_trx", 240),
    ("Taken_Q_trx", 253),
    ("Watch_Q", 386),
];

/// The same of PostgreSQL's functions. The claim has its statement for one item beside that for many, which takes a sixth more time.
const LONGER_FUNCTIONS: [(&str, usize); 4] =
    [("modify_Q_set_trx", 566), ("next_Q_apart_trx", 205), ("next_Q_set_trx", 253), ("recover_Q_trx", 376)];

/// The simplest queue: one column, and nothing asked for.
const SIMPLEST: &str = r#"{"queue": "Simplest", "columns": [{"name": "N", "type": "integer"}]}"#;

/// The sizes of a description's objects on a server: a line of the table.
fn sizes(dialect: Dialect, spec: &QueueSpec) -> String {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let shared = render::shared(dialect, &schema).unwrap();
    let queue = render::queue(dialect, &schema, spec).unwrap();
    // The number of the version may become longer.
    let script = render::script(dialect, &schema, Some(spec)).unwrap();
    let script = script.replace(env!("CARGO_PKG_VERSION"), "");
    let longest = shared.iter().chain(&queue).map(|object| object.definition.trim().lines().count()).max();
    let (lines, own) =
        (script.lines().count(), queue.iter().map(|object| object.definition.trim().lines().count()).sum::<usize>());
    let objects = shared.len() + queue.len();
    format!("{lines:>7} {own:>7} {:>8} {objects:>8} {:>8}", script.len(), longest.unwrap())
}

#[test]
fn sizes_are_those_of_the_last_table() {
    let mut table = "description              server        lines   queue    bytes  objects  longest\n".to_owned();
    for (name, text) in [("(the simplest)", SIMPLEST)].iter().chain(EXAMPLES) {
        let spec = QueueSpec::from_text(text).unwrap();
        for (dialect, server) in [(Dialect::SqlServer, "sql_server"), (Dialect::Postgres, "postgres")] {
            writeln!(table, "{name:<24} {server:<10} {}", sizes(dialect, &spec)).unwrap();
        }
    }
    println!("{table}");
    snapshots::compare("sizes.txt", &table);
}

#[test]
fn no_procedure_is_longer_than_one_reads() {
    none_is_longer(Dialect::SqlServer, CodeKind::Procedure, &LONGER);
}

#[test]
fn no_function_is_longer_than_one_reads() {
    none_is_longer(Dialect::Postgres, CodeKind::Function, &LONGER_FUNCTIONS);
}

fn none_is_longer(dialect: Dialect, code: CodeKind, longer_ones: &[(&str, usize)]) {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let mut longest: BTreeMap<String, usize> = BTreeMap::new();
    for (_, text) in [("(the simplest)", SIMPLEST)].iter().chain(EXAMPLES) {
        let spec = QueueSpec::from_text(text).unwrap();
        let mut objects = render::shared(dialect, &schema).unwrap();
        objects.extend(render::queue(dialect, &schema, &spec).unwrap());
        let stem = match dialect {
            Dialect::SqlServer => spec.queue.as_str().to_owned(),
            Dialect::Postgres => stem(&objects).unwrap_or_default(),
        };
        for object in &objects {
            let Made::Code { kind, name } = &object.makes else { continue };
            if *kind != code {
                continue;
            }
            let name = if stem.is_empty() { name.name.clone() } else { name.name.replace(&stem, "Q") };
            let lines = object.definition.trim().lines().count();
            let most = longest.entry(name.clone()).or_default();
            *most = lines.max(*most);
        }
    }
    let longer = longest.iter().filter(|(_, lines)| **lines > MOST_LINES);
    let wrong: Vec<_> = longer
        .filter(|(name, lines)| {
            let listed = longer_ones.iter().find(|(listed, _)| *listed == name.as_str());
            // The list follows what becomes shorter, if not line by line.
            listed.is_none_or(|(_, most)| **lines > *most || **lines + 20 < *most)
        })
        .collect();
    assert!(wrong.is_empty(), "more than {MOST_LINES} lines, and not as listed: {wrong:?}");
    let gone: Vec<_> =
        longer_ones.iter().filter(|(name, _)| longest.get(*name).is_none_or(|lines| *lines <= MOST_LINES)).collect();
    assert!(gone.is_empty(), "these can be read now; take them out of the list: {gone:?}");
}

/// The queue's name as the names of its functions have it.
fn stem(objects: &[render::Object]) -> Option<String> {
    objects.iter().find_map(|object| match &object.makes {
        Made::Code { kind: CodeKind::View, name } => {
            Some(name.name.strip_prefix("worker_")?.strip_suffix("_v")?.to_owned())
        }
        _ => None,
    })
}
