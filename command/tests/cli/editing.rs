//! `edit`, and the form of `serve` for it: values and due time of an item that waits, in one step.

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
