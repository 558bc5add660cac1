//! The SQL as users get it: every file rendered, held to its object's description, and written to `target/sql` for the linter
//! (`.ci/lint_sql.sh`). No server is needed.

mod calls;
pub mod linted;
mod queues;
mod rules;
mod sizes;

use crate::tree::root;
pub use calls::{calls_of, calls_of_schema};
use queues::{ADOPTED, CALL, DELIVERY, NOTICE, NOTIFICATION, SHARED, SYNC};
use readpast::{
    Dialect,
    description::{EXAMPLES, QueueSpec, Storage},
    ident::Identifier,
    render::{self, Made, Object},
};
use std::{collections::BTreeSet, fs, path::Path, path::PathBuf};

const DIALECTS: [(Dialect, &str); 2] = [(Dialect::SqlServer, "sql_server"), (Dialect::Postgres, "postgres")];

/// The schema scripts and the hash of each. They may change only until the first release; from then on a change is a new
/// script with the next number, since databases out there have run these.
const SCHEMA_SCRIPTS: [(Dialect, &str, u64); 2] = [
    (Dialect::SqlServer, "schema/0001_base.sql", 0xb396_6bbc_86ba_2eff),
    (Dialect::Postgres, "schema/0001_base.sql", 0x7b59_0535_f8a5_4b13),
];

/// Queries for SQL Server alone: how its locks, plans and owners can stand in the way.
const ASKED_OF_SQL_SERVER: [&str; 8] = [
    "/holders.sql",
    "/owner_chain.sql",
    "/foreign_keys.sql",
    "/indexed_views.sql",
    "/plans_cached.sql",
    "/plans_stored.sql",
    "/row_locks.sql",
    "/transactions.sql",
];

/// A queue before and after a change of everything that an upgrade script has something to do for.
const CHANGED: [&str; 2] = [
    r#"{"queue": "Job", "columns": [{"name": "A", "type": "text(9)", "nullable": false}],
        "roles": {"worker": "before"}}"#,
    r#"{"queue": "Job", "columns": [{"name": "A", "type": "text(10)"}, {"name": "B", "type": "date"}],
        "order": {"direction": "lifo"}, "roles": {"worker": "after"}}"#,
];

/// The schema's scripts, then those of each queue.
struct Rendered {
    /// The name of each file, and its statements.
    files: Vec<(String, Vec<String>)>,
    objects: Vec<Object>,
}

/// A queue that has its settings in a table of somebody else's.
const WITH_SETTINGS: &str = r#"{"queue": "Kept", "columns": [], "table": {"name": "Kept", "key": [{"name": "Id", "type": "bigint"}],
    "settings": "AppSettings", "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;

impl Rendered {
    fn new(dialect: Dialect, schema: &str) -> Self {
        let schema = Identifier::new("the schema", schema).unwrap();
        let mut files = Vec::new();
        let mut objects = render::shared(dialect, &schema).unwrap();
        let texts = |objects: &[Object]| objects.iter().map(|object| object.definition.clone()).collect::<Vec<_>>();
        for objects in objects.chunk_by(|one, other| one.file == other.file) {
            files.push((objects[0].file.trim_end_matches(".sql").replace('/', "_"), texts(objects)));
        }
        let calls = calls_of_schema(dialect, &schema).into_iter();
        files.extend(calls.map(|(call, text)| (format!("call_{call}"), vec![text])));
        for spec in [NOTIFICATION, SHARED, CALL, DELIVERY, NOTICE, SYNC] {
            let spec = QueueSpec::from_json(spec).unwrap();
            let queue = spec.queue.as_str();
            let made = render::queue(dialect, &schema, &spec).unwrap();
            files.push((format!("queue_{queue}"), texts(&made)));
            objects.extend(made);
            let calls = calls_of(dialect, &schema, &spec).into_iter();
            files.extend(calls.map(|(call, text)| (format!("call_{call}_{queue}"), vec![text])));
        }
        for spec in ADOPTED.iter().copied().chain(EXAMPLES.iter().map(|(_, text)| *text)) {
            let spec = QueueSpec::from_text(spec).unwrap();
            if matches!(spec.storage, Storage::Table(_)) {
                let made = render::queue(dialect, &schema, &spec).unwrap();
                files.push((format!("queue_{}", spec.queue), texts(&made)));
                objects.extend(made);
                let taken = dialect.calls(&schema, &spec).unwrap().taken;
                files.extend(taken.map(|text| (format!("call_taken_{}", spec.queue), vec![text.to_string()])));
            }
        }
        let theirs = QueueSpec::from_json(WITH_SETTINGS).unwrap();
        let held = dialect.calls(&schema, &theirs).unwrap().hold_setting;
        files.extend(held.map(|text| (format!("call_hold_setting_{}", theirs.queue), vec![text.to_string()])));
        Self { files, objects }
    }

