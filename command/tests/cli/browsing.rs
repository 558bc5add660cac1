//! `serve`: pages as a person or a program reads them.

use crate::http::{Reply, Served, encoded};
use crate::shell::{HOLDS, Shell, until};
use serde_json::Value;

/// A page as JSON.
#[track_caller]
pub fn json(served: &Served, path: &str) -> Value {
    let reply = served.get_with(path, &[("Accept", "application/json")]);
    assert_eq!(reply.header("content-type"), Some("application/json"), "{path}: {reply:?}");
    serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", reply.body))
}

/// Three items whose errors differ in a number, and one of another error that waits.
fn failing() -> Shell {
    let shell = Shell::new();
    shell.fill(4);
    let script =
        "case $READPAST_COL_N in 4) echo later >&2; exit 1;; esac; echo mailbox $READPAST_COL_N is full >&2; exit 65";
    shell.ok(&shell.script(&["--until-empty", "--retry-delay", "1h"], script));
    shell
}

#[test]
fn each_page_is_there_as_json() {
    let shell = failing();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let key = json(&served, "/queue/Mail/items?q=state:failed")["items"][0]["key"].as_str().unwrap().to_owned();
    let item = format!("/queue/Mail/item?key={}", encoded(&key));
    let act = "/queue/Mail/act?verb=redrive";
    let edit = format!("/queue/Mail/edit?key={}", encoded(&key));
    for (path, member) in [
        ("/", "attention"),
        ("/queues", "queues"),
        ("/failed", "groups"),
        ("/workers", "workers"),
        ("/schedules", "schedules"),
        ("/operations", "operations"),
        ("/doctor", "findings"),
        ("/queue/Mail", "figures"),
        ("/queue/Mail/items", "items"),
        ("/queue/Mail/limits", "limits"),
        ("/queue/Mail/pauses", "pauses"),
        (item.as_str(), "life"),
        (act, "total"),
        (edit.as_str(), "fields"),
        ("/nowhere", "error"),
    ] {
        let found = json(&served, path);
        assert!(found.get(member).is_some() && found["now"].is_string(), "{path}: {found}");
        let linked = format!("{path}{}format=json", if path.contains('?') { '&' } else { '?' });
        let page = served.get(path);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        let body = page.body.replace("&#x2f;", "/");
        assert!(body.contains(&linked.replace('&', "&amp;")), "{path} leads to {linked}");
        assert_eq!(served.get(&linked).header("content-type"), Some("application/json"), "{linked}");
    }
    let overview = json(&served, "/");
    assert_eq!((&overview["status"], &overview["totals"]["failed"]), (&"Attention".into(), &3.into()));
    assert!(
        [act, &edit].iter().all(|path| !served.get(&format!("{path}&format=json")).body.contains("secret")),
        "what a form must bring stays out of it"
    );
}

#[test]
fn errors_that_differ_in_a_number_are_one_group() {
    let shell = failing();
    let served = Served::start(&shell, &[]).ready();
    let groups = json(&served, "/failed")["groups"].clone();
    let group = &groups[0];
    assert_eq!((&group["items"], &group["state"]), (&3.into(), &"Failed".into()), "{groups}");
    assert_eq!(group["fingerprint"], "mailbox # is full (exit status #)");
    assert!(group["first"].as_str() <= group["last"].as_str() && group["first"].is_string(), "{group}");
    assert_eq!(groups[1]["fingerprint"], "later (exit status #)");
    // The link finds all of them.
    let search = format!("/queue/Mail/items?status=Failed&error={}", encoded(group["search"].as_str().unwrap()));
    assert_eq!(json(&served, &search)["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_typed_search_finds_and_refuses() {
    let shell = failing();
    let served = Served::start(&shell, &[]).ready();
    let count = |typed: &str| {
        json(&served, &format!("/queue/Mail/items?q={}", encoded(typed)))["items"].as_array().unwrap().len()
    };
    assert_eq!(count("state:failed"), 3);
    assert_eq!(count("error:\"mailbox 2\""), 1);
    assert_eq!(count("is full state:Error"), 0);
    assert_eq!(count("type:Sms"), 0);
    assert_eq!(count("state:failed,later"), 0, "no such state");
    let refused = served.get(&format!("/queue/Mail/items?q={}", encoded("payload.customer:42")));
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("Nothing can be searched by payload.customer"), "{refused:?}");
    assert!(refused.body.contains("longer, Recipient, Body, N, Urgent, Tags"), "{refused:?}");
    assert_eq!((count("N:2"), count("n:2 state:failed"), count("N:9")), (1, 1, 0));
    shell.ok(&[
        "enqueue",
        "Mail",
        "--item",
        r#"{"Recipient": "x y", "Tags": {"campaign": "spring", "to": {"id": 7}}}"#,
    ]);
    assert_eq!(
        (count("Tags.to.id:7"), count("tags.campaign:spring Recipient:\"x y\""), count("Tags.to.id:8")),
        (1, 1, 0)
    );
    served
        .get(&format!("/queue/Mail/items?q={}", encoded("Tags.to.id:7")))
        .shows(&["value=\"Tags.to.id:7\"", "1 item in"]);
    let wrong = served.get(&format!("/queue/Mail/items?q={}", encoded("N:x")));
    assert!(wrong.status == 400 && wrong.body.contains("(integer) does not take"), "{wrong:?}");
    // The preview and the action take the same search.
    let acting = Served::start(&shell, &["--allow-actions"]).ready();
    acting.get("/queue/Mail/act?verb=cancel&where=Tags.to.id%3D7").shows(&["changes <b>1</b> item", "name=\"where\""]);
    let moved = served.get("/items?q=state%3AFailed");
    assert_eq!((moved.status, moved.header("location")), (303, Some("/queue/Mail/items?q=state%3AFailed")));
}

#[test]
fn workers_are_shown_with_what_they_hold() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    assert_eq!(json(&served, "/workers")["unattended"][0]["queue"], "Mail");
    shell.fill(2);
    let script = shell.script(&["--jobs", "2", "--set", HOLDS], "sleep 600");
    let _worker = shell.start(&script);
    until("both items are held", || json(&served, "/workers")["workers"][0]["items"] == 2);
    let worker = json(&served, "/workers")["workers"][0].clone();
    assert_eq!(worker["queues"][0]["queue"], "Mail");
    assert!(worker["host"].is_string() && worker["process"].is_string(), "{worker}");
    assert!(worker["last_renewal"].as_str() < worker["first_lease_until"].as_str(), "{worker}");
    served.get("/workers").shows(&["<time datetime=", " UTC\">"]);
}

