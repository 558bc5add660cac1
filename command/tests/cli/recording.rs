//! Records of the database, as the command and the pages show them: operations, workers, the last 24 hours.

use crate::browsing::json;
use crate::http::Served;
use crate::shell::{HOLDS, Shell, until};
use serde_json::Value;

/// The operations, the newest first.
fn operations(shell: &Shell) -> Vec<Value> {
    shell.run(&["operations", "list", "--json"]).json()
}

#[test]
fn operations_show_who_did_what() {
    let shell = Shell::new();
    shell.fill(3);
    assert_eq!(shell.ok(&["operations", "list"]), "");
    shell.ok(&["pause", "Mail", "--all"]);
    shell.ok(&["resume", "Mail", "--all", "--set", "operator=ann"]);
    shell.ok(&["settings", "set", "Mail", "maxAttempts", "5"]);
    let found = operations(&shell);
    let short: Vec<_> = found.iter().map(|of| (of["verb"].as_str().unwrap(), of["done"].as_i64().unwrap())).collect();
    assert_eq!(short, [("set", 1), ("resume", 3), ("pause", 3)]);
    assert_eq!((&found[1]["who"], &found[1]["state"]), (&"ann".into(), &"Done".into()));
    assert!(found[2]["who"].as_str().unwrap().contains('@'), "{found:?}");
    assert_eq!(found[2]["filter"]["status"], serde_json::json!(["Pending", "Error"]));
    assert_eq!(found[0]["filter"]["maxAttempts"], 5);
    let number = found[1]["number"].to_string();
    let line = shell.ok(&["operations", "show", "Mail", &number]);
    assert!(line.contains("\tresume\tDone\t3\tann\t"), "{line}");
    assert_eq!(shell.ok(&["operations", "list", "Mail", "--limit", "1"]).lines().count(), 1);
    shell.run(&["operations", "show", "Mail", "999"]).says(2, &["no operation 999"]);
    shell.run(&["operations", "cancel", "Mail", &number]).says(1, &[]);
}

/// The killed process waits for a row in its second step, so that it cannot end before it is killed.
#[test]
fn a_killed_operation_goes_on_in_another_process() {
    let shell = Shell::new();
    shell.fill(1200);
    let mut holder = shell.db.session();
    let lock = "SELECT 1 FROM readpast.mail WHERE \"N\" = 800 FOR UPDATE";
    holder
        .transaction(|holder| {
            holder.execute(lock, &[])?;
            let mut cancel = shell.start(&["cancel", "Mail", "--all"]);
            until("its first step is done", || {
                shell.look("SELECT SUM(done)::text FROM readpast.queue_action") == "500"
            });
            cancel.signal_until_it_ends("KILL");
            Ok(())
        })
        .unwrap();
    let left = operations(&shell).remove(0);
    assert_eq!((&left["state"], &left["at_work"]), (&"Running".into(), &true.into()), "its lease has not run out");
    let number = left["number"].to_string();
    shell.run(&["operations", "resume", "Mail", &number]).says(1, &["another process is at work"]);
    shell.db.run("UPDATE readpast.queue_action SET lease_until = clock_timestamp()");

    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let page = format!("/queue/Mail/operation?number={number}");
    until("the server has ended it", || json(&served, &page)["operation"]["state"] == "Done");
    assert_eq!(shell.count("Cancelled"), "1200");
    let done = json(&served, &page)["operation"]["done"].as_i64().unwrap();
    // The step that was under way may have been committed by the server, and is not counted then.
    assert!((700..=1200).contains(&done), "{done}");
    served.get(&page).shows(&["Operation", "cancel", "Done"]);
    let shown = if done == 1200 { "1,200".to_owned() } else { done.to_string() };
    served.get("/operations").shows(&["cancel", "<td>Done</td>", &format!("<td class=\"n\">{shown}</td>")]);
}

