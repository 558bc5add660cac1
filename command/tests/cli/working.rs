//! `work`: many items, many commands, many workers.

use crate::shell::{HOLDS, Shell, is_running, signal, until};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
fn competing_workers_lose_nothing_and_take_nothing_twice() {
    let shell = Shell::new();
    shell.fill(300);
    let script = "echo $READPAST_COL_N >> taken";
    let workers: Vec<_> = (0..3)
        .map(|n| {
            let batch = (n * 4 + 1).to_string();
            // Items that wait are given back at once, and claimed again with the same attempt.
            let options = ["--until-empty", "--jobs", "3", "--batch", &batch, "--set", "worker.hold_ms=1", "--json"];
            shell.start(&shell.script(&options, script))
        })
        .collect();
    let mut completed = 0;
    for worker in workers {
        let done = worker.end();
        assert_eq!(done.status, Some(0), "{done:?}");
        let lines = done.json();
        let (sum, settled) = lines.split_last().unwrap();
        assert_eq!(sum["event"], "stopped");
        assert_eq!(sum["completed"].as_u64(), Some(settled.len() as u64));
        completed += settled.len();
    }
    assert_eq!((completed, shell.count("Completed")), (300, "300".to_owned()));
    let taken = fs::read_to_string(shell.folder.join("taken")).unwrap();
    assert_eq!(taken.lines().count(), 300, "none twice");
    assert_eq!(taken.lines().collect::<BTreeSet<_>>().len(), 300, "none left out");
}

#[test]
fn until_empty_works_off_what_is_tried_again() {
    let shell = Shell::new();
    shell.fill(5);
    let done = shell.run(&shell.script(&["--until-empty", "--jobs", "2"], "exit $((READPAST_ATTEMPT < 3))"));
    assert_eq!(done.status, Some(0));
    assert!(done.err.contains("5 completed, 10 retried"), "{}", done.err);
    assert_eq!(shell.count("Completed"), "5");
}

#[test]
fn processes_that_a_command_leaves_behind_hold_no_worker_up() {
    let shell = Shell::new();
    shell.fill(1);
    // It inherits standard output, which therefore stays open.
    shell.ok(&shell.script(&["--until-empty"], "sleep 3600 & echo $! > left; echo done"));
    assert_eq!(shell.look("SELECT response FROM readpast.mail"), "done");
    let left = fs::read_to_string(shell.folder.join("left")).unwrap();
    until("what was left is gone", || !is_running(&left));
}

/// A process that detached itself is left alone, and costs the worker nothing: no thread and no descriptor, however many there are.
#[test]
fn daemons_that_commands_leave_behind_cost_nothing() {
    const ITEMS: usize = 200;
    let shell = Shell::new();
    shell.fill(ITEMS);
    // Once it says who it is, it has detached itself.
    let script = "setsid sh -c 'echo $$ >> left; exec sleep 3600' & until grep -qx $! left; do sleep 0.01; done; \
                  ls /proc/$PPID/task | wc -l >> threads; echo done";
    let command = shell.command(&[]);
    let worker = shell.script(&["--until-empty", "--jobs", "4"], script);
    let limited = Command::new("sh")
        .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_readpast")])
        .args(worker)
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(&shell.folder)
        .output()
        .unwrap();
    let left = fs::read_to_string(shell.folder.join("left")).unwrap();
    let running = left.lines().filter(|id| is_running(id)).count();
    left.lines().for_each(|id| signal("KILL", id.parse().unwrap()));
    assert!(limited.status.success(), "{limited:?}");
    assert_eq!((shell.count("Completed"), running), (ITEMS.to_string(), ITEMS));
    let threads = fs::read_to_string(shell.folder.join("threads")).unwrap();
    let most = threads.lines().map(|count| count.trim().parse::<usize>().unwrap()).max();
    assert!(most < Some(40), "{most:?} threads");
}

#[test]
fn an_item_that_was_taken_away_ends_its_command() {
    let shell = Shell::new();
    shell.fill(1);
    let script = "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 3600";
    // The renewal shows it: a third of the lease. In the rest of it, at the end, all must be notified.
    let worker = shell.start(&shell.script(&["--until-empty", "--lease", "15s", "--json"], script));
    let pid = fs::read_to_string(shell.wait_for_file("pid")).unwrap();
    assert_eq!(shell.ok(&["cancel", "Mail", "--status", "processing"]), "cancelled: 1\n");
    let done = worker.end();
    assert_eq!(done.status, Some(1), "{done:?}");
    let lines = done.json();
    assert_eq!((&lines[0]["event"], &lines[1]["lost"]), (&"lost".into(), &1.into()), "{done:?}");
    assert!(!is_running(&pid));
    assert_eq!(shell.count("Cancelled"), "1");
}

