//! The README's first steps, done as they stand there.

use crate::shell::Shell;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The commands of its section about a first queue.
fn commands() -> &'static str {
    let readme = include_str!("../../README.md");
    let section =
        readme.split("\n## A queue in five minutes\n").nth(1).expect("a section").split("\n## ").next().unwrap();
    section.split("```sh\n").nth(1).expect("commands").split("```").next().unwrap()
}

#[test]
fn the_first_steps_work_as_written() {
    let shell = Shell::empty();
    let (export, commands) = commands().split_once('\n').unwrap();
    assert!(export.starts_with("export READPAST_CONNECTION='Driver={PostgreSQL Unicode};Server="), "{export}");

    // The one program that need not be there: it keeps what it is given.
    fs::create_dir(shell.folder.join("bin")).unwrap();
    shell.write_program("bin/mail", "#!/bin/sh\n{ printf '%s ' \"$@\"; cat; } > sent\n");
    let readpast = Path::new(env!("CARGO_BIN_EXE_readpast")).parent().unwrap().display();
    let path = format!("{}:{readpast}:{}", shell.folder.join("bin").display(), std::env::var("PATH").unwrap());

    let bare = shell.command(&[]);
    let output = Command::new("sh")
        .args(["-euc", commands])
        .envs(bare.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", path)
        .current_dir(&shell.folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("1 completed"), "{output:?}");
    assert_eq!(fs::read_to_string(shell.folder.join("sent")).unwrap(), "-s Email a@example.org Hello\n");
    assert_eq!(shell.look("SELECT status || ' ' || attempt_num FROM readpast.notification"), "Completed 1");
}

/// What stands in its text: both servers' drivers, and where to get them.
#[test]
fn the_readme_names_the_drivers() {
    let readme = include_str!("../../README.md");
    for words in
        ["unixodbc", "odbc-postgresql", "Driver={PostgreSQL Unicode};", "Driver={ODBC Driver 18 for SQL Server};"]
    {
        assert!(readme.contains(words), "{words}");
    }
}
