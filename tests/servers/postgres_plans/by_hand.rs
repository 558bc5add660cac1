//! A call by hand has its items checked by the server, with a plan for a million members of JSON where there are six.

use support::scratch::Scratch;

#[test]
fn checks_of_a_call_by_hand_write_no_files() {
    let scratch = Scratch::new();
    let mut session = scratch.session();
    // As on a connection of somebody who is not the library: nothing is checked before.
    session.execute("RESET readpast.checks_items", &[]).unwrap();
    session.execute("SET temp_file_limit = 0", &[]).unwrap();
    for item in [r#"[{"columns": {"Payload": "a"}}]"#, r#"[{"columns": {"PAYLOAD": "a"}, "delay_ms": 5}]"#] {
        let call = format!("SELECT answer FROM readpast.add_job_set_utx('{item}')");
        session.execute(&call, &[]).unwrap_or_else(|error| panic!("{call}: {error}"));
    }
    let refused =
        session.execute(r#"SELECT answer FROM readpast.add_job_set_utx('[{"columns": {"Subject": 1}}]')"#, &[]);
    assert!(refused.unwrap_err().to_string().contains("there is no \"columns.Subject\""));
}
