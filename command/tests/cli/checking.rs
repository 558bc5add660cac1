//! `doctor` and `adopt`.

use crate::shell::{Done, MAIL, Shell, with};
use serde_json::json;

const ORDERS: &str = "
queue = 'Orders'
completion = 'keep'
[table]
schema = 'public'
name = 'orders'
key = ['id']
status = { column = 'state', values = { Pending = 0, Processing = 1, Completed = 2, Failed = 3 } }
[[columns]]
name = 'customer'
type = 'text(50)'
";

#[test]
fn doctor_finds_what_is_wrong_and_says_the_remedy() {
    let shell = Shell::empty();
    let done = shell.run(&["doctor"]);
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.out.contains("error") && done.out.contains("-> install"), "{}", done.out);

    shell.write("mail.json", MAIL);
    shell.ok(&["install", "mail.json"]);
    let text = shell.ok(&["doctor", "Mail"]);
    assert!(text.ends_with("errors: 0, warnings: 0\n"), "{text}");

    shell.db.run("DROP INDEX readpast.mail_due");
    let done = shell.run(&["doctor", "Mail", "--json"]);
    assert_eq!(done.status, Some(1), "{done:?}");
    let document = &done.json()[0];
    let findings = document["findings"].as_array().unwrap();
    let found = findings.iter().find(|f| f["severity"] == "error" && f["check"] == "index").unwrap();
    assert!(
        found["object"].as_str().unwrap().contains("mail_due") && found["remedy"].as_str().unwrap().contains("install")
    );
    shell.ok(&["install", "mail.json"]);
    assert_eq!(shell.run(&["doctor", "Mail"]).status, Some(0), "the remedy helps");

    let done = shell.run(&["doctor", "Nope"]);
    assert!(done.status == Some(1) && done.out.contains("Nope"), "{done:?}");
    shell.run(&["doctor", "a b"]).says(2, &["a b"]);
}

#[test]
fn doctor_names_the_rights_that_a_login_lacks() {
    let mut shell = Shell::new();
    let role = shell.db.role();
    let mut command = shell.bare(&["doctor", "Mail"]);
    command.env("READPAST_CONNECTION", with(&shell, &[("Uid", &role), ("Pwd", "p")]));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("error   permission  readpast: this login can use no queue here"), "{text}");

    shell.db.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    shell.db.run(&format!("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA readpast TO {role}"));
    shell.db.run(&format!("REVOKE EXECUTE ON FUNCTION readpast.stats_mail FROM {role}"));
    let mut command = shell.bare(&["doctor", "Mail"]);
    command.env("READPAST_CONNECTION", with(&shell, &[("Uid", &role), ("Pwd", "p")]));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("permission") && text.contains("stats_mail"), "{text}");
}

/// The description has roles: an error names the rights that a login lacks.
#[test]
fn doctor_names_the_roles_that_a_login_lacks() {
    let mut shell = Shell::empty();
    let (login, prefix) = (shell.db.role(), shell.db.name.clone());
    let roles = ["producer", "worker", "operator"].map(|part| format!("{prefix}_{part}"));
    let spec = json!({"queue": "Mail", "roles": {"producer": roles[0], "worker": roles[1], "operator": roles[2]}});
    shell.write("mail.json", &spec.to_string());
    shell.ok(&["install", "mail.json"]);
    roles.iter().for_each(|role| shell.db.drops(role));
    let as_login = |arguments: &[&str]| {
        let mut command = shell.bare(arguments);
        command.env("READPAST_CONNECTION", with(&shell, &[("Uid", &login), ("Pwd", "p")]));
        Done::of(command.output().unwrap())
    };
    let done = as_login(&["doctor", "Mail"]);
    assert_eq!(done.status, Some(1));
    assert!(done.out.contains("can use no queue here") && !done.out.contains("grant the login"), "{}", done.out);
    assert!(
        roles.iter().all(|role| done.out.contains(role)) && done.out.contains("GRANT role TO login"),
        "{}",
        done.out
    );

    shell.db.run(&format!("GRANT {} TO {login}", roles[1]));
    let done = as_login(&["doctor", "Mail"]);
    assert!(done.out.contains(&format!("{} (enqueues)", roles[0])) && done.out.contains("(operates)"), "{}", done.out);

    // A worker is not the one to install, and not the one to be given the right to.
    for arguments in [&["install", "mail.json"][..], &["install"], &["install", "mail.json", "--schema", "other"]] {
        let done = as_login(arguments);
        done.says(4, &["permission denied", "install as the schema's owner", "readpast render SPEC"]);
        assert!(!done.err.contains("grant") && !done.err.contains("doctor"), "{}", done.err);
    }
}

#[test]
fn adopting_shows_first_and_changes_nothing() {
    let shell = Shell::empty();
    shell.write("orders.toml", ORDERS);
    let done = shell.run(&["adopt", "orders.toml", "--apply"]);
    done.says(1, &["nothing was changed"]);
    assert!(done.out.contains("no such table"), "{}", done.out);

    shell
        .db
        .run("CREATE TABLE public.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer varchar(50))");
    let done = shell.run(&["adopt", "orders.toml", "--json"]);
    let document = &done.json()[0];
    assert_eq!((done.status, &document["possible"], &document["applied"]), (Some(1), &false.into(), &false.into()));
    assert!(document["findings"].to_string().contains("state"), "{document}");
    shell.run(&["adopt", "orders.toml", "--apply"]).says(1, &["nothing was changed"]);
    assert_eq!(shell.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'readpast'"), "0");

    shell.db.run("ALTER TABLE public.orders ADD COLUMN state integer NOT NULL DEFAULT 0");
    let done = shell.run(&["adopt", "orders.toml"]);
    done.says(0, &["nothing was changed", "--sql", "--apply"]);
    assert!(!done.out.contains("CREATE") && done.out.contains("readpast's own objects"), "{}", done.out);
    let sql = shell.run(&["adopt", "orders.toml", "--sql"]);
    sql.says(0, &["readpast's own objects", "nothing was changed"]);
    // A script and nothing else, whose last lines are followed by what was found.
    assert!(sql.out.contains("CREATE OR REPLACE FUNCTION") && !sql.out.contains("readpast's own objects"));
    let document = &shell.run(&["adopt", "orders.toml", "--sql", "--json"]).json()[0];
    assert_eq!(document["sql"].as_str(), Some(sql.out.as_str()));
    assert!(shell.run(&["adopt", "orders.toml", "--json"]).json()[0]["sql"].is_null());
    assert_eq!(shell.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'readpast'"), "0");

    shell.write("mail.json", MAIL);
    shell.run(&["adopt", "mail.json"]).says(2, &["Mail", "table"]);
}
