//! `work`: what becomes of an item by what its command does.

use crate::shell::Shell;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Runs `script` for one item with nothing tried again, and says what the item is like then.
fn outcome(options: &[&str], script: &str) -> (String, String, String) {
    let shell = Shell::new();
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    let options = [&["--until-empty", "--retry-delay", "1h"], options].concat();
    shell.ok(&shell.script(&options, script));
    let look =
        |column: &str| shell.look(&format!("SELECT COALESCE(NULLIF({column}::text, ''), '-') FROM readpast.mail"));
    (look("status"), look("response"), look("error"))
}

fn texts(state: &str, response: &str, error: &str) -> (String, String, String) {
    (state.to_owned(), response.to_owned(), error.to_owned())
}

#[test]
fn the_exit_status_decides() {
    for (options, script, expected) in [
        (&[][..], "echo ' done '; echo noise >&2", texts("Completed", " done", "-")),
        (&[], "exit 0", texts("Completed", "-", "-")),
        (&[], "echo out; echo no such user >&2; exit 65", texts("Failed", "-", "no such user (exit status 65)")),
        (&[], "echo busy >&2; exit 75", texts("Error", "-", "busy (exit status 75)")),
        (&[], "exit 65", texts("Failed", "-", "exit status 65")),
        (&["--fail-on", "3,4"], "exit 4", texts("Failed", "-", "exit status 4")),
        (&["--fail-on", "3,4"], "exit 65", texts("Error", "-", "exit status 65")),
        (&[], "echo x >&2; kill -9 $$", texts("Error", "-", "x (the command was ended by signal 9)")),
        (&["--error-limit", "4"], "echo 12345678 >&2; exit 1", texts("Error", "-", "678 (exit status 1)")),
        (&["--response-limit", "4"], "echo 12345678", texts("Completed", "1234", "-")),
        (&[], r"printf 'a\000b\377'", texts("Completed", "a\u{fffd}b\u{fffd}", "-")),
    ] {
        assert_eq!(outcome(options, script), expected, "{script}");
    }
}

/// The two ways in which a command can say more: the file, and the dangerous one.
const WAYS: [&[&str]; 2] = [&[], &["--directives-on-stdout"]];

/// A script that says `directive` in the way that the options choose.
fn says(way: &[&str], directive: &str) -> String {
    if way.is_empty() {
        format!("cat > \"$READPAST_DIRECTIVE\" <<'END'\n{directive}\nEND\n")
    } else {
        format!("cat <<'END'\n{{\"readpast\": {directive}}}\nEND\n")
    }
}

