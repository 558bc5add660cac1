//! Rendered SQL, compared with what is kept in `tests/snapshots`, so that a change of it is seen in review: one queue whole, of each
//! other description the lines that no other snapshot shows. To take in what is rendered now:
//! `READPAST_UPDATE_SNAPSHOTS=1 cargo test --test offline -- snapshots:: sizes::`.

mod difference;
mod effect;

use crate::sql::fnv1a;
use crate::tree::root;
use effect::{Closely, Objects, Shown};
use readpast::{
    Dialect, QueueSpec,
    description::EXAMPLES,
    ident::Identifier,
    render::{self, Made, Object, SCHEMA_VERSION},
};
use std::fmt::Write as _;
use std::{collections::BTreeMap, env, fs};
use support::matrix;

const DIALECTS: [(Dialect, &str); 2] = [(Dialect::SqlServer, "sql_server"), (Dialect::Postgres, "postgres")];

fn schema() -> Identifier {
    Identifier::new("the schema", "readpast").unwrap()
}

fn example(name: &str) -> QueueSpec {
    let (_, text) = EXAMPLES.iter().find(|(other, _)| *other == name).unwrap();
    QueueSpec::from_toml(text).unwrap()
}

/// Without the version of the library, which changes with every release.
fn without_version(text: &str) -> String {
    let text = text.replace(concat!("readpast ", env!("CARGO_PKG_VERSION")), "readpast (version)");
    text.replace(concat!("'", env!("CARGO_PKG_VERSION"), "'"), "'(version)'")
}

/// Holds a text to the file of this name below `tests/snapshots`, or writes it there.
pub fn compare(name: &str, text: &str) {
    let path = root("tests/snapshots").join(name);
    if env::var_os("READPAST_UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if let Some((line, (kept, now))) = kept.lines().zip(text.lines()).enumerate().find(|(_, (kept, now))| kept != now) {
        panic!("{} differs from line {}:\n- {kept}\n+ {now}", path.display(), line + 1);
    }
    assert_eq!(kept.lines().count(), text.lines().count(), "{} is longer or shorter", path.display());
}

/// The objects of a script under names that those of another description have too.
fn named(objects: Vec<Object>) -> Objects {
    let mut out: Objects = Vec::new();
    for object in objects {
        let name = match &object.makes {
            Made::Code { kind, name } => format!("{kind} {}", name.name),
            Made::Kept { kind, names, .. } => format!("{kind} {}", names[0].name),
            Made::Index(index) => format!("INDEX {}", index.name),
            _ => object.file.to_owned(),
        };
        let text = without_version(object.definition.trim());
        match out.iter_mut().find(|(other, _)| *other == name) {
            Some((_, known)) => *known += &format!("\n{text}"),
            None => out.push((name, text)),
        }
    }
    out
}

/// The objects of a queue, under the name that the matrix's queues have.
fn queue(dialect: Dialect, spec: &QueueSpec) -> Objects {
    let objects = named(render::queue(dialect, &schema(), spec).unwrap()).into_iter();
    let (own, own_lower) = (spec.queue.as_str(), spec.queue.snake_case());
    let as_job = |text: String| text.replace(own, "Job").replace(&own_lower, "job");
    objects.map(|(name, text)| (as_job(name), as_job(text))).collect()
}

/// Lines of each description that no other snapshot shows, beside the description that they differ from least.
fn effects(dialect: Dialect, specs: &[(String, QueueSpec)]) -> BTreeMap<String, String> {
    let named_so = |name: &str| queue(dialect, &specs.iter().find(|(other, _)| other == name).unwrap().1);
    let [own, whole, bare] = ["own_plain", "whole_plain", "bare_plain"].map(named_so);
    let mut shown = Shown::default();
    shown.add_all(&named(render::shared(dialect, &schema()).unwrap()));
    shown.add_all(&own);
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (name, spec) in specs {
        let (kind, option) = name.split_once('_').unwrap();
        let base = match (kind, option) {
            ("own", _) | (_, "plain") | ("example", "notification" | "sync_queue") => &own,
            ("whole", _) | ("claimed", "whole") => &whole,
            _ => &bare,
        };
        let closely = if kind == "own" { Closely::Exactly } else { Closely::ByKind };
        let effect = shown.effect(base, &queue(dialect, spec), closely);
        let all = found.entry(kind.to_owned()).or_default();
        *all += &if effect.is_empty() { String::new() } else { format!("== {name}\n{effect}\n") };
    }
    found
}

/// A hash of each description's SQL, so that a change of it is seen by the description's name, whatever other snapshots show.
#[test]
fn descriptions_are_rendered_as_they_were() {
    for (dialect, folder) in DIALECTS {
        let mut hashes = String::new();
        for (name, spec) in matrix::specs() {
            let objects: String = queue(dialect, &spec).into_iter().map(|(_, text)| text).collect();
            writeln!(hashes, "{name:<40} {:016x}", fnv1a(&objects)).unwrap();
        }
        compare(&format!("{folder}/hashes.txt"), &hashes);
    }
}

