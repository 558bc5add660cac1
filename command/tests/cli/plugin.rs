//! `check`, as a monitoring system calls it.

use crate::shell::Shell;

/// Two items Failed, three due.
fn mixed() -> Shell {
    let shell = Shell::new();
    shell.fill(2);
    shell.ok(&shell.script(&["--until-empty"], "exit 65"));
    shell.fill(3);
    shell
}

/// The one line and the exit status.
#[track_caller]
fn checked(shell: &Shell, arguments: &[&str]) -> (String, Option<i32>) {
    let done = shell.run(&[&["check", "Mail"], arguments].concat());
    assert_eq!((done.out.lines().count(), done.err.as_str()), (1, ""), "{done:?}");
    (done.out.trim_end().to_owned(), done.status)
}

#[test]
fn figures_are_held_against_levels() {
    let shell = mixed();
    for (arguments, status, words) in [
        (&[][..], 0, "READPAST OK - Mail: 2 failed, the oldest due for "),
        (&["--failed", "2", "--depth", "3", "--oldest", "1h"], 0, "READPAST OK - Mail: "),
        (&["--failed", "1,5"], 1, "READPAST WARNING - Mail: 2 failed (warning: above 1), "),
        (&["--failed", "1"], 2, "READPAST CRITICAL - Mail: 2 failed (critical: above 1), "),
        (&["--failed", "0,1", "--depth", "2"], 2, "READPAST CRITICAL - Mail: 2 failed (critical: above 1), "),
        (
            &["--failed", "1,5", "--depth", "2"],
            2,
            "READPAST CRITICAL - Mail: 3 due (critical: above 2), 2 failed (warning",
        ),
        (&["--expired", "0"], 0, "READPAST OK"),
    ] {
        let (line, found) = checked(&shell, arguments);
        assert_eq!(found, Some(status), "{arguments:?}: {line}");
        assert!(line.starts_with(words), "{arguments:?}: {line}");
    }
}

#[test]
fn an_old_item_is_noticed() {
    let shell = mixed();
    shell.look(
        "UPDATE readpast.mail SET scheduled_for = scheduled_for - interval '10 minutes' WHERE status = 'Pending' AND \"N\" = 2
         RETURNING 1",
    );
    assert_eq!(checked(&shell, &["--oldest", "5m,1h"]).1, Some(1));
    assert_eq!(checked(&shell, &["--oldest", "1m,5m"]).1, Some(2));
    assert_eq!(checked(&shell, &["--oldest", "2h,3h"]).1, Some(0));
}

#[test]
fn the_figures_stand_behind_the_bar() {
    let shell = mixed();
    let (line, _) = checked(&shell, &["--failed", "5,10", "--oldest", "90s"]);
    let figures: Vec<_> = line.split_once(" | ").unwrap().1.split(' ').collect();
    assert_eq!((figures[0], figures[2], figures[3]), ("failed=2;5;10;0", "depth=3;;;0", "lease_expired=0;;;0"));
    let oldest = figures[1].strip_prefix("oldest_due=").unwrap();
    let seconds = oldest.strip_suffix("s;;90.000;0").unwrap();
    assert!(seconds.parse::<f64>().is_ok(), "{oldest}");
    let told = &shell.run(&["check", "Mail", "--failed", "1", "--json"]).json()[0];
    assert_eq!((&told["service"], &told["figures"][0]["value"]), (&"CRITICAL".into(), &2.into()));
}

#[test]
fn a_state_that_cannot_be_found_out_is_unknown() {
    let shell = Shell::new();
    for arguments in [&["check", "Nope"][..], &["check", "Mail", "--schema", "nowhere"]] {
        let done = shell.run(arguments);
        assert_eq!(done.status, Some(3), "{done:?}");
        assert!(done.out.starts_with("READPAST UNKNOWN - ") && done.out.lines().count() == 1, "{done:?}");
    }
    let nobody = shell.bare(&["check", "Mail"]).output().unwrap();
    assert_eq!(nobody.status.code(), Some(3));
    for wrong in [&["check"][..], &["check", "Mail", "--failed", "10,5"], &["check", "Mail", "--oldest", "soon"]] {
        let done = shell.run(wrong);
        assert_eq!((done.status, done.out.lines().count()), (Some(3), 1), "{done:?}");
        assert!(done.out.starts_with("READPAST UNKNOWN - ") && done.err.contains("--help"), "{done:?}");
    }
    assert_eq!(shell.run(&["stats", "Mail", "--watch=0"]).status, Some(2), "the others' status is theirs");
}
