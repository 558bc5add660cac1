//! `list` and `drop`.

use crate::shell::Shell;

/// A queue on a table that is there.
const TASK: &str = r#"{"queue": "Task", "columns": [], "table": {"name": "task",
    "key": [{"name": "id", "type": "integer", "source": "producer"}],
    "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;

fn with_two_queues() -> Shell {
    let shell = Shell::new();
    shell.db.run("CREATE TABLE public.task (id integer PRIMARY KEY, state integer NOT NULL)");
    shell.db.run("INSERT INTO public.task VALUES (1, 0), (2, 0)");
    shell.write("task.json", TASK);
    shell.ok(&["install", "task.json"]);
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    shell.ok(&["enqueue", "Mail", "Recipient=b"]);
    shell.db.run("UPDATE readpast.mail SET status = 'Processing', lease_until = 'infinity' WHERE \"Recipient\" = 'a'");
    shell
}

#[test]
fn list_shows_each_queue_with_its_table_and_items() {
    let shell = with_two_queues();
    let listed = "Mail  readpast.mail            Pending 1, Processing 1\nTask  public.task (described)  Pending 2\n";
    assert_eq!(shell.ok(&["list"]), listed);
    let json = shell.run(&["list", "--json"]).json();
    assert_eq!(json[0]["queue"], "Mail");
    assert_eq!((&json[0]["own"], &json[0]["table"]), (&true.into(), &"readpast.mail".into()));
    assert_eq!((&json[0]["items"]["Processing"], &json[0]["items"]["Failed"]), (&1.into(), &0.into()));
    assert_eq!((&json[1]["own"], &json[1]["schema"]), (&false.into(), &"readpast".into()));
    Shell::empty().run(&["list"]).says(5, &["holds no readpast objects"]);
}

#[test]
fn without_a_terminal_only_yes_drops() {
    let shell = with_two_queues();
    let refused = ["its table readpast.mail and all its items: 2 items (1 Pending, 1 Processing)", "--yes"];
    shell.run(&["drop", "Mail"]).says(2, &refused);
    shell
        .run(&["drop", "Task"])
        .says(2, &["its table public.task stays with all rows: 2 items", "readpast.task_lease"]);
    shell.run(&["drop", "mail", "--yes"]).says(5, &["did you mean \"Mail\"?", "it has Mail, Task"]);
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail"), "2");

    assert_eq!(shell.ok(&["drop", "Mail", "--yes"]), "dropped Mail\n");
    shell.run(&["stats", "Mail"]).says(5, &["it has Task"]);
    let json = shell.run(&["drop", "Task", "--yes", "--json"]).json();
    assert_eq!((&json[0]["dropped"], &json[0]["stays"][0]), (&"Task".into(), &"public.task".into()));
    assert_eq!(shell.look("SELECT COUNT(*) FROM public.task"), "2");
    assert_eq!(shell.ok(&["list"]), "");
    shell.run(&["drop", "Mail", "--yes"]).says(5, &["it has none"]);
}

#[test]
fn sql_prints_the_script_and_drops_nothing() {
    let shell = with_two_queues();
    let script = shell.ok(&["drop", "Mail", "--sql"]);
    assert!(script.contains("DROP TABLE IF EXISTS \"readpast\".\"mail\";\n"), "{script}");
    assert_eq!(shell.run(&["drop", "Mail", "--sql", "--json"]).json()[0]["sql"], script);
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail"), "2");
    shell.run(&["drop", "Mail", "--sql", "--yes"]).says(2, &["--yes"]);
}

#[test]
fn on_a_terminal_it_asks_first() {
    let shell = with_two_queues();
    for answer in ["n\n", "\n", "Mail\n"] {
        let done = shell.answering(&["drop", "Mail"], answer);
        assert_eq!(done.status, Some(1), "{done:?}");
        for words in ["2 items (1 Pending, 1 Processing)", "nothing was dropped"] {
            assert!(done.out.contains(words), "{done:?}");
        }
    }
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail"), "2");
    let done = shell.answering(&["drop", "Mail"], "y\n");
    assert_eq!(done.status, Some(0), "{done:?}");
    shell.run(&["stats", "Mail"]).says(5, &["it has Task"]);
}

/// The queue of a login that did not install it.
#[test]
fn a_login_without_the_right_is_pointed_to_the_script() {
    let mut shell = with_two_queues();
    let role = shell.db.role();
    shell.db.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    shell.db.run(&format!("GRANT EXECUTE ON FUNCTION readpast.queue_catalog TO {role}"));
    shell.db.run(&format!("GRANT SELECT ON ALL TABLES IN SCHEMA readpast TO {role}"));
    let connection = support::scratch::changed(&shell.db.connection(), &[("Uid", &role), ("Pwd", "p")]);
    let mut command = shell.command(&["drop", "Mail", "--yes"]);
    let output = command.env("READPAST_CONNECTION", connection).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("--sql") && !told.contains("install as"), "{told}");
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail"), "2");
}
