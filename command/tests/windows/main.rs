//! The command, and C's smallest worker, on Windows: programs made by MinGW, run by Wine, whose ODBC is this machine's and
//! reaches the same PostgreSQL. `.ci/test.sh windows` builds them and runs this; they are left out elsewhere.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use support::folder::folder;
use support::limit::{patience, until};
use support::scratch::Scratch;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const MAIL: &str = r#"{"queue": "Mail", "backoff": "none", "columns": [{"name": "Recipient", "type": "text(254)"}]}"#;

/// A database with the queue Mail, installed by the command itself, and a folder to work in.
struct Shell {
    db: Scratch,
    folder: PathBuf,
}

impl Shell {
    fn new() -> Self {
        let shell = Self { db: Scratch::empty(), folder: folder("windows") };
        fs::write(shell.folder.join("mail.json"), MAIL).unwrap();
        fs::write(shell.folder.join("readpast.toml"), patience()).unwrap();
        // Whatever the umask is: what others may write is not trusted.
        fs::set_permissions(shell.folder.join("readpast.toml"), Permissions::from_mode(0o644)).unwrap();
        assert_eq!(text(&shell.run(&["install", "mail.json"]).stdout), "installed Mail\n");
        shell
    }

    /// A program in Wine. It is that process itself: what ends the process ends the program.
    fn program(&self, path: &str) -> Command {
        self.program_of_windows(Path::new(ROOT).join(path).to_str().unwrap())
    }