/// All of the first, with the schema and the frame of every script; of each other one its effect.
#[test]
fn queues_are_rendered_as_they_were() {
    let specs = matrix::specs();
    for (dialect, folder) in DIALECTS {
        let (_, plain) = specs.iter().find(|(name, _)| name == "own_plain").unwrap();
        let script = render::script(dialect, &schema(), Some(plain)).unwrap();
        assert_eq!(script, render::script(dialect, &schema(), Some(plain)).unwrap());
        compare(&format!("{folder}/own_plain.sql"), &without_version(&script));
        for (kind, effects) in effects(dialect, &specs) {
            compare(&format!("{folder}/{kind}.diff"), &effects);
        }
    }
}

/// The beginning of an upgrade, up to where the objects are made anew.
#[test]
fn upgrades_are_rendered_as_they_were() {
    let old = r#"{"queue": "Work", "types": ["A"], "columns": [
        {"name": "Title", "type": "text(50)", "nullable": false, "check": "1 = 1"}, {"name": "Customer", "type": "integer", "nullable": false},
        {"name": "Code", "type": "text(6)", "default": "a"},
        {"name": "Amount", "type": "integer", "check": "\"Amount\" < \"Customer\""}]}"#;
    let new = r#"{"queue": "Work", "types": ["A", "B"], "order": {"direction": "lifo"}, "columns": [
        {"name": "Title", "type": "text(80)", "check": "1 = 1"},
        {"name": "Customer", "type": "bigint", "nullable": false, "default": 0, "references": "dbo.Customers(ID)"},
        {"name": "Code", "type": "text(6)", "sql_type": "dbo.OtpCode", "default": "b"},
        {"name": "Amount", "type": "integer", "check": "\"Amount\" < \"Customer\""}, {"name": "Note", "type": "text", "default": "n"},
        {"name": "Rank", "type": "integer", "nullable": false, "default": 1}]}"#;
    let (old, new) = (QueueSpec::from_json(old).unwrap(), QueueSpec::from_json(new).unwrap());
    for (dialect, folder) in DIALECTS {
        let text = render::upgrade_script(dialect, &schema(), &old, &new).unwrap();
        let shared = render::shared(dialect, &schema()).unwrap();
        let (_, upgrade) = text.rsplit_once(&shared.last().unwrap().definition).unwrap();
        let queue = render::queue(dialect, &schema(), &new).unwrap();
        let (upgrade, _) = upgrade.split_once(&queue[0].definition).unwrap();
        compare(&format!("{folder}/upgrade.sql"), &without_version(upgrade));
    }
}

/// A queue of readpast's own with a foreign key on it, and one on a table that was there, beside one that names its role too: the
/// lines that no install has.
#[test]
fn drops_are_rendered_as_they_were() {
    let neighbour =
        QueueSpec::from_json(r#"{"queue": "Other", "columns": [], "roles": {"worker": "worker"}}"#).unwrap();
    for (dialect, folder) in DIALECTS {
        let table = render::Name { schema: "app".to_owned(), name: "Note".to_owned() };
        let referrer = render::Referrer { table, key: "Note_Item".to_owned() };
        let mut shown = Shown::default();
        let mut all = String::new();
        for (name, referrers) in [("notification", vec![referrer]), ("four_queue_scheduler", Vec::new())] {
            let mut spec = example(name);
            spec.roles.worker = neighbour.roles.worker.clone();
            let install = render::script(dialect, &schema(), Some(&spec)).unwrap();
            shown.add_all(&vec![(String::new(), without_version(&install))]);
            let others = [neighbour.clone()];
            let text = render::drop_script(dialect, &schema(), &spec, &others, &referrers).unwrap();
            assert!(!text.contains("Other") && !text.contains("other\""), "{text}");
            let drop = vec![(format!("drop of {name}"), without_version(&text))];
            all += &shown.effect(&Objects::new(), &drop, Closely::ByKind);
        }
        compare(&format!("{folder}/drop.diff"), &all);
    }
}

/// A script is all that a DBA needs: nothing in it waits for a value from a program.
#[test]
fn scripts_are_complete() {
    for (dialect, folder) in DIALECTS {
        for (name, text) in EXAMPLES {
            let spec = QueueSpec::from_toml(text).unwrap();
            let script = render::script(dialect, &schema(), Some(&spec)).unwrap();
            assert!(script.contains(&format!("version {SCHEMA_VERSION}")), "{folder} {name}");
            assert!(!script.contains("= ?") && !script.contains("?::"), "{folder} {name}");
            assert_eq!(dialect == Dialect::SqlServer, script.lines().any(|line| line == "GO"), "{folder} {name}");
            let (_, stored) = script.rsplit_once("'{\n").unwrap();
            let (stored, _) = stored.split_once("\n}'").unwrap();
            let stored = QueueSpec::from_json(&format!("{{{}}}", stored.replace("''", "'")));
            assert_eq!(stored.unwrap(), spec, "{folder} {name}: the description is recorded");
        }
    }
}