#[test]
fn leases_are_renewed_while_commands_run() {
    let shell = Shell::new();
    shell.fill(2);
    // On a busy machine a lease may run out before it is renewed: nothing is to be recovered then, nor given back.
    let options = ["--lease", "10s", "--until-empty", "--batch", "2"];
    let kept = ["--set", "recover.interval_ms=3600000", "--set", HOLDS];
    let script = "while [ ! -e go ] && ls -d \"$PWD\" > /dev/null 2>&1; do sleep 0.05; done";
    let worker = shell.start(&shell.script(&[&options[..], &kept].concat(), script));
    // Both are in hand for longer than a lease, the one that has not begun as well.
    let renewed = "SELECT COUNT(*) FROM readpast.mail WHERE lease_until > started_at + interval '20 s'";
    shell.db.wait_for(renewed, "2");
    shell.write("go", "");
    assert_eq!(worker.end().status, Some(0));
    assert_eq!(shell.look("SELECT string_agg(status || attempt_num, ' ') FROM readpast.mail"), "Completed1 Completed1");
}

#[test]
fn connections_that_break_lose_nothing() {
    let shell = Shell::new();
    shell.fill(150);
    let script = "echo $READPAST_COL_N >> taken";
    // A claim whose answer is lost comes back when its lease has run out: soon, here, and yet not so soon that a machine that
    // stalls lets those run out that are held.
    let soon = ["--lease", "15s", "--set", "recover.interval_ms=100", "--set", "poll.interval_ms=100"];
    let options = [&["--jobs", "3", "--batch", "4", "--set", "retry.longest_ms=50"], &soon[..]].concat();
    let worker = shell.start(&shell.script(&options, script));
    for done in ["> 10", "> 50", "> 100"] {
        shell.db.wait_for(&format!("SELECT (COUNT(*) {done})::int FROM readpast.mail WHERE status = 'Completed'"), "1");
        shell.db.terminate_connections();
    }
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed'", "150");
    worker.signal("TERM");
    let done = worker.end();
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.err.contains("150 completed"), "{}", done.err);
}

#[test]
fn a_worker_takes_the_kinds_that_it_names() {
    let shell = Shell::new();
    shell.write("parts.toml", "queue = \"Parts\"\ntypes = [\"Big\", \"Small\"]\nclaim_by = [\"type\", \"step\"]\n");
    shell.ok(&["install", "parts.toml"]);
    for (kind, step, payload) in [("Big", "", "b1"), ("Small", "", "s1"), ("Big", "cut", "b2"), ("Big", "glued", "b3")]
    {
        let payload = format!("Payload={payload}");
        let step: &[&str] = if step.is_empty() { &[] } else { &["--step", step] };
        let args = ["enqueue", "Parts", "--type", kind, &payload];
        shell.ok(&args.iter().chain(step).copied().collect::<Vec<_>>());
    }
    let work = |kinds: &[&str]| {
        let command = ["--until-empty", "--", "sh", "-c", "echo $READPAST_COL_PAYLOAD >> taken"];
        let args: Vec<_> = ["work", "Parts"].iter().chain(kinds).chain(&command).copied().collect();
        shell.run(&args)
    };
    assert_eq!(work(&["--type", "Big", "--step", "", "--step", "cut"]).status, Some(0));
    assert_eq!(fs::read_to_string(shell.folder.join("taken")).unwrap(), "b1\nb2\n");
    let refused = work(&["--type", "Big"]);
    assert!(refused.status != Some(0) && refused.err.contains("claim_by = [\"type\"]"), "{}", refused.err);
    assert_eq!(work(&[]).status, Some(0));
    assert_eq!(fs::read_to_string(shell.folder.join("taken")).unwrap(), "b1\nb2\ns1\nb3\n");
}

