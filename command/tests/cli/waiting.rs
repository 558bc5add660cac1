//! Items that wait for others: `enqueue --after`, lines of a file, `why`, `show`, and the page of an item.

use crate::http::Served;
use crate::shell::Shell;

const SPEC: &str =
    "queue = \"Mail\"\nafter = true\nbackoff = \"none\"\ncolumns = [{ name = \"N\", type = \"integer\" }]\n";

fn shell() -> Shell {
    let shell = Shell::empty();
    shell.write("mail.toml", SPEC);
    shell.ok(&["install", "mail.toml"]);
    shell
}

fn enqueue(shell: &Shell, arguments: &[&str]) -> String {
    shell.ok(&[&["enqueue", "Mail"], arguments].concat()).trim().to_owned()
}

#[test]
fn an_item_names_others_and_all_views_tell_which_are_left() {
    let shell = shell();
    let first = enqueue(&shell, &["N=1"]);
    let second = enqueue(&shell, &["N=2", "--delay", "1h"]);
    let last = enqueue(&shell, &["N=3", "--after", &first, "--after", &second, "--on-failed", "run"]);
    shell.ok(&shell.script(&["--until-empty"], "true"));
    let why = shell.ok(&["why", "Mail", &last]);
    assert!(why.contains(&format!("waits until others have ended: 1 of 2 have, and not {second} (Pending)")), "{why}");
    let shown = shell.ok(&["show", "Mail", &last]);
    assert!(shown.contains(&format!("\n  waited for {first} (Completed)\n  waits for {second} (Pending)")), "{shown}");
    let shown = &shell.run(&["show", "Mail", &second, "--json"]).json()[0];
    assert_eq!(
        (&shown["waited_for_by"][0]["key"], &shown["waited_for_by"][0]["over"]),
        (&last.as_str().into(), &false.into())
    );

    let served = Served::start(&shell, &[]).ready();
    let page = served.get(&format!("/queue/Mail/item?key={last}")).body;
    for part in ["Waits for: 1 of 2 over", "still waited for; when it does not complete, this one begins all the same"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(
        !page.contains("<dt>due</dt>") && page.contains("<dt>enqueued</dt>"),
        "it is due when they have ended: {page}"
    );
    assert!(served.get(&format!("/queue/Mail/item?key={second}")).body.contains("Waited for by: 0 of 1 over"));
    // The page of the first shows the second as well: both are waited for by the last.
    let page = served.get(&format!("/queue/Mail/item?key={first}")).body;
    let drawn = |key: &str| page.contains(&format!("><title>{key}</title><rect class="));
    assert!([&first, &second, &last].into_iter().all(|key| drawn(key)), "{page}");
    for part in ["3 items; each waits for those at its left", "<path class=\"wait open\"", "<path class=\"wait\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let doctor = shell.ok(&["doctor", "Mail"]);
    assert!(!doctor.to_lowercase().contains("trigger"), "{doctor}");
    shell.ok(&["cancel", "Mail", "--key", &second]);
    shell.ok(&shell.script(&["--until-empty"], "true"));
    assert_eq!(shell.count("Completed"), "2");
}

#[test]
fn lines_wait_for_earlier_ones_of_their_batch() {
    let shell = shell();
    let lines = "{\"N\": 1}\n{\"columns\": {\"N\": 2}, \"after\": [0]}\n\n{\"columns\": {\"N\": 3}, \"after\": [0, 1], \"on_failed\": \"wait\"}\n";
    let done = shell.feed(&["enqueue", "Mail", "--json"], lines);
    let answers = done.json();
    let key = |of: usize| answers[of]["key"].as_str().unwrap().to_owned();
    let shown = &shell.run(&["show", "Mail", &key(2), "--json"]).json()[0];
    assert_eq!(shown["waits_for"][1]["key"].as_str(), Some(key(1).as_str()));
    assert_eq!(shown["waits_for"][1]["on_failed"].as_str(), Some("wait"));
    shell.feed(&["enqueue", "Mail", "--batch", "1"], lines).says(2, &["line 1", "--batch", "1 items were enqueued"]);
    for (line, words) in [
        ("{\"columns\": {}, \"after\": [5]}", "line 6"),
        ("{\"columns\": {}, \"after\": [-1]}", "places of earlier items"),
        ("{\"columns\": {}, \"after\": [], \"on_failed\": \"never\"}", "on_failed is one of fail, run, wait"),
    ] {
        let done = shell.feed(&["enqueue", "Mail"], line);
        assert!(done.status != Some(0) && done.err.contains(words), "{line}: {done:?}");
    }
    shell
        .run(&["enqueue", "Mail", "N=9", "--after", "2020-01-01T00:00:00.0000010"])
        .says(2, &["there is no such item"]);
}
