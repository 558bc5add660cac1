//! Rendered SQL, compared with what is kept in `tests/snapshots`, so that a change of it is seen in review. To take in what
//! is rendered now: `READPAST_UPDATE_SNAPSHOTS=1 cargo test --test offline snapshots::`.

use readpast::{
    Dialect, QueueSpec,
    ident::Identifier,
    render::{self, SCHEMA_VERSION},
    spec::EXAMPLES,
};
use std::{env, fs, path::Path};

const DIALECTS: [(Dialect, &str); 2] = [(Dialect::SqlServer, "sql_server"), (Dialect::Postgres, "postgres")];

fn schema() -> Identifier {
    Identifier::new("the schema", "readpast").unwrap()
}

fn example(name: &str) -> QueueSpec {
    let (_, text) = EXAMPLES.iter().find(|(other, _)| *other == name).unwrap();
    QueueSpec::from_toml(text).unwrap()
}

/// Without the version of the library, which changes with every release.
fn compare(dialect: &str, name: &str, text: &str) {
    let text = text.replace(concat!("readpast ", env!("CARGO_PKG_VERSION")), "readpast (version)");
    let text = text.replace(concat!("'", env!("CARGO_PKG_VERSION"), "'"), "'(version)'");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{dialect}/{name}.sql"));
    if env::var_os("READPAST_UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if let Some((line, (kept, now))) = kept.lines().zip(text.lines()).enumerate().find(|(_, (kept, now))| kept != now) {
        panic!("{} differs from line {}:\n- {kept}\n+ {now}", path.display(), line + 1);
    }
    assert_eq!(kept.lines().count(), text.lines().count(), "{} is longer or shorter", path.display());
}

/// What a description can say of columns, where the examples do not.
const COLUMNS: &str = r#"{"queue": "Invoice", "columns": [
    {"name": "Number", "type": "text(20)", "nullable": false}, {"name": "CustomerID", "type": "bigint", "references": "dbo.Customers(ID)"},
    {"name": "Amount", "type": "decimal(12, 2)", "default": 0, "check": "\"Amount\" >= 0"},
    {"name": "Code", "type": "text(6)", "sql_type": "dbo.OtpCode", "default": "none"},
    {"name": "Lines", "type": "json", "default": [], "secret": true}], "completion": {"history": "Invoice_History"}}"#;

fn queue(name: &str) -> QueueSpec {
    if name == "invoice" { QueueSpec::from_json(COLUMNS).unwrap() } else { example(name) }
}

/// One queue of each kind, without what all queues share.
#[test]
fn queues_are_rendered_as_they_were() {
    for (dialect, folder) in DIALECTS {
        for name in ["notification", "four_queue_scheduler", "invoice"] {
            let spec = queue(name);
            let objects = render::queue(dialect, &schema(), &spec).unwrap();
            for objects in objects.chunk_by(|one, other| one.file == other.file) {
                let (_, file) = objects[0].file.split_once('/').unwrap();
                compare(folder, &format!("{name}/{}", file.trim_end_matches(".sql")), &render::text(dialect, objects));
            }
        }
    }
}

/// What all queues share, with what stands around every script; procedures of one's own add nothing to it.
#[test]
fn the_shared_part_is_rendered_as_it_was() {
    for (dialect, folder) in DIALECTS {
        let text = render::script(dialect, &schema(), Some(&example("hand_written"))).unwrap();
        assert_eq!(text, render::script(dialect, &schema(), Some(&example("hand_written"))).unwrap());
        compare(folder, "shared", &text);
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
        compare(folder, "upgrade", upgrade);
    }
}

/// A queue of readpast's own with a foreign key on it, and one on a table that was there, beside one that names its role too.
#[test]
fn drops_are_rendered_as_they_were() {
    let neighbour =
        QueueSpec::from_json(r#"{"queue": "Other", "columns": [], "roles": {"worker": "worker"}}"#).unwrap();
    for (dialect, folder) in DIALECTS {
        let table = render::Name { schema: "app".to_owned(), name: "Note".to_owned() };
        let referrer = render::Referrer { table, key: "Note_Item".to_owned() };
        for (name, referrers) in [("notification", vec![referrer]), ("four_queue_scheduler", Vec::new())] {
            let mut spec = example(name);
            spec.roles.worker = neighbour.roles.worker.clone();
            let others = [neighbour.clone()];
            let text = render::drop_script(dialect, &schema(), &spec, &others, &referrers).unwrap();
            assert!(!text.contains("Other") && !text.contains("other\""), "{text}");
            compare(folder, &format!("{name}/drop"), &text);
        }
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