#[test]
fn a_directive_says_more() {
    for way in WAYS {
        let said =
            |directive: &str, status: i32| outcome(way, &format!("echo first\n{}exit {status}", says(way, directive)));
        for (directive, status, expected) in [
            (r#"{"action": "pause"}"#, 0, texts("Paused", "-", "-")),
            (r#"{"response": {"id": 1}}"#, 0, texts("Completed", r#"{"id":1}"#, "-")),
            ("{}", 0, texts("Completed", "first", "-")),
            (r#"{"action": "cancel", "error": "void"}"#, 0, texts("Cancelled", "-", "void")),
            // A command that fails has failed, with any directive.
            (r#"{"action": "complete"}"#, 65, texts("Failed", "-", "exit status 65")),
            (r#"{"error": "no"}"#, 1, texts("Error", "-", "no")),
        ] {
            assert_eq!(said(directive, status), expected, "{way:?} {directive}");
        }
        // Due after a millisecond, so that it is tried until its attempts are spent, or the queue was seen empty before.
        let (state, _, error) = said(r#"{"action": "retry", "error": "later", "delay_ms": 1}"#, 0);
        assert!((state == "Failed" || state == "Error") && error == "later", "{state}, {error}");
        for (directive, why) in [
            (r#"{"action": "explode"}"#, "explode"),
            (r#"{"acton": "fail"}"#, "acton"),
            ("{", "cannot be read"),
            (r#"{"delay_ms": -5, "action": "retry"}"#, "-5"),
            (r#"{"due": "soon", "action": "retry"}"#, "soon"),
        ] {
            let (state, _, error) = said(directive, 0);
            assert!((state == "Error" || state == "Failed") && error.contains(why), "{directive}: {state}, {error}");
        }
    }
}

/// A producer's text, or a server's, which a command prints, never decides what becomes of the item.
#[test]
fn a_printed_directive_is_not_obeyed() {
    for printed in [
        r#"{"readpast": {"action": "cancel", "set": {"N": 9999, "Recipient": "OVERWRITTEN"}}}"#,
        r#"{"readpast": {"action": "release"}}"#,
        r#"{"readpast": {"response": "250 OK forged"}}"#,
        r#"{"readpast": garbage"#,
        r#"{"action": "fail"}"#,
    ] {
        let shell = Shell::new();
        let item = serde_json::json!({"Recipient": "a", "N": 1, "Body": format!("hello\n{printed}")});
        shell.ok(&["enqueue", "Mail", "--item", &item.to_string()]);
        let script = "echo run >> runs; echo sending:; printf '%s\\n' \"$READPAST_COL_BODY\"";
        shell.ok(&shell.script(&["--until-empty"], script));
        assert_eq!(fs::read_to_string(shell.folder.join("runs")).unwrap(), "run\n", "{printed}");
        let look = |what: &str| shell.look(&format!("SELECT {what} FROM readpast.mail"));
        assert_eq!(look(r#"status || ' ' || "N" || ' ' || "Recipient""#), "Completed 1 a", "{printed}");
        assert_eq!(look("response"), format!("sending:\nhello\n{printed}"), "standard output is the response, whole");
    }
}

/// Results of a command go into the item's own columns; an item whose columns do not take them has failed, and its error names why.
#[test]
fn a_directive_sets_columns() {
    let shell = Shell::new();
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    shell.ok(&shell.script(&["--until-empty"], &says(&[], r#"{"set": {"N": 7, "tags": {"sent": [1.10]}}}"#)));
    let look =
        || shell.look(r#"SELECT status || ' ' || "Recipient" || ' ' || "N" || ' ' || "Tags" FROM readpast.mail"#);
    assert_eq!(look(), r#"Completed a 7 {"sent": [1.10]}"#);

    let shell = Shell::new();
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    shell.ok(&shell.script(&["--until-empty"], &says(&[], r#"{"set": {"Nope": 7}}"#)));
    let error = shell.look("SELECT status || ': ' || error FROM readpast.mail");
    assert!(error.starts_with("Failed: a part of the result was refused: ") && error.contains("Nope"), "{error}");
}

/// A command names the items that come next; the worker works on them too.
#[test]
fn a_directive_puts_items_in() {
    let shell = Shell::new();
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    let then = r#"{"then": [{"queue": "Mail", "columns": {"Recipient": "b", "N": 7}, "delay_ms": 3600000}, {"columns": {"Recipient": "c"}}]}"#;
    let script = format!("case $(cat) in *'\"a\"'*) {} ;; esac", says(&[], then));
    shell.ok(&shell.script(&["--until-empty"], &script));
    let look = r#"SELECT string_agg("Recipient" || ' ' || status, ', ' ORDER BY "Recipient") FROM readpast.mail"#;
    assert_eq!(shell.look(look), "a Completed, b Pending, c Completed");
}

/// Exit status 0 with a directive that cannot be read is no consent.
#[test]
fn a_directive_that_cannot_be_read_is_no_consent() {
    const UNREAD: &str = "the command's directive cannot be read: ";
    let printed = WAYS[1];
    for (way, script, why) in [
        // A disk that is full leaves an empty file.
        (WAYS[0], r#"echo done; : > "$READPAST_DIRECTIVE""#, "empty"),
        (WAYS[0], r#"printf '{"error":"caf\351"}' > "$READPAST_DIRECTIVE""#, "not UTF-8 (byte 0xe9"),
        (WAYS[0], r#"head -c 600000 /dev/zero | tr '\0' ' ' > "$READPAST_DIRECTIVE""#, "longer than"),
        (WAYS[0], r#"mkdir "$READPAST_DIRECTIVE""#, "plain file"),
        (WAYS[0], r#"mkfifo "$READPAST_DIRECTIVE""#, "plain file"),
        (WAYS[0], r#"ln -s /etc/hostname "$READPAST_DIRECTIVE""#, "cannot be read"),
        (printed, r#"printf '{"readpast": {"action":"fail","error":"caf\351"}}'"#, "not UTF-8 (byte 0xe9"),
        (
            printed,
            r#"printf '{"readpast": {"action":"fail","error":"'; head -c 600000 /dev/zero | tr '\0' x; echo '"}}'"#,
            "longer than",
        ),
        (
            printed,
            r#"printf '{\n  "readpast": {\n    "action":"fail",\n    "error":"'; head -c 600000 /dev/zero | tr '\0' x; printf '"\n  }\n}\n'"#,
            "longer than",
        ),
        (printed, r#"printf "{'readpast': {'action': 'fail'}}""#, "not JSON"),
    ] {
        let (state, response, error) = outcome(way, script);
        assert_eq!((state.as_str(), response.as_str()), ("Error", "-"), "{script}");
        assert!(error.starts_with(UNREAD) && error.contains(why), "{error}");
    }
    let failed = texts("Failed", "-", "no");
    for script in [
        r#"printf '\357\273\277{"readpast": {"action":"fail","error":"no"}}'"#,
        r#"printf '{"readpast": {"action":"fail","error":"no"}}\000'"#,
        r#"printf '{\n  "readpast": {\n    "action":"fail",\n    "error":"no"\n  }\n}\n'"#,
    ] {
        assert_eq!(outcome(printed, script), failed, "{script}");
    }
    let long = r#"exec > "$READPAST_DIRECTIVE"; printf '{"action":"fail","error":"'; head -c 70000 /dev/zero | tr '\0' x; echo '"}'"#;
    let (state, _, error) = outcome(&[], long);
    assert_eq!((state.as_str(), error.len()), ("Failed", 16_000), "the file is read, and its error cut");
    // A command that fails has failed, also with one that cannot be read.
    let (state, _, error) = outcome(&[], &format!("{}exit 65", says(&[], r#"{"action":"explode"}"#)));
    assert_eq!(state, "Failed");
    assert!(error.starts_with("exit status 65; ") && error.contains("explode"), "{error}");
}

/// The folder is the worker's alone, and goes with it.
#[test]
fn directives_lie_in_a_folder_of_the_worker() {
    let shell = Shell::new();
    shell.fill(2);
    let place = shell.folder.join("run");
    fs::create_dir(&place).unwrap();
    let script = r#"stat -c %a "$(dirname "$READPAST_DIRECTIVE")" >> seen; echo "$READPAST_DIRECTIVE" >> names
        ls "$(dirname "$READPAST_DIRECTIVE")" >> seen; echo '{}' > "$READPAST_DIRECTIVE""#;
    let run = |mode: u32| {
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = shell.command(&shell.script(&["--until-empty"], script));
        // Left by a worker whose command this one is.
        command.env("XDG_RUNTIME_DIR", &place).env("READPAST_DIRECTIVE", "elsewhere").status().unwrap();
        fs::read_to_string(shell.folder.join("names")).unwrap()
    };
    let names = run(0o700);
    let names: Vec<_> = names.lines().collect();
    assert!(
        names.len() == 2 && names[0] != names[1] && names.iter().all(|name| name.starts_with(place.to_str().unwrap()))
    );
    assert_eq!(
        fs::read_to_string(shell.folder.join("seen")).unwrap(),
        "700\n700\n",
        "nobody else's, and nothing is left"
    );
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    // Where others could put a folder of theirs in the place of ours, it is not made.
    shell.fill(1);
    assert!(!run(0o777).lines().nth(2).unwrap().starts_with(place.to_str().unwrap()));
}

/// A release spends no attempt: without a pause the item would be handed out again and again, thousands of times.
#[test]
fn an_item_that_is_always_released_is_not_handed_out_at_once() {
    let shell = Shell::new();
    shell.fill(1);
    // A second run would end the item, and so the worker.
    let script = format!("[ ! -e runs ] || exit 65; echo run >> runs\n{}", says(&[], r#"{"action": "release"}"#));
    shell.ok(&shell.script(&["--until-empty", "--set", "poll.interval_ms=3600000"], &script));
    assert_eq!(fs::read_to_string(shell.folder.join("runs")).unwrap(), "run\n");
    assert_eq!(shell.look("SELECT status || attempt_num FROM readpast.mail"), "Pending0");
}

#[test]
fn a_step_is_kept_for_the_next_attempt() {
    let shell = Shell::new();
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    let script = r#"
        if [ "$READPAST_STEP" = half ]; then echo "resumed at $READPAST_STEP, attempt $READPAST_ATTEMPT"; exit 0; fi
        echo '{"step": "half"}' > "$READPAST_DIRECTIVE"; exit 75"#;
    shell.ok(&shell.script(&["--until-empty"], script));
    assert_eq!(shell.look("SELECT response FROM readpast.mail"), "resumed at half, attempt 2");
}

#[test]
fn the_item_is_on_standard_input_and_in_the_environment() {
    let shell = Shell::new();
    let body = "x".repeat(300_000);
    let item = format!(
        r#"{{"columns": {{"Recipient": "ä\"\n", "N": 5, "Tags": {{"a": 1}}, "Body": "{body}"}}, "type": "Sms", "step": "s"}}"#
    );
    shell.write("item", &item);
    let key = shell.ok(&["enqueue", "Mail", "-f", "item", "--keys"]);
    // Standard input is read late, so that more than a pipe holds must wait for it.
    let script = "env | grep ^READPAST_ > env; printf '%s' \"$READPAST_COL_RECIPIENT\" > recipient; \
                  echo noise; cat > item.json";
    let arguments = shell.script(&["--until-empty", "--set", "worker=tester"], script);
    let mut command = shell.command(&arguments);
    // Left by a worker whose command this one is.
    command.env("READPAST_COL_URGENT", "true");
    assert!(command.status().unwrap().success());

    let read = |name: &str| fs::read_to_string(shell.folder.join(name)).unwrap();
    let item: serde_json::Value = serde_json::from_str(&read("item.json")).unwrap();
    assert_eq!(item["Body"], body.as_str());
    assert_eq!((item["N"].as_i64(), item["Recipient"].as_str()), (Some(5), Some("ä\"\n")));
    assert_eq!(read("recipient"), "ä\"\n");
    let environment = read("env");
    for line in [
        "READPAST_QUEUE=Mail",
        &format!("READPAST_KEY={}", key.trim()),
        "READPAST_ATTEMPT=1",
        "READPAST_TYPE=Sms",
        "READPAST_STEP=s",
        "READPAST_WORKER=tester",
        "READPAST_COL_N=5",
        "READPAST_TOKEN=",
    ] {
        assert!(environment.contains(line), "{line} is missing in {environment}");
    }
    assert!(!environment.contains("READPAST_COL_BODY"), "too long for the environment");
    assert!(!environment.contains("READPAST_COL_URGENT"), "it is NULL");
    assert!(!environment.contains("READPAST_CONNECTION"), "a secret");
}

/// One that prints its environment would keep the password with the item.
#[test]
fn commands_get_the_connection_on_request_only() {
    for (options, expected) in [(&[][..], "0"), (&["--pass-connection"], "2")] {
        let shell = Shell::new();
        shell.ok(&["enqueue", "Mail", "Recipient=a"]);
        let options = [&["--until-empty"], options].concat();
        let secrets = "env | grep -cE '^(READPAST_CONNECTION|READPAST_SERVE_TOKEN)' || true";
        let mut command = shell.command(&shell.script(&options, secrets));
        command.env("READPAST_CONNECTION_FILE", "connection").env("READPAST_SERVE_TOKEN", "0123456789abcdef");
        assert!(command.status().unwrap().success());
        assert_eq!(shell.look("SELECT response FROM readpast.mail"), expected);
    }
}

/// State and error of an item whose command prints its word and goes on. The time counts from before it is started: on a
/// busy machine it may be over before the word is printed.
fn too_long(options: &[&str], script: &str, word: &str) -> (String, String) {
    for timeout in ["300ms", "3s", "30s", "300s"] {
        let (state, _, error) = outcome(&[&["--timeout", timeout], options].concat(), script);
        if error.starts_with(word) {
            return (state, error);
        }
    }
    panic!("it never said {word:?}");
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let (state, error) = too_long(&[], "echo at it >&2; exec sleep 600", "at it");
    assert_eq!((state.as_str(), error.as_str()), ("Error", "at it (the command took too long and was ended)"));
    // One that will not hear is killed.
    let deaf = "trap '' TERM; echo deaf >&2; while :; do sleep 1; done";
    let (state, error) = too_long(&["--kill-after", "200ms"], deaf, "deaf");
    assert_eq!(state, "Error", "{error}");
}

#[test]
fn a_command_that_cannot_be_run_costs_no_attempt() {
    let shell = Shell::new();
    shell.write("plain", "not a program");
    shell.write_program("broken", "#!/no/such/interpreter\n");
    let mistakes = ["no-such-command", "./no-such", "./plain", "/"];
    for command in mistakes {
        // Also when there is nothing to run it for: it would be found out at night.
        shell.run(&["work", "Mail", "--until-empty", "--", command]).says(2, &[command, "can be run"]);
    }
    shell.ok(&["enqueue", "Mail", "Recipient=a"]);
    for command in mistakes.into_iter().chain(["./broken"]) {
        shell.run(&["work", "Mail", "--until-empty", "--", command]).says(2, &[command]);
        assert_eq!(shell.look("SELECT status || ' ' || attempt_num FROM readpast.mail"), "Pending 0");
    }
    shell.run(&["work", "Mail", "--until-empty"]).says(2, &["COMMAND"]);
}

/// Nobody else could have them until their leases run out, and the worker would wait for that.
#[test]
fn items_taken_beside_one_whose_command_cannot_be_run_are_given_back() {
    let shell = Shell::new();
    shell.fill(5);
    shell.write_program("once", "#!/bin/sh\nrm once\n");
    shell.run(&["work", "Mail", "--until-empty", "--batch", "5", "--", "./once"]).says(2, &["./once", "released"]);
    let states = "SELECT string_agg(status || attempt_num, ' ' ORDER BY status) FROM readpast.mail";
    assert_eq!(shell.look(states), "Completed1 Pending0 Pending0 Pending0 Pending0");
}

/// Or the item would end every worker that takes it.
#[test]
fn an_error_that_is_longer_than_its_column_is_cut() {
    let shell = Shell::empty();
    shell.db.run(
        "CREATE TABLE simple_queue (id uuid PRIMARY KEY, created_at timestamptz NOT NULL, processing_started_at timestamptz, \
         errors varchar(60), payload text)",
    );
    shell.db.run(
        "CREATE INDEX ix_simple_queue_pop ON simple_queue (processing_started_at, created_at) \
         WHERE processing_started_at IS NULL",
    );
    shell.write("queue.toml", include_str!("../../../sql/specs/simple_queue_postgres.toml"));
    shell.ok(&["adopt", "queue.toml", "--apply"]);
    for long in ["a", "b"] {
        shell.ok(&["enqueue", "SimpleQueuePg", &format!("payload={long}")]);
    }
    let script = "printf 'x%.0s' $(seq 300) >&2; exit 65";
    let done = shell.run(&["work", "SimpleQueuePg", "--until-empty", "--", "sh", "-c", script]);
    done.says(0, &["2 failed"]);
    assert!(!done.err.contains("refused"), "cut by the server, and not by the worker once it was refused: {done:?}");
    let sixty = "x".repeat(60);
    assert_eq!(shell.look("SELECT string_agg(errors, ' ') FROM simple_queue"), format!("{sixty} {sixty}"));
}
