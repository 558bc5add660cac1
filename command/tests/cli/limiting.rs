//! `readpast limit`, `why` of what a limit keeps waiting, and the page of limits.

use crate::http::Served;
use crate::shell::{HOLDS, Shell, until};
use serde_json::Value;

const SPEC: &str = r#"
queue = "Mail"
backoff = "none"
columns = [
    { name = "N", type = "integer", nullable = false },
    { name = "Customer", type = "bigint" },
    { name = "Host", type = "text(100)" },
]
limit = [{ by = "Customer", at_once = 2 }, { by = "Host", rate = "2/1h" }, { at_once = 100 }]
"#;

/// Waits until a file of its number says so.
const HOLD: &str = "touch began.$READPAST_COL_N; while [ ! -e end.$READPAST_COL_N ]; do sleep 0.05; done";

fn limited() -> Shell {
    let shell = Shell::empty();
    shell.write("mail.toml", SPEC);
    shell.ok(&["install", "mail.toml"]);
    shell
}

fn enqueue(shell: &Shell, n: u32, more: &[&str]) -> String {
    shell.ok(&[&["enqueue", "Mail", &format!("N={n}")], more].concat());
    let key = "SELECT to_char(enqueued_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '0' FROM readpast.mail WHERE \"N\" = ";
    shell.look(&format!("{key}{n}"))
}

/// The row of a key in the list.
fn row(shell: &Shell, by: &str, key: &Value) -> Value {
    let rows = shell.run(&["limit", "Mail", "--json"]).json();
    rows.into_iter().find(|row| row["by"] == by && row["key"] == *key).unwrap_or_default()
}

#[test]
fn a_key_without_room_is_explained_and_goes_on_with_more() {
    let shell = limited();
    let keys: Vec<_> = (1..=4).map(|n| enqueue(&shell, n, &["Customer=42"])).collect();
    let _worker = shell.start(&shell.script(&["--jobs", "4", "--set", HOLDS, "--set", "poll.interval_ms=100"], HOLD));
    let begun = || (1..=4).filter(|n| shell.folder.join(format!("began.{n}")).exists()).count();
    until("two begin", || begun() == 2);
    let waits = (1..=4).find(|n| !shell.folder.join(format!("began.{n}")).exists()).unwrap();
    let why = shell.ok(&["why", "Mail", &keys[waits - 1]]);
    assert!(why.contains("waits: 2 of 2 of Customer 42 are in work ("), "{why}");
    assert_eq!(keys.iter().filter(|key| why.contains(*key)).count(), 3, "itself and those in its place: {why}");
    let of = row(&shell, "Customer", &"42".into());
    assert_eq!(
        (&of["in_work"], &of["room"], &of["at_once"], &of["who"]),
        (&2.into(), &0.into(), &2.into(), &Value::Null)
    );
    let every = row(&shell, "Customer", &Value::Null);
    assert_eq!((&every["in_work"], &every["at_once"], &every["room"]), (&2.into(), &2.into(), &Value::Null));
    let listed = shell.ok(&["limit", "Mail"]);
    assert!(listed.contains("Customer\t42\t2 at once\t2 in work\t-\t-\t-\n"), "{listed}");
    assert!(listed.contains("(queue)\t(all)\t100 at once\t2 in work\t-\t-\t-\n"), "{listed}");
    assert!(listed.contains("Host\t(all)\t-\t2 in work\t2/1h\tnow\t-\n"), "{listed}");

    let reason = ["--reason", "they\nask", "--set", "operator=ann"];
    let told =
        shell.ok(&[&["limit", "Mail", "--by", "customer", "--key", "+42", "--at-once", "3"], &reason[..]].concat());
    // The third may have begun already.
    assert!(told.starts_with("Customer\t42\t3 at once\t") && told.contains(" in work\t-\t-\tann at 20"), "{told}");
    until("a third begins", || begun() == 3);
    assert_eq!(row(&shell, "Customer", &"42".into())["reason"], "they\nask");
    let recorded = shell.ok(&["operations", "list", "Mail"]);
    assert!(recorded.contains("limit") && recorded.contains("ann"), "{recorded}");
    (1..=4).for_each(|n| drop(shell.write(&format!("end.{n}"), "")));
    until("all are done", || shell.count("Completed") == "4");

    let back = shell.run(&["limit", "Mail", "--by", "Customer", "--key", "42", "--reset", "--json"]).json();
    assert_eq!((&back[0]["at_once"], &back[0]["who"], &back[0]["key"]), (&2.into(), &Value::Null, &"42".into()));
}

