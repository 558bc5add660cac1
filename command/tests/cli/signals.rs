//! `work` when it is asked to end, or does not get to answer.

use crate::shell::{HOLDS, Shell, is_running, next_line, signal_twice, until};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

/// A command that says that it has begun and goes on until it may end, or its folder is gone.
const WAITS: &str = "echo $$ > begun.tmp; mv begun.tmp begun; while [ -d . ] && [ ! -e go ] && ls -d \"$PWD\" > /dev/null 2>&1; do sleep 0.05; done; echo done";

#[test]
fn a_first_signal_drains() {
    for signal in ["TERM", "INT", "HUP"] {
        let shell = Shell::new();
        shell.fill(3);
        let mut worker = shell.start(&shell.script(&["--batch", "2", "--set", HOLDS], WAITS));
        let mut said = BufReader::new(worker.err()).lines().map(Result::unwrap);
        shell.wait_for_file("begun");
        worker.signal(signal);
        next_line(&mut said, |line| line.contains("claiming no more items"));
        // The other of the batch goes back while the command still works.
        shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Processing'", "1");
        shell.write("go", "");
        next_line(&mut said, |line| line.contains("1 completed, 1 released"));
        assert_eq!(worker.end().status, Some(0));
        assert_eq!(
            shell.look("SELECT string_agg(status || attempt_num, ' ' ORDER BY \"N\") FROM readpast.mail"),
            "Completed1 Pending0 Pending0"
        );
    }
}

/// As `timeout` does it: once to the process, once to its group.
#[test]
fn a_signal_that_comes_twice_at_once_is_one() {
    let shell = Shell::new();
    shell.fill(1);
    let worker = shell.start(&shell.script(&[], WAITS));
    shell.wait_for_file("begun");
    signal_twice([Signal::TERM, Signal::INT], worker.id());
    // Long enough for a command that is to end to be ended.
    thread::sleep(Duration::from_millis(400));
    shell.write("go", "");
    worker.end().says(0, &["claiming no more items", "1 completed"]);
}

#[test]
fn a_second_signal_ends_the_commands_and_gives_their_items_back() {
    let shell = Shell::new();
    shell.fill(3);
    let mut worker = shell.start(&shell.script(&["--batch", "2", "--json", "--set", HOLDS], WAITS));
    let pid = fs::read_to_string(shell.wait_for_file("begun")).unwrap();
    worker.signal_until_it_ends("TERM");
    let done = worker.end();
    assert_eq!(done.status, Some(143), "{done:?}");
    assert_eq!(done.json().last().unwrap()["released"], 2, "{done:?}");
    assert!(!is_running(&pid));
    assert_eq!(
        shell.look("SELECT string_agg(status || attempt_num, ' ') FROM readpast.mail"),
        "Pending0 Pending0 Pending0"
    );
}

#[test]
fn an_idle_worker_ends_at_once() {
    let shell = Shell::new();
    let worker = shell.start(&shell.script(&["--jobs", "3"], "exit 0"));
    shell.fill(1);
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed'", "1");
    worker.signal("TERM");
    worker.end().says(0, &["1 completed"]);
}

#[test]
fn another_worker_does_the_items_of_a_killed_one() {
    let shell = Shell::new();
    shell.fill(1);
    let worker = shell.start(&shell.script(&["--lease", "300ms"], WAITS));
    let orphan = fs::read_to_string(shell.wait_for_file("begun")).unwrap();
    worker.signal("KILL");
    assert_eq!(worker.end().status, None);
    assert_eq!(shell.count("Processing"), "1");

    let options = ["--set", "recover.interval_ms=20", "--set", "poll.interval_ms=20"];
    let other = shell.start(&shell.script(&options, "echo again"));
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed' AND response = 'again'", "1");
    other.signal("TERM");
    assert_eq!(other.end().status, Some(0));
    assert_eq!(shell.look("SELECT attempt_num FROM readpast.mail"), "2");
    // Nobody is there to end it; it ends by itself, and says so to nobody.
    shell.write("go", "");
    until("the orphan is gone", || !is_running(&orphan));
    assert_eq!(shell.look("SELECT response FROM readpast.mail"), "again");
}

/// Once a worker is dead. No lease runs out by the clock, and so none of a worker that lives.
fn let_leases_run_out(shell: &Shell) {
    shell.db.run("UPDATE readpast.mail SET lease_until = started_at WHERE status = 'Processing'");
}

/// However many commands run at once, what has not begun spends no attempts.
#[test]
fn a_command_that_kills_its_worker_fails_no_item_but_its_own() {
    let shell = Shell::new();
    shell.fill(12);
    let soon = ["--until-empty", "--set", "recover.interval_ms=20", "--set", "poll.interval_ms=20"];
    // Nothing is claimed but for who waits: a claim that is on its way at the kill would bring the dead worker an item.
    let soon = [&soon[..], &["--set", "worker.ahead=0", "--set", HOLDS, "--lease", "1h"]].concat();
    let script = "[ $READPAST_COL_N = 5 ] || exit 0; echo > begun; \
                  until [ -e kill ]; do ls -d \"$PWD\" > /dev/null 2>&1 || exit 0; sleep 0.05; done; kill -9 $PPID";
    let begun = shell.folder.join("begun");
    // Runs a worker; its command kills it once so many items are in that state.
    let work = |options: &[&str], (state, count): (&str, &str)| {
        let worker = shell.start(&shell.script(&[&soon[..], options].concat(), script));
        let id = worker.id().to_string();
        until("the command has begun, or there is none", || begun.exists() || !is_running(&id));
        if begun.exists() {
            shell.db.wait_for(&format!("SELECT COUNT(*) FROM readpast.mail WHERE status = '{state}'"), count);
            // The others have time to be claimed.
            thread::sleep(Duration::from_millis(200));
            fs::remove_file(&begun).unwrap();
            shell.write("kill", "");
        }
        let status = worker.end().status;
        let _ = fs::remove_file(shell.folder.join("kill"));
        status
    };
    // Those before it are settled, and the others in hand.
    assert_eq!(work(&["--batch", "12"], ("Completed", "4")), None, "nobody knew");
    let mut deaths = 0;
    while shell.look("SELECT COUNT(*) FROM readpast.mail WHERE status NOT IN ('Completed', 'Failed')") != "0" {
        let_leases_run_out(&shell);
        deaths += i32::from(work(&["--jobs", "4"], ("Processing", "1")).is_none());
    }
    assert_eq!(shell.look("SELECT string_agg(\"N\"::text, ' ') FROM readpast.mail WHERE status = 'Failed'"), "5");
    let others = "SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed' AND attempt_num = 1";
    assert_eq!((deaths, shell.look(others).as_str()), (3, "11"));
}

#[test]
fn recover_gives_back_what_a_killed_worker_held() {
    let shell = Shell::new();
    shell.fill(2);
    let worker = shell.start(&shell.script(&["--batch", "2", "--set", HOLDS, "--lease", "1h"], WAITS));
    shell.wait_for_file("begun");
    assert_eq!(shell.ok(&["recover", "Mail"]), "items recovered: 0\n");
    worker.signal("KILL");
    worker.end();
    let_leases_run_out(&shell);
    assert_eq!(shell.run(&["recover", "Mail", "--json"]).json()[0]["recovered"], 2);
    assert_eq!(shell.look("SELECT string_agg(status::text, ' ') FROM readpast.mail"), "Error Error");
    shell.write("go", "");
}
