//! The command over several databases.

use crate::acting::form;
use crate::browsing::json;
use crate::http::{Served, encoded};
use crate::shell::{Done, Shell};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::limit::patience;
use support::scratch::{Scratch, changed};

const SPEC: &str =
    r#"{"queue": "Mail", "columns": [{"name": "Customer", "type": "integer"}], "spread_by": ["Customer"]}"#;

/// A shell whose configuration file has two places, the second of them at this connection.
fn with_places(shell: &Shell, other: &str) {
    write_places(shell, [&shell.db.connection(), other]);
    shell.write("mail.json", SPEC);
}

fn write_places(shell: &Shell, [north, south]: [&str; 2]) {
    let text = format!("{}[places]\nnorth = '{north}'\nsouth = '{south}'\n", patience());
    let path = shell.write("readpast.toml", &text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn run(shell: &Shell, arguments: &[&str]) -> Done {
    Done::of(shell.bare(arguments).output().unwrap())
}

#[test]
fn every_subcommand_finds_the_places_of_a_configuration_file() {
    let (shell, other) = (Shell::empty(), Scratch::empty());
    with_places(&shell, &other.connection());
    let ok = |arguments: &[&str]| {
        let done = run(&shell, arguments);
        assert_eq!(done.status, Some(0), "{arguments:?}: {done:?}");
        done.out
    };
    assert_eq!(ok(&["install", "mail.json"]), "installed Mail at north, south\n");
    assert_eq!(run(&shell, &["install", "mail.json", "--json"]).json()[0]["places"][1], "south");
    let mut keys = Vec::new();
    for customer in 0..12 {
        keys.push(ok(&["enqueue", "Mail", &format!("Customer={customer}")]).trim().to_owned());
    }
    let places: BTreeSet<_> = keys.iter().map(|key| key.split('/').next().unwrap()).collect();
    assert_eq!(Vec::from_iter(places), ["north", "south"], "{keys:?}");
    let listed = ok(&["places", "Mail"]);
    let lines: Vec<_> = listed.lines().collect();
    let pending =
        |line: &str| line.split("Pending ").nth(1).unwrap().split(',').next().unwrap().parse::<usize>().unwrap();
    assert_eq!(pending(lines[0]) + pending(lines[1]), 12, "{listed}");
    assert!(lines[0].starts_with("north  Pending ") && lines[1].starts_with("south  Pending "), "{listed}");
    assert!(ok(&["stats", "Mail"]).contains("12"), "of both");
    assert_eq!(ok(&["show", "Mail", "--status", "Pending"]).lines().count(), 12);
    assert!(ok(&["cancel", "Mail", "--dry-run", "--status", "Pending"]).contains("12"));
    assert_eq!(run(&shell, &["places", "Mail", "--json"]).json()[1]["items"]["Pending"], pending(lines[1]));

    // One item, by its key; one place, by its name.
    let at_south = keys.iter().find(|key| key.starts_with("south")).unwrap();
    assert!(ok(&["show", "Mail", at_south]).contains(at_south.as_str()));
    assert!(ok(&["why", "Mail", at_south]).contains("due"));
    ok(&["cancel", "Mail", "--key", at_south]);
    let south = ok(&["places", "Mail", "--place", "south"]);
    assert_eq!((south.lines().count(), pending(&south)), (1, pending(lines[1]) - 1), "{south}");
    let mut command = shell.bare(&["list", "--json"]);
    command.env("READPAST_PLACE", "south");
    assert_eq!(Done::of(command.output().unwrap()).json()[0]["items"]["Cancelled"], 1);
    let list = run(&shell, &["list", "--json"]).json();
    assert_eq!((list.len(), &list[0]["items"]["Pending"]), (1, &11.into()), "{list:?}");
    run(&shell, &["list", "--place", "east"]).says(2, &["no place", "north, south"]);
    assert!(ok(&["check", "Mail", "--depth", "20"]).contains(" 11 due"));
    run(&shell, &["check", "Mail", "--depth", "10"]).says(2, &[]);
    let doctor = run(&shell, &["doctor", "Mail"]);
    assert!(doctor.out.contains("place north\n") && doctor.out.contains("place south\n"), "{doctor:?}");

    // A place runs empty.
    let moved = run(&shell, &["places", "Mail", "--rebalance", "--without", "south", "--json"]).json();
    let listed = ok(&["places", "Mail"]);
    let after: Vec<_> = listed.lines().map(pending).collect();
    assert_eq!((&moved[0]["moved"], after[0], after[1]), (&(pending(lines[1]) - 1).into(), 11, 0), "{listed}");
    run(&shell, &["places", "Mail", "--without", "south"]).says(2, &["--rebalance"]);
    assert!(ok(&["places", "Mail", "--rebalance"]).starts_with("moved: "), "to where they belong");

    // Items that a process has left on their way: the next brings them, as soon as it may be.
    let left = |items: &str| {
        let operation = "0b5e8f0e-93d0-4c8e-bb5e-111111111111";
        other.run(&format!(
            "INSERT INTO readpast.queue_action (queue, verb, who, login, filter, state, begun_at, done, refused, lease_until) \
             VALUES ('mail', 'rebalance', 'a', 'a', '{{\"to\": \"north\", \"operation\": \"{operation}\", \"count\": 2{items}}}', 'Running', \
             now(), 0, 0, now() + interval '1 minute')",
        ));
    };
    left(r#", "items": [{"columns": {"Customer": 1}}, {"columns": {"Customer": 2}}]"#);
    assert!(ok(&["places", "Mail"]).lines().last().unwrap().ends_with(", 2 on their way elsewhere (--rebalance)"));
    assert_eq!(run(&shell, &["places", "Mail", "--json"]).json()[1]["on_their_way"], 2);
    assert!(ok(&["places", "Mail", "--rebalance"]).starts_with("moved: "));
    assert_eq!(run(&shell, &["places", "Mail", "--json"]).json()[1]["on_their_way"], 0);
    left("");
    run(&shell, &["places", "Mail", "--rebalance"]).says(3, &["place south", "damaged"]);
    other.run("DELETE FROM readpast.queue_action");

    // A worker works at both.
    ok(&["work", "Mail", "--until-empty", "--", "true"]);
    let stats = &run(&shell, &["stats", "Mail", "--json"]).json()[0];
    assert_eq!((&stats["counts"]["Completed"], &stats["counts"]["Pending"]), (&13.into(), &0.into()), "{stats}");
}

#[test]
fn a_place_that_is_away_is_named() {
    let (shell, other) = (Shell::empty(), Scratch::empty());
    with_places(&shell, &other.connection());
    assert_eq!(run(&shell, &["install", "mail.json"]).status, Some(0));
    with_places(&shell, &changed(&other.connection(), &[("Port", "1")]));
    let done = run(&shell, &["places", "Mail", "--set", "retry.budget_ms=0"]);
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.out.contains("north  Pending 0") && done.out.contains("south  away: "), "{done:?}");
    run(&shell, &["stats", "Mail", "--set", "retry.budget_ms=0"]).says(3, &["place south"]);
    // A check alarms, with the figures of the other place; also where it counts.
    let check = |level: &str| run(&shell, &["check", "Mail", "--failed", level, "--set", "retry.budget_ms=0"]);
    for done in [check("10"), check("2000000")] {
        assert_eq!(done.status, Some(2), "{done:?}");
        let begins = "READPAST CRITICAL - Mail: no figures of place south: cannot connect";
        assert!(done.out.starts_with(begins) && done.out.contains("(critical), 0 failed"), "{done:?}");
    }
    let top = run(&shell, &["top", "--json", "--set", "retry.budget_ms=0"]).json().remove(0);
    assert_eq!((&top["concerns"][0]["kind"], &top["figures"]["failed"]), (&"place_away".into(), &0.into()), "{top}");
    assert_eq!(top["figures"]["away"][0]["place"], "south");
    // Where none answers, nothing is known.
    let nowhere = changed(&shell.db.connection(), &[("Port", "1")]);
    write_places(&shell, [&nowhere, &nowhere]);
    let done = check("10");
    assert!(done.status == Some(3) && done.out.contains("place north"), "{done:?}");
    run(&shell, &["places", "Mail", "--set", "places.east=Driver=x"]).says(2, &["--set does not take a connection"]);
}

#[test]
fn pages_and_metrics_have_each_place() {
    let (shell, other) = (Shell::empty(), Scratch::empty());
    with_places(&shell, &other.connection());
    assert_eq!(run(&shell, &["install", "mail.json"]).status, Some(0));
    let add = |customer: u32| {
        let done = run(&shell, &["enqueue", "Mail", &format!("Customer={customer}")]);
        done.out.trim().to_owned()
    };
    let keys: Vec<_> = (0..6).map(add).collect();
    let at = |place: &str| keys.iter().filter(|key| key.starts_with(place)).collect::<Vec<_>>();
    let (north, south) = (at("north/"), at("south/"));
    assert!(!north.is_empty() && !south.is_empty(), "{keys:?}");
    let serve =
        || Served::run(&shell, shell.bare(&Served::arguments(&["--allow-actions", "--set", "retry.budget_ms=0"])));
    let served = serve().ready();
    let queue = json(&served, "/queue/Mail");
    assert_eq!(queue["figures"]["due"], keys.len());
    let due =
        |of: &Value| of["places"].as_array().unwrap().iter().map(|of| of["figures"]["due"].clone()).collect::<Vec<_>>();
    assert_eq!(due(&queue), [north.len(), south.len()]);
    assert_eq!(due(&json(&served, "/queues")["queues"][0]), [north.len(), south.len()]);
    served.get("/queues").shows(&["Mail at north", "Mail at south"]);
    served.get("/metrics").shows(&[
        &format!("readpast_queue_due_items{{queue=\"Mail\"}} {}", keys.len()),
        &format!("readpast_place_due_items{{queue=\"Mail\",place=\"south\"}} {}", south.len()),
        "readpast_place_up{queue=\"Mail\",place=\"north\"} 1",
    ]);
    // Items of a place behind those of the other; each with its page and its actions.
    let items = |after: &str| json(&served, &format!("/queue/Mail/items?after={after}"))["items"].clone();
    assert_eq!(
        (items("").as_array().unwrap().len(), items("south/")[0]["key"].as_str()),
        (north.len(), Some(south[0].as_str()))
    );
    let item = format!("/queue/Mail/item?key={}", encoded(south[0]));
    assert_eq!(json(&served, &item)["state"], "Pending");
    assert_eq!(json(&served, "/queue/Mail/act?verb=pause")["total"], keys.len(), "of both places");
    let preview = served.get(&format!("/queue/Mail/act?verb=pause&key={}", encoded(south[0])));
    let reply = served.submit("/queue/Mail/act", &form(&preview.body));
    assert_eq!((reply.status, json(&served, &item)["state"].as_str()), (303, Some("Paused")), "{reply:?}");
    // One action at each place, with a number there.
    let preview = served.get("/queue/Mail/act?verb=cancel");
    assert_eq!(served.submit("/queue/Mail/act", &form(&preview.body)).status, 303);
    assert_eq!(json(&served, "/queue/Mail/items?q=state:Cancelled")["items"].as_array().unwrap().len(), north.len());
    let operations = json(&served, "/operations?queue=Mail")["operations"].clone();
    let cancels: BTreeSet<_> = operations
        .as_array()
        .unwrap()
        .iter()
        .filter(|of| of["verb"] == "cancel")
        .collect::<Vec<_>>()
        .iter()
        .map(|of| of["at"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(Vec::from_iter(cancels), ["north", "south"], "{operations}");
    let of = operations.as_array().unwrap().iter().find(|of| of["at"] == "south" && of["verb"] == "cancel").unwrap();
    served
        .get(&format!("/queue/Mail/operation?number={}&place=south", of["number"]))
        .shows(&["at south: cancel", "Done"]);
    let done = run(&shell, &["redrive", "Mail", "--status", "Cancelled", "--json"]).json().remove(0);
    assert_eq!(
        (&done["redriven"], done["operations"].as_array().map(Vec::len)),
        (&keys.len().into(), Some(2)),
        "{done}"
    );
    let listed = run(&shell, &["operations", "list", "Mail"]).out;
    assert!(listed.contains("\tat north") && listed.contains("\tat south"), "{listed}");
    let checked = |served: &Served| {
        let page = served.get("/doctor").body;
        served.post("/doctor?format=json", &[("Origin", &format!("http://{}", served.address))], &form(&page)).body
    };
    let findings = checked(&served);
    assert!(findings.contains("\"north: ") && findings.contains("\"south: "), "{findings}");
    drop(served);

    // A place that is away is marked, and those behind it can be reached.
    write_places(&shell, [&changed(&shell.db.connection(), &[("Port", "1")]), &other.connection()]);
    let served = serve().ready();
    let queue = json(&served, "/queue/Mail");
    assert_eq!((&queue["figures"]["due"], &queue["concerns"][0]["kind"]), (&south.len().into(), &"place_away".into()));
    assert!(queue["places"][0]["away"].as_str().unwrap().contains("cannot connect"), "{queue}");
    served.get("/queue/Mail").shows(&["Away", ">south</a>"]);
    served
        .get("/metrics")
        .shows(&["readpast_place_up{queue=\"Mail\",place=\"north\"} 0", "readpast_queue_up{queue=\"Mail\"} 1"]);
    let findings = checked(&served);
    assert!(findings.contains("\"object\":\"north\"") && findings.contains("\"south: "), "{findings}");
    let items = json(&served, "/queue/Mail/items");
    assert!(items["problem"].as_str().unwrap().contains("place north"), "{items}");
    let behind = format!("/queue/Mail/items?after={}", items["further"].as_str().unwrap());
    assert_eq!(json(&served, &behind)["items"].as_array().unwrap().len(), south.len());
}
