//! `edit` and `move`, and the forms of `serve` for them: one item in one step.

use crate::http::{Reply, Served, encoded};
use crate::shell::{Shell, key, mixed};

/// The hidden field of a form.
fn hidden(page: &str, name: &str) -> String {
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    field.split('"').next().unwrap().replace("&#x2f;", "/")
}

/// The words of a page that refuses.
#[track_caller]
fn says(page: &Reply, status: u16, words: &[&str]) {
    assert_eq!(page.status, status, "{page:?}");
    let body = page.body.replace("&#x2f;", "/").replace("&quot;", "\"");
    words.iter().for_each(|words| assert!(body.contains(words), "{words} is not in {body}"));
}

fn look(shell: &Shell, n: usize) -> String {
    let columns =
        r#"concat_ws('|', status, "Recipient", COALESCE("Body", 'none'), "Urgent", "Tags", scheduled_for < now())"#;
    shell.look(&format!("SELECT {columns} FROM readpast.mail WHERE \"N\" = {n}"))
}

#[test]
fn the_command_edits_an_item_that_waits() {
    let shell = mixed();
    let waiting = key(&shell, 6);
    let edited = shell.run(&["edit", "Mail", &waiting, "Recipient=new", "Body=a=b", "Urgent=true", "Tags:=[\"x\"]"]);
    edited.says(0, &[]);
    assert_eq!(edited.out, "edited: 1\n");
    assert_eq!(look(&shell, 6), "Pending|new|a=b|t|[\"x\"]|t");
    shell.ok(&["edit", "Mail", &waiting, "Body:=null", "--delay", "1h"]);
    assert_eq!(look(&shell, 6), "Pending|new|none|t|[\"x\"]|f");
    // One in Error keeps its state as well, and its time where none is given.
    shell.ok(&["edit", "Mail", &key(&shell, 3), "Recipient=third"]);
    assert_eq!(look(&shell, 3), "Error|third|none|f");

    let ended = shell.run(&["edit", "Mail", &key(&shell, 1), "Body=x"]);
    ended.says(1, &["was left unchanged: IllegalTransition, it is Failed"]);
    assert_eq!(ended.out, "edited: 0, left unchanged: 1\n");
    let token = shell.run(&["show", "Mail", &waiting, "--json"]).json()[0]["token"].as_str().unwrap().to_owned();
    let fenced = ["edit", "Mail", &waiting, "Body=y", "--json", "--token", &token, "--operation"];
    let once: Vec<_> = fenced.iter().copied().chain(["00000000-0000-4000-8000-0000000000ed"]).collect();
    let first = shell.run(&once).json().remove(0);
    assert_eq!((&first["edited"], &first["outcomes"][0]["answer"]), (&1.into(), &"OK".into()));
    assert_eq!(shell.run(&once).json().remove(0), first, "a repetition has the same answer");
    let stale = shell.run(&["edit", "Mail", &waiting, "Body=z", "--token", &token]);
    stale.says(1, &["Conflict, it is Pending"]);

    for (arguments, status, says) in [
        (&["edit", "Mail", &waiting][..], 2, "nothing is to be changed"),
        (&["edit", "Mail", &waiting, "N=x"], 2, "column \"N\" (integer) does not take"),
        (&["edit", "Mail", &waiting, "Recipient:=null"], 2, "column \"Recipient\" must have a value"),
        (&["edit", "Mail", &waiting, "Nope=1"], 2, "has no column \"Nope\"; it has Recipient"),
        (&["edit", "Mail", &waiting, "--due", "soon"], 2, "not a UTC time"),
        (&["edit", "Mail", &waiting, "Status=Failed"], 2, "column \"Status\" is not to be set"),
        (&["edit", "Mail", "2000-01-01T00:00:00", "N=1"], 1, "has no item"),
    ] {
        shell.run(arguments).says(status, &[says]);
    }
    let recorded = shell.run(&["operations", "list", "Mail", "--json"]).json();
    let edits: Vec<_> = recorded.iter().filter(|of| of["verb"] == "edit").collect();
    assert_eq!(edits.len(), 5, "{recorded:?}");
    assert_eq!(edits[0]["filter"], serde_json::json!({"keys": [waiting], "set": ["Body"]}), "names, and no values");
}

