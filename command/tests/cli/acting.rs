//! `serve` acts on what its user saw: those items, in that state, and on no others; and says only what it did.

use crate::http::{Served, encoded};
use crate::shell::{Shell, key, mixed, until};
use support::scratch::all;

/// The hidden fields of the only form of a page, as a browser sends them.
pub fn form(page: &str) -> String {
    let fields = page.split("<input type=\"hidden\" name=\"").skip(1).map(|field| {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        let value = rest.split('"').next().unwrap();
        let value = value.replace("&#x2f;", "/").replace("&quot;", "\"").replace("&amp;", "&");
        format!("{name}={}", encoded(&value))
    });
    fields.collect::<Vec<_>>().join("&")
}

/// Sends the form, and reads the page that it leads to.
#[track_caller]
fn done(served: &Served, form: &str, words: &[&str]) {
    let reply = served.submit("/queue/Mail/act", form);
    assert_eq!(reply.status, 303, "{reply:?}");
    served.get(reply.header("location").unwrap()).shows(words);
}

#[test]
fn an_item_that_was_claimed_after_the_preview_is_left_alone() {
    let shell = Shell::new();
    shell.fill(3);
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let one = form(&served.get(&format!("/queue/Mail/act?verb=cancel&key={}", encoded(&key(&shell, 1)))).body);
    let many = form(&served.get("/queue/Mail/act?verb=cancel&status=Pending&status=Processing").body);
    let queue = readpast::Queue::open(&shell.db.config(&[]), "Mail").unwrap();
    let claimed = queue.claim(1, std::time::Duration::ZERO).unwrap();
    assert_eq!(claimed.get(0).unwrap().key(), key(&shell, 1));
    done(&served, &one, &["cancelled: 0, left unchanged: 1"]);
    assert_eq!(shell.count("Processing"), "1");
    done(&served, &many, &["cancelled: 2"]);
    assert_eq!((shell.count("Processing"), shell.count("Cancelled")), ("1".to_owned(), "2".to_owned()));
    queue.settle(&all(&claimed, readpast::Action::Complete), None).unwrap();
}

/// The page shows some of them, and its form holds all to what they were.
#[test]
fn an_item_that_the_preview_only_counted_is_held_to_its_token() {
    let shell = Shell::new();
    shell.fill(60);
    let fails = || shell.ok(&shell.script(&["--until-empty", "--batch", "60"], "exit 65"));
    fails();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let keys: Vec<_> = (1..=60).map(|n| key(&shell, n)).collect();
    let named: String = keys.iter().map(|key| format!("&key={}", encoded(key))).collect();
    let preview = served.get(&format!("/queue/Mail/act?verb=redrive{named}"));
    preview.shows(&["changes <b>60</b> items"]);
    let sixtieth = keys.iter().max().unwrap();
    shell.ok(&["redrive", "Mail", "--key", sixtieth]);
    fails();
    done(&served, &form(&preview.body), &["redriven: 59, left unchanged: 1"]);
    assert_eq!(shell.count("Failed"), "1");
}

/// Its state is the same again, but it has failed with another error since.
#[test]
fn an_item_that_was_changed_after_the_preview_is_left_alone() {
    let shell = Shell::new();
    shell.fill(1);
    let fails = || shell.ok(&shell.script(&["--until-empty"], "exit 65"));
    fails();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let address = format!("/queue/Mail/act?verb=redrive&key={}", encoded(&key(&shell, 1)));
    let old = form(&served.get(&address).body);
    shell.ok(&["redrive", "Mail", "--all"]);
    fails();
    done(&served, &old, &["redriven: 0, left unchanged: 1"]);
    assert_eq!(shell.count("Failed"), "1");
    done(&served, &form(&served.get(&address).body), &["redriven: 1"]);
    assert_eq!(shell.count("Pending"), "1");
}

#[test]
fn a_key_with_blanks_is_another_key() {
    let shell = Shell::new();
    shell.db.run("CREATE TABLE public.task (id varchar(20) PRIMARY KEY, state integer NOT NULL)");
    shell.db.run("INSERT INTO public.task VALUES (' zz', 0), ('zz', 0), ('zz ', 0)");
    let task = r#"{"queue": "Task", "columns": [], "table": {"name": "task",
        "key": [{"name": "id", "type": "text(20)", "source": "producer"}],
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Cancelled": 3}}}}"#;
    shell.write("task.json", task);
    shell.ok(&["install", "task.json"]);
    let served = Served::start(&shell, &["--allow-actions", "--queue", "Task"]).ready();
    let preview = served.get("/queue/Task/act?verb=cancel&key=%20zz");
    preview.shows(&["<b>1</b> item "]);
    assert_eq!(served.submit("/queue/Task/act", &form(&preview.body)).status, 303);
    let states = "SELECT string_agg(concat(id, '=', state), ',' ORDER BY id COLLATE \"C\") FROM public.task";
    assert_eq!(shell.look(states), " zz=3,zz=0,zz =0");
    served.get("/queue/Task/items?q=key:zz").shows(&["1 item in"]);
}

