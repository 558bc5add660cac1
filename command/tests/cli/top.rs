//! `top`: figures at once, and keys on a terminal.

use crate::shell::{Shell, is_running, signal, until};
use readpast::for_tests::Session;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use support::limit::{NEVER, within};

/// `readpast top` on a terminal of its own, with somebody who waits for what it shows before each key.
struct Watched {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
}

impl Watched {
    fn start(shell: &Shell, arguments: &str) -> Self {
        let command = shell.command(&[]);
        let line = format!("echo $$ > pid; exec '{}' top --every 1s {arguments}", env!("CARGO_BIN_EXE_readpast"));
        let mut terminal = Command::new("script");
        terminal
            .args(["-qec", &line, "/dev/null"])
            .current_dir(&shell.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
        let mut child = terminal.spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let shown = Arc::new(Mutex::new(String::new()));
        let reads = Arc::clone(&shown);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = out.read(&mut bytes) {
                if count == 0 {
                    break;
                }
                reads.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, shown }
    }

    /// Waits for a text on a screen that was drawn after the last key.
    fn shows(&self, text: &str) {
        until(text, || self.shown.lock().unwrap().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.shown.lock().unwrap().clear();
        self.keys.write_all(keys.as_bytes()).unwrap();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed() -> Shell {
    let shell = Shell::new();
    shell.fill(3);
    shell.ok(&shell.script(&["--until-empty"], "printf 'boom \\033[2J' >&2; exit 65"));
    shell
}

#[test]
fn without_a_terminal_the_figures_are_printed_once() {
    let shell = failed();
    let text = shell.ok(&["top"]);
    assert!(text.contains("Mail") && text.contains("Attention") && text.contains("Mail: 3 failed"), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a file: {text}");
    let found = shell.run(&["top", "--json"]).json();
    assert_eq!((&found[0]["queue"], &found[0]["status"]), (&"Mail".into(), &"Attention".into()));
    assert_eq!((&found[0]["figures"]["failed"], &found[0]["concerns"][0]["kind"]), (&3.into(), &"failed".into()));
    shell.run(&["top", "--every", "1ms"]).says(2, &["1s to 1h"]);
    shell.run(&["top", "--queue", "Nope", "--json"]).says(5, &["Nope"]);
}

#[test]
fn keys_lead_to_an_item_and_change_it_when_confirmed() {
    let shell = failed();
    let mut top = Watched::start(&shell, "");
    top.shows("Mail: 3 failed");
    top.press("\r");
    top.shows("TOP ERRORS");
    top.shows("boom \u{fffd}[2J");
    top.press("\r");
    top.shows("ATTEMPTS");
    top.press("r");
    top.shows("? y yes");
    top.press("n");
    top.shows("nothing was changed");
    assert_eq!(shell.count("Failed"), "3");
    top.press("\r");
    top.shows("unless it is redriven");
    top.press("r");
    top.shows("? y yes");
    top.press("y");
    top.shows("redriven: ");
    assert_eq!((shell.count("Failed"), shell.count("Pending")), ("2".to_owned(), "1".to_owned()));
    top.press("q");
    let status = top.child.wait().unwrap();
    assert!(status.success(), "{status:?}");
    until("the terminal is as it was", || top.shown.lock().unwrap().contains("\x1b[?1049l"));
}

/// A screen with a list, and a database that answers no more until the session ends.
fn waiting(shell: &Shell) -> (Watched, Session) {
    let mut top = Watched::start(shell, "");
    top.shows("Mail: 3 failed");
    let mut session = shell.db.session();
    session.execute("BEGIN TRANSACTION", &[]).unwrap();
    session.execute("LOCK TABLE readpast.mail IN ACCESS EXCLUSIVE MODE", &[]).unwrap();
    top.press("f");
    top.shows("waiting for the database");
    (top, session)
}

#[test]
fn keys_and_signals_work_while_the_database_does_not_answer() {
    let shell = failed();
    let (mut top, held) = waiting(&shell);
    top.press("w");
    top.shows("has not answered yet");
    top.press("\x1b");
    top.shows("Enter open");
    drop(held);
    top.press("j");
    until("another call is made", || {
        top.keys.write_all(b"f").unwrap();
        top.shown.lock().unwrap().contains("ATTEMPTS")
    });
    top.press("\x03");
    assert!(within(NEVER, || top.child.wait().unwrap()).success());

    let (mut top, _held) = waiting(&shell);
    signal("TERM", std::fs::read_to_string(shell.folder.join("pid")).unwrap().trim().parse().unwrap());
    top.shows("\x1b[?1049l");
    assert_eq!(within(NEVER, || top.child.wait().unwrap()).code(), Some(143));
}

#[test]
fn it_ends_with_its_terminal() {
    let shell = failed();
    let mut top = Watched::start(&shell, "");
    top.shows("Mail: 3 failed");
    let id = std::fs::read_to_string(shell.folder.join("pid")).unwrap();
    top.child.kill().unwrap();
    until("it has ended", || !is_running(&id));
}

#[test]
fn an_item_that_has_changed_since_it_was_shown_is_left_alone() {
    let shell = Shell::new();
    shell.fill(1);
    let fails = || shell.ok(&shell.script(&["--until-empty"], "exit 65"));
    fails();
    let mut top = Watched::start(&shell, "");
    top.shows("Mail: 1 failed");
    top.press("f");
    top.shows("ATTEMPTS");
    // Its state is the same again afterwards.
    shell.ok(&["redrive", "Mail", "--all"]);
    fails();
    top.press("r");
    top.shows("? y yes");
    top.press("y");
    top.shows("left unchanged");
    assert_eq!(shell.count("Failed"), "1");
}

/// A title that has a line's end, wide characters and a direction of its own in it takes no more than its line.
#[test]
fn texts_of_others_stay_on_their_lines() {
    let shell = Shell::new();
    shell.ok(&["enqueue", "Mail", "--item", r#"{"Recipient": "a", "N": 1, "Body": "one\ttwo\nthree"}"#]);
    shell.ok(&shell.script(&["--until-empty"], "printf 'bo\\342\\200\\256om\\033[2J\\tx' >&2; exit 65"));
    let mut top = Watched::start(&shell, "");
    top.shows("Mail: 1 failed");
    top.shows("\x1b[?7l");
    top.press("f");
    top.shows("bo\u{fffd}om\u{fffd}[2J\u{fffd}x");
    top.press("\r");
    top.shows("one    two");
    top.press("q");
    top.shows("\x1b[?7h");
}