    /// One that Windows finds itself.
    fn program_of_windows(&self, name: &str) -> Command {
        let mut command = Command::new(Path::new(ROOT).join(".ci/wine.sh"));
        command.arg(name).current_dir(&self.folder);
        command.env("READPAST_CONNECTION", self.db.connection());
        for name in ["READPAST_CONNECTION_FILE", "READPAST_SCHEMA"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(".local/windows/bin/readpast.exe");
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        ended(&mut self.command(arguments))
    }

    fn feed(&self, arguments: &[&str], input: &[u8]) -> Output {
        first_that_begins(|| {
            let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
            let written = child.stdin.take().unwrap().write_all(input);
            let done = child.wait_with_output().unwrap();
            assert!(written.is_ok() || never_began(&done), "{written:?}: {done:?}");
            done
        })
    }

    /// A worker that goes on, once it has got so far.
    fn start(&self, arguments: &[&str], so_far: impl Fn() -> bool) -> Child {
        for _ in 0..TRIES {
            let mut child = self.command(arguments).spawn().unwrap();
            let mut has_ended = false;
            until("the worker has got so far", || {
                has_ended = child.try_wait().unwrap().is_some();
                has_ended || so_far()
            });
            if !has_ended {
                return child;
            }
            let done = child.wait_with_output().unwrap();
            assert!(never_began(&done), "the worker has ended: {done:?}");
        }
        panic!("Wine never began {arguments:?}");
    }

    /// A worker whose command begins and waits for leave to end.
    fn start_waiting(&self, options: &[&str]) -> Child {
        let waits = format!("{ROOT}/.local/windows/bin/waits.exe");
        let work = [&["work", "Mail"], options, &["--", &waits]].concat();
        self.start(&work, || self.folder.join("begun").exists())
    }

    fn states(&self) -> String {
        self.db.look("SELECT string_agg(status || attempt_num, ' ' ORDER BY \"Recipient\") FROM readpast.mail")
    }

    /// Whether a command of this folder is there.
    fn has_command(&self) -> bool {
        let is_ours = |process: &Path| fs::read_link(process.join("cwd")).is_ok_and(|folder| folder == self.folder);
        let is_command = |process: &Path| {
            fs::read(process.join("cmdline")).is_ok_and(|line| text(&line).trim_end_matches('\0').contains("waits.exe"))
        };
        let mut processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes.any(|process| is_ours(&process) && is_command(&process) && !is_worker(&process))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Processes that a killed worker has left behind may end now.
        let _ = fs::write(self.folder.join("go"), "");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// How often a program is started that Wine ends before it begins.
const TRIES: u32 = 3;

/// Seldom Wine ends a program with 1 before it begins; then it is started again. None of these programs ends with 1 and no
/// word by itself: the command says so of refused items, and of what doctor found.
fn never_began(done: &Output) -> bool {
    done.status.code() == Some(1) && done.stdout.is_empty() && done.stderr.is_empty()
}

/// The exit status of a program that did begin.
fn first_that_begins(mut run: impl FnMut() -> Output) -> Output {
    (0..TRIES).map(|_| run()).find(|done| !never_began(done)).expect("Wine begins it")
}

fn ended(command: &mut Command) -> Output {
    first_that_begins(|| command.output().unwrap())
}

/// The worker has its command's name on its own line.
fn is_worker(process: &Path) -> bool {
    fs::read(process.join("cmdline")).is_ok_and(|line| text(&line).contains("readpast.exe"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

/// Wine makes Ctrl-C of it.
fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
}

#[track_caller]
fn says(done: &Output, status: i32, words: &[&str]) {
    assert_eq!(done.status.code(), Some(status), "{done:?}");
    for word in words {
        assert!(text(&done.stderr).contains(word), "{word:?} is missing in {:?}", text(&done.stderr));
    }
}

#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn items_go_in_and_are_worked_on() {
    let shell = Shell::new();
    // As Windows programs write text: with a byte order mark and carriage returns.
    let lines = "\u{feff}{\"Recipient\": \"a Zürich 日本 🚀\"}\r\n\r\n{\"Recipient\": \"b\"}\r\n";
    let done = shell.feed(&["enqueue", "Mail"], lines.as_bytes());
    assert_eq!(text(&done.stdout), "items enqueued: 2\n", "{done:?}");
    let shown = text(&shell.run(&["show", "Mail", "--json"]).stdout);
    assert!(shown.contains("a Zürich 日本 🚀"), "{shown}");

    // 65 is EX_DATAERR here too.
    let work = ["work", "Mail", "--jobs", "2", "--until-empty", "--", "cmd", "/c"];
    let script = "echo %READPAST_ATTEMPT% & if \"%READPAST_COL_RECIPIENT%\"==\"b\" exit 65";
    let done = shell.run(&[&work[..], &[script]].concat());
    says(&done, 0, &["1 completed", "1 failed"]);
    assert_eq!(shell.states(), "Completed1 Failed1");
    assert_eq!(shell.db.look("SELECT response FROM readpast.mail WHERE status = 'Completed'"), "1");

    // As cmd writes a file.
    shell.feed(&["enqueue", "Mail"], b"{\"Recipient\": \"c\"}\n");
    let script = "@echo printed\r\n@echo {\"action\": \"pause\"}> \"%READPAST_DIRECTIVE%\"\r\n";
    fs::write(shell.folder.join("directs.cmd"), script).unwrap();
    let done = shell.run(&["work", "Mail", "--until-empty", "--", "cmd", "/c", "directs.cmd"]);
    says(&done, 0, &["1 other"]);
    assert_eq!(shell.states(), "Completed1 Failed1 Paused1");

    let script = text(&shell.run(&["completions", "powershell"]).stdout);
    assert!(script.contains("Register-ArgumentCompleter"), "{script}");
}

#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn ctrl_c_drains() {
    let shell = Shell::new();
    shell.feed(&["enqueue", "Mail"], b"{\"Recipient\": \"a\"}\n{\"Recipient\": \"b\"}\n");
    let mut worker = shell.start_waiting(&["--batch", "2", "--set", "worker.hold_ms=3600000"]);
    interrupt(&worker);
    let mut said = BufReader::new(worker.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("claiming no more items"), "{line}");
    fs::write(shell.folder.join("go"), "").unwrap();
    said.read_to_string(&mut line).unwrap();
    assert!(line.contains("1 completed, 1 released"), "{line}");
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    assert_eq!(shell.states(), "Completed1 Pending0");
    assert_eq!(shell.db.look("SELECT response FROM readpast.mail WHERE status = 'Completed'"), "done");
}

#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn a_second_ctrl_c_ends_the_commands() {
    let shell = Shell::new();
    shell.feed(&["enqueue", "Mail"], b"{\"Recipient\": \"a\"}\n");
    let mut worker = shell.start_waiting(&["--kill-after", "1s"]);
    until("the worker has ended", || {
        let has_ended = worker.try_wait().unwrap().is_some();
        if !has_ended {
            interrupt(&worker);
        }
        has_ended
    });
    says(&worker.wait_with_output().unwrap(), 130, &["releasing their items"]);
    assert_eq!(shell.states(), "Pending0");
    until("the command is gone", || !shell.has_command());
}

/// The job object: what the command has started ends with it.
#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn a_command_that_takes_too_long_ends_with_what_it_has_started() {
    // On a busy machine it may take long before it has started something.
    for timeout in ["10s", "60s", "600s"] {
        let shell = Shell::new();
        shell.feed(&["enqueue", "Mail"], b"{\"Recipient\": \"a\"}\n");
        let waits = format!("{ROOT}/.local/windows/bin/waits.exe").replace('/', "\\");
        let options = ["--timeout", timeout, "--kill-after", "100ms", "--retry-delay", "1h"];
        let work = [&["work", "Mail", "--until-empty"][..], &options, &["--", "cmd", "/c", &waits]].concat();
        let done = shell.run(&work);
        says(&done, 0, &["1 retried"]);
        assert_eq!(shell.states(), "Error1");
        assert_eq!(shell.db.look("SELECT error FROM readpast.mail"), "the command took too long and was ended");
        if shell.folder.join("begun").exists() {
            until("what it has started is gone", || !shell.has_command());
            return;
        }
    }
    panic!("it never started something");
}

#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn another_worker_does_the_items_of_a_killed_one() {
    let shell = Shell::new();
    shell.feed(&["enqueue", "Mail"], b"{\"Recipient\": \"a\"}\n");
    let mut worker = shell.start_waiting(&["--lease", "500ms", "--set", "recover.interval_ms=3600000"]);
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!(shell.states(), "Processing1");
    let options = ["--set", "recover.interval_ms=20", "--set", "poll.interval_ms=20"];
    let work = [&["work", "Mail"], &options[..], &["--", "cmd", "/c", "echo again"]].concat();
    let again = "SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed' AND response = 'again'";
    let other = shell.start(&work, || shell.db.look(again) == "1");
    interrupt(&other);
    assert_eq!(other.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(shell.states(), "Completed2");
}

/// Wine makes an access list of a file's mode.
#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn a_connection_that_others_may_read_is_refused() {
    let shell = Shell::new();
    let file = shell.folder.join("connection");
    fs::write(&file, format!("\u{feff}{}\r\n", shell.db.connection())).unwrap();
    let stats = |more: &[&str]| {
        let mut command = shell.command(&[&["stats", "Mail", "--connection-file", "connection"], more].concat());
        ended(command.env_remove("READPAST_CONNECTION"))
    };
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    says(&stats(&[]), 2, &["others may read it", "icacls \"connection\" /inheritance:r"]);
    says(&stats(&["--allow-readable-secrets"]), 0, &[]);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    says(&stats(&[]), 0, &[]);
}

