//! Where the connection comes from, and what becomes of one that does not work.

use crate::shell::{Shell, with};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use support::limit::patience;

fn finish(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("s3cret"), "{err}");
    (output.status.code(), err)
}

fn private(path: &std::path::Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn the_connection_comes_from_a_file_the_environment_or_a_configuration() {
    let shell = Shell::new();
    let connection = shell.db.connection();
    let (status, err) = finish(shell.bare(&["stats", "Mail"]));
    assert_eq!(status, Some(2));
    for way in ["READPAST_CONNECTION", "--connection-file", "readpast.toml", "ODBC Driver 18", "PostgreSQL Unicode"] {
        assert!(err.contains(way), "{err}");
    }

    let path = shell.write("connection", &format!("{connection}\n"));
    private(&path);
    assert_eq!(finish(shell.bare(&["stats", "Mail", "--connection-file", "connection"])), (Some(0), String::new()));
    let mut command = shell.bare(&["stats", "Mail"]);
    command.env("READPAST_CONNECTION_FILE", &path);
    assert_eq!(finish(command).0, Some(0));

    let (status, err) = finish(shell.bare(&["stats", "Mail", "--connection", &connection]));
    assert!(status == Some(0) && err.contains("warning") && err.contains("ps"), "{err}");

    // The configuration: beside the command, or in the user's folder; the environment stands above it.
    let text = format!("connection = '{connection}'\nlease.ms = 30000\n{}[poll]\ninterval_ms = 50\n", patience());
    private(&shell.write("readpast.toml", &text));
    assert_eq!(finish(shell.bare(&["stats", "Mail"])), (Some(0), String::new()));
    let mut command = shell.bare(&["stats", "Mail"]);
    command.env("READPAST_CONNECTION", with(&shell, &[("Database", "nowhere")]));
    assert_eq!(finish(command).0, Some(3));
    fs::remove_file(shell.folder.join("readpast.toml")).unwrap();
    let text = format!("connection_file = '../../connection'\nschema = 'readpast'\n{}", patience());
    shell.write(".config/readpast/config.toml", &text);
    assert_eq!(finish(shell.bare(&["stats", "Mail"])), (Some(0), String::new()));
}

#[test]
fn a_file_that_others_may_read_holds_no_secret() {
    let shell = Shell::new();
    let connection = shell.db.connection();
    shell.write("connection", &connection);
    shell.write("named.toml", "connection_file = 'connection'\n");
    shell.write("holds.toml", &format!("connection = '{connection}'\n"));
    let set = |mode: u32| {
        for name in ["connection", "holds.toml"] {
            fs::set_permissions(shell.folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    let ways = [["--connection-file", "connection"], ["--config", "named.toml"], ["--config", "holds.toml"]];
    for way in ways {
        let arguments = [&["stats", "Mail"], &way[..]].concat();
        for mode in [0o644, 0o660, 0o604] {
            set(mode);
            let (status, err) = finish(shell.bare(&arguments));
            let words = [format!("mode {mode:o}"), "chmod 600".to_owned(), "--allow-readable-secrets".to_owned()];
            assert!(status == Some(2) && words.iter().all(|word| err.contains(word)), "{way:?}: {err}");
            let allowed = [&arguments[..], &["--allow-readable-secrets"]].concat();
            assert_eq!(finish(shell.bare(&allowed)), (Some(0), String::new()));
        }
        set(0o600);
        assert_eq!(finish(shell.bare(&arguments)), (Some(0), String::new()), "the remedy works");
    }
    // A command that needs no connection, or has another one, does not mind.
    set(0o644);
    assert_eq!(finish(shell.command(&["stats", "Mail", "--config", "holds.toml"])), (Some(0), String::new()));
    shell.write("queue.toml", "queue = 'Q'\n");
    assert_eq!(finish(shell.bare(&["render", "queue.toml", "--config", "holds.toml"])).0, Some(0));
}

#[test]
fn mistakes_in_settings_are_named_and_secrets_are_not() {
    let shell = Shell::new();
    for (text, words) in [
        ("connection = \"Driver={X;Pwd=s3cret\"\n", &["bad.toml", "brace"][..]),
        ("lease.ms = 1\nconnection = \"Driver=X;Pwd=s3cret;\" 5\n", &["bad.toml", "line 2"]),
        ("conection = \"Driver=X;Pwd=s3cret;\"\n", &["bad.toml", "conection"]),
        ("lease.ms = true\n", &["bad.toml", "lease.ms"]),
        ("lease.ms = 1\n", &["bad.toml", "lease.ms", "10 to"]),
    ] {
        private(&shell.write("bad.toml", text));
        let (status, err) = finish(shell.bare(&["stats", "Mail", "--config", "bad.toml"]));
        assert_eq!(status, Some(2), "{err}");
        assert!(words.iter().all(|word| err.contains(word)), "{err}");
    }
    for (setting, word) in [
        ("lease.ms=0", "lease.ms"),
        ("nope=1", "nope"),
        ("s3cret", "KEY=VALUE"),
        ("connection=s3cret", "--connection-file"),
    ] {
        let (status, err) = finish(shell.command(&["stats", "Mail", "--set", setting]));
        assert!(status == Some(2) && err.contains(word), "{err}");
    }
    let mut command = shell.bare(&["stats", "Mail"]);
    command.env("READPAST_CONNECTION", "postgres://user:s3cret@host/database");
    let (status, err) = finish(command);
    assert!(status == Some(2) && err.contains("is a URL") && err.contains("Driver={PostgreSQL Unicode}"), "{err}");
    let (status, err) = finish(shell.command(&["enqueue", "Mail", "Recipient=a", "--delay", "-5"]));
    assert!(status == Some(2) && err.contains("--delay") && err.contains("like 90s"), "{err}");
    private(&shell.write("two", "Driver=X;Pwd=s3cret;\nDriver=Y;"));
    let (status, err) = finish(shell.bare(&["stats", "Mail", "--connection-file", "two"]));
    assert!(status == Some(2) && err.contains("one line"), "{err}");
}

#[test]
fn a_failed_connection_ends_with_its_own_status() {
    let mut shell = Shell::new();
    let role = shell.db.role();
    let settings = ["--set", "retry.budget_ms=0"];
    for (changes, status, words) in [
        (&[("Pwd", "s3cret")][..], 4, &["password", "check user name"][..]),
        (&[("Port", "1")], 3, &["cannot connect", "address and port"]),
        (&[("Database", "nowhere")], 3, &["nowhere"]),
        (&[("Driver", "{No Such Driver}")], 3, &["odbcinst -q -d"]),
        (&[("Uid", &role), ("Pwd", "p")], 4, &["permission denied", "grant", "doctor"]),
    ] {
        let mut command = shell.bare(&[&["stats", "Mail"], &settings[..]].concat());
        command.env("READPAST_CONNECTION", with(&shell, changes));
        let (found, err) = finish(command);
        assert_eq!(found, Some(status), "{err}");
        assert!(words.iter().all(|word| err.contains(word)), "{err}");

        let mut command = shell.bare(&[&["stats", "Mail", "--json"], &settings[..]].concat());
        command.env("READPAST_CONNECTION", with(&shell, changes));
        let (_, err) = finish(command);
        let error: serde_json::Value = serde_json::from_str(&err).unwrap();
        assert_eq!(error["error"]["status"], status);
        assert!(error["error"]["kind"].is_string() && error["error"]["message"].is_string());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let shell = Shell::new();
    shell.fill(2000);
    for arguments in [
        &["show", "Mail", "--limit", "2000"][..],
        &["completions", "bash"],
        &["show", "Mail", "--json", "--limit", "2000"],
    ] {
        let mut child = shell.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()), "{arguments:?}");
    }
    // A command that adds items or works on them goes on: its output is not its purpose.
    let lines = "{\"Recipient\": \"a\"}\n".repeat(3000);
    shell.write("lines", &lines);
    let mut child = shell.command(&["enqueue", "Mail", "-f", "lines", "--json"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(shell.count("Pending"), "5000");
}
