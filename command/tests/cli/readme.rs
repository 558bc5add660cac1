//! The README's first steps, done as they stand there, and the commands of the page about tables.

use crate::shell::Shell;
use std::process::Command;

/// The commands between the marks of its first steps: those that set up, and those of a first queue.
fn commands() -> [&'static str; 2] {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("<!-- quick start: begin -->").expect("a begin");
    let (steps, _) = rest.split_once("<!-- quick start: end -->").expect("an end");
    let blocks: Vec<_> = steps.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    blocks.try_into().expect("two blocks")
}

/// Those that set up are tried where nothing is installed yet, by `make test-fresh`.
#[test]
fn the_first_steps_work_as_written() {
    let shell = Shell::empty();
    let [set_up, commands] = commands();
    assert!(set_up.contains("export READPAST_CONNECTION="), "{set_up}");

    let output = shell.program("sh").args(["-euc", commands]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && err.contains("1 completed"), "{output:?}");
    assert!(out.contains("Email to a@example.org: Hello"), "{out}");
    assert_eq!(shell.look("SELECT status || ' ' || attempt_num FROM readpast.notification"), "Completed 1");
}

/// The parts of its text: both servers' drivers, and where to get them.
#[test]
fn the_readme_names_the_drivers() {
    let readme = include_str!("../../../README.md");
    for words in
        ["unixodbc", "odbc-postgresql", "Driver={PostgreSQL Unicode};", "Driver={ODBC Driver 18 for SQL Server};"]
    {
        assert!(readme.contains(words), "{words}");
    }
}

#[test]
fn commands_on_the_page_about_tables_are_real() {
    let page = include_str!("../../../sql/ADOPT.md");
    let blocks = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let lines: Vec<_> = blocks.flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("readpast ")).collect();
    assert!(!lines.is_empty());
    for line in lines {
        // The part behind two hyphens is the user's own command.
        let ours = line.split(" -- ").next().unwrap();
        let subcommand = ours.split(' ').next().unwrap();
        let help = Command::new(env!("CARGO_BIN_EXE_readpast")).args([subcommand, "--help"]).output().unwrap();
        assert!(help.status.success(), "readpast {line}");
        let help = String::from_utf8(help.stdout).unwrap();
        for option in ours.split(' ').filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "readpast {line}: {option}");
        }
    }
}
