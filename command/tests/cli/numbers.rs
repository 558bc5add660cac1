//! Short numbers of items whose keys are times: shown, and taken for the key.

use crate::shell::{Shell, key};

/// Items 1 to 12 an hour ago within one hundredth of a second, item 13 in the next one, and item 14 a day before.
fn burst() -> Shell {
    let shell = Shell::new();
    shell.fill(14);
    shell.db.run(
        "UPDATE readpast.mail SET enqueued_at = date_trunc('second', now() AT TIME ZONE 'UTC') - interval '1 hour'
             + CASE \"N\" WHEN 13 THEN interval '550 ms' WHEN 14 THEN interval '-23 h' ELSE interval '540 ms' + \"N\" * interval '1 us' END",
    );
    shell
}

/// So many digits of the key from the day on.
fn number(key: &str, digits: usize) -> String {
    key.chars().filter(char::is_ascii_digit).skip(6).take(digits).collect()
}

#[test]
fn a_short_number_is_shown_and_names_its_item() {
    let shell = burst();
    let (key, next) = (key(&shell, 7), key(&shell, 13));
    let whole = number(&key, 14);
    let spoken = format!("{} {} {} {}", &whole[..4], &whole[4..8], &whole[8..10], &whole[10..]);
    assert!(shell.ok(&["show", "Mail"]).contains(&format!("{key}\t{spoken}\tPending\t0\t")));
    for given in [&whole, &spoken, &spoken.replace(' ', "-"), &key] {
        let text = shell.ok(&["show", "Mail", given]);
        assert!(text.starts_with(&format!("item {key}   short number {spoken}\n")), "{given}: {text}");
        assert!(shell.ok(&["why", "Mail", given]).starts_with(&format!("{key}\t{spoken}\t")), "{given}");
        assert_eq!(shell.ok(&["show", "Mail", "--key", given]).lines().count(), 1, "{given}");
    }
    for line in [&["show", "Mail", "--json", &whole][..], &["why", "Mail", "--json", &whole]] {
        let told = &shell.run(line).json()[0];
        assert_eq!((&told["key"], &told["short_number"]), (&key.as_str().into(), &whole.as_str().into()));
    }
    // Ten digits do, where nothing else came within the hundredth.
    let text = shell.ok(&["redrive", "Mail", "-n", "--key", &number(&next, 10)]);
    assert!(text.contains(&next) && text.contains("redriven: 1"), "{text}");
    assert_eq!(shell.ok(&["cancel", "Mail", "--key", &number(&next, 10)]), "cancelled: 1\n");
    assert_eq!(shell.look("SELECT \"N\" FROM readpast.mail WHERE status = 'Cancelled'"), "13");
    assert_eq!(shell.ok(&["purge", "Mail", "--key", &number(&next, 10)]), "purged: 1\n");
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail"), "13");
}

#[test]
fn nothing_is_guessed_between_items() {
    let shell = burst();
    let first = key(&shell, 1);
    let hundredth = number(&first, 10);
    for arguments in
        [&["show", "Mail", &hundredth][..], &["why", "Mail", &hundredth], &["cancel", "Mail", "--key", &hundredth]]
    {
        let done = shell.run(arguments);
        done.says(
            2,
            &["means several items of queue Mail: ", &key(&shell, 1), &key(&shell, 10), " and more; give more"],
        );
        assert!(!done.err.contains(&key(&shell, 11)), "{done:?}");
    }
    // One more digit leaves nine; a number of seconds means all of them, and the next.
    assert!(!shell.run(&["show", "Mail", &number(&first, 13)]).err.contains(" and more"));
    shell.run(&["purge", "Mail", "--key", &number(&first, 8)]).says(2, &["several"]);
    assert_eq!(shell.look("SELECT COUNT(*) FROM readpast.mail WHERE status = 'Pending'"), "14");

    let none = shell.look("SELECT to_char(now() AT TIME ZONE 'UTC' - interval '1 minute', 'YYYY-MM DDHH24MISS')");
    let (month, none) = none.split_once(' ').unwrap();
    shell.run(&["cancel", "Mail", "--key", none]).says(2, &[none, "no item", &format!("in {month}, the latest month")]);
    shell.run(&["show", "Mail", "9922111054"]).says(2, &["\"9922111054\" is no key of queue Mail"]);
}

#[test]
fn a_key_that_is_no_time_has_no_number() {
    let shell = Shell::empty();
    shell.db.run("CREATE TABLE readpast_task (id text PRIMARY KEY, s integer NOT NULL DEFAULT 0)");
    shell.write(
        "task.toml",
        "queue = 'Task'\ncolumns = []\n[table]\nname = 'readpast_task'\nschema = 'public'\nkey = [{ name = 'id', type = 'text(30)' }]\n\
         [table.states]\nPending = { s = 0 }\nProcessing = { s = 1 }\nCompleted = { s = 2 }\n",
    );
    shell.ok(&["install", "task.toml"]);
    shell.db.run("INSERT INTO readpast_task VALUES ('2722111054'), ('2026-11-27T22:11:10.5400030')");
    assert!(shell.ok(&["show", "Task"]).contains("2722111054\t-\tPending\t"));
    let shown = &shell.run(&["show", "Task", "--json", "2722111054"]).json()[0];
    assert_eq!((&shown["key"], &shown["short_number"]), (&"2722111054".into(), &serde_json::Value::Null));
}

#[test]
fn pages_show_numbers_and_take_them() {
    let shell = burst();
    let served = crate::http::Served::start(&shell, &["--allow-actions"]).ready();
    let (key, next) = (key(&shell, 7), key(&shell, 13));
    let whole = number(&key, 14);
    let spoken = format!("{} {} {} {}", &whole[..4], &whole[4..8], &whole[8..10], &whole[10..]);
    served.get("/queue/Mail/items").shows(&[&spoken]);
    served.get(&format!("/queue/Mail/items?key={}", spoken.replace(' ', "+"))).shows(&["1 item in", &key]);
    served.get(&format!("/queue/Mail/item?key={whole}")).shows(&[&format!(">{key}<"), &format!(">{spoken}<")]);
    let several = number(&key, 10);
    for (path, heading) in [
        (format!("/queue/Mail/item?key={several}"), "cannot be shown"),
        (format!("/queue/Mail/items?key={several}"), "several items"),
        (format!("/queue/Mail/act?verb=cancel&key={several}"), "Nothing can be changed"),
    ] {
        let reply = served.get(&path);
        assert_eq!(reply.status, 400, "{path}");
        assert!(reply.body.contains(heading) && reply.body.contains("means several items"), "{path}: {}", reply.body);
    }
    // The form has the whole key, and so does its work to what was shown.
    let preview = served.get(&format!("/queue/Mail/act?verb=cancel&key={}", number(&next, 10)));
    preview.shows(&["<b>1</b> item ", &format!("name=\"key\" value=\"{next}\"")]);
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let act = |key: &str| served.submit("/queue/Mail/act", &format!("verb=cancel&secret={secret}&key={key}"));
    assert_eq!(act(&several).status, 400);
    assert_eq!(act(&number(&next, 10)).status, 303);
    assert_eq!(shell.look("SELECT \"N\" FROM readpast.mail WHERE status = 'Cancelled'"), "13");
}
