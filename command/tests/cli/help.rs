//! The help of the command, and the README's part about it.

use crate::shell::Shell;

fn subcommands(shell: &Shell) -> Vec<(String, String)> {
    let help = shell.ok(&["-h"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    list.lines()
        .map(|line| line.trim().split_once(' ').unwrap())
        .map(|(a, b)| (a.to_owned(), b.trim().to_owned()))
        .collect()
}

#[test]
fn every_subcommand_explains_itself() {
    let shell = Shell::empty();
    let subcommands = subcommands(&shell);
    assert!(subcommands.len() >= 14, "{subcommands:?}");
    for (name, _) in &subcommands {
        let help = shell.ok(&[name, "--help"]);
        assert!(
            help.contains("Usage: readpast ") && help.contains("--connection-file") && help.contains("--json"),
            "{help}"
        );
    }
    for shell_name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = shell.ok(&["completions", shell_name]);
        assert!(script.contains("readpast") && script.contains("redrive"), "{shell_name}");
    }
    let help = shell.ok(&["--help"]);
    let first = help.find("readpast install").expect("the first steps");
    assert!(
        first < help.find("The connection comes from").unwrap() && help.contains("--connection-file <FILE>"),
        "{help}"
    );
    assert_eq!(shell.ok(&["--version"]), format!("readpast {}\n", env!("CARGO_PKG_VERSION")));
    for wrong in
        [&[][..], &["nonsense"], &["stats"], &["stats", "a", "b"], &["work", "Mail", "--jobs", "0", "--", "true"]]
    {
        assert_eq!(shell.run(wrong).status, Some(2), "{wrong:?}");
    }
}

#[test]
fn wrong_arguments_are_reported_as_json_too() {
    let shell = Shell::empty();
    for (wrong, words) in [
        (&["--json", "nonsense"][..], &["nonsense"][..]),
        (&["stats", "--json"], &["required", "<QUEUE>"]),
        (&["show", "Mail", "--status", "Nope", "--json"], &["Nope", "--status", "PartiallyCompleted"]),
        (&["--json"], &["subcommand"]),
    ] {
        let done = shell.run(wrong);
        let error: serde_json::Value =
            serde_json::from_str(&done.err).unwrap_or_else(|_| panic!("{wrong:?}: {done:?}"));
        let message = error["error"]["message"].as_str().unwrap();
        assert_eq!((done.status, error["error"]["status"].as_u64()), (Some(2), Some(2)), "{wrong:?}");
        assert!(words.iter().all(|word| message.contains(word)) && !message.contains("Usage"), "{message}");
    }
    // Help that was asked for is no error, and the words behind the hyphens are not ours.
    assert!(shell.ok(&["--json", "--help"]).contains("Usage: readpast"));
    shell.run(&["work", "Mail", "--jobs", "0", "--", "x", "--json"]).says(2, &["error: ", "For more information"]);
}

#[test]
fn the_page_for_operators_has_the_subcommands_and_the_exit_statuses() {
    let shell = Shell::empty();
    let page = include_str!("../../../docs/operator.md");
    for (name, _) in subcommands(&shell) {
        assert!(page.contains(&format!("| `{name}")), "the page lacks {name}");
    }
    let help = shell.ok(&["--help"]);
    let statuses = help.split("Exit statuses:\n").nth(1).unwrap();
    let mut count = 0;
    for line in statuses.lines().filter(|line| !line.is_empty()) {
        let (number, meaning) = line.trim().split_once(' ').unwrap();
        assert!(page.contains(&format!("| {number} | {} |", meaning.trim())), "the page lacks {line}");
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn a_near_miss_is_named() {
    let shell = Shell::new();
    shell.run(&["stats", "mail"]).says(5, &["has no queue \"mail\" (did you mean \"Mail\"?)"]);
    shell.run(&["stats", "Nothing"]).says(5, &["has no queue \"Nothing\"; it has Mail"]);
    for (column, remedy) in
        [("Type=Sms", "--type gives an item its type"), ("step:=1", "--step gives"), ("due=x", "--due and")]
    {
        let name = column.split([':', '=']).next().unwrap();
        shell.run(&["enqueue", "Mail", "Recipient=a", column]).says(2, &["has no column", name, remedy]);
    }
    let done = shell.run(&["enqueue", "Mail", "Recipient=a", "Nope=x"]);
    done.says(2, &["has no column"]);
    assert!(!done.err.contains("--type"), "{done:?}");
    // The word of the pages, and that of the JSON.
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    for option in ["--state", "--status"] {
        assert_eq!(shell.ok(&["show", "Mail", option, "Pending"]).lines().count(), 1, "{option}");
        assert_eq!(shell.ok(&["show", "Mail", option, "Failed"]), "", "{option}");
    }
}