/// Wine knows this machine's user from others, whom it takes for the anonymous one.
#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn a_configuration_of_a_stranger_is_refused() {
    let shell = Shell::new();
    let file = shell.folder.join("readpast.toml");
    let set = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let stats = |more: &[&str]| shell.run(&[&["stats", "Mail"], more].concat());
    says(&stats(&[]), 0, &[]);
    set(&file, 0o666);
    says(&stats(&[]), 2, &["readpast.toml was found, and is refused", "written by others", "icacls", "--config"]);
    says(&stats(&["--config", "readpast.toml"]), 0, &[]);
    set(&file, 0o644);
    set(&shell.folder, 0o777);
    says(&stats(&[]), 2, &["its folder (.) may be written by others"]);
    set(&shell.folder, 0o700);
    // Only root may give a file away.
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_ok() {
        says(&stats(&[]), 2, &["belongs to another user (S-1-5-7)", "/setowner"]);
    }
}

/// The service manager is Wine's. What is written to the event log, Wine shows nobody.
#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn a_service_works_until_it_is_stopped() {
    let shell = Shell::new();
    let name = format!("mail{}", std::process::id());
    fs::write(shell.folder.join("connection"), shell.db.connection()).unwrap();
    fs::set_permissions(shell.folder.join("connection"), Permissions::from_mode(0o600)).unwrap();
    shell.feed(&["enqueue", "Mail"], b"{\"Recipient\": \"a\"}\n");

    let install = |work: &[&str]| shell.run(&[&["service", "install", &name, "--"], work].concat());
    says(&install(&["stats", "Mail"]), 2, &["a service runs work or serve"]);
    says(&install(&["work", "Mail", "--connection", "x", "--", "cmd"]), 2, &["--connection-file"]);
    says(&install(&["work", "Mail", "--jobbs", "1", "--", "cmd"]), 2, &["--jobbs"]);
    // Its paths are meant from here, wherever the manager begins it.
    let waits = format!("{ROOT}/.local/windows/bin/waits.exe");
    let work = ["work", "Mail", "--connection-file", "connection", "--set", "poll.interval_ms=20", "--", &waits];
    // Another program's source of events, called as the service is to be.
    let registry = |verb: &str, source: &str, more: &[&str]| {
        let key = format!(r"HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\{source}");
        let mut reg = shell.program_of_windows("reg");
        text(&ended(reg.args([verb, &key]).args(more)).stdout)
    };
    registry("add", &name, &["/v", "EventMessageFile", "/d", "theirs.dll", "/f"]);
    let ours = format!("readpast-{name}");
    says(&install(&work), 0, &[]);
    says(&install(&work), 2, &["already"]);
    assert!(registry("query", &ours, &["/v", "EventMessageFile"]).contains("EventLogMessages.dll"));

    let net = |verb: &str| ended(shell.program_of_windows("net").args([verb, &name]));
    says(&net("start"), 0, &[]);
    until("its command has begun", || shell.folder.join("begun").exists());
    // It ends in an orderly way: what is under way may end.
    says(&net("stop"), 0, &[]);
    assert_eq!(shell.states(), "Processing1");
    fs::write(shell.folder.join("go"), "").unwrap();
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed' AND response = 'done'", "1");
    says(&shell.run(&["service", "remove", &name]), 0, &[]);
    says(&shell.run(&["service", "remove", &name]), 2, &["there is no service"]);
    assert!(!registry("query", &ours, &["/v", "EventMessageFile"]).contains("EventLogMessages.dll"));
    assert!(
        registry("query", &name, &["/v", "EventMessageFile"]).contains("theirs.dll"),
        "it was overwritten or taken away"
    );
    registry("delete", &name, &["/f"]);
    says(&shell.run(&["service", "remove", "Spooler"]), 2, &[]);
    says(&shell.run(&["service", "run", &name, "--folder", ".", "--", "stats", "Mail"]), 4, &["sc.exe start"]);
}

#[test]
#[ignore = "in Wine: .ci/test.sh windows"]
fn a_worker_in_c_drains_a_queue() {
    let shell = Shell::new();
    fs::write(shell.folder.join("notification.json"), MAIL.replace("Mail", "Notification")).unwrap();
    shell.run(&["install", "notification.json"]);
    shell.feed(&["enqueue", "Notification"], "{\"Recipient\": \"Zoë\"}\n".as_bytes());
    let done = ended(&mut shell.program("bindings/c/build/windows/minimal_worker.exe"));
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(text(&done.stdout).contains("Zoë"), "{done:?}");
    assert_eq!(shell.db.look("SELECT status FROM readpast.notification"), "Completed");
}
