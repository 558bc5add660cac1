//! The first connections of a process. Each test starts itself again, as a process that has nothing behind it.

use readpast::config::Config;
use readpast::error::{Error, ErrorKind};
use readpast::queue::Queue;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{env, thread};
use support::folder::folder;
use support::scripted::server::Server;

const THREADS: usize = 8;

/// Set in the processes that tests start: the connection string they are to open.
pub const CONNECTION: &str = "READPAST_TEST_STARTING";

/// This test again, in a process of its own, run by `shell`: it runs its arguments.
pub fn again(test: &str, connection: &str, shell: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", shell, "sh"]).arg(env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(CONNECTION, connection);
    command
}

/// A process that is ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens the queue; an error that is tried again is so for longer than any test may take.
fn open(connection: &str) -> Result<Queue, Error> {
    let mut config = Config::new();
    config.set("connection", connection).unwrap();
    config.set("retry.budget_ms", "3600000").unwrap();
    Queue::open(&config, "Job")
}

/// unixODBC's first look into odbcinst.ini is not safe between threads (see `src/session/login.rs`). Here the file is a pipe
/// that nobody writes to: a thread that looks into it waits there for ever, and all others must wait for it instead.
#[test]
#[cfg(target_os = "linux")]
fn one_thread_makes_the_first_look_up() {
    if let Ok(connection) = env::var(CONNECTION) {
        let all_there = Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    all_there.wait();
                    println!("\nopening");
                    open(&connection).map(drop)
                });
            }
        });
        return;
    }
    let folder = folder("starting");
    let pipe = folder.join("odbcinst.ini");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Open for both, or opening it would be what its readers wait in, where they cannot be seen.
    let _writer = File::options().read(true).write(true).open(&pipe).unwrap();

    let mut command =
        again("starting::one_thread_makes_the_first_look_up", "Driver={Nobody's};Server=x;", r#"exec "$@""#);
    let mut child = Started(command.env("ODBCSYSINI", &folder).stdout(Stdio::piped()).spawn().unwrap());
    wait_for_lines(child.0.stdout.take().unwrap(), "opening", THREADS);
    let deadline = Instant::now() + Duration::from_secs(600);
    while !(all_asleep(child.0.id()) && readers(child.0.id(), &pipe) > 0) {
        assert!(Instant::now() < deadline, "nobody looks into odbcinst.ini");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(readers(child.0.id(), &pipe), 1, "threads that look into odbcinst.ini at once");
    drop(child);
    fs::remove_dir_all(folder).unwrap();
}

fn wait_for_lines(output: ChildStdout, wanted: &str, count: usize) {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    assert_eq!(lines.filter(|line| line == wanted).take(count).count(), count, "the process ended early");
}

/// Whether each thread of a process waits for something.
fn all_asleep(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let states = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default());
    states.into_iter().all(|stat| stat.rsplit(") ").next().is_some_and(|after| after.starts_with('S')))
}

/// How often a process has this file open.
fn readers(process: u32, file: &Path) -> usize {
    let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    open.filter(|each| each.as_ref().is_ok_and(|each| fs::read_link(each.path()).is_ok_and(|to| to == file))).count()
}

/// Takes all descriptors that the process may have.
fn take_all() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[track_caller]
fn assert_says_descriptors(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
    assert!(error.message().contains("no file descriptor left") && error.message().contains("ulimit -n"), "{error}");
    assert!(error.is_retryable() && !error.kind().is_transient(), "only the caller can do something about it");
}

/// Before the first connection, when no driver can be found, and later, when no socket can be opened. Either is reported at
/// once: it would be tried again for an hour.
#[test]
fn without_file_descriptors_no_driver_or_server_is_blamed() {
    if let Ok(connection) = env::var(CONNECTION) {
        let taken = take_all();
        assert_says_descriptors(&open(&connection).unwrap_err());
        drop(taken);
        open(&connection).unwrap();
        let _taken = take_all();
        assert_says_descriptors(&open(&connection).unwrap_err());
        return;
    }
    let server = Server::start();
    let test = "starting::without_file_descriptors_no_driver_or_server_is_blamed";
    let limited = again(test, &server.peer.connection_string(), r#"ulimit -n 64; exec "$@""#).output().unwrap();
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stderr));
    assert_eq!(server.peer.logins().len(), 1);
}

/// A driver that is really missing is reported at once as well.
#[test]
fn a_driver_that_is_not_there() {
    let error = open("Driver={Nobody's};Server=x;").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DriverMissing, "{error}");
    assert!(error.message().contains("odbcinst -q -d"), "{error}");
}