/// The form of a preview, as a browser would send it.
fn form(preview: &Reply, verb: &str) -> String {
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    format!("verb={verb}&secret={secret}")
}

#[test]
fn production_asks_twice() {
    let shell = failing();
    let served = Served::start(&shell, &["--allow-actions", "--environment", "Production"]).ready();
    let preview = served.get("/queue/Mail/act?verb=redrive");
    preview.shows(&["<body class=\"red\">", ">Production</b>", "Type the name of the queue, Mail"]);
    let form = form(&preview, "redrive");
    for confirmed in ["", "&confirm=", "&confirm=mail", "&confirm=yes"] {
        let refused = served.submit("/queue/Mail/act", &format!("{form}{confirmed}"));
        assert_eq!((refused.status, shell.count("Failed").as_str()), (400, "3"), "{confirmed}: {refused:?}");
    }
    assert_eq!(served.submit("/queue/Mail/act", &format!("{form}&confirm=Mail")).status, 303);
    assert_eq!(shell.count("Failed"), "0");
    let other = Served::start(&shell, &["--allow-actions", "--environment", "test", "--color", "blue"]).ready();
    let preview = other.get("/queue/Mail/act?verb=cancel");
    preview.shows(&["<body class=\"blue\">", ">test</b>"]);
    assert!(!preview.body.contains("Type the name"), "{preview:?}");
    shell.run(&["serve", "--color", "blue"]).says(2, &["--environment"]);
}

#[test]
fn selected_items_are_changed_together() {
    let shell = failing();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let items = json(&served, "/queue/Mail/items?status=Failed")["items"].clone();
    let keys: Vec<_> = (0..2).map(|at| format!("&key={}", encoded(items[at]["key"].as_str().unwrap()))).collect();
    let preview = served.get(&format!("/queue/Mail/act?verb=redrive{}", keys.concat()));
    preview.shows(&["changes <b>2</b> items (2 Failed)"]);
    let done = served.submit("/queue/Mail/act", &format!("{}{}", form(&preview, "redrive"), keys.concat()));
    assert_eq!(done.status, 303, "{done:?}");
    let location = done.header("location").unwrap();
    served.get(location).shows(&["redriven: 2", "2 items in"]);
    assert_eq!(shell.count("Failed"), "1");
}

#[test]
fn a_payload_can_be_hidden() {
    let shell = Shell::new();
    let item = r#"{"Recipient": "ann@example.org", "N": 1, "Tags": {"a": [1, 2]}}"#;
    shell.ok(&["enqueue", "Mail", "--item", item]);
    let key = shell.look("SELECT to_char(enqueued_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '0' FROM readpast.mail");
    let address = format!("/queue/Mail/item?key={}", encoded(&key));
    let open = Served::start(&shell, &[]).ready();
    open.get(&address).shows(&["ann@example.org", "&quot;a&quot;: [\n", "<details"]);
    open.get("/queue/Mail/items").shows(&["ann@example.org"]);
    // Without its key nobody could open an item, or find in the log what was done to it.
    assert!(shell.ok(&["serve", "--help"]).contains("Keys stay"));
    let hidden = Served::start(&shell, &["--hide-payload"]).ready();
    hidden.get(&address).shows(&["(hidden)", "Recipient"]);
    let guessed = hidden.get("/queue/Mail/items?q=Recipient:ann%40example.org");
    assert!(guessed.status == 400 && guessed.body.contains("hides payloads"), "{guessed:?}");
    for path in [address.clone(), format!("{address}&format=json"), "/queue/Mail/items".to_owned()] {
        assert!(!hidden.get(&path).body.contains("ann@example.org"), "{path}");
    }
}

#[test]
fn an_item_shows_its_life_and_its_attempts() {
    let shell = failing();
    let served = Served::start(&shell, &[]).ready();
    let waiting = json(&served, "/queue/Mail/items?q=state:error")["items"][0]["key"].as_str().unwrap().to_owned();
    let item = json(&served, &format!("/queue/Mail/item?key={}", encoded(&waiting)));
    let current: Vec<_> = item["life"].as_array().unwrap().iter().filter(|stage| stage["current"] == true).collect();
    assert_eq!((current.len(), &current[0]["stage"]), (1, &"Waiting".into()), "{item}");
    assert_eq!(current[0]["times"][1]["name"], "due");
    assert_eq!(item["why"]["reason"], "due_later");
    let attempt = &item["attempts"][0];
    assert_eq!(
        (&attempt["number"], &attempt["outcome"], &attempt["running"]),
        (&1.into(), &"Error".into(), &false.into())
    );
    assert!(attempt["took_ms"].is_i64() && attempt["error"].as_str().unwrap().contains("later"), "{attempt}");
    let body = served.get(&format!("/queue/Mail/item?key={}", encoded(&waiting))).body;
    assert!(body.contains("<title>Item ") && body.contains("aria-label=\"Breadcrumb\""), "{body}");
}
