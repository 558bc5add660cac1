//! `enqueue`.

use crate::shell::{Shell, signal_twice, until};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::process::Stdio;

#[test]
fn arguments_are_read_as_the_columns_want_them() {
    let shell = Shell::new();
    let arguments = ["enqueue", "Mail", "Recipient=007", "N=7", "Urgent=true", "Tags:=[\"a\"]", "Body:=null"];
    let key = shell.ok(&arguments);
    let row = "SELECT concat_ws('|', recipient, n, urgent, tags, body IS NULL, type) FROM readpast.mail";
    let row = row.replace("recipient", "\"Recipient\"").replace(" n,", " \"N\",").replace("urgent", "\"Urgent\"");
    let row = row.replace("tags", "\"Tags\"").replace("body", "\"Body\"");
    assert_eq!(shell.look(&row), "007|7|t|[\"a\"]|t|Email");
    assert_eq!(shell.ok(&["show", "Mail"]).split('\t').next(), Some(key.trim()));

    for (arguments, words) in [
        (&["Recipient"][..], &["\"Recipient\"", "COLUMN=VALUE"][..]),
        (&["Recipient=a", "Recipient=b"], &["Recipient", "twice"]),
        (&["Recipient=a", "N=many"], &["\"N\"", "integer"]),
        (&["Recipient=a", "Tags:={"], &["Tags", "JSON"]),
        (&["N=1"], &["\"Recipient\"", "must have a value"]),
        (&["Recipient=a", "Nope=1"], &["\"Nope\"", "Recipient, Body"]),
        (&["Recipient=a", "--type", "Fax"], &["\"Fax\"", "Sms"]),
        (&["Recipient=a", "--due", "soon"], &["soon", "UTC"]),
        (&["Recipient=a", "--delay", "soon"], &["--delay", "90s"]),
        (&["--item", "[1]"], &["--item", "object"]),
        (&["Recipient=a", "--batch", "1001"], &["--batch", "1000"]),
        (&["Recipient=a", "--operation", "x"], &["--operation"]),
    ] {
        shell.run(&[&["enqueue", "Mail"], arguments].concat()).says(2, words);
    }
    assert_eq!(shell.count("Pending"), "1");
}

#[test]
fn lines_come_from_standard_input_and_files() {
    let shell = Shell::new();
    let lines: String = (0..1234).map(|n| format!("{{\"Recipient\": \"r{n}\", \"N\": {n}}}\n\n")).collect();
    let done = shell.feed(&["enqueue", "Mail", "--json"], &format!("\u{feff}{lines}"));
    let answers = done.json();
    assert_eq!((answers.len(), answers[1].get("line").unwrap().as_u64()), (1234, Some(3)));
    assert_eq!(shell.look("SELECT COUNT(DISTINCT \"N\") FROM readpast.mail"), "1234");

    shell.write("lines", &lines);
    assert_eq!(shell.ok(&["enqueue", "Mail", "-f", "lines", "--keys"]).lines().count(), 1234);
    assert_eq!(shell.ok(&["enqueue", "Mail", "-f", "lines"]), "items enqueued: 1234\n");
    shell.run(&["enqueue", "Mail", "-f", "nowhere"]).says(2, &["nowhere"]);
    assert_eq!(shell.feed(&["enqueue", "Mail"], "").out, "items enqueued: 0\n");
}

#[test]
fn a_line_can_say_more_than_columns() {
    let shell = Shell::new();
    let line = r#"{"columns": {"Recipient": "a"}, "type": "Sms", "step": "two", "due": "2100-01-01T00:00:00Z"}"#;
    let plain = r#"{"Recipient": "b"}"#;
    let input = format!("{line}\n{plain}\n");
    assert_eq!(shell.feed(&["enqueue", "Mail", "--step", "one", "--delay", "1h"], &input).status, Some(0));
    let row = |name: &str| {
        shell.look(&format!(
            "SELECT concat_ws('|', type, step, to_char(scheduled_for, 'YYYY'), scheduled_for > now() + interval '1 min') \
             FROM readpast.mail WHERE \"Recipient\" = '{name}'"
        ))
    };
    assert_eq!(row("a"), "Sms|two|2100|t");
    assert!(row("b").starts_with("Email|one|") && row("b").ends_with("|t"), "{}", row("b"));
    for line in [
        r#"{"columns": {"Recipient": "a"}, "typo": 1}"#,
        r#"{"columns": {"Recipient": "a"}, "delay_ms": "1"}"#,
        r#"{"columns": {"Recipient": "a"}, "type": 1}"#,
    ] {
        shell.feed(&["enqueue", "Mail"], line).says(2, &["line 1"]);
    }
}

