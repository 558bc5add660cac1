//! Programs that end while a call of theirs was given up. They end as they would have. The tests start themselves again.

use super::connections::proxy_to;
use readpast::error::ErrorKind;
use readpast::queue::Queue;
use std::env;
use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::limit::{in_time, open_at_last, within};
use support::scratch::{Scratch, changed, config};

/// Set in the process that a test starts: the connection string it is to open.
const CONNECTION: &str = "READPAST_TEST_ENDING";

/// Starts this program again, with one test.
fn again(test: &str, connection: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CONNECTION, connection)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn while_a_call_waits_for_a_silent_server() {
    if let Ok(through) = env::var(CONNECTION) {
        let settings = [("query.timeout_ms", "2000"), ("retry.budget_ms", "0")];
        let queue = open_at_last(&config(&through, &settings));
        println!("\nopen");
        stdin().read_line(&mut String::new()).unwrap();
        // Given up, so that its thread is left behind.
        assert_eq!(queue.stats().unwrap_err().kind(), ErrorKind::ConnectionLost);
        assert_eq!(queue.connections().hanging, 1);
        return;
    }
    let scratch = Scratch::new();
    let (proxy, through) = proxy_to(&scratch);
    let mut child = again("ending::while_a_call_waits_for_a_silent_server", &through);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line == "open"), "the process ended early");
    proxy.hush();
    writeln!(child.stdin.take().unwrap()).unwrap();
    let status = in_time(|| {
        lines.for_each(drop);
        child.wait().unwrap()
    });
    assert!(status.success(), "{status}");
}

/// The server decides the cost of a password (the iterations of SCRAM), and psqlODBC's time-out does not end what its side
/// computes. OpenSSL, which computes it, is cleared away when the process ends.
#[test]
fn while_a_log_in_computes() {
    if let Ok(connection) = env::var(CONNECTION) {
        let settings = [("login.timeout_ms", "1000"), ("retry.budget_ms", "0")];
        let error = Queue::open(&config(&connection, &settings), "Job").unwrap_err();
        println!("\n{}", if error.message().contains("given up") { "left" } else { "refused" });
        return;
    }
    let mut scratch = Scratch::empty();
    let role = scratch.role();
    let connection = changed(&scratch.connection(), &[("UID", &role), ("PWD", "p")]);
    let ask_for = |iterations: u64| {
        let (salt, key) = ("A".repeat(22) + "==", "A".repeat(43) + "=");
        scratch.run(&format!("ALTER ROLE {role} PASSWORD 'SCRAM-SHA-256${iterations}:{salt}${key}:{key}'"));
    };
    let mut iterations = 1_000_000;
    ask_for(iterations);
    let begun = Instant::now();
    Queue::open(&config(&connection, &[("login.timeout_ms", "600000")]), "Job").unwrap_err();
    // More than the 6 s after which it is given up, and not much more.
    iterations = iterations * 7500 / u64::try_from(begun.elapsed().as_millis()).unwrap().max(1);
    loop {
        ask_for(iterations);
        let mut child = again("ending::while_a_log_in_computes", &connection);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (was_left, status) = within(Duration::from_secs(900), || {
            let was_left = lines.fold(false, |was_left, line| was_left | (line == "left"));
            (was_left, child.wait().unwrap())
        });
        assert!(status.success(), "{status}");
        if was_left {
            break;
        }
        // The machine has become faster.
        iterations = iterations * 5 / 4;
    }
}