#[test]
fn the_page_edits_an_item_as_it_was_shown() {
    let shell = mixed();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let waiting = key(&shell, 6);
    let address = format!("/queue/Mail/edit?key={}", encoded(&waiting));
    let item = served.get(&format!("/queue/Mail/item?key={}", encoded(&waiting)));
    item.shows(&["/edit?key=", "Its values and its due time"]);
    let ended = served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 1))));
    assert!(!ended.body.contains("/edit?key="), "an ended item is not edited");
    let page = served.get(&address);
    page.shows(&["Edit item", "name=\"set.Recipient\" value=\"r6\"", "name=\"none.Body\" checked", "name=\"due\""]);
    let form = |more: &str| {
        let fields = ["secret", "key", "token"].map(|name| format!("{name}={}", encoded(&hidden(&page.body, name))));
        format!("{}&{more}", fields.join("&"))
    };
    let submit = |more: &str| served.submit("/queue/Mail/edit", &form(more));

    // Mistakes stand at their fields, with what was typed; nothing is changed.
    let wrong = submit("set.N=six&set.Recipient=%3Cb%3E&set.Body=&none.Body=on&due=soon");
    says(
        &wrong,
        400,
        &["value=\"six\"", "(integer) does not take", "aria-describedby=\"c3p\"", "value=\"&lt;b&gt;\"", "not a UTC"],
    );
    assert_eq!(look(&shell, 6), "Pending|r6|none|t");
    let nothing = submit("set.N=6&set.Recipient=r6&set.Body=&none.Body=on");
    says(&nothing, 400, &["No value is another one"]);

    let changed = submit("set.N=6&set.Recipient=r6&set.Body=one%0D%0Atwo&none.Body=on&set.Urgent=true&due=2099-01-01");
    assert_eq!(changed.status, 303, "{changed:?}");
    served.get(changed.header("location").unwrap()).shows(&["edited: 1"]);
    assert_eq!(look(&shell, 6), "Pending|r6|one\ntwo|t|f");
    let late = submit("set.Recipient=late");
    says(&late, 409, &["CONFLICT"]);
    assert_eq!(look(&shell, 6), "Pending|r6|one\ntwo|t|f");

    let again = served.get(&address);
    let fields = ["secret", "key", "token"].map(|name| format!("{name}={}", encoded(&hidden(&again.body, name))));
    let none = format!("{}&set.Body=one%0D%0Atwo&none.Body=on&set.Tags=%5B1%5D", fields.join("&"));
    assert_eq!(served.submit("/queue/Mail/edit", &none).status, 303);
    assert_eq!(look(&shell, 6), "Pending|r6|none|t|[1]|f");
    let who = shell.run(&["operations", "list", "Mail", "--json"]).json();
    assert_eq!((&who[0]["verb"], &who[0]["filter"]["set"]), (&"edit".into(), &serde_json::json!(["Body", "Tags"])));

    let hidden_payload = Served::start(&shell, &["--allow-actions", "--hide-payload"]).ready();
    let page = hidden_payload.get(&address);
    page.shows(&["hidden by a setting", "name=\"due\""]);
    assert!(!page.body.contains("set.Recipient"));
    let looks_only = Served::start(&shell, &[]).ready();
    assert_eq!(looks_only.get(&address).status, 403);
    assert_eq!(looks_only.submit("/queue/Mail/edit", &form("set.Recipient=x")).status, 403);
}

/// A queue that takes items of Mail, and one that does not.
fn neighbours(shell: &Shell) {
    shell.write(
        "slow.json",
        r#"{"queue": "Slow", "types": ["Email", "Sms"], "columns": [{"name": "Recipient", "type": "text(254)"}]}"#,
    );
    shell.write(
        "other.json",
        r#"{"queue": "Other", "types": ["Email", "Sms"], "columns": [
        {"name": "Must", "type": "integer", "nullable": false}]}"#,
    );
    shell.ok(&["install", "slow.json"]);
    shell.ok(&["install", "other.json"]);
}

#[test]
fn the_command_moves_an_item() {
    let shell = mixed();
    neighbours(&shell);
    let (failed, waiting) = (key(&shell, 1), key(&shell, 6));
    let moved = shell.ok(&["move", "Mail", &failed, "--to", "Slow"]);
    let new = moved.lines().next().unwrap().to_owned();
    assert_eq!(moved, format!("{new}\nmoved: 1\n"));
    shell.run(&["show", "Slow", &new]).says(0, &[]);
    assert!(shell.ok(&["show", "Mail", &failed]).contains(&format!("moved to Slow: {new}")));
    let again = shell.run(&["move", "Mail", &failed, "--to", "Slow"]);
    again.says(1, &["was left unchanged: IllegalTransition, it is Cancelled"]);
    let document = shell.run(&["move", "Mail", &waiting, "--to", "Slow", "--json"]).json().remove(0);
    assert_eq!((&document["moved"], &document["states"]["Cancelled"]), (&1.into(), &1.into()));
    assert!(document["new_key"].is_string());
    for (to, status, says) in [
        ("Other", 2, "queue Other does not take it: it has no value for Must"),
        ("Mail", 2, "the item is there"),
        ("Nope", 5, "Nope"),
    ] {
        shell.run(&["move", "Mail", &key(&shell, 3), "--to", to]).says(status, &[says]);
    }
}

#[test]
fn the_page_moves_an_item_to_a_queue_that_takes_it() {
    let shell = mixed();
    neighbours(&shell);
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let address = format!("/queue/Mail/item?key={}", encoded(&key(&shell, 2)));
    let page = served.get(&address);
    page.shows(&["action=\"/queue/Mail/move\"", "<option>Slow</option>"]);
    assert!(!page.body.contains("<option>Other</option>"), "it takes none of these");
    let fields = ["secret", "key", "token"].map(|name| format!("{name}={}", encoded(&hidden(&page.body, name))));
    let form = |to: &str| format!("{}&to={to}", fields.join("&"));
    says(&served.submit("/queue/Mail/move", &form("Other")), 502, &["no value for Must"]);
    says(&served.submit("/queue/Mail/move", &form("Nope")), 400, &["shows no queue Nope"]);
    let moved = served.submit("/queue/Mail/move", &form("Slow"));
    assert_eq!(moved.status, 303, "{moved:?}");
    served.get(moved.header("location").unwrap()).shows(&["moved from Mail: 1", "Pending"]);
    served.get(&address).shows(&["Cancelled", "moved to Slow: "]);
    says(&served.submit("/queue/Mail/move", &form("Slow")), 409, &["CONFLICT"]);
    let looks_only = Served::start(&shell, &[]).ready();
    assert!(!looks_only.get(&address).body.contains("/move\""));
    assert_eq!(looks_only.submit("/queue/Mail/move", &form("Slow")).status, 403);
}