#[test]
fn a_key_is_paused_and_a_rate_lets_through_what_it_has() {
    let shell = limited();
    let pause = ["limit", "Mail", "--by", "Customer", "--key", "7", "--at-once", "0", "--reason", "owes us"];
    let told = shell.ok(&[&pause[..], &["--for", "2h"]].concat());
    assert!(told.starts_with("Customer\t7\t0 at once\t0 in work\t") && told.contains(" until 20"), "{told}");
    // Another change takes its place, with its end.
    let told = shell.ok(&pause);
    assert!(told.starts_with("Customer\t7\t0 at once\t0 in work\t") && !told.contains(" until "), "{told}");
    let doctor = shell.ok(&["doctor", "Mail"]);
    assert!(
        doctor.contains("the limit of Customer 7 was changed by") && doctor.contains("and is 0 at once: owes us"),
        "{doctor}"
    );
    let paused = enqueue(&shell, 1, &["Customer=7"]);
    let hosts: Vec<_> = (2..=4).map(|n| enqueue(&shell, n, &["Host=x.example"])).collect();
    let free = enqueue(&shell, 5, &[]);
    shell.ok(&shell.script(&["--until-empty"], "true"));
    assert_eq!(shell.count("Completed"), "3", "two of the host, and the one without keys");
    let why = shell.ok(&["why", "Mail", &paused]);
    assert!(why.contains("nothing of Customer 7 begins since 20") && why.contains(": owes us"), "{why}");
    let why = hosts.iter().map(|key| shell.ok(&["why", "Mail", key])).collect::<String>();
    assert_eq!(why.matches("waits for the rate 2/1h of Host x.example until 20").count(), 1, "{why}");
    assert!(shell.ok(&["why", "Mail", &free]).contains("Completed"));
    let of = row(&shell, "Host", &"x.example".into());
    assert!(of["free_at"].is_string() && of["room"] == 0 && of["rate"] == "2/1h", "{of}");
    let json = &shell.run(&["why", "Mail", &paused, "--json"]).json()[0];
    assert_eq!(json["why"]["reason"], "limited");

    // The only limit with a rate needs no name.
    let told = shell.ok(&["limit", "Mail", "--key", "x.example", "--rate", "1000/1s", "--burst", "5"]);
    assert!(told.starts_with("Host\tx.example\t-\t0 in work\t1000/1s, 5 together\t"), "{told}");
    until("the host goes on", || {
        shell.ok(&shell.script(&["--until-empty"], "true"));
        shell.count("Completed") == "4"
    });
    shell.ok(&["limit", "Mail", "--by", "Customer", "--key", "7", "--reset"]);
    shell.ok(&shell.script(&["--until-empty"], "true"));
    assert_eq!(shell.count("Completed"), "5");
}

#[test]
fn mistakes_are_refused() {
    let shell = limited();
    for (arguments, words) in [
        (&["--key", "42"][..], "no change is named"),
        (&["--for", "2h"], "no change is named"),
        (&["--by", "Customer", "--at-once", "0", "--until", "soon"], "until: \"soon\" is no UTC time"),
        (&["--by", "Customer", "--at-once", "0", "--until", "2020-01-01T00:00:00Z"], "must end in the future"),
        (&["--by", "Customer", "--reset", "--for", "2h"], "cannot be used"),
        (&["--at-once", "-1"], "--at-once"),
        (&["--by", "Host", "--at-once", "1000001"], "at_once: must be from 0 to 1000000, not 1000001"),
        (&["--at-once", "5"], "several limits; name the column of one: \"Customer\", \"Host\", \"\""),
        (&["--by", "Nobody", "--at-once", "5"], "no limit by \"Nobody\"; there are \"Customer\""),
        (&["--by", "", "--key", "1", "--at-once", "5"], "the limit of the queue as a whole has no keys"),
        (
            &["--by", "Customer", "--key", "x", "--at-once", "5"],
            "is no value that the column \"Customer\" (bigint) has",
        ),
        (&["--by", "Customer", "--rate", "5/1s"], "the limit by \"Customer\" has no rate in the description"),
        (&["--by", "Host", "--rate", "5"], "is no rate; it must be starts/period"),
        (&["--by", "Host", "--burst", "5"], "--rate"),
        (&["--by", "Host", "--rate", "5/1s", "--burst", "0"], "burst: must be from 1 to 1000000, not 0"),
        (&["--by", "Host", "--rate", "5/1s", "--reset"], "cannot be used"),
    ] {
        shell.run(&[&["limit", "Mail"], arguments].concat()).says(2, &[words]);
    }
    let plain = Shell::new();
    assert_eq!(plain.ok(&["limit", "Mail"]), "");
    plain.run(&["limit", "Mail", "--at-once", "5"]).says(3, &["queue Mail has no limits; give its description"]);
}

