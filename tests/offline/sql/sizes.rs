//! How long the T-SQL is that a DBA reads: a table of all descriptions in `sql/specs`, and no procedure of more lines than one reads.
//! `cargo test --test offline sizes -- --nocapture` prints it.

use readpast::{
    Dialect, QueueSpec,
    ident::Identifier,
    render::{self, CodeKind, Made},
    spec::EXAMPLES,
};
use std::collections::BTreeMap;

const MOST_LINES: usize = 200;

/// Those that still have more, the queue's name in them as Q, each with about the most that it has of all. The list only shrinks:
/// one that is shorter now is given its new length, or taken out.
const LONGER: [(&str, usize); 9] = [
    ("Find_Q", 530),
    ("Purge_Q_trx", 418),
    ("Q_Add", 280),
    ("Q_Claim", 538),
    ("Q_Recover", 587),
    ("Q_Settle", 620),
    ("Redrive_Q_Set_trx", 366),
    ("Taken_Q_trx", 329),
    ("Watch_Q", 449),
];

/// The simplest queue: one column, and nothing asked for.
const SIMPLEST: &str = r#"{"queue": "Simplest", "columns": [{"name": "N", "type": "integer"}]}"#;

#[test]
fn no_procedure_is_longer_than_one_reads() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let mut longest: BTreeMap<String, usize> = BTreeMap::new();
    println!("{:<24} {:>6} {:>8}  longest procedures", "description", "lines", "bytes");
    for (name, text) in [("(the simplest)", SIMPLEST)].iter().chain(EXAMPLES) {
        let spec = QueueSpec::from_text(text).unwrap();
        let script = render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap();
        let mut objects = render::shared(Dialect::SqlServer, &schema).unwrap();
        objects.extend(render::queue(Dialect::SqlServer, &schema, &spec).unwrap());
        let mut lengths: Vec<(usize, String)> = Vec::new();
        for object in &objects {
            let Made::Code { kind: CodeKind::Procedure, name } = &object.makes else { continue };
            let name = name.name.replace(spec.queue.as_str(), "Q");
            let lines = object.definition.trim().lines().count();
            let most = longest.entry(name.clone()).or_default();
            *most = lines.max(*most);
            lengths.push((lines, name));
        }
        lengths.sort_by(|one, other| other.cmp(one));
        let lengths: Vec<_> = lengths.iter().take(6).map(|(lines, name)| format!("{name} {lines}")).collect();
        println!("{name:<24} {:>6} {:>8}  {}", script.lines().count(), script.len(), lengths.join(", "));
    }
    let longer = longest.iter().filter(|(_, lines)| **lines > MOST_LINES);
    let wrong: Vec<_> = longer
        .filter(|(name, lines)| {
            let listed = LONGER.iter().find(|(listed, _)| *listed == name.as_str());
            // The list follows what becomes shorter, if not line by line.
            listed.is_none_or(|(_, most)| **lines > *most || **lines + 20 < *most)
        })
        .collect();
    assert!(wrong.is_empty(), "more than {MOST_LINES} lines, and not as listed: {wrong:?}");
    let gone: Vec<_> =
        LONGER.iter().filter(|(name, _)| longest.get(*name).is_none_or(|lines| *lines <= MOST_LINES)).collect();
    assert!(gone.is_empty(), "these can be read now; take them out of the list: {gone:?}");
}
