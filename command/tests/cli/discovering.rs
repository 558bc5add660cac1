//! `discover`.

use crate::shell::Shell;

#[test]
fn discover_shows_writes_and_says_by_its_status_whether_there_is_one() {
    let shell = Shell::empty();
    shell.db.run("CREATE TABLE addresses (id bigint PRIMARY KEY, city text)");
    let none = shell.run(&["discover"]);
    assert_eq!((none.status, none.out.as_str()), (Some(1), ""), "{none:?}");
    shell.db.run(
        "CREATE TABLE mail_queue (id bigserial PRIMARY KEY, status int NOT NULL DEFAULT 0, body text, locked_at timestamptz, \
         attempts int NOT NULL DEFAULT 0)",
    );
    let text = shell.ok(&["discover", "--write", "found"]);
    assert!(text.starts_with("public.mail_queue\n") && text.contains("-> adopt makes one"), "{text}");
    shell.ok(&["adopt", "found/public.mail_queue.toml", "--apply"]);
    shell.db.run("INSERT INTO mail_queue (body) VALUES ('x')");
    shell.ok(&["work", "MailQueue", "--until-empty", "--", "true"]);
    assert_eq!(shell.db.look("SELECT status FROM mail_queue"), "2");

    // A file that is there is somebody's decision.
    shell.write("found/public.mail_queue.toml", "mine");
    let again = shell.run(&["discover", "--write", "found", "--json"]);
    let document = &again.json()[0];
    assert_eq!(document["written"].as_array().unwrap().len(), 0, "{document}");
    assert_eq!(document["tables"][0]["name"], "mail_queue");
    assert!(document["tables"][0]["traps"].as_array().unwrap().iter().all(|trap| trap["remedy"] != ""), "{document}");
}
