//! Runs the command in a folder and a database of the test's own.

use readpast::{QueueSpec, install};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use std::{env, fs, thread};
use support::folder::folder;
pub use support::limit::until;
use support::limit::{NEVER, patience, within};
use support::scratch::{Scratch, changed, server};

/// A queue with columns of several types.
pub const MAIL: &str = r#"{"queue": "Mail", "types": ["Email", "Sms"], "backoff": "none", "columns": [
    {"name": "Recipient", "type": "text(254)", "nullable": false}, {"name": "Body", "type": "text"},
    {"name": "N", "type": "integer"}, {"name": "Urgent", "type": "boolean"}, {"name": "Tags", "type": "json"}]}"#;

/// However busy the machine is, no item is given back because its handler is late.
pub const HOLDS: &str = "worker.hold_ms=3600000";

/// A database, a folder to work in, and the command.
pub struct Shell {
    pub db: Scratch,
    pub folder: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub struct Done {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Shell {
    /// With nothing installed. The command has the patience of the tests, as far as the test says nothing else: on a busy
    /// machine its own may not be enough.
    pub fn empty() -> Self {
        Self::of(Scratch::empty())
    }

    /// The same in a database that the test has made.
    pub fn of(db: Scratch) -> Self {
        let shell = Self { db, folder: folder("cli") };
        let home = shell.folder.join(".config/readpast");
        fs::create_dir_all(&home).unwrap();
        // Whatever the umask is: a folder that others may write is not trusted.
        fs::set_permissions(home, Permissions::from_mode(0o755)).unwrap();
        shell.write(".config/readpast/config.toml", &patience());
        shell
    }

    /// With the queue Mail.
    pub fn new() -> Self {
        let shell = Self::empty();
        install(&shell.db.config(&[]), Some(&QueueSpec::from_json(MAIL).unwrap())).unwrap();
        shell
    }

    /// The command, with the connection in its environment and nothing else that could lead it elsewhere.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(arguments);
        command.env("READPAST_CONNECTION", self.db.connection());
        command
    }

    /// The command without a connection.
    pub fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_readpast"));
        for name in [
            "READPAST_CONNECTION",
            "READPAST_CONNECTION_FILE",
            "READPAST_SCHEMA",
            "READPAST_PLACE",
            "XDG_CONFIG_HOME",
            "TRACEPARENT",
            "TRACESTATE",
        ] {
            command.env_remove(name);
        }
        command.args(arguments).env("HOME", &self.folder).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Another program, with the same connection, and with the command on its path.
    pub fn program(&self, name: &str) -> Command {
        let readpast = Path::new(env!("CARGO_BIN_EXE_readpast")).parent().unwrap();
        // Debian keeps those of PostgreSQL off the path.
        let folders = [Some(readpast.into()), env::var_os("READPAST_PG_BIN").map(PathBuf::from)];
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(folders.into_iter().flatten().chain(env::split_paths(&path))).unwrap();
        let mut command = Command::new(name);
        command.envs(self.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", path).env("TMPDIR", &self.folder).current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Done {
        Done::of(self.command(arguments).output().unwrap())
    }

    /// Runs it to its end on a terminal of its own; what it shows there is its output.
    pub fn on_terminal(&self, arguments: &[&str]) -> Done {
        self.answering(arguments, "")
    }

    /// The same, with somebody there who types this.
    pub fn answering(&self, arguments: &[&str], typed: &str) -> Done {
        let command = self.command(&[]);
        let words = [env!("CARGO_BIN_EXE_readpast")].into_iter().chain(arguments.iter().copied());
        let quoted: Vec<_> = words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let line = quoted.join(" ");
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &line, "/dev/null"]).current_dir(&self.folder).stdin(Stdio::piped());
        terminal.stdout(Stdio::piped()).stderr(Stdio::piped());
        terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
        let mut child = terminal.spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        Done::of(child.wait_with_output().unwrap())
    }

    /// Runs it to its end, with this on its standard input.
    pub fn feed(&self, arguments: &[&str], input: &str) -> Done {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writer = thread::spawn(move || {
            // A command that has refused its input does not read it to the end.
            let _ = stdin.write_all(input.as_bytes());
        });
        let done = Done::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        done
    }