#[test]
fn an_operation_on_many_goes_on_behind_its_page_and_can_be_cancelled() {
    let shell = Shell::new();
    shell.fill(1200);
    let served = Served::start(&shell, &["--allow-actions", "--allow-purge"]).ready();
    let secret = |path: &str| {
        let page = served.get(path);
        page.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let form = format!("verb=cancel&secret={}", secret("/queue/Mail/act?verb=cancel"));
    let mut holder = shell.db.session();
    let lock = "SELECT 1 FROM readpast.mail WHERE \"N\" = 800 FOR UPDATE";
    let page = holder.transaction(|holder| {
        holder.execute(lock, &[])?;
        let begun = served.submit("/queue/Mail/act", &form);
        let page = begun.header("location").unwrap().to_owned();
        assert!(begun.status == 303 && page.starts_with("/queue/Mail/operation?number="), "{begun:?}");
        until("its first step is done", || json(&served, &page)["operation"]["done"] == 500);
        let number = page.split('=').nth(1).unwrap();
        let shown = served.get(&page);
        shown.shows(&["A process is at work on it", "Cancel operation", "by", "127.0.0.1"]);
        let wrong = served.submit("/queue/Mail/operation", &format!("number={number}&secret=x"));
        assert_eq!(wrong.status, 403);
        let asked = format!("number={number}&secret={}", secret(&page));
        assert_eq!(served.submit("/queue/Mail/operation", &asked).status, 303);
        Ok(page)
    });
    let page = page.unwrap();
    until("it has ended", || json(&served, &page)["operation"]["open"] == false);
    let ended = json(&served, &page)["operation"].clone();
    let who = ended["result"].as_str().unwrap();
    assert!(who.starts_with("127.0.0.1") && who.ends_with("asked for a cancel"), "{who}");
    served.get(&page).shows(&["asked for a cancel"]);
    assert_eq!((&ended["state"], &ended["done"]), (&"Cancelled".into(), &1000.into()), "after its present step");
    assert_eq!(shell.count("Cancelled"), "1000");
    assert_eq!(served.get("/queue/Mail/operation?number=999").status, 404);

    // A purge is done at once where there are few, and by --allow-purge only.
    let purge = format!("verb=purge&status=Cancelled&error=nothing&secret={}", secret("/queue/Mail/act?verb=purge"));
    let done = served.submit("/queue/Mail/act", &purge);
    let at_once = done.header("location").unwrap();
    assert!(done.status == 303 && at_once.starts_with("/queue/Mail/items?"), "{done:?}");
    served.get(at_once).shows(&["purged: 0"]);
    let refusing = Served::start(&shell, &["--allow-actions"]).ready();
    assert_eq!(refusing.get("/queue/Mail/act?verb=purge").status, 403);
    assert!(!refusing.get("/queue/Mail/items?status=Cancelled").body.contains("verb=purge"));
    served.get("/queue/Mail/items?status=Cancelled").shows(&["verb=purge"]);
    assert_eq!(shell.count("Cancelled"), "1000", "nothing had that error");
    assert_eq!(served.submit("/queue/Mail/act", &purge.replace("&error=nothing", "")).status, 303);
    until("they are gone", || shell.count("Cancelled") == "0");
}

/// Others began them: a server that lets nobody purge purges for nobody.
#[test]
fn a_server_without_leave_to_purge_takes_up_no_purge() {
    let shell = Shell::new();
    shell.fill(1200);
    shell.ok(&["cancel", "Mail", "--type", "Nothing"]);
    let queue = readpast::Queue::open(&shell.db.config(&[]), "Mail").unwrap();
    let of = |state| readpast::Filter::of_states([state]);
    let purge = queue.begin_action(readpast::OperatorVerb::Purge, &of(readpast::ItemState::Cancelled), None).unwrap();
    let cancel = queue.begin_action(readpast::OperatorVerb::Cancel, &of(readpast::ItemState::Pending), None).unwrap();
    shell.db.run("UPDATE readpast.queue_action SET lease_until = clock_timestamp() WHERE ended_at IS NULL");
    let state = |number: i64| queue.action(number).unwrap().unwrap().state;
    let careful = Served::start(&shell, &["--allow-actions"]).ready();
    until("the cancel is done", || state(cancel) == "Done");
    let untouched = format!(
        "SELECT COUNT(*) FROM readpast.queue_action WHERE action_id = {purge} AND owner IS NULL AND ended_at IS NULL"
    );
    assert_eq!(shell.look(&untouched), "1");
    let _purging = Served::start(&shell, &["--allow-actions", "--allow-purge"]).ready();
    until("the purge is done", || state(purge) == "Done");
    drop(careful);
}

#[test]
fn the_list_of_operations_is_of_the_queues_that_are_shown() {
    let shell = Shell::new();
    shell.write("other.json", r#"{"queue": "Other"}"#);
    shell.ok(&["install", "other.json"]);
    let long = "x".repeat(300);
    shell.ok(&["cancel", "Mail", "--error", &long]);
    // More than a page of another queue's, and later.
    let other = readpast::Queue::open(&shell.db.config(&[]), "Other").unwrap();
    let filter = readpast::Filter::default();
    for _ in 0..60 {
        other.begin_action(readpast::OperatorVerb::Cancel, &filter, None).unwrap();
    }
    let served = Served::start(&shell, &["--queue", "Mail"]).ready();
    for path in ["/operations", "/operations?queue=Mail"] {
        let shown = json(&served, path);
        let [one] = shown["operations"].as_array().unwrap().as_slice() else { panic!("{path}: {shown}") };
        assert_eq!((&one["queue"], &one["filter"]["error"]), (&"Mail".into(), &long.as_str().into()));
    }
    // The list has the beginning of a filter, and its own page all of it.
    let number = json(&served, "/operations")["operations"][0]["number"].to_string();
    assert!(!served.get("/operations").body.contains(&long));
    served.get(&format!("/queue/Mail/operation?number={number}")).shows(&[&long]);
    for unknown in ["Other", "Nope"] {
        assert_eq!(served.get(&format!("/operations?queue={unknown}")).status, 404, "{unknown}");
    }
    let all = Served::start(&shell, &[]).ready();
    let first = json(&all, "/operations");
    assert_eq!(first["operations"].as_array().unwrap().len(), 50);
    let rest = json(&all, &format!("/operations?below={}", first["next"]));
    assert_eq!((rest["operations"].as_array().unwrap().len(), &rest["next"]), (11, &serde_json::Value::Null));
}

/// Known workers stay, and the log says once what is missing.
#[test]
fn records_that_cannot_be_read_are_reported() {
    let shell = Shell::new();
    let _worker = shell.start(&["work", "Mail", "--set", HOLDS, "--", "true"]);
    let served = Served::start(&shell, &[]).ready();
    let is_shown = || json(&served, "/workers")["workers"][0]["state"] == "Idle";
    until("the idle worker is there", is_shown);
    shell.db.run("ALTER TABLE readpast.queue_worker RENAME TO queue_worker_of_before");
    shell.db.run(
        "CREATE VIEW readpast.queue_worker AS SELECT queue, worker, host, process / 0 AS process, version, started_at, seen_at
        FROM readpast.queue_worker_of_before",
    );
    let reports = || Served::log(&shell).matches("the workers cannot be read of Mail: ").count();
    until("the loss is reported", || reports() > 0);
    assert!(is_shown(), "the last ones that were read");
    shell.db.run("DROP VIEW readpast.queue_worker");
    shell.db.run("ALTER TABLE readpast.queue_worker_of_before RENAME TO queue_worker");
    until("the registry is read again", || {
        // The worker reports its own host twice a minute.
        shell.db.run("UPDATE readpast.queue_worker SET host = 'elsewhere'");
        json(&served, "/workers")["workers"][0]["host"] == "elsewhere"
    });
    assert_eq!(reports(), 1);
}

#[test]
fn idle_workers_are_shown_and_those_that_went() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    assert_eq!(json(&served, "/workers")["unattended"][0]["queue"], "Mail");
    let mut worker = shell.start(&["work", "Mail", "--set", HOLDS, "--", "true"]);
    until("the idle worker is there", || json(&served, "/workers")["workers"][0]["state"] == "Idle");
    let found = json(&served, "/workers");
    assert_eq!(found["unattended"], serde_json::json!([]));
    let shown = &found["workers"][0];
    assert_eq!(shown["process"], worker.id().to_string());
    assert_eq!((&shown["version"], &shown["items"]), (&env!("CARGO_PKG_VERSION").into(), &0.into()));
    worker.signal_until_it_ends("TERM");
    shell.db.run("UPDATE readpast.queue_worker SET seen_at = seen_at - interval '10 minutes'");
    until("it has gone", || json(&served, "/workers")["gone"][0]["state"] == "Gone");
    let found = json(&served, "/workers");
    let (since, seen) = (&found["unattended"][0]["since"], &found["gone"][0]["seen_at"]);
    assert!(since.is_string() && since == seen, "none since then: {found}");

    // Nobody holds what is due, and the page says since when nobody is there.
    shell.fill(1);
    shell.db.run("UPDATE readpast.mail SET scheduled_for = scheduled_for - interval '1 hour'");
    let says =
        |text: &str| json(&served, "/")["attention"][0]["text"].as_str().is_some_and(|found| found.contains(text));
    until("it needs attention", || says("no worker holds any; none has been there since 20"));
    let top = shell.ok(&["top"]);
    assert!(top.contains("none has been there since 20"), "{top}");
}

#[test]
fn the_last_day_is_drawn_from_what_the_database_keeps() {
    let shell = Shell::new();
    shell.db.run(
        "INSERT INTO readpast.queue_minute (queue, at, due, oldest_ms, in_flight, failed, ended)
        SELECT 'mail', date_trunc('minute', clock_timestamp()) - g * interval '1 minute', g, g * 1000, 1, 2, 3
        FROM generate_series(1, 1430) AS g",
    );
    let served = Served::start(&shell, &[]).ready();
    for page in ["/", "/queue/Mail"] {
        until("the day is there", || json(&served, page)["day"].as_array().unwrap().len() > 280);
        let day = json(&served, page)["day"].clone();
        let first = &day[1];
        assert!(first["due"].as_i64().unwrap() > 1400 && first["ended_per_minute"] == 3, "{first}");
        served.get(page).shows(&["The last 24 hours", "<svg class=\"chart\"", "the last 24 h:"]);
    }
    // The server keeps this minute, too.
    until("it is kept", || shell.look("SELECT COUNT(*)::text FROM readpast.queue_minute WHERE due = 0") != "0");
    assert!(json(&served, "/")["queues"][0].get("drain").is_some());
}