#[test]
fn the_page_shows_limits_and_changes_them_for_those_who_may() {
    let shell = limited();
    let key = enqueue(&shell, 1, &["Customer=42"]);
    let pause = ["limit", "Mail", "--by", "Customer", "--key", "42", "--at-once", "0", "--reason", "<b>why</b>"];
    shell.ok(&[&pause[..], &["--set", "operator=ann"]].concat());
    let reads = Served::start(&shell, &[]).ready();
    reads.get("/queue/Mail").shows(&["/queue/Mail/limits"]);
    let page = reads.get("/queue/Mail/limits");
    page.shows(&["Customer 42", "paused", "ann", "&lt;b&gt;why&lt;&#x2f;b&gt;", "all of Host", "2&#x2f;1h"]);
    assert!(!page.body.contains("<form method=\"post\""));
    reads.get("/queue/Mail/limits?format=json").shows(&["\"limits\"", "\"at_once\":0"]);
    reads.get(&format!("/queue/Mail/item?key={key}")).shows(&["nothing of Customer 42 begins since"]);
    assert_eq!(reads.submit("/queue/Mail/limits", "verb=reset").status, 403);

    let acts = Served::start(&shell, &["--allow-actions"]).ready();
    let body = acts.get("/queue/Mail/limits").shows(&["As described", "Together"]).body.clone();
    let secret = body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let act = |form: &str, secret: &str| acts.submit("/queue/Mail/limits", &format!("secret={secret}&{form}")).status;
    assert_eq!((act("verb=reset&by=Customer&key=42", "x"), act("verb=fly", secret)), (403, 400));
    for wrong in ["by=Customer&at_once=x", "by=Host&rate=x", "by=Customer&key=42"] {
        assert_eq!(act(&format!("verb=change&{wrong}"), secret), 400, "{wrong}");
    }
    assert_eq!(act("verb=change&by=Customer&key=x&at_once=1", secret), 502);
    assert_eq!(act("verb=reset&by=Customer&key=42", secret), 303);
    assert_eq!(row(&shell, "Customer", &"42".into()), Value::Null);
    assert_eq!(act("verb=change&by=Host&key=&rate=5%2F1s&burst=2&reason=because", secret), 303);
    acts.get("/queue/Mail/limits").shows(&["5&#x2f;1s (2 together)", "because"]);
    acts.get("/operations").shows(&["limit"]);
}

#[test]
fn items_without_room_are_no_alarm() {
    let shell = limited();
    shell.ok(&["limit", "Mail", "--by", "Customer", "--key", "42", "--at-once", "0"]);
    let check = || shell.run(&["check", "Mail", "--depth", "0", "--oldest", "10m"]);
    enqueue(&shell, 1, &["Customer=42"]);
    shell.look("UPDATE readpast.mail SET scheduled_for = scheduled_for - interval '1 hour' RETURNING 1");
    let done = check();
    assert!(done.status == Some(0) && done.out.contains("none with room") && done.out.contains("1 due"), "{done:?}");
    enqueue(&shell, 2, &["Customer=43"]);
    let done = check();
    assert!(done.status == Some(2) && done.out.contains("2 due (critical: above 0)"), "{done:?}");
    assert!(done.out.contains("the oldest with room due for") && !done.out.contains("above 10 m"), "{done:?}");
}