    /// Runs it, and it must succeed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(done.status, Some(0), "{arguments:?}: {done:?}");
        done.out
    }

    /// Starts it.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running(Some(self.command(arguments).spawn().unwrap()))
    }

    /// Enqueues so many items, numbered from 1.
    pub fn fill(&self, count: usize) {
        let lines: String = (1..=count).map(|n| format!("{{\"Recipient\": \"r{n}\", \"N\": {n}}}\n")).collect();
        assert_eq!(self.feed(&["enqueue", "Mail"], &lines).status, Some(0));
    }

    /// Writes a file into the folder, for others to read, whatever the umask is.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        path
    }

    /// Writes a program into the folder. Another process writes it: one that a thread beside us starts just now would hold our
    /// own file open for writing, and what is open for writing cannot be run.
    pub fn write_program(&self, name: &str, text: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"", name, text]).current_dir(&self.folder);
        assert!(shell.status().unwrap().success(), "{name}");
    }

    /// A shell script that is run as a worker's command: its arguments.
    pub fn script<'a>(&self, options: &[&'a str], script: &'a str) -> Vec<&'a str> {
        [&["work", "Mail"], options, &["--", "sh", "-c", script]].concat()
    }

    /// The result of a query, as the owner of the database sees it.
    pub fn look(&self, query: &str) -> String {
        self.db.look(query)
    }

    /// How many items are in a state.
    pub fn count(&self, state: &str) -> String {
        self.look(&format!("SELECT COUNT(*) FROM readpast.mail WHERE status = '{state}'"))
    }

    /// Waits until a file of the folder is there.
    pub fn wait_for_file(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        until(&format!("the file {name}"), || path.exists());
        path
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Done {
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let done = Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        for secret in [password(), "s3cret".to_owned()] {
            assert!(!done.out.contains(&secret) && !done.err.contains(&secret), "a password came out");
        }
        done
    }

    /// It ended with this status, with all these words on standard error.
    #[track_caller]
    pub fn says(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, Some(status), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing in {:?}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{self:?}");
    }

    /// Standard output as JSON, a document a line.
    pub fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"))).collect()
    }
}

/// A command that is under way. Dropped, it is killed.
pub struct Running(Option<Child>);

impl Running {
    /// One that was started in another way.
    pub fn of(child: Child) -> Self {
        Self(Some(child))
    }

    /// Its standard output, to read while it runs.
    pub fn out(&mut self) -> std::process::ChildStdout {
        self.0.as_mut().unwrap().stdout.take().unwrap()
    }

    /// Its standard error, to read while it runs.
    pub fn err(&mut self) -> std::process::ChildStderr {
        self.0.as_mut().unwrap().stderr.take().unwrap()
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub fn signal(&self, name: &str) {
        signal(name, self.id());
    }

    /// Sends a signal again and again until it has ended: two at once may arrive as one.
    pub fn signal_until_it_ends(&mut self, name: &str) {
        let child = self.0.as_mut().unwrap();
        until("the command has ended", || {
            let ended = child.try_wait().unwrap().is_some();
            if !ended {
                signal(name, child.id());
                // It has something to do besides.
                thread::sleep(Duration::from_millis(100));
            }
            ended
        });
    }

    /// Waits for its end.
    pub fn end(mut self) -> Done {
        Done::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn signal(name: &str, id: u32) {
    let status = Command::new("kill").args(["-s", name, &id.to_string()]).stderr(Stdio::null()).status().unwrap();
    assert!(status.success(), "{id} is there to get {name}");
}

/// Sends two signals at once: to a process that stands still until both are there, however long we are kept from sending
/// the second. They differ, since of two that are the same it might get only one; which of them it heeds first, nobody
/// says.
pub fn signal_twice(signals: [Signal; 2], id: u32) {
    let process = Pid::from_raw(id.try_into().unwrap()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    until("the command stands still", || state_of(&id.to_string()) == Some('T'));
    signals.into_iter().for_each(|signal| kill_process(process, signal).unwrap());
    kill_process(process, Signal::CONT).unwrap();
}

/// The next of the lines that a command goes on to print which is like this; ends the test program if none ever comes.
pub fn next_line(lines: &mut impl Iterator<Item = String>, is_it: impl FnMut(&String) -> bool) -> String {
    within(NEVER, || lines.find(is_it)).expect("the command goes on")
}

/// Whether a process is there and not merely waiting to be reaped.
pub fn is_running(id: &str) -> bool {
    state_of(id).is_some_and(|state| state != 'Z')
}

/// The state of a process, as proc(5) has it: 'R' it runs, 'T' it stands still, 'Z' it waits to be reaped. None: it is gone.
fn state_of(id: &str) -> Option<char> {
    let stat = fs::read_to_string(Path::new("/proc").join(id.trim()).join("stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// The password of the server at hand.
fn password() -> String {
    let server = server();
    let pair = server.split(';').find(|pair| pair.to_ascii_lowercase().starts_with("pwd=")).unwrap();
    pair[4..].to_owned()
}

/// The connection string with other values for some keys.
pub fn with(shell: &Shell, changes: &[(&str, &str)]) -> String {
    changed(&shell.db.connection(), changes)
}

/// Two items Failed, one in Error, two Completed, one Pending.
pub fn mixed() -> Shell {
    let shell = Shell::new();
    shell.fill(5);
    let script = "case $READPAST_COL_N in 1|2) echo 'boom 100%' >&2; exit 65;; 3) echo bang >&2; exit 1;; esac";
    shell.ok(&shell.script(&["--until-empty", "--retry-delay", "1h"], script));
    shell.ok(&["enqueue", "Mail", "Recipient=r6", "N=6"]);
    shell
}

/// The key of the item with this number.
pub fn key(shell: &Shell, n: usize) -> String {
    shell.look(&format!(
        "SELECT to_char(enqueued_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '0' FROM readpast.mail WHERE \"N\" = {n}"
    ))
}
