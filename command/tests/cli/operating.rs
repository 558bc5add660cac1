//! `stats`, `show`, `retry`, `cancel`, `pause`, `resume`, `redrive` and `purge`.

use crate::shell::{Shell, key, next_line, until, with};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Four items: one Failed (N 1), one in Error (N 2), one Completed (N 3), one Pending (N 4).
fn mixed() -> Shell {
    let shell = Shell::new();
    shell.fill(3);
    let script = "case $READPAST_COL_N in 1) echo boom 100% >&2; exit 65;; 2) echo bang >&2; exit 1;; esac";
    shell.ok(&shell.script(&["--until-empty", "--retry-delay", "1h"], script));
    shell.ok(&["enqueue", "Mail", "Recipient=r4", "N=4", "--type", "Sms"]);
    shell
}

fn states(shell: &Shell) -> String {
    shell.look("SELECT string_agg(status::text, ' ' ORDER BY \"N\") FROM readpast.mail")
}

#[test]
fn stats_count_and_watch() {
    let shell = mixed();
    let text = shell.ok(&["stats", "Mail"]);
    for line in [
        "Pending",
        "Failed",
        "due now",
        "claimed 0 items, workers needed 1   (4 arrivals in the last hour, waiting ",
        " on average, claim to end ",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    let stats = &shell.run(&["stats", "Mail", "--json"]).json()[0];
    assert_eq!((&stats["queue"], &stats["counts"]["Failed"], &stats["due"]), (&"Mail".into(), &1.into(), &1.into()));

    assert_eq!((&stats["workers_needed"], &stats["arrivals_last_hour"]), (&1.into(), &4.into()));

    let mut child = shell.command(&["stats", "Mail", "--json", "--watch=1s"]).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.take(2) {
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap()["queue"], "Mail");
    }
    // The reader is gone with its end of the pipe; the command notices and goes quietly.
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test]
fn stats_tell_of_types_and_where_it_goes() {
    let shell = mixed();
    let text = shell.ok(&["stats", "Mail", "--by", "type", "--trend"]);
    let row = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let sms = row("Sms");
    assert_eq!(
        (sms[1].as_str(), &sms[sms.len() - 4..]),
        ("1", ["0", "0", "1", "1"].map(str::to_owned).as_slice()),
        "{text}"
    );
    assert!(text.contains("wait now; in an hour: not known yet (observed for "), "{text}");
    let stats = &shell.run(&["stats", "Mail", "--by", "type", "--trend", "--json"]).json()[0];
    let sms = stats["types"].as_array().unwrap().iter().find(|of| of["type"] == "Sms").unwrap();
    assert_eq!((&sms["due"], &sms["arrivals_last_hour"], &sms["workers_needed"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(
        (&stats["trend"]["depth_in_an_hour"], &stats["trend"]["counted"]),
        (&serde_json::Value::Null, &true.into())
    );
    assert!(
        shell.run(&["stats", "Mail", "--json"]).json()[0].get("trend").is_none(),
        "what is not asked for is not looked for"
    );
    // A queue that deletes completed items: two looks.
    let file = shell.write("gone.toml", "queue = \"Gone\"\ntypes = [\"A\"]\ncolumns = []\ncompletion = \"delete\"\n");
    shell.ok(&["install", file.to_str().unwrap()]);
    assert_eq!(shell.feed(&["enqueue", "Gone"], "{}\n{}\n").status, Some(0));
    let stats = &shell.run(&["stats", "Gone", "--trend=50ms", "--by", "type", "--json"]).json()[0];
    let trend = &stats["trend"];
    assert_eq!(
        (&trend["counted"], &trend["depth"], &stats["types"]),
        (&false.into(), &2.into(), &serde_json::json!([]))
    );
    assert!(trend["arrivals_per_hour"].as_i64().unwrap() > 2 && trend["ended_per_hour"].is_i64(), "{trend}");
    shell.run(&["stats", "Mail", "--trend=0s"]).says(2, &["--trend", "5s is usual"]);
    shell.run(&["stats", "Mail", "--by", "moon"]).says(2, &["--by", "type"]);
}

#[test]
fn a_terminal_shows_bars_and_how_it_went() {
    let shell = mixed();
    let line = format!("'{}' stats Mail --watch=1s", env!("CARGO_BIN_EXE_readpast"));
    let command = shell.command(&[]);
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).current_dir(&shell.folder).stdin(Stdio::null()).stdout(Stdio::piped());
    terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
    let mut child = terminal.env("LC_ALL", "C.UTF-8").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let bar = next_line(&mut lines, |line| line.starts_with("  Pending "));
    assert!(bar.contains('█'), "{bar}");
    let due = next_line(&mut lines, |line| line.starts_with("  due   "));
    assert!(due.contains("█  1, 1 at most\x1b[K"), "{due}");
    // So many at once that it is a rate to be seen however long the machine takes between two looks.
    shell.fill(200);
    shell.ok(&["cancel", "Mail", "--all"]);
    let ended = next_line(&mut lines, |line| line.starts_with("  ended ") && !line.contains(", 0.0/s at most"));
    assert!(ended.contains('█'), "{ended}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// It looks again and again while the server is away; but not when nobody is there who could hear of it.
#[test]
fn an_ended_watch_leaves_no_process_that_waits_for_a_server() {
    let mut shell = mixed();
    let role = shell.db.role();
    shell.db.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    shell.db.run(&format!("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA readpast TO {role}"));
    let mut command = shell.bare(&["stats", "Mail", "--watch=1s"]);
    command.env("READPAST_CONNECTION", with(&shell, &[("Uid", &role), ("Pwd", "p")]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut figures = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut remarks = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    next_line(&mut figures, |line| line.starts_with("queue Mail "));
    shell.db.run(&format!("ALTER ROLE {role} CONNECTION LIMIT 0"));
    shell.look(&format!("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{role}'"));
    next_line(&mut remarks, |line| line.contains("too many connections"));
    drop((figures, remarks));
    until("it has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_watch_shows_the_time_and_the_change() {
    let shell = mixed();
    let mut child = shell.command(&["stats", "Mail", "--watch=1s"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let heading = next_line(&mut lines, |line| line.starts_with("queue Mail   20"));
    assert!(heading.ends_with(" UTC, every 1.0 s"), "{heading}");
    let pending = |line: &String| line.starts_with("  Pending ");
    assert_eq!(next_line(&mut lines, pending).split_whitespace().collect::<Vec<_>>(), ["Pending", "1"]);
    shell.fill(3);
    let changed = next_line(&mut lines, |line| pending(line) && line.contains('+'));
    assert_eq!(changed.split_whitespace().take(3).collect::<Vec<_>>(), ["Pending", "4", "+3"], "{changed}");
    child.kill().unwrap();
    child.wait().unwrap();
    for wrong in ["--watch=0", "--watch=10ms"] {
        shell.run(&["stats", "Mail", wrong]).says(2, &["--watch", "1s"]);
    }
}

#[test]
fn long_calls_show_how_far_they_are() {
    let shell = Shell::new();
    shell.fill(50);
    for (arguments, end) in [
        (&["cancel", "Mail", "--all"][..], "cancelled: 50"),
        (&["purge", "Mail", "--all", "--dry-run"], "would be purged: 50 (50 Cancelled)"),
        (&["purge", "Mail", "--all"], "purged: 50"),
    ] {
        let done = shell.on_terminal(arguments);
        assert_eq!(done.status, Some(0), "{done:?}");
        assert!(done.out.contains(" items") && done.out.trim_end().ends_with(end), "{done:?}");
    }
    // Elsewhere nothing is drawn.
    shell.fill(5);
    assert_eq!(shell.run(&["cancel", "Mail", "--all"]).err, "");
}

#[test]
fn json_keeps_its_digits_all_the_way() {
    let shell = Shell::new();
    shell.write(
        "letter.toml",
        "queue = 'Letter'\ncolumns = [{ name = 'Body', type = 'json' }, { name = 'Sum', type = 'decimal(30, 2)' }]",
    );
    shell.ok(&["install", "letter.toml"]);
    let document = r#"{"n": 123456789012345678901234567890, "d": [1.10]}"#;
    shell.ok(&["enqueue", "Letter", &format!("body:={document}")]);
    shell.ok(&[
        "enqueue",
        "Letter",
        "--item",
        &format!(r#"{{"Body": {document}, "Sum": 1234567890123456789012345678.90}}"#),
    ]);
    let shown = shell.ok(&["show", "Letter", "--json"]);
    assert_eq!(shown.matches(&format!("\"Body\":{document}")).count(), 2, "{shown}");
    assert!(shown.contains("\"1234567890123456789012345678.90\""), "{shown}");
    shell.ok(&["work", "Letter", "--until-empty", "--jobs", "1", "--", "sh", "-c", "cat >>given"]);
    let given = std::fs::read_to_string(shell.folder.join("given")).unwrap();
    assert_eq!(given.matches(&format!("\"Body\":{document}")).count(), 2, "{given}");
}

#[test]
fn attempts_and_steps_are_shown() {
    let shell = Shell::empty();
    let more = r#"{"attempts": {"limit": 3, "history": true}, "steps": ["queued", "sent"], "#;
    shell.write("mail.json", &crate::shell::MAIL.replacen('{', more, 1));
    shell.ok(&["install", "mail.json"]);
    shell.fill(1);
    let says = r#"{"action": "complete", "step": "sent"}"#;
    let script = format!(
        "test $READPAST_ATTEMPT = 3 || {{ echo bang $READPAST_ATTEMPT >&2; exit 1; }}; echo '{says}' > $READPAST_DIRECTIVE"
    );
    shell.ok(&shell.script(&["--until-empty"], &script));
    let key = key(&shell, 1);
    let text = shell.ok(&["show", "Mail", &key]);
    for line in ["  attempt 1 by ", "bang 1", ": Error, from 20", "bang 2", "  attempt 3 by ", ": Completed, from 20"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let shown = &shell.run(&["show", "Mail", &key, "--json"]).json()[0];
    let attempts = shown["attempts"].as_array().unwrap();
    let of = |name: &str| attempts.iter().map(|attempt| attempt[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("number"), [1, 2, 3]);
    assert_eq!(of("outcome"), ["Error", "Error", "Completed"]);
    assert_eq!(of("step"), ["queued", "queued", "sent"]);
    assert!(attempts[0]["error"].as_str().unwrap().contains("bang 1"), "{attempts:?}");
    assert!(attempts[2]["error"].is_null() && attempts[2]["worker"].is_string(), "{attempts:?}");

    let text = shell.ok(&["stats", "Mail"]);
    let row = |name: &str, cell: &str| format!("  {name:<20}{cell:>12}\n");
    for line in [row("at the step", "Completed"), row("queued", "0"), row("sent", "1")] {
        assert!(text.contains(&line), "{line}: {text}");
    }
    let stats = &shell.run(&["stats", "Mail", "--json"]).json()[0];
    assert_eq!((&stats["steps"][1]["step"], &stats["steps"][1]["counts"]["Completed"]), (&"sent".into(), &1.into()));
}

#[test]
fn items_are_shown_by_key_and_by_filter() {
    let shell = mixed();
    let key = key(&shell, 1);
    let text = shell.ok(&["show", "Mail", &key]);
    assert!(text.contains("boom 100% (exit status 65)") && text.contains("Recipient") && text.contains("r1"), "{text}");
    let item = &shell.run(&["show", "Mail", &key, "--json"]).json()[0];
    assert_eq!((&item["key"], &item["status"], &item["attempt"]), (&key.as_str().into(), &"Failed".into(), &1.into()));
    assert_eq!(item["columns"]["Recipient"], "r1");
    shell.run(&["show", "Mail", "2000-01-01T00:00:00.0000000"]).says(1, &["2000-01-01"]);

    for (filter, count) in [
        (&[][..], 4),
        (&["--status", "failed,Error"], 2),
        (&["--status", "Failed", "--status", "Completed"], 2),
        (&["--type", "Sms"], 1),
        (&["--error", "100%"], 1),
        (&["--error", "100_"], 0),
        (&["--before", "2000-01-01"], 0),
        (&["--after", "2000-01-01T00:00:00Z"], 4),
        (&["--older-than", "1h"], 0),
        (&["--older-than", "0s", "--key", &key], 1),
        (&["--longer-than", "1h"], 0),
        (&["--longer-than", "1h", "--status", "Failed"], 0),
        (&["--where", "N=3"], 1),
        (&["--where", "n=3", "--where", "Recipient=r3"], 1),
        (&["--where", "N=3", "--where", "Recipient=r4"], 0),
        (&["--where", "Body.customer=42"], 0),
        (&["--where", "Recipient=' OR 1=1 --"], 0),
        (&["--limit", "3"], 3),
    ] {
        let text = shell.ok(&[&["show", "Mail"], filter].concat());
        assert_eq!(text.lines().count(), count, "{filter:?}: {text}");
    }
    for (filter, words) in [
        (&["--status", "Broken"][..], &["Broken", "Pending"][..]),
        (&["--before", "yesterday"], &["yesterday", "UTC"]),
        (&["--older-than", "soon"], &["--older-than"]),
        (&["--longer-than", "long"], &["--longer-than"]),
        (&["--error", ""], &["error", "empty"]),
        (&["--where", "N"], &["--where", "COLUMN=VALUE"]),
        (&["--where", "N=x"], &["column \"N\" (integer) does not take"]),
        (&["--where", "Nope=1"], &["no column \"Nope\" to look in; it has Recipient, Body, N, Urgent, Tags"]),
        (&["--where", "Tags=1"], &["look for a member of it, like \"Tags.id\""]),
        (&["x", "--status", "Failed"], &["not both"]),
        (&["2026"], &["\"2026\" is no key of queue Mail", "timestamp", "like 2026-"]),
        (&["--key", "abc"], &["\"abc\" is no key of queue Mail", "timestamp"]),
    ] {
        shell.run(&[&["show", "Mail"], filter].concat()).says(2, words);
    }
    shell.run(&["show", "Nope"]).says(5, &["\"Nope\"", "Mail"]);
}

#[test]
fn items_that_ran_long() {
    let shell = mixed();
    let text = shell.ok(&["stats", "Mail", "--longer-than", "5m"]);
    assert!(text.lines().any(|line| line == "  longer than 5 m 00 s           0"), "{text}");
    // The first item failed, the third is done.
    shell.db.run("UPDATE readpast.mail SET duration = 300001 WHERE \"N\" = 1");
    shell.db.run("UPDATE readpast.mail SET duration = 300000 WHERE \"N\" = 3");
    let shown = shell.ok(&["show", "Mail", "--longer-than", "5m"]);
    assert!(
        shown.starts_with(&key(&shell, 1)) && shown.contains("\tFailed\t1\t") && shown.lines().count() == 1,
        "{shown}"
    );
    assert_eq!(shell.ok(&["show", "Mail", "--longer-than", "4m"]).lines().count(), 2);
    let text = shell.ok(&["stats", "Mail", "--longer-than", "4m"]);
    assert!(text.contains("longer than 4 m 00 s           2   (Completed 1, Failed 1)\n"), "{text}");
    let stats = &shell.run(&["stats", "Mail", "--longer-than", "4m", "--json"]).json()[0];
    assert_eq!(stats["longer"]["than_ms"], 240_000);
    assert_eq!((&stats["longer"]["items"], &stats["longer"]["counts"]["Failed"]), (&2.into(), &1.into()));
    let text = shell.ok(&["redrive", "Mail", "--longer-than", "4m", "--dry-run"]);
    assert!(text.contains(&key(&shell, 1)) && !text.contains(&key(&shell, 3)), "{text}");
}

#[test]
fn a_wait_ends_with_the_ends_of_items() {
    let shell = Shell::new();
    shell.fill(3);
    let keys: Vec<_> = (1..=3).map(|n| key(&shell, n)).collect();
    shell.run(&["wait", "Mail", &keys[0], "--timeout", "0s"]).says(1, &["has not ended in time"]);
    let waiting = shell.start(&["wait", "Mail", &keys[0], &keys[1]]);
    shell.ok(&shell.script(&["--until-empty"], "cat > /dev/null; echo did it"));
    let ended = waiting.end();
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_eq!(ended.out, format!("{}\tCompleted\tdid it\n{}\tCompleted\tdid it\n", keys[0], keys[1]));
    let item = &shell.run(&["wait", "Mail", &keys[2], "--json"]).json()[0];
    assert_eq!(item["status"], "Completed", "{item}");
    shell.run(&["wait", "Mail", "2000-01-01"]).says(1, &["has no item 2000-01-01"]);
    shell.run(&["wait", "Mail", "x"]).says(2, &["\"x\" is no key"]);
}

#[test]
fn why_an_item_is_not_worked_on() {
    let shell = mixed();
    let keys: Vec<_> = (1..=4).map(|n| key(&shell, n)).collect();
    let text = shell.ok(&["why", "Mail", &keys[0], &keys[1], &keys[2], &keys[3]]);
    let expected = [
        ("Failed for ", "unless it is redriven"),
        ("due in ", "attempt 1 has failed"),
        ("Completed for ", "nothing is left to do"),
        ("due for ", "no worker holds an item"),
    ];
    for ((line, key), (begin, end)) in text.lines().zip(&keys).zip(expected) {
        assert!(
            line.starts_with(&format!("{key}\t"))
                && line.split('\t').nth(2).unwrap().starts_with(begin)
                && line.contains(end),
            "{text}"
        );
    }
    assert_eq!(text.lines().count(), 4);
    let told = &shell.run(&["why", "Mail", &keys[1], "--json"]).json()[0];
    assert_eq!((&told["key"], &told["why"]["reason"]), (&keys[1].as_str().into(), &"due_later".into()));

    assert!(shell.ok(&["show", "Mail", &keys[1]]).lines().nth(1).unwrap().starts_with("  due in "));
    let shown = &shell.run(&["show", "Mail", &keys[3], "--json"]).json()[0];
    assert_eq!(shown["why"]["reason"], "waiting");
    shell.run(&["why", "Mail", "2000-01-01"]).says(1, &["has no item 2000-01-01"]);
    shell.run(&["why", "Mail", "x"]).says(2, &["\"x\" is no key"]);
}

#[test]
fn settings_are_listed_and_set() {
    let shell = Shell::new();
    shell.fill(1);
    assert_eq!(
        shell.ok(&["settings", "list", "Mail"]),
        "mail.maxAttempts\t3\tdescription\nmail.leaseMs\t60000\tdescription\n"
    );
    assert_eq!(shell.ok(&["settings", "set", "Mail", "maxAttempts", "1"]), "mail.maxAttempts\t1\tAppSettings\n");
    shell.ok(&shell.script(&["--until-empty"], "exit 1"));
    assert_eq!(states(&shell), "Failed");
    let told = &shell.run(&["settings", "unset", "Mail", "maxAttempts", "--json"]).json()[0];
    assert_eq!((&told["param"], &told["value"]), (&"mail.maxAttempts".into(), &3.into()));
    assert_eq!(told["by"], "description");
    shell.run(&["settings", "set", "Mail", "maxAttempt", "1"]).says(2, &["there are maxAttempts and leaseMs"]);
    shell.run(&["settings", "set", "Mail", "leaseMs", "-1"]).says(2, &["from 10 to"]);
}

#[test]
fn items_are_steered_by_filter_with_a_dry_run_first() {
    let shell = mixed();
    for verb in ["retry", "cancel", "redrive", "purge"] {
        shell.run(&[verb, "Mail"]).says(
            2,
            &["no items are named", "--all"]
                .map(|word| if verb == "purge" && word == "no items are named" { "--older-than" } else { word }),
        );
    }
    let before = states(&shell);
    assert_eq!(before, "Failed Error Completed Pending");
    let text = shell.ok(&["cancel", "Mail", "--all", "--dry-run"]);
    assert!(text.contains(&key(&shell, 2)) && text.ends_with("would be cancelled: 2 (1 Error, 1 Pending)\n"), "{text}");
    let lines = shell.run(&["redrive", "Mail", "--all", "-n", "--json"]).json();
    assert_eq!((lines.len(), &lines[1]["redriven"], &lines[1]["dry_run"]), (2, &1.into(), &true.into()));
    assert_eq!(states(&shell), before, "nothing is changed");

    assert_eq!(shell.ok(&["retry", "Mail", "--all"]), "retried: 1\n");
    assert_eq!(states(&shell), "Failed Pending Completed Pending");
    let due = "SELECT COUNT(*) FROM readpast.mail WHERE \"N\" = 2 AND scheduled_for <= now() AT TIME ZONE 'UTC'";
    assert_eq!(shell.look(due), "1", "and is due now");

    assert_eq!(shell.ok(&["pause", "Mail", "--type", "Sms", "--all"]), "paused: 1\n");
    assert_eq!(shell.run(&["resume", "Mail", "--all", "--json"]).json()[0]["resumed"], 1);
    assert_eq!(shell.ok(&["redrive", "Mail", "--error", "boom"]), "redriven: 1\n");
    assert_eq!(
        shell.look("SELECT status || attempt_num || error FROM readpast.mail WHERE \"N\" = 1"),
        "Pending0boom 100% (exit status 65)"
    );
    assert_eq!(shell.ok(&["cancel", "Mail", "--key", &key(&shell, 4)]), "cancelled: 1\n");
    assert_eq!(states(&shell), "Pending Pending Completed Cancelled");

    // An action that cannot be done is reported, and the rest is done.
    let done = shell.run(&["cancel", "Mail", "--status", "Pending,Completed"]);
    assert_eq!((done.status, &*done.out), (Some(1), "cancelled: 2, left unchanged: 1\n"));
    let named = shell.run(&["cancel", "Mail", "--key", &key(&shell, 3)]);
    named.says(1, &[&key(&shell, 3), "Completed"]);
}

/// The caller named items, so each that stays as it is has a line, and the exit status says so.
#[test]
fn a_named_item_that_is_not_there_is_reported() {
    let shell = mixed();
    let (gone, waiting) = ("2000-01-01T00:00:00.0000000", key(&shell, 4));
    let done = shell.run(&["cancel", "Mail", "--key", gone, "--key", &waiting]);
    done.says(1, &[gone, "no such item"]);
    assert_eq!(done.out, "cancelled: 1, left unchanged: 1\n");
    let done = &shell.run(&["pause", "Mail", "--key", gone, "--json"]).json()[0];
    assert_eq!((&done["paused"], &done["refused"]), (&0.into(), &1.into()));
    assert_eq!(done["outcomes"][0]["answer"], "NOT_FOUND");
    // Other options leave some of the named ones out.
    let done =
        shell.run(&["redrive", "Mail", "--key", gone, "--key", &waiting, "--key", &key(&shell, 1), "--type", "Email"]);
    done.says(1, &[&format!("{waiting} was left unchanged: it is Cancelled, which is not meant"), "no such item"]);
    assert_eq!(done.out, "redriven: 1, left unchanged: 2\n");
    // Neither is unfinished or Failed work deleted by its key.
    let done = shell.run(&["purge", "Mail", "--key", gone, "--key", &key(&shell, 1), "--key", &waiting]);
    done.says(
        1,
        &[&format!("{} was left unchanged: it is Pending, which is not meant", key(&shell, 1)), "no such item"],
    );
    assert_eq!(done.out, "purged: 1, left unchanged: 2\n");
}

/// An answer to any caller has the same members.
#[test]
fn an_action_has_one_document() {
    let shell = mixed();
    let queue = readpast::Queue::open(&shell.db.config(&[]), "Mail").unwrap();
    let item = key(&shell, 4);
    let asked = queue.ask("pause", Some(&format!(r#"{{"items": [{{"key": "{item}"}}]}}"#))).unwrap();
    let mut asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
    shell.ok(&["resume", "Mail", "--key", &item]);
    let mut done = shell.run(&["pause", "Mail", "--key", &item, "--json"]).json().remove(0);
    for document in [&mut asked, &mut done] {
        assert!(document["outcomes"][0]["token"].take().is_string(), "{document}");
    }
    assert_eq!(done, asked);
    let many = shell.run(&["resume", "Mail", "--all", "--json"]).json().remove(0);
    assert_eq!((&many["resumed"], &many["refused"]), (&1.into(), &0.into()));
    assert!(many["operation"].is_i64(), "{many}");
}

#[test]
fn purging_is_bounded_and_takes_finished_items_only() {
    let shell = Shell::new();
    shell.fill(25);
    shell.ok(&shell.script(&["--until-empty", "--batch", "25"], "[ $READPAST_COL_N -ne 25 ] || exit 65"));
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    assert_eq!(shell.ok(&["purge", "Mail", "--older-than", "1h"]), "purged: 0\n");
    assert_eq!(shell.ok(&["purge", "Mail", "--all", "--dry-run"]), "would be purged: 24 (24 Completed)\n");
    assert_eq!(shell.ok(&["purge", "Mail", "--all"]), "purged: 24\n");
    assert_eq!(
        shell.look("SELECT string_agg(status::text, ' ' ORDER BY status::text) FROM readpast.mail"),
        "Failed Pending"
    );
    shell.run(&["purge", "Mail", "--status", "Pending"]).says(2, &["Pending", "finished"]);
    assert_eq!(shell.run(&["purge", "Mail", "--status", "Failed", "--json"]).json()[0]["purged"], 1);
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail"), "1");
}

/// Keys that end a line, command a terminal, or hide a part of themselves.
#[test]
fn keys_of_a_producer_forge_no_output() {
    let shell = Shell::new();
    shell.db.run("CREATE TABLE public.task (id varchar(60) PRIMARY KEY, state integer NOT NULL, note text)");
    shell.db.run(
        "INSERT INTO public.task VALUES (E'a\\x1b[2Jb\\tc\\nd\\u2028e\\u202ef\\u200bg', 0, E'x\\r\\ny\\tz\\u202ew')",
    );
    let task = r#"{"queue": "Task", "columns": [{"name": "note", "type": "text"}], "table": {"name": "task",
        "key": [{"name": "id", "type": "text(60)", "source": "producer"}],
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Cancelled": 3}}}}"#;
    shell.write("task.json", task);
    shell.ok(&["install", "task.json"]);
    let key = "a\u{1b}[2Jb\tc\nd\u{2028}e\u{202e}f\u{200b}g";
    let shown = "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}g";
    for (arguments, lines) in [
        (&["cancel", "Task", "--all", "-n"][..], 2),
        (&["show", "Task"], 1),
        (&["why", "Task", key], 1),
        (&["enqueue", "Task", &format!("id=2{key}")], 1),
    ] {
        let text = shell.ok(arguments);
        assert!(text.contains(shown) && text.lines().count() == lines, "{arguments:?}: {text:?}");
    }
    let full = shell.ok(&["show", "Task", key]);
    assert!(full.starts_with(&format!("item {shown}\n")), "{full:?}");
    // A value has lines of its own, below each other.
    assert!(full.contains("  x\n") && full.contains(" y\tz\u{fffd}w"), "{full:?}");
    let unknown = shell.run(&["show", "Task", &format!("none{key}")]);
    assert!(unknown.err.contains(&format!("none{shown}")) && unknown.err.lines().count() == 1, "{unknown:?}");
}
