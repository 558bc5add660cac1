//! Scripts that a DBA runs by hand.

use super::database::{Database, on_each, titled};
use readpast::{Dialect, NewItem, QueueSpec, ident::Identifier, render};
use std::{
    env,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

const WORK: &str = "queue = \"Work\"\ncolumns = [{ name = \"Title\", type = \"text(20)\" }]\n";

/// Runs a script as its header says.
fn by_hand(database: &Database, script: &str) {
    if database.dialect == Dialect::SqlServer {
        return database.run(script);
    }
    let psql =
        env::var("READPAST_PG_BIN").map_or_else(|_| PathBuf::from("psql"), |bin| PathBuf::from(bin).join("psql"));
    let mut command = Command::new(psql);
    command.args(["--set", "ON_ERROR_STOP=1", "--quiet", "--no-psqlrc", "--output=/dev/null", database.name()]);
    for (variable, part) in [("PGHOST", "Server"), ("PGPORT", "Port"), ("PGUSER", "Uid"), ("PGPASSWORD", "Pwd")] {
        if let Some(value) = database.part(part) {
            command.env(variable, value);
        }
    }
    let mut psql = command.stdin(Stdio::piped()).spawn().unwrap();
    psql.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(psql.wait().unwrap().success());
}

/// Whatever the names are made of: a script makes what it says, of that all, and runs nothing that stands in a name.
#[test]
fn a_script_of_hostile_names_makes_what_it_says() {
    on_each(|database| {
        let mut session = database.session();
        session.execute("CREATE TABLE v (a integer)", &[]).unwrap();
        for (number, name) in support::hostile::NAMES.iter().enumerate() {
            let (role, job) = (format!("{name} {}", std::process::id()), format!("Job{number}"));
            let spec = QueueSpec::from_json(&support::hostile::described(&job, name, &role)).unwrap();
            let schema = Identifier::new("the schema", &format!("{number}{name}")).unwrap();
            by_hand(database, &render::script(database.dialect, &schema, Some(&spec)).unwrap());
            let config = database.config().set("schema", schema.as_str()).unwrap().clone();
            let queue = readpast::Queue::open(&config, &job).unwrap();
            let items = |number: i32| readpast::NewItem {
                columns: [("Number", number)].into_iter().collect(),
                ..readpast::NewItem::default()
            };
            queue.enqueue(&[items(1), items(2)], None).unwrap();
            let batch = queue.claim(2, Duration::ZERO).unwrap();
            let done: Vec<_> =
                batch.iter().map(|item| readpast::Settlement::new(&item, readpast::Action::Complete)).collect();
            assert_eq!(done.len(), 2, "{name}");
            assert!(
                queue.settle(&done, None).unwrap().iter().all(|outcome| outcome.answer == readpast::Answer::Ok),
                "{name}"
            );
            queue.watch(10).unwrap();
            // All of it is there, and the library finds nothing left to do.
            let place = schema.as_str().replace('\'', "''");
            let catalog = || {
                database.rows(database.pick(
                    &format!("SELECT o.name FROM sys.objects AS o WHERE SCHEMA_NAME(o.schema_id) = N'{place}' ORDER BY 1"),
                    &format!(
                        "SELECT c.relname::text || ' ' || c.oid FROM pg_class AS c INNER JOIN pg_namespace AS n \
                         ON n.oid = c.relnamespace WHERE n.nspname = '{place}' UNION ALL SELECT p.proname::text FROM pg_proc AS p \
                         INNER JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = '{place}' ORDER BY 1"
                    ),
                ))
            };
            let there = catalog();
            for object in render::queue(database.dialect, &schema, &spec).unwrap() {
                let render::Made::Code { name, .. } = object.makes else { continue };
                assert!(there.iter().any(|line| line.split(' ').any(|part| part == name.name)), "{name}");
            }
            readpast::install(&config, Some(&spec)).unwrap();
            assert_eq!(catalog(), there, "{name}");
            queue.close(Duration::ZERO).unwrap();
            if database.dialect == Dialect::Postgres {
                let role = format!("\"{}\"", role.replace('"', "\"\""));
                session.execute(&format!("DROP OWNED BY {role}"), &[]).unwrap();
                session.execute(&format!("DROP ROLE {role}"), &[]).unwrap();
            }
        }
        session.execute("SELECT a FROM v", &[]).unwrap();
    });
}

#[test]
fn a_script_drops_what_an_install_has_made() {
    on_each(|database| {
        readpast::install(&database.config(), None).unwrap();
        let catalog = database.catalog();
        let spec = "queue = \"Work\"\ntypes = [\"A\", \"B\"]\nattempts = { history = true }\nroles = { worker = \"w\" }\n\
            columns = [{ name = \"Title\", type = \"text(20)\" }]\n\
            subtypes = [{ name = \"A\", exclusive = true, columns = [{ name = \"Code\", type = \"text(9)\" }] }]\n";
        database.install(spec).unwrap();
        database.open("Work").enqueue(&[NewItem { kind: Some("B".to_owned()), ..titled("x") }], None).unwrap();
        let script = readpast::install::dropping(&database.config(), "Work").unwrap().script;
        by_hand(database, &script);
        assert_eq!(database.catalog(), catalog);
        by_hand(database, &script);
        assert_eq!(database.catalog(), catalog, "run again, it changes nothing");
    });
}

#[test]
fn a_rendered_script_installs_and_upgrades() {
    on_each(|database| {
        let schema = Identifier::new("the schema", "readpast").unwrap();
        let old = QueueSpec::from_toml(WORK).unwrap();
        let script = render::script(database.dialect, &schema, Some(&old)).unwrap();
        by_hand(database, &script);
        let catalog = database.catalog();
        by_hand(database, &script);
        assert_eq!(database.catalog(), catalog, "run again, it changes nothing");
        database.open("Work").enqueue(&[titled("x")], None).unwrap();

        let new =
            QueueSpec::from_toml(&WORK.replace("text(20)\" }", "text(30)\" }, { name = \"Note\", type = \"date\" }"));
        let new = new.unwrap();
        by_hand(database, &render::upgrade_script(database.dialect, &schema, &old, &new).unwrap());
        let catalog = database.catalog();
        readpast::install(&database.config(), Some(&new)).unwrap();
        assert_eq!(database.catalog(), catalog, "the library finds nothing left to do");
        let queue = database.open("Work");
        queue.enqueue(&[titled(&"y".repeat(30))], None).unwrap();
        assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 2);
    });
}
