//! The trace of who enqueues goes through the environment, into the item and out of it.

use crate::shell::Shell;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-00";

fn traced() -> Shell {
    let shell = Shell::empty();
    let spec = "queue = \"Mail\"\ntrace = true\ncolumns = [{ name = \"N\", type = \"integer\" }]\n";
    shell.write("mail.toml", spec);
    shell.ok(&["install", "mail.toml"]);
    shell
}

/// Enqueues within a trace.
fn enqueue(shell: &Shell, arguments: &[&str]) {
    let mut command = shell.command(&[&["enqueue", "Mail"], arguments].concat());
    let done = command.env("TRACEPARENT", PARENT).env("TRACESTATE", "rojo=1").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_environment_s_trace_goes_through_the_item() {
    let shell = traced();
    enqueue(&shell, &["N=1"]);
    enqueue(&shell, &["--item", &format!(r#"{{"columns": {{"N": 2}}, "traceparent": "{OTHER}"}}"#)]);
    let json = format!(r#"{{"columns": {{"N": 3}}, "tracestate": "congo=2", "traceparent": "{OTHER}"}}"#);
    enqueue(&shell, &["--item", &json]);
    shell.ok(&["enqueue", "Mail", "N=4"]);
    // The worker's own trace is not the item's.
    let script = "echo \"$READPAST_COL_N ${TRACEPARENT-none} ${TRACESTATE-none}\" >>seen";
    let mut command = shell.command(&shell.script(&["--until-empty"], script));
    let done = command.env("TRACEPARENT", PARENT).env("TRACESTATE", "own=1").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let seen = std::fs::read_to_string(shell.wait_for_file("seen")).unwrap();
    let mut seen: Vec<_> = seen.lines().collect();
    seen.sort_unstable();
    let expected = [
        format!("1 {PARENT} rojo=1"),
        // Nobody's state stands beside another's parent.
        format!("2 {OTHER} none"),
        format!("3 {OTHER} congo=2"),
        "4 none none".to_owned(),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_trace_of_a_producer_in_sql_is_read_or_left_out() {
    let shell = traced();
    for (n, trace) in [(1, format!("{PARENT} rojo=1")), (2, "nonsense".to_owned())] {
        shell.look(&format!(
            "SELECT COUNT(*) FROM readpast.add_mail_trx(\"N_\" => {n}, \"TraceContext_\" => '{trace}')"
        ));
    }
    shell.ok(&shell.script(&["--until-empty"], "echo \"$READPAST_COL_N ${TRACEPARENT-none}\" >>seen"));
    let seen = std::fs::read_to_string(shell.wait_for_file("seen")).unwrap();
    let mut seen: Vec<_> = seen.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, [format!("1 {PARENT}"), "2 none".to_owned()]);
}

#[test]
fn it_is_chosen_later() {
    let shell = Shell::empty();
    shell.write("mail.toml", "queue = \"Mail\"\ncolumns = [{ name = \"N\", type = \"integer\" }]\n");
    shell.ok(&["install", "mail.toml"]);
    enqueue(&shell, &["N=1"]);
    shell.write("mail.toml", "queue = \"Mail\"\ntrace = true\ncolumns = [{ name = \"N\", type = \"integer\" }]\n");
    shell.ok(&["install", "mail.toml"]);
    enqueue(&shell, &["N=2"]);
    shell.ok(&shell.script(&["--until-empty"], "echo \"$READPAST_COL_N ${TRACEPARENT-none}\" >>seen"));
    let seen = std::fs::read_to_string(shell.wait_for_file("seen")).unwrap();
    let mut seen: Vec<_> = seen.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["1 none".to_owned(), format!("2 {PARENT}")]);
}