#[test]
fn a_link_shows_no_notice_of_what_nobody_did() {
    let shell = Shell::new();
    shell.fill(1);
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let item = format!("/queue/Mail/item?key={}", encoded(&key(&shell, 1)));
    for made_up in ["did=cancel&done=99999", "did=cancel&done=99999&refused=0", "did=0123456789abcdef0123456789abcdef"]
    {
        for page in [format!("/queue/Mail/items?{made_up}"), format!("{item}&{made_up}")] {
            let reply = served.get(&page);
            assert!(reply.status == 200 && !reply.body.contains("cancelled: "), "{page}");
        }
    }
    done(&served, &form(&served.get("/queue/Mail/act?verb=pause").body), &["paused: 1"]);
}

#[test]
fn the_doctor_is_asked_by_a_form_and_about_the_queues_that_are_shown() {
    let shell = Shell::new();
    shell.write("other.json", r#"{"queue": "Hidden"}"#);
    shell.ok(&["install", "other.json"]);
    // A fault that the doctor would find.
    shell.look("DROP FUNCTION readpast.watch_hidden; SELECT 1");
    let served = Served::start(&shell, &["--queue", "Mail"]).ready();
    for path in ["/doctor", "/doctor?run=1"] {
        let page = served.get(path);
        assert!(page.status == 200 && !page.body.contains("checks are fine"), "a link runs nothing: {page:?}");
    }
    assert_eq!(served.submit("/doctor", "").status, 403);
    let form = form(&served.get("/doctor").body);
    assert_eq!(served.post("/doctor", &[("Origin", "http://evil.example")], &form).status, 403);
    let page = served.submit("/doctor", &form);
    page.shows(&["checks are fine"]);
    assert!(!page.body.contains("Hidden") && !page.body.contains("watch_hidden"), "{}", page.body);
    let every = Served::start(&shell, &[]);
    let form = self::form(&every.get("/doctor").body);
    every.submit("/doctor", &form).shows(&["watch_hidden"]);
    // Machines get the answer of the command.
    let origin = format!("http://{}", every.address);
    let asked = every.post("/doctor", &[("Origin", &origin), ("Accept", "application/json")], &form);
    let mut found: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
    let mut own = shell.run(&["doctor", "--json"]).json().remove(0);
    // A clock and the use of an index go on between the two answers.
    let moves_on = |finding: &serde_json::Value| ["clock", "index"].iter().any(|check| finding["check"] == *check);
    for document in [&mut found, &mut own] {
        let findings = document["findings"].as_array_mut().unwrap();
        assert!(findings.iter().any(|finding| finding["check"] == "index"), "{findings:?}");
        findings.retain(|finding| !moves_on(finding));
        findings.sort_by_key(ToString::to_string);
    }
    for member in ["findings", "errors", "warnings"] {
        assert_eq!(found[member], own[member], "{member}");
    }
}

/// A deletion takes no tokens, and is held to them all the same.
#[test]
fn an_item_that_ended_anew_after_the_preview_is_not_deleted() {
    let shell = Shell::new();
    shell.fill(2);
    let fails = || shell.ok(&shell.script(&["--until-empty"], "exit 65"));
    fails();
    let served = Served::start(&shell, &["--allow-actions", "--allow-purge"]).ready();
    let keys = [1, 2].map(|n| format!("&key={}", encoded(&key(&shell, n)))).concat();
    let old = form(&served.get(&format!("/queue/Mail/act?verb=purge{keys}")).body);
    shell.ok(&["redrive", "Mail", "--key", &key(&shell, 1)]);
    fails();
    done(&served, &old, &["purged: 1, left unchanged: 1"]);
    assert_eq!(shell.look("SELECT string_agg(\"N\"::text, ',') FROM readpast.mail"), "1");
}

#[test]
fn an_action_on_chosen_items_is_recorded_with_its_user() {
    let shell = Shell::new();
    shell.fill(2);
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let pause = form(&served.get(&format!("/queue/Mail/act?verb=pause&key={}", encoded(&key(&shell, 1)))).body);
    done(&served, &pause, &["paused: 1"]);
    let found = shell.run(&["operations", "list", "--json"]).json();
    let [action] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&action["verb"], &action["done"], &action["state"]), (&"pause".into(), &1.into(), &"Done".into()));
    assert_eq!(action["filter"]["keys"][0], key(&shell, 1));
    assert!(action["who"].as_str().unwrap().contains("127.0.0.1"), "{action}");
}

