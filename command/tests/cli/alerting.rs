//! `serve --alerts`: each rule calls a web server, or a command, once when it begins to hold and once when it ends.

use crate::http::Served;
use crate::shell::{HOLDS, Shell, until};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::thread;

/// A web server that takes what is posted, and at first is out of order. It ends with the test program.
struct Hook {
    address: String,
    posts: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Hook {
    fn start(mut broken: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let posts: Arc<Mutex<Vec<_>>> = Arc::default();
        let taken = Arc::clone(&posts);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    match line.trim_end() {
                        "" => break,
                        line => lines.push(line.to_owned()),
                    }
                }
                let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
                let mut body = vec![0; length.parse().unwrap()];
                reader.read_exact(&mut body).unwrap();
                assert!(lines.contains(&"Content-Type: application/json".to_owned()), "{lines:?}");
                let answer = if broken > 0 { "500 Out of order" } else { "204 No Content" };
                if broken == 0 {
                    taken.lock().unwrap().push((lines[0].clone(), serde_json::from_slice(&body).unwrap()));
                }
                broken = broken.saturating_sub(1);
                // A client that waited too long has gone.
                let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\nConnection: close\r\n\r\n").as_bytes());
            }
        });
        Self { address, posts }
    }

    fn told(&self) -> Vec<String> {
        let short = |(_, post): &(String, Value)| {
            format!("{} {}", post["alert"].as_str().unwrap(), post["state"].as_str().unwrap())
        };
        self.posts.lock().unwrap().iter().map(short).collect()
    }
}

/// Waits for so many rounds of figures, and so of rules.
fn rounds(served: &Served, count: usize) {
    let at = || {
        let metrics = served.get("/metrics").body;
        metrics.lines().find(|line| line.starts_with("readpast_queue_look_timestamp_seconds{")).map(str::to_owned)
    };
    for _ in 0..count {
        let before = at();
        until("there are new figures", || at() != before);
    }
}

fn secret(shell: &Shell, name: &str, text: &str) {
    let path = shell.write(name, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_webhook_is_called_once_when_it_begins_and_once_when_it_ends() {
    let shell = Shell::new();
    let hook = Hook::start(2);
    secret(
        &shell,
        "alerts.toml",
        &format!(
            "webhook = 'http://{}/in?token=s3cret'\n[[rule]]\nname = 'backlog'\nqueue = 'Mail'\ndepth = 2\n\
             [[rule]]\nfailed_per_minute = 1\n[[rule]]\nname = 'other'\nqueue = 'Other'\ndepth = 0\n\
             [[rule]]\nname = 'lasting'\ndepth = 2\nfor = '1h'\n",
            hook.address
        ),
    );
    shell.fill(3);
    let served = Served::start(&shell, &["--alerts", "alerts.toml"]).ready();
    until("the alert is told", || hook.told() == ["backlog firing"]);
    let (line, post) = hook.posts.lock().unwrap()[0].clone();
    assert_eq!(line, "POST /in?token=s3cret HTTP/1.1");
    assert_eq!((&post["queue"], &post["value"], &post["limit"]), (&"Mail".into(), &3.into(), &2.into()));
    assert_eq!(post["text"], "Mail: 3 items are due, more than 2");
    rounds(&served, 3);
    assert_eq!(hook.told(), ["backlog firing"], "once");

    // Nothing is given back, which would be due once more.
    shell.ok(&shell.script(&["--until-empty", "--set", HOLDS], "exit 65"));
    let count = |what: &str| hook.told().iter().filter(|told| *told == what).count();
    until("it is over, and they have failed", || count("backlog cleared") > 0 && count("failed_per_minute firing") > 0);
    let mut told = hook.told();
    // On a machine that stalls the minute may be over already.
    told.retain(|told| told != "failed_per_minute cleared");
    told.sort();
    assert_eq!(told, ["backlog cleared", "backlog firing", "failed_per_minute firing"]);
    shell.fill(3);
    until("it holds again", || count("backlog firing") == 2);

    shell.look("WITH gone AS (DELETE FROM readpast.queue_spec) SELECT 1");
    until("a queue that is gone troubles nobody", || {
        hook.told().iter().filter(|told| told.ends_with("firing")).count() * 2 == hook.told().len()
    });
}

#[test]
fn a_command_gets_it_by_its_standard_input() {
    let shell = Shell::new();
    let script = "cat >> told; echo >> told; env >> environment";
    let rules = format!(
        "command = ['sh', '-c', '{script}']\n[[rule]]\nno_worker = '1s'\n[[rule]]\nname = 'late'\noldest = '1s'\n"
    );
    shell.write("alerts.toml", &rules);
    let told = || {
        let text = std::fs::read_to_string(shell.folder.join("told")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut told: Vec<_> = lines
            .map(|alert| format!("{} {}", alert["alert"].as_str().unwrap(), alert["state"].as_str().unwrap()))
            .collect();
        told.sort();
        told.join(", ")
    };
    let mut command = shell.command(&Served::arguments(&["--alerts", "alerts.toml"]));
    // The connection in the environment counts, and this as little as a token for an address that needs none.
    command.env("READPAST_CONNECTION_FILE", "nowhere").env("READPAST_COL_N", "1").env("TRACEPARENT", "x");
    let served = Served::run(&shell, command).ready();
    rounds(&served, 2);
    assert_eq!(told(), "", "nothing is due");
    shell.fill(1);
    until("both are told", || told() == "late firing, no_worker firing");
    shell.ok(&["cancel", "Mail", "--all"]);
    until("both are over", || told() == "late cleared, late firing, no_worker cleared, no_worker firing");
    let environment = std::fs::read_to_string(shell.folder.join("environment")).unwrap();
    for name in ["READPAST_CONNECTION", "READPAST_COL_", "TRACEPARENT"] {
        assert!(!environment.contains(name), "{environment}");
    }
}

#[test]
fn the_log_has_it_and_a_name_that_no_queue_has() {
    let shell = Shell::new();
    let rules = "log = true\n[[rule]]\nname = \"back\\u001blog\"\ndepth = 2\n[[rule]]\nname = 'late'\nqueue = 'Mial'\noldest = '1s'\n";
    shell.write("alerts.toml", rules);
    let served = Served::start(&shell, &["--alerts", "alerts.toml"]).ready();
    let said = |words: &str| Served::log(&shell).matches(words).count();
    until("the name is missed", || said("the alert late (rule 2) is for Mial") > 0);
    shell.fill(3);
    until("it is told", || said("alert back\u{fffd}log firing: Mail: 3 items are due, more than 2") > 0);
    shell.ok(&["cancel", "Mail", "--all"]);
    until("it is over", || said("alert back\u{fffd}log cleared: Mail: 0 items are due") > 0);
    rounds(&served, 2);
    assert_eq!((said(" firing: "), said(" cleared: "), said("is for Mial")), (1, 1, 1), "{}", Served::log(&shell));
}

#[test]
fn rules_that_would_tell_nobody_are_refused() {
    let shell = Shell::new();
    shell.write("alerts.toml", "[[rule]]\ndepth = 1\n");
    shell.run(&["serve", "--alerts", "alerts.toml"]).says(2, &["alerts.toml", "neither webhook, command nor log"]);
    let open = shell.write("alerts.toml", "webhook = 'http://127.0.0.1:9/s3cret'\n[[rule]]\ndepth = 1\n");
    std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o644)).unwrap();
    shell.run(&["serve", "--alerts", "alerts.toml"]).says(2, &["alerts.toml", "others may read"]);
    shell.run(&["serve", "--alerts", "nowhere.toml"]).says(2, &["nowhere.toml"]);
}