#[test]
fn a_bad_line_is_named_and_a_repetition_enqueues_the_rest() {
    let shell = Shell::new();
    let good = |n: usize| format!("{{\"Recipient\": \"r{n}\"}}\n");
    let bad =
        |line: &str| -> String { (0..5).map(good).chain([format!("{line}\n")]).chain((6..8).map(good)).collect() };
    for (line, why) in
        [("nonsense", "JSON"), ("[]", "object"), (r#"{"Recipient": 1}"#, "Recipient"), ("{}", "Recipient")]
    {
        shell.write("lines", &bad(line));
        shell.run(&["enqueue", "Mail", "-f", "lines", "--batch", "2"]).says(2, &["lines, line 6:", why, "nothing"]);
    }
    let mut bytes = bad("{}").into_bytes();
    let place = bytes.windows(3).position(|part| part == b"{}\n").unwrap();
    bytes[place] = 0xff;
    fs::write(shell.folder.join("lines"), bytes).unwrap();
    shell.run(&["enqueue", "Mail", "-f", "lines"]).says(2, &["line 6:", "UTF-8"]);
    assert_eq!(shell.count("Pending"), "0", "a file is checked first");

    // Whole batches of standard input are there: lines 1 to 4.
    let done = shell.feed(&["enqueue", "Mail", "--batch", "2"], &bad("x"));
    done.says(2, &["line 6:", "4 items were enqueued", "--batch 2"]);
    assert_eq!(shell.count("Pending"), "4");
    let operation = done.err.split("--operation ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let corrected: String = (0..8).map(good).collect();
    for _ in 0..2 {
        let repeated = shell.feed(&["enqueue", "Mail", "--batch", "2", "--operation", &operation], &corrected);
        assert_eq!(repeated.status, Some(0), "{repeated:?}");
        assert_eq!(shell.look("SELECT COUNT(*) || ' ' || COUNT(DISTINCT \"Recipient\") FROM readpast.mail"), "8 8");
    }

    let done = shell.feed(&["enqueue", "Mail", "--keep-going"], &bad("x"));
    done.says(1, &["line 6:"]);
    assert_eq!(done.out, "items enqueued: 7, lines refused: 1\n");
}

#[test]
fn an_interrupt_stops_between_batches() {
    let shell = Shell::new();
    // The pipe stays open: only the signal ends it.
    let mut command = shell.command(&["enqueue", "Mail", "--batch", "1", "--json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = b"{\"Recipient\": \"a\"}\n";
    stdin.write_all(line).unwrap();
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail", "1");
    // Two at once, which are one: the second by itself would end it without a word.
    signal_twice([Signal::INT, Signal::TERM], child.id());
    // It sees with the next line that it is to stop.
    until("the command has ended", || {
        let _ = stdin.write_all(line);
        child.try_wait().unwrap().is_some()
    });
    let output = child.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(130 | 143)), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--operation"), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap().lines().count();
    assert_eq!(shell.count("Pending"), told.to_string(), "what is there was told");
}

#[test]
fn an_item_that_is_there_already_is_a_duplicate_and_no_error() {
    let shell = Shell::empty();
    let spec = |answer: &str| {
        format!(
            "queue = \"Once\"\n[[columns]]\nname = \"Url\"\ntype = \"text(200)\"\nnullable = false\n\
             [dedup]\ncolumns = [\"Url\"]\nanswer = \"{answer}\"\n"
        )
    };
    shell.write("once.toml", &spec("existing"));
    shell.ok(&["install", "once.toml"]);
    let key = shell.ok(&["enqueue", "Once", "Url=a"]);
    assert_eq!(shell.ok(&["enqueue", "Once", "Url=a"]), format!("{}\tduplicate\n", key.trim()));
    let lines = "{\"Url\": \"a\"}\n{\"Url\": \"b\"}\n{\"Url\": \"b\"}\n";
    let done = shell.feed(&["enqueue", "Once"], lines);
    assert_eq!((done.status, done.out.as_str()), (Some(0), "items enqueued: 1, duplicates: 2\n"), "{done:?}");
    let duplicates: Vec<_> = shell.feed(&["enqueue", "Once", "--json"], lines).json();
    assert!(duplicates.iter().all(|line| line["duplicate"] == true), "{duplicates:?}");
}

#[test]
fn columns_of_subtypes_have_their_names_before_them() {
    let shell = Shell::empty();
    shell.write(
        "note.json",
        r#"{"queue": "Note", "types": ["Plain"], "columns": [{"name": "To", "type": "text(50)"}],
            "subtypes": [{"name": "Mail", "exclusive": false, "columns": [
                {"name": "Subject", "type": "text(50)"}, {"name": "Size", "type": "integer"}]}]}"#,
    );
    shell.ok(&["install", "note.json"]);
    let key = shell.ok(&["enqueue", "Note", "To=a", "Mail.Subject=hello", "Mail.Size=5"]);
    let item = &shell.run(&["show", "Note", key.trim(), "--json"]).json()[0];
    assert_eq!(
        (&item["columns"]["Mail_Subject"], &item["columns"]["Mail_Size"]),
        (&"hello".into(), &5.into()),
        "{item}"
    );
    shell.run(&["enqueue", "Note", "To=a", "Mail.Size=5", "Mail.Size=6"]).says(2, &["Mail.Size", "twice"]);
    shell.run(&["enqueue", "Note", "To=a", "Mail.Size=big"]).says(2, &["Size", "integer"]);
}

#[test]
fn an_argument_that_the_database_refuses_is_reported_as_it_is() {
    let shell = Shell::new();
    shell.db.run("ALTER TABLE readpast.mail ADD CONSTRAINT small CHECK (\"N\" < 10)");
    let done = shell.run(&["enqueue", "Mail", "Recipient=a", "N=50"]);
    done.says(2, &["readpast: ", "\"small\""]);
    assert!(
        !done.err.contains("from 1 on") && !done.err.contains("--operation"),
        "there was no input to repeat: {done:?}"
    );
    let done = shell.run(&[
        "enqueue",
        "Mail",
        "--batch",
        "1",
        "--item",
        r#"{"Recipient": "a", "N": 1}"#,
        "--item",
        r#"{"Recipient": "a", "N": 50}"#,
    ]);
    done.says(2, &["items from 2 on", "\"small\"", "1 items were enqueued", "--operation"]);
    assert_eq!(shell.count("Pending"), "1");
}