/// The preview counts within one look; what is meant is done all the same.
#[test]
fn a_preview_counts_so_many_items_and_says_that_there_may_be_more() {
    let shell = Shell::new();
    shell.fill(250);
    let served = Served::start(&shell, &["--most", "100", "--allow-actions"]).ready();
    let last = key(&shell, 250);
    let preview = served.get("/queue/Mail/act?verb=cancel");
    preview.shows(&["at least <b>100</b> items", "Cancel all that match"]);
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    served
        .get(&format!("/queue/Mail/act?verb=cancel&key={}", encoded(&last)))
        .shows(&["changes <b>1</b> item ", "Cancel 1 item<"]);
    let done = served.submit("/queue/Mail/act", &format!("verb=cancel&secret={secret}"));
    let location = done.header("location").unwrap_or_default();
    assert!(location.starts_with("/queue/Mail/operation?number="), "{done:?}");
    until("all are cancelled", || served.get(location).body.contains("<dd>Done</dd>"));
    assert_eq!(shell.count("Cancelled"), "250");
}

#[test]
fn actions_are_shown_first_and_then_done() {
    let shell = mixed();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let states = || shell.look("SELECT string_agg(status::text, ' ' ORDER BY \"N\") FROM readpast.mail");
    let before = states();
    assert_eq!(before, "Failed Failed Error Completed Completed Pending");
    let preview = served.get("/queue/Mail/act?verb=redrive&error=boom");
    preview.shows(&["<b>2</b> items", "2 Failed", &key(&shell, 1), "Redrive 2 items"]);
    assert_eq!(states(), before, "nothing is done by looking");
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let form = |verb: &str, more: &str| format!("verb={verb}&secret={secret}{more}");

    // The item's page offers the actions that its state allows, and no other.
    let done = encoded(&key(&shell, 4));
    let item = served.get(&format!("/queue/Mail/item?key={done}"));
    assert!(!item.body.contains("/act?"), "nothing can be done to what is Completed: {}", item.body);
    let refused = served.get(&format!("/queue/Mail/act?verb=cancel&key={done}"));
    refused.shows(&["None of the items that match", "They are 1 Completed, and stay as they are"]);
    assert!(!refused.body.contains("<form"), "{}", refused.body);
    served
        .get("/queue/Mail/act?verb=cancel&status=Completed&status=Pending")
        .shows(&["<b>1</b> item ", "These stay as they are: 2 Completed"]);
    let waiting = served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 3))));
    let offered =
        ["retry", "redrive", "cancel", "pause", "resume"].map(|verb| waiting.body.contains(&format!("verb={verb}&")));
    assert_eq!(offered, [true, true, true, true, false]);

    // From elsewhere, without the secret, by another way.
    let here = format!("http://{}", served.address);
    for (headers, body) in [
        (&[][..], form("redrive", "")),
        (&[("Origin", "http://evil.example")], form("redrive", "")),
        (&[("Origin", "null")], form("redrive", "")),
        (&[("Sec-Fetch-Site", "cross-site")], form("redrive", "")),
        (&[("Origin", &*here)], "verb=redrive&secret=x".to_owned()),
        (&[("Origin", &*here)], "verb=redrive".to_owned()),
    ] {
        assert_eq!(served.post("/queue/Mail/act", headers, &body).status, 403, "{headers:?} {body}");
    }
    assert_eq!(served.submit("/queue/Mail/act", &form("drop", "")).status, 400);
    assert_eq!(served.get(&format!("/queue/Mail/act?{}", form("redrive", ""))).status, 200, "is the preview again");
    assert_eq!(served.submit("/queue/Mail", &form("redrive", "")).status, 405);
    assert_eq!(states(), before);

    let done = served.submit("/queue/Mail/act", &form("redrive", "&error=boom"));
    let location = done.header("location").unwrap();
    assert!(done.status == 303 && location.starts_with("/queue/Mail/items?error=boom&did="), "{done:?}");
    served.get(location).shows(&["redriven: 2"]);
    assert_eq!(states(), "Pending Pending Error Completed Completed Pending");
    for (verb, more, after) in [
        ("pause", format!("&key={}", encoded(&key(&shell, 1))), "Paused Pending Error Completed Completed Pending"),
        ("resume", String::new(), "Pending Pending Error Completed Completed Pending"),
        ("retry", String::new(), "Pending Pending Pending Completed Completed Pending"),
        ("cancel", "&status=Pending".to_owned(), "Cancelled Cancelled Cancelled Completed Completed Cancelled"),
    ] {
        assert_eq!(served.submit("/queue/Mail/act", &form(verb, &more)).status, 303, "{verb}");
        assert_eq!(states(), after, "{verb}");
    }
    // Nothing of an address can begin a header.
    let key = encoded("2000-01-01T00:00:00\r\nX-Evil: 1");
    let reply = served.submit("/queue/Mail/act", &form("pause", &format!("&key={key}")));
    assert!(reply.header("x-evil").is_none(), "{reply:?}");
}
