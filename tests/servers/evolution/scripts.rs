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
