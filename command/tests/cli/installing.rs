//! `install` and `render`.

use crate::shell::{MAIL, Shell};
use support::limit::patience;
use support::scratch::Scratch;

const TOML: &str = "queue = \"Mail\"\n[[columns]]\nname = \"Recipient\"\ntype = \"text(254)\"\n";

#[test]
fn installing_twice_changes_nothing() {
    let shell = Shell::empty();
    shell.run(&["stats", "Mail"]).says(5, &["install"]);
    shell.write("mail.toml", TOML);
    shell.write("other.json", &MAIL.replace("\"Mail\"", "\"Other\""));
    assert_eq!(shell.ok(&["install"]), "installed\n");
    let objects = "SELECT COUNT(*) || ' ' || (SELECT COUNT(*) FROM pg_proc) FROM pg_class";
    assert_eq!(shell.ok(&["install", "mail.toml", "other.json"]), "installed Mail\ninstalled Other\n");
    let before = shell.look(objects);
    let again = shell.run(&["install", "mail.toml", "other.json", "--json"]);
    assert_eq!(again.json()[1]["installed"], "Other");
    assert_eq!(shell.look(objects), before);
    shell.ok(&["enqueue", "Other", "Recipient=a"]);

    shell.ok(&["install", "mail.toml", "--schema", "elsewhere"]);
    assert_eq!(shell.look("SELECT COUNT(*) FROM elsewhere.mail"), "0");
    shell.run(&["stats", "Other", "--schema", "elsewhere"]).says(5, &["\"Other\"", "it has Mail"]);
}

#[test]
fn a_database_without_an_encoding_is_named() {
    let shell = Shell::of(Scratch::without_encoding());
    shell.write("mail.toml", TOML);
    for arguments in [&["install", "mail.toml"][..], &["doctor"]] {
        let done = shell.run(arguments);
        let told = format!("{}{}", done.out, done.err);
        assert!(["warn", "SQL_ASCII", "ENCODING 'UTF8'"].iter().all(|word| told.contains(word)), "{done:?}");
    }
    let quiet = shell.run(&["install", "mail.toml", "--quiet"]);
    assert_eq!((quiet.status, quiet.err.as_str()), (Some(0), ""));
    assert_eq!(Shell::empty().run(&["install"]).err, "", "nothing is wrong there");
}

#[test]
fn mistakes_are_reported_with_the_file_and_nothing_is_installed() {
    let shell = Shell::empty();
    shell.write("mail.toml", TOML);
    for (name, text, words) in [
        ("bad.toml", "queue = \"Bad\"\ncolums = []\n", &["bad.toml", "line 2", "colums"][..]),
        ("bad.json", "{\"queue\": \"a b\"}", &["bad.json", "a b"]),
        ("bad.json", "{\"queue\": ", &["bad.json", "line"]),
    ] {
        shell.write(name, text);
        shell.run(&["install", "mail.toml", name]).says(2, words);
        shell.run(&["render", name]).says(2, words);
    }
    shell.run(&["install", "nowhere.toml"]).says(2, &["nowhere.toml"]);
    assert_eq!(shell.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'readpast'"), "0");
}

#[test]
fn a_description_is_rendered_for_either_server_without_one() {
    let shell = Shell::empty();
    shell.write("mail.toml", TOML);
    let render = |arguments: &[&str]| {
        let output = shell.bare(&[&["render", "mail.toml"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = render(&["--schema", "app"]);
    assert!(text.contains("[app].[Next_Mail_trx]") && text.contains("\nGO\n"), "{text}");
    assert_eq!(text, render(&["--schema", "app", "--dialect", "sqlserver"]), "the same every time");
    let text = render(&["--dialect", "postgres"]);
    assert!(text.contains("next_mail_trx") && text.contains("COMMIT;") && !text.contains("\nGO\n"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&render(&["--dialect", "postgres", "--json"])).unwrap();
    assert_eq!((&document["queue"], &document["sql"]), (&"Mail".into(), &text.into()));
    shell.write("old.toml", &format!("{TOML}[[columns]]\nname = \"Gone\"\ntype = \"date\"\n"));
    shell.run(&["render", "mail.toml", "--from", "old.toml"]).says(5, &["columns: \"Gone\""]);
    let text = render(&["--from", "mail.toml"]);
    assert!(text.contains("[readpast].[Next_Mail_trx]"), "{text}");
    shell.run(&["render", "mail.toml", "--dialect", "oracle"]).says(2, &["oracle", "postgres"]);
}

/// The reviewed script is the one that install would run: in the same schema, from the same places.
#[test]
fn render_and_install_mean_the_same_schema() {
    let shell = Shell::empty();
    shell.write("mail.toml", TOML);
    let rendered = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = shell.bare(&[&["render", "mail.toml"], arguments].concat());
        let output = command.envs(environment.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let environment = [("READPAST_SCHEMA", "by_environment")];
    assert!(rendered(&[], &environment).contains("[by_environment].[Next_Mail_trx]"));
    assert!(rendered(&["--set", "schema=by_setting"], &environment).contains("[by_setting].[Next_Mail_trx]"));
    assert!(rendered(&["--schema", "by_option"], &environment).contains("[by_option].[Next_Mail_trx]"));
    shell.write("readpast.toml", &format!("schema = 'by_file'\ndialect = 'postgres'\n{}", patience()));
    let text = rendered(&[], &[]);
    assert!(text.contains("\"by_file\".\"next_mail_trx\""), "{text}");
    assert!(rendered(&["--dialect", "sqlserver"], &environment).contains("[by_environment].[Next_Mail_trx]"));

    shell.ok(&["install", "mail.toml"]);
    assert_eq!(shell.look("SELECT COUNT(*) FROM by_file.mail"), "0");
    let mut command = shell.command(&["install", "mail.toml"]);
    assert!(command.envs(environment).status().unwrap().success());
    assert_eq!(shell.look("SELECT COUNT(*) FROM by_environment.mail"), "0");
    let mut wrong = shell.bare(&["render", "mail.toml"]);
    let output = wrong.env("READPAST_SCHEMA", "").output().unwrap();
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("READPAST_SCHEMA"));
}
