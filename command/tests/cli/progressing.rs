//! Progress of a command: `READPAST_PROGRESS`, `show`, and the pages; the time at which an item expires.

use crate::http::Served;
use crate::shell::Shell;
use std::thread;
use std::time::Duration;

const SPEC: &str = "queue = \"Mail\"\nprogress = true\nbackoff = \"none\"\nexpires = \"Until\"\n\
    columns = [{ name = \"N\", type = \"integer\" }, { name = \"Until\", type = \"timestamp\" }]\n";

/// The same in a table of somebody else's, with next to nothing.
const DESCRIBED: &str = "\n[table]\nname = \"mails\"\ncreate = true\nkey = [\"Id\"]\n[table.status]\ncolumn = \"State\"\n\
    values = { Pending = 0, Processing = 1, Completed = 2, Failed = 3 }\n";

fn shell() -> Shell {
    shell_of(SPEC)
}

fn shell_of(spec: &str) -> Shell {
    let shell = Shell::empty();
    shell.write("mail.toml", spec);
    shell.ok(&["install", "mail.toml"]);
    shell
}

#[test]
fn a_command_reports_how_far_it_is_while_it_runs() {
    for table in ["", DESCRIBED] {
        reports_are_shown(&shell_of(&format!("{SPEC}{table}")));
    }
}

fn reports_are_shown(shell: &Shell) {
    let key = shell.ok(&["enqueue", "Mail", "N=1"]).trim().to_owned();
    // It reports twice, and ends when it has been seen.
    let script = "echo '7 <begun>' > \"$READPAST_PROGRESS\"; sleep 0.2; echo '42% page 42 of 100' >> \"$READPAST_PROGRESS\"; \
        until [ -e seen ]; do sleep 0.1; done; exit 65";
    thread::scope(|scope| {
        let work = scope.spawn(|| shell.ok(&shell.script(&["--until-empty"], script)));
        let shown = loop {
            let shown = shell.ok(&["show", "Mail", &key]);
            if shown.contains("progress: 42 %") {
                break shown;
            }
            assert!(!work.is_finished(), "{shown}");
            thread::sleep(Duration::from_millis(100));
        };
        assert!(shown.contains("\n  progress: 42 %, page 42 of 100, reported 2"), "{shown}");
        let line = shell.ok(&["show", "Mail", "--state", "Processing"]);
        assert!(line.contains("\t42 %, page 42 of 100, reported 2"), "{line}");
        let json = &shell.run(&["show", "Mail", "--json"]).json()[0];
        assert_eq!((&json["progress"]["percent"], &json["progress"]["text"]), (&42.into(), &"page 42 of 100".into()));

        let served = Served::start(shell, &[]).ready();
        let page = served.get(&format!("/queue/Mail/item?key={key}")).body;
        for part in ["<progress max=\"100\" value=\"42\"", "42 %, page 42 of 100; reported"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("as the last attempt left it"), "{page}");
        let list = served.get("/queue/Mail/items?q=state:Processing").body;
        assert!(list.contains("42 %, page 42 of 100 ("), "{list}");
        shell.write("seen", "");
        work.join().unwrap();
        let page = served.get(&format!("/queue/Mail/item?key={key}")).body;
        assert!(page.contains("page 42 of 100, as the last attempt left it; reported"), "{page}");
        assert!(!served.get("/queue/Mail/items").body.contains("page 42 of 100"), "lists have what is in work");
    });
}

#[test]
fn a_queue_without_progress_gives_commands_no_file() {
    let shell = Shell::empty();
    shell.write("mail.toml", &SPEC.replace("progress = true\n", ""));
    shell.ok(&["install", "mail.toml"]);
    shell.ok(&["enqueue", "Mail", "N=1"]);
    shell.ok(&shell.script(&["--until-empty"], "test -z \"$READPAST_PROGRESS\""));
    assert_eq!(shell.count("Completed"), "1");
}

#[test]
fn why_says_when_an_item_expires() {
    let shell = shell();
    for (until, text) in [
        ("2199-01-01T00:00:00Z", "; expires at 2199-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "; expired at 2026-01-01T00:00:00Z: it is Cancelled at the next claim that meets it"),
    ] {
        let key = shell.ok(&["enqueue", "Mail", &format!("Until={until}")]).trim().to_owned();
        let why = shell.ok(&["why", "Mail", &key]);
        assert!(why.contains(text) && why.contains("due for"), "{why}");
        let served = Served::start(&shell, &[]).ready();
        let page = served.get(&format!("/queue/Mail/item?key={key}")).body;
        assert!(page.contains(text), "{page}");
    }
    let never = shell.ok(&["enqueue", "Mail", "N=1"]).trim().to_owned();
    assert!(!shell.ok(&["why", "Mail", &never]).contains("expire"));
    shell.ok(&shell.script(&["--until-empty"], "true"));
    assert_eq!((shell.count("Completed"), shell.count("Cancelled")), ("2".to_owned(), "1".to_owned()));
}
