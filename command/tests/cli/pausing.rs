//! `readpast pause` and `resume` of a queue and its types, and the page of pauses.

use crate::http::Served;
use crate::shell::Shell;

fn filled() -> Shell {
    let shell = Shell::new();
    shell.fill(2);
    shell.ok(&["enqueue", "Mail", "Recipient=r3", "N=3", "--type", "Sms"]);
    shell
}

/// How many items a worker finds.
fn worked(shell: &Shell) -> u32 {
    let completed = || shell.count("Completed").parse::<u32>().unwrap();
    let before = completed();
    shell.ok(&shell.script(&["--until-empty"], "true"));
    completed() - before
}

#[test]
fn a_queue_and_a_type_are_paused_and_resumed() {
    let shell = filled();
    let told = shell.ok(&["pause", "Mail", "--type", "Sms", "--set", "operator=ann"]);
    assert!(told.starts_with("the type Sms is paused since ") && told.ends_with(" by ann\n"), "{told}");
    assert_eq!(worked(&shell), 2);
    let told = shell.ok(&["pause", "Mail", "--for", "2h", "--reason", "the bank\nis down", "--set", "operator=ann"]);
    let lines: Vec<_> = told.lines().collect();
    assert!(lines[0].starts_with("the queue is paused since ") && lines[0].contains(" by ann, until "), "{told}");
    assert_eq!(lines.len(), 2, "{told}");
    shell.ok(&["enqueue", "Mail", "Recipient=r4", "N=4"]);
    assert_eq!(worked(&shell), 0);

    let key = shell
        .look("SELECT to_char(enqueued_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '0' FROM readpast.mail WHERE \"N\" = 4");
    assert!(shell.ok(&["why", "Mail", &key]).contains("due, and the queue is paused since "));
    assert!(shell.ok(&["stats", "Mail"]).contains("  the queue is paused since "));
    let stats = &shell.run(&["stats", "Mail", "--json"]).json()[0];
    assert_eq!((&stats["pauses"][0]["who"], &stats["pauses"][1]["type"]), (&"ann".into(), &"Sms".into()));
    let check = shell.run(&["check", "Mail", "--depth", "0", "--oldest", "1ms"]);
    assert_eq!(check.status, Some(0), "nobody is to work: {check:?}");
    assert!(check.out.contains("READPAST OK") && check.out.contains("the queue is paused since"), "{}", check.out);
    let doctor = shell.ok(&["doctor", "Mail"]);
    assert!(doctor.contains("the queue is paused since") && doctor.contains("readpast resume Mail"), "{doctor}");

    let document = &shell.run(&["resume", "Mail", "--json"]).json()[0];
    assert_eq!((&document["resumed"], &document["pauses"][0]["type"]), (&true.into(), &"Sms".into()));
    assert_eq!(worked(&shell), 1);
    shell.run(&["resume", "Mail"]).says(1, &[]);
    assert_eq!(shell.ok(&["resume", "Mail", "--type", "Sms"]), "resumed: type Sms\n");
    assert_eq!(worked(&shell), 1);
    let recorded = shell.ok(&["operations", "list", "Mail"]);
    assert!(recorded.contains("pause queue") && recorded.contains("resume queue"), "{recorded}");
}

#[test]
fn mistakes_are_refused() {
    let shell = filled();
    shell.run(&["pause", "Mail", "--type", "Fax"]).says(2, &["has no type \"Fax\""]);
    shell.run(&["pause", "Mail", "--for", "2h", "--until", "2026-01-01T00:00:00Z"]).says(2, &["cannot be used"]);
    shell.run(&["pause", "Mail", "--until", "soon"]).says(2, &["no UTC time"]);
    shell.run(&["pause", "Mail", "--until", "2020-01-01T00:00:00Z"]).says(2, &["must end in the future"]);
    shell.run(&["pause", "Mail", "--all", "--for", "2h"]).says(2, &["not for items"]);
    assert_eq!(shell.ok(&["pause", "Mail", "--type", "Sms", "--all"]), "paused: 1\n", "the items");
    assert_eq!(shell.look("SELECT COUNT(*)::text FROM readpast.queue_pause"), "0");
}

#[test]
fn the_page_pauses_and_resumes_for_those_who_may() {
    let shell = filled();
    shell.ok(&["pause", "Mail", "--reason", "<b>the bank</b>", "--set", "operator=ann"]);
    let reads = Served::start(&shell, &[]).ready();
    for page in ["/", "/queues", "/queue/Mail", "/queue/Mail/pauses"] {
        let page = reads.get(page);
        page.shows(&["ann", "&lt;b&gt;the bank&lt;&#x2f;b&gt;"]);
        assert!(!page.body.contains("<form method=\"post\""));
    }
    reads.get("/queue/Mail/pauses?format=json").shows(&["\"pauses\""]);
    assert_eq!(reads.submit("/queue/Mail/pauses", "verb=resume").status, 403);
    let scale = reads.get("/scale/Mail");
    scale.shows(&["\"from\":\"paused\"", "\"workers_needed\":0"]);
    assert!(reads.get("/metrics").body.contains("readpast_queue_paused{queue=\"Mail\",type=\"\"} 1"));

    let acts = Served::start(&shell, &["--allow-actions"]).ready();
    let body = acts.get("/queue/Mail/pauses").shows(&["Resume", "For how long"]).body.clone();
    let secret = body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let act = |form: &str, secret: &str| acts.submit("/queue/Mail/pauses", &format!("secret={secret}&{form}")).status;
    assert_eq!((act("verb=resume", "x"), act("verb=fly", secret)), (403, 400));
    assert_eq!((act("verb=pause&for=long", secret), act("verb=pause&type=Fax", secret)), (400, 502));
    assert_eq!(act("verb=resume&type=", secret), 303);
    acts.get("/queue/Mail/pauses").shows(&["The queue is not paused."]);
    assert_eq!(act("verb=pause&type=Sms&for=2h&reason=why", secret), 303);
    acts.get("/queue/Mail/pauses").shows(&["type Sms", "why"]);
    acts.get("/operations").shows(&["pause queue", "resume queue"]);
}