#[test]
fn figures_are_in_a_file_for_who_gathers_them() {
    let shell = Shell::new();
    shell.fill(5);
    let refused = shell.run(&shell.script(&["--until-empty", "--metrics-file", "nowhere/work.prom"], "true"));
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.err.contains("nowhere/work.prom cannot be written"), "{refused:?}");
    assert_eq!(shell.count("Pending"), "5", "it is told before there is work");

    // Held, since what is given back is claimed again, and counted.
    let arguments = ["--until-empty", "--retry-delay", "1h", "--metrics-file", "work.prom", "--set", HOLDS];
    shell.ok(&shell.script(&arguments, "[ $READPAST_COL_N != 3 ] && cp work.prom seen.prom"));
    let read = |name: &str| fs::read_to_string(shell.folder.join(name)).unwrap();
    let seen = read("seen.prom");
    assert!(seen.starts_with("# HELP readpast_build_info ") && seen.ends_with('\n'), "whole: {seen}");
    let text = read("work.prom");
    for (name, number) in [
        ("readpast_claimed_items_total{schema=\"readpast\",queue=\"Mail\"}", 5),
        ("readpast_settled_items_total{schema=\"readpast\",queue=\"Mail\",outcome=\"Completed\"}", 4),
        ("readpast_settled_items_total{schema=\"readpast\",queue=\"Mail\",outcome=\"Error\"}", 1),
        ("readpast_workers{schema=\"readpast\",queue=\"Mail\"}", 0),
    ] {
        assert!(text.contains(&format!("{name} {number}\n")), "{name} {number}: {text}");
    }
    let names: Vec<_> = fs::read_dir(&shell.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_str().unwrap().ends_with(".new")), "{names:?}");
}

/// In a folder where others may put files.
#[test]
fn figures_are_written_through_no_link() {
    let shell = Shell::new();
    let victim = shell.write("victim", "precious");
    for name in ["work.prom", "work.prom.new"] {
        symlink(&victim, shell.folder.join(name)).unwrap();
    }
    shell.ok(&shell.script(&["--until-empty", "--metrics-file", "work.prom"], "true"));
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    let figures = shell.folder.join("work.prom");
    assert!(!figures.is_symlink() && fs::read_to_string(figures).unwrap().starts_with("# HELP "));
}

/// Output of handlers is shown once, and does nothing to a terminal.
#[test]
fn output_of_commands_is_shown_once_and_tamed_on_a_terminal() {
    let shell = Shell::new();
    let script = r"printf 'no\033[2J such \033]0;title\007user' >&2; echo said; exit 65";
    let work = |more: &[&'static str]| {
        shell.fill(1);
        shell.script(&[&["--until-empty"], more].concat(), script)
    };
    // A file gets it as it is, and on a line of its own.
    let done = shell.run(&work(&[]));
    assert!(done.err.contains("no\x1b[2J such \x1b]0;title\x07user\n"), "{done:?}");
    assert!(done.err.contains(" Failed at attempt 1: exit status 65\n"), "{done:?}");
    assert_eq!((done.err.matches("such").count(), done.err.contains("said")), (1, false), "{done:?}");
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail WHERE error LIKE '%such%user (exit status 65)'"), "1");

    let shown = shell.on_terminal(&work(&[])).out;
    assert!(!shown.contains('\x1b') && shown.contains("no\u{fffd}[2J such \u{fffd}]0;title\u{fffd}user"), "{shown:?}");
    // Asked for more, it shows what is the response besides.
    let done = shell.run(&work(&["--verbose"]));
    assert!(done.err.contains("said\n") && done.out.is_empty(), "{done:?}");
    let done = shell.run(&work(&["--quiet"]));
    assert!(!done.err.contains("such"), "{done:?}");
}

/// The line of a log; the item has all of it.
#[test]
fn a_long_error_takes_a_short_line() {
    let shell = Shell::new();
    shell.fill(1);
    let says = r#"printf '{"action": "fail", "error": "%s end"}' "$(head -c 9000 /dev/zero | tr '\0' x)" > "$READPAST_DIRECTIVE""#;
    let done = shell.run(&shell.script(&["--until-empty"], says));
    assert!(done.err.contains("xxx end\n") && done.err.lines().all(|line| line.len() < 700), "{done:?}");
    assert_eq!(shell.look("SELECT length(error) FROM readpast.mail"), "9004");
}

/// Its own looks are taken away, and its threads would look once an hour: only the other process can have woken it.
#[test]
fn a_worker_that_sleeps_is_woken_by_an_enqueue_of_another_process() {
    let shell = Shell::new();
    let hourly = ["--set", "poll.interval_ms=3600000", "--set", "recover.interval_ms=3600000"];
    let worker = shell.start(&shell.script(&hourly, "exit 0"));
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.queue_sleeper", "1");
    shell.db.run("ALTER FUNCTION readpast.queue_due RENAME TO queue_due_gone");
    shell.fill(1);
    shell.db.wait_for("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Completed'", "1");
    worker.signal("TERM");
    worker.end().says(0, &["1 completed"]);
}