    fn statements(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|(_, statements)| statements).map(String::as_str)
    }
}

fn folder(dialect: &str) -> PathBuf {
    root("sql").join(dialect)
}

/// Whether a file is only taken into others.
fn is_part(name: &str) -> bool {
    name.starts_with("part/") || name.starts_with("macro/")
}

/// The names of the SQL files below `folder`, as `queue/table.sql`.
fn names_below(folder: &Path, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            names.extend(names_below(&entry.path(), &format!("{name}/")));
        } else {
            names.insert(name);
        }
    }
    names
}

/// `statement` without its comments.
fn code(statement: &str) -> String {
    let mut out = String::new();
    let mut rest = statement;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    out + rest
}

/// The same in one line: how a statement is broken into lines says nothing.
fn words(statement: &str) -> String {
    code(statement).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line as the linter reads it, whose grammar lacks one option of a table.
fn known(line: &str) -> &str {
    if line.ends_with(" SET (LOCK_ESCALATION = DISABLE);") { "    PRINT 'no escalation';" } else { line }
}

/// `statements` as one script, without what is ODBC's: the parameter markers.
fn for_the_linter(dialect: Dialect, statements: &[String]) -> String {
    let mut parameter = 0;
    let mut out = String::new();
    let text = statements.join(if dialect == Dialect::SqlServer { "\nGO\n" } else { "\n" });
    for line in text.lines().map(known) {
        let mut parts = line.split('?');
        out.push_str(parts.next().unwrap());
        for part in parts {
            parameter += 1;
            let mark = if dialect == Dialect::SqlServer { "@p" } else { "$" };
            out.push_str(&format!("{mark}{parameter}{part}"));
        }
        out.push('\n');
    }
    out
}

pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn rendered_sql_is_written_for_the_linter() {
    for (dialect, name) in DIALECTS {
        let folder = root("target/sql").join(name);
        fs::create_dir_all(&folder).unwrap();
        let mut statements = Vec::new();
        for (file, texts) in Rendered::new(dialect, "queue").files {
            // An ODBC escape is no SQL: the driver takes the call out of it. Where nothing is to be sent, there is nothing. And
            // the linter knows no savepoints.
            if !texts[0].is_empty() && !["{CALL", "SAVEPOINT"].iter().any(|word| texts[0].starts_with(word)) {
                statements.extend(texts.into_iter().map(|text| (file.clone(), text)));
            }
        }
        let schema = Identifier::new("the schema", "queue").unwrap();
        let [old, new] = CHANGED.map(|text| QueueSpec::from_json(text).unwrap());
        let scripts = [
            ("script_new", render::script(dialect, &schema, Some(&old)).unwrap()),
            ("script_upgrade", render::upgrade_script(dialect, &schema, &old, &new).unwrap()),
            ("script_drop", render::drop_script(dialect, &schema, &new, &[], &[]).unwrap()),
        ];
        for (file, script) in scripts {
            // On PostgreSQL it is one text: the bodies of its functions have no end of their own.
            let parts: Vec<_> = match dialect {
                Dialect::SqlServer => script.split("\nGO\n").collect(),
                _ => vec![script.as_str()],
            };
            statements.extend(parts.into_iter().map(|part| (file.to_owned(), part.to_owned())));
        }
        let (files, texts): (Vec<_>, Vec<_>) = statements.into_iter().unzip();
        let chosen = linted::choose(&texts.iter().map(|text| code(text)).collect::<Vec<_>>());
        let read: Vec<_> =
            files.into_iter().zip(texts).enumerate().filter(|(index, _)| chosen.contains(index)).collect();
        for statements in read.chunk_by(|(_, (one, _)), (_, (other, _))| one == other) {
            let file = &statements[0].1.0;
            let texts: Vec<_> = statements.iter().map(|(_, (_, text))| text.clone()).collect();
            fs::write(folder.join(format!("{file}.sql")), for_the_linter(dialect, &texts).trim_start()).unwrap();
        }
    }
}

#[test]
fn every_file_is_compiled_in() {
    for (dialect, name) in DIALECTS {
        let compiled: BTreeSet<_> = dialect.files().iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(compiled, names_below(&folder(name), ""), "{name}");
    }
}

#[test]
fn both_dialects_have_the_same_parts() {
    let parts = |dialect: Dialect| -> BTreeSet<String> {
        let parts = dialect.files().iter().map(|(name, _)| (*name).to_owned());
        // Only PostgreSQL makes functions anew that an upgrade changes, and then gives back who may use them.
        // And there one statement cannot both wait for others and see what they have written: SQL Server's holds the place itself.
        // Only there is Citus. Only there are processes woken. Only its driver is slow with times. Only its indexes have names that something else in the schema may have.
        let alone = |name: &str| {
            let calls = [
                "ask/citus.sql",
                "ask/places.sql",
                "call/citus.sql",
                "call/is_sharded.sql",
                "call/alone.sql",
                "call/hold_setting.sql",
                "call/columns_of.sql",
                "call/sleep.sql",
                "call/await.sql",
                "call/times_as_text.sql",
            ];
            ["schema/upgrade_after.sql", "queue/indexes.sql"].contains(&name) || calls.contains(&name)
        };
        let of_sql_server = |name: &str| ASKED_OF_SQL_SERVER.iter().any(|asked| name.ends_with(asked));
        parts.filter(|name| !is_part(name) && !alone(name) && !of_sql_server(name)).collect()
    };
    assert_eq!(parts(Dialect::SqlServer), parts(Dialect::Postgres));
}

#[test]
fn every_file_is_used_and_filled_in() {
    for (dialect, name) in DIALECTS {
        let rendered = Rendered::new(dialect, "queue");
        for (file, text) in &rendered.files {
            assert!(
                !["{{", "}}", "{%", "%}", "{#"]
                    .iter()
                    .any(|mark| code(&text.join("\n")).replace("}}}", "}").replace("}}]", "]").contains(mark)),
                "{name}: {file}"
            );
        }
        let again = Rendered::new(dialect, "queue");
        assert_eq!(rendered.files, again.files, "{name}: rendering is deterministic");

        let used: String = dialect.files().iter().map(|(_, text)| *text).collect();
        for (file, _) in dialect.files().iter().filter(|(name, _)| is_part(name)) {
            let taken_in = ["include", "import"].iter().any(|word| used.contains(&format!("{word} \"{file}\"")));
            assert!(taken_in, "{name}: nothing includes {file}");
        }
        // Those of the schema, and those of a queue, whose name follows; not every queue has all.
        let is_lower = |word: &&str| !word.contains(|c: char| c.is_ascii_uppercase());
        let calls = rendered.files.iter().filter_map(|(file, _)| file.strip_prefix("call_"));
        let calls: BTreeSet<_> = calls.map(|call| call.split('_').take_while(is_lower).collect::<Vec<_>>()).collect();
        // The others are of no queue.
        let of_sessions = ["call/alone.sql", "call/session.sql", "call/columns_of.sql", "call/times_as_text.sql"];
        let files = dialect.files().iter().filter(|(name, _)| name.starts_with("call/") && !of_sessions.contains(name));
        assert_eq!(calls.len(), files.count());
    }
}

#[test]
fn hostile_names_stay_names() {
    for (dialect, name) in DIALECTS {
        let plain = Rendered::new(dialect, "queue");
        let hostile = Rendered::new(dialect, "a]b\"c'd;--/*GO{{x}}*/");
        for ((file, plain), (_, hostile)) in plain.files.iter().zip(&hostile.files) {
            assert_eq!(plain.len(), hostile.len(), "{name}: {file}");
        }
    }
}

/// `Made` names the object that a statement makes, so that nobody reads it from the text; this test does.
#[test]
fn statements_make_the_objects_that_they_name() {
    for (dialect, name) in DIALECTS {
        let rendered = Rendered::new(dialect, "queue");
        let mut met = [0; 4];
        for Object { makes, definition, file, .. } in &rendered.objects {
            let code = code(definition);
            let made = |words: &str| code.contains(words);
            match makes {
                Made::Code { kind, name } => {
                    let word = if dialect == Dialect::SqlServer { "ALTER" } else { "REPLACE" };
                    assert!(
                        made(&format!("CREATE OR {word} {kind} {}", quoted(dialect, name))),
                        "{name}: {definition}"
                    );
                    met[0] += 1;
                }
                Made::Kept { kind, names, .. } => {
                    for name in names.iter().filter(|name| !name.schema.is_empty()) {
                        let quoted = quoted(dialect, name);
                        assert!(made(&quoted) || made(&quoted.replace('\'', "''")), "{kind} {name}: {definition}");
                    }
                    met[1] += 1;
                }
                Made::Index(index) => {
                    assert!(made("CREATE ") && made(" INDEX ") && made(&index.name), "{index:?}: {definition}");
                    assert!(made(&format!("ON {} (", quoted(dialect, &index.table))), "{index:?}: {definition}");
                    let lower = code.to_lowercase();
                    for column in index.columns.iter().map(|column| &column.name).chain(&index.include) {
                        let doubled = column.replace(']', "]]").replace('"', "\"\"").to_lowercase();
                        assert!(
                            lower.contains(&column.to_lowercase()) || lower.contains(&doubled),
                            "{column}: {definition}"
                        );
                    }
                    assert_eq!(made("UNIQUE "), index.unique, "{definition}");
                    met[2] += 1;
                }
                Made::Grant(grant) => {
                    assert!(
                        made(&format!("GRANT {} ON ", grant.right)) && made(&quoted(dialect, &grant.on)),
                        "{definition}"
                    );
                    assert!(made(" TO ") && made(&grant.role), "{definition}");
                    met[3] += 1;
                }
                _ => {
                    let makes =
                        ["CREATE OR ", "CREATE TABLE", "CREATE INDEX", "GRANT EXECUTE", "GRANT SELECT", "CREATE VIEW"];
                    assert!(!makes.iter().any(|word| made(word)), "{name} {file}: {definition}");
                }
            }
        }
        assert!(met.iter().all(|met| *met > 20), "{name}: {met:?}");
    }
}

/// Its parts in quotes.
fn quoted(dialect: Dialect, name: &render::Name) -> String {
    let quote = |name: &str| Identifier::new("a name", name).unwrap().quoted(dialect.quote_style());
    format!("{}.{}", quote(&name.schema), quote(&name.name))
}

/// So that an install asks of everything in its schema whose it is.
#[test]
fn a_statement_makes_each_object_of_the_schema() {
    for (dialect, name) in DIALECTS {
        let rendered = Rendered::new(dialect, "the one's");
        let made: BTreeSet<_> = rendered
            .objects
            .iter()
            .flat_map(|object| match &object.makes {
                Made::Code { name, .. } => vec![quoted(dialect, name)],
                Made::Kept { names, .. } if names[0].schema.is_empty() => Vec::new(),
                Made::Kept { names, .. } => names.iter().map(|name| quoted(dialect, name)).collect(),
                // PostgreSQL knows an index by its name in the schema of its table.
                Made::Index(index) if dialect == Dialect::Postgres => {
                    vec![quoted(
                        dialect,
                        &render::Name { schema: index.table.schema.clone(), name: index.name.clone() },
                    )]
                }
                _ => Vec::new(),
            })
            .collect();
        let (open, close) = if dialect == Dialect::SqlServer { ("[", ']') } else { ("\"", '"') };
        let place = format!("{open}the one's{close}.{open}");
        for statement in rendered.statements() {
            // Within a text literal quotes are doubled.
            for rest in code(statement).replace("''", "'").split(&place).skip(1) {
                let (named, _) = rest.split_once(close).unwrap();
                assert!(made.contains(&format!("{place}{named}{close}")), "{name}: nothing makes {named}: {statement}");
            }
        }
    }
}

#[test]
fn released_schema_scripts_keep_their_text() {
    for (dialect, name, hash) in SCHEMA_SCRIPTS {
        let (_, text) = dialect.files().iter().find(|(file, _)| *file == name).unwrap();
        assert_eq!(fnv1a(text), hash, "{dialect:?} {name}: {:#018x}", fnv1a(text));
    }
    let scripts = |dialect: Dialect| dialect.files().iter().filter(|(name, _)| name.starts_with("schema/0")).count();
    assert_eq!(
        scripts(Dialect::SqlServer) + scripts(Dialect::Postgres),
        SCHEMA_SCRIPTS.len(),
        "each has its hash above"
    );
}
