//! Changes of columns' properties besides their types, while the rows that are there stay.

use super::database::{Database, item, on_each};
use readpast::{Action, ErrorKind, Settlement};
use serde_json::json;
use std::time::Duration;

const WORK: &str = r#"
queue = "Work"
columns = [
    { name = "Title", type = "text(20)", nullable = false },
    { name = "Label", type = "text(10)" },
]
"#;

const HISTORY: &str = "completion = { history = \"Work_History\" }\n";

fn add(database: &Database, title: &str) {
    database.open("Work").enqueue(&[item(json!({"Title": title}))], None).unwrap();
}

/// The values of the rows in these columns, each after its title.
fn rows(database: &Database, columns: &[&str]) -> Vec<String> {
    let quoted = |name: &&str| database.pick("[{}]", "\"{}\"").replace("{}", name);
    let columns: Vec<_> = ["Title"].iter().chain(columns).map(quoted).collect();
    database.table(&columns.join(", "), database.pick("Work", "work"))
}

#[test]
fn defaults_come_and_change_and_go() {
    on_each(|database| {
        let work = format!("{WORK}{HISTORY}");
        database.install(&work).unwrap();
        add(database, "1 before");
        add(database, "2 done");
        let queue = database.open("Work");
        let batch = queue.claim(2, Duration::ZERO).unwrap();
        let items: Vec<_> = batch.iter().collect();
        let ends = [Settlement::new(&items[0], Action::Retry), Settlement::new(&items[1], Action::Complete)];
        queue.settle(&ends, None).unwrap();

        // For a column that is there, for new ones, and for one that may not be NULL.
        let new = "text(10)\", default = \"it's\" },
            { name = \"Rank\", type = \"integer\", nullable = false, default = 5 },
            { name = \"Note\", type = \"text(10)\", default = \"n\" }";
        let with = work.replace("text(10)\" }", new);
        database.install(&with).unwrap();
        add(database, "3 after");
        let names = ["Label", "Rank", "Note"];
        assert_eq!(rows(database, &names), ["1 before | Null | Integer(5) | Null", "3 after | it's | Integer(5) | n"]);
        let kept = database.pick("[Title], [Rank], [Note]", "\"Title\", \"Rank\", \"Note\"");
        let history = database.pick("Work_History", "\"Work_History\"");
        assert_eq!(database.table(kept, history), ["2 done | Integer(5) | Null"]);
        // Again is nothing.
        let catalog = database.catalog();
        database.install(&with).unwrap();
        assert_eq!(database.catalog(), catalog);

        let other = with.replace("default = 5", "default = -6").replace(", default = \"it's\"", "");
        database.install(&other).unwrap();
        add(database, "4 other");
        assert_eq!(rows(database, &names)[2], "4 other | Null | Integer(-6) | n");
        if database.alters_columns() {
            // A column with a default becomes wider.
            let wide = other.replace("integer", "bigint");
            database.install(&wide).unwrap();
            add(database, "5 wide");
            assert_eq!(rows(database, &names)[3], "5 wide | Null | Integer(-6) | n");
        }
        let queue = database.open("Work");
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        queue.settle(&done, None).unwrap();
        assert_eq!(database.table(kept, history).len(), batch.len() + 1);
    });
}

#[test]
fn a_default_of_a_subtype_comes_and_goes() {
    on_each(|database| {
        let with = |columns: &str| format!("{WORK}[[subtypes]]\nname = \"Mail\"\ncolumns = [{columns}]\n");
        let mail = |title: &str| {
            let columns = json!({"Title": title, "Mail": {}});
            database.open("Work").enqueue(&[item(columns)], None).unwrap();
        };
        database.install(&with("{ name = \"MailTo\", type = \"text(20)\" }")).unwrap();
        mail("before");
        let cc = ", { name = \"Cc\", type = \"integer\", nullable = false, default = 1 }";
        database
            .install(&with(&format!("{{ name = \"MailTo\", type = \"text(20)\", default = \"me\" }}{cc}")))
            .unwrap();
        mail("after");
        database
            .install(&with(&format!("{{ name = \"MailTo\", type = \"text(20)\" }}{}", cc.replace("1 }", "2 }"))))
            .unwrap();
        mail("without");
        let columns = database.pick("[EnqueuedAt], [MailTo], [Cc]", "enqueued_at, \"MailTo\", \"Cc\"");
        let sent = database.table(columns, database.pick("Work_Mail", "work_mail"));
        let sent: Vec<_> = sent.iter().map(|row| row.split_once(" | ").unwrap().1).collect();
        assert_eq!(sent, ["Null | Integer(1)", "me | Integer(1)", "Null | Integer(2)"]);
    });
}

#[test]
fn constraints_come_and_change_and_go() {
    on_each(|database| {
        let people = database.pick("dbo.people", "public.people");
        database.run(&format!("CREATE TABLE {people} (id int NOT NULL PRIMARY KEY)"));
        database.run(&format!("INSERT INTO {people} (id) VALUES (1)"));
        let with =
            |label: &str, more: &str| WORK.replace("text(10)\" }", &format!("text(10)\"{label} }}{more}")) + HISTORY;
        database.install(&with("", "")).unwrap();
        database.open("Work").enqueue(&[item(json!({"Title": "1", "Label": "short"}))], None).unwrap();
        let refuses = |label: &str, by: Option<i32>| {
            let mut columns = json!({"Title": "x", "Label": label});
            if let Some(by) = by {
                columns["Person"] = json!(by);
            }
            let added = database.open("Work").enqueue(&[item(columns)], None);
            added.map_err(|error| assert_eq!(error.kind(), ErrorKind::InvalidItem, "{error}")).is_err()
        };
        let catalog = database.catalog();
        let length = |least: i32| format!(", check = '''\"Label\" IS NULL OR {least} <= ASCII(\"Label\")'''");
        // A row that is there breaks it: nothing is changed, and it is no item's fault.
        let error = database.install(&with(&length(200), "")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
        assert!(error.message().contains("existing rows contradict the description"), "{error}");
        assert_eq!(database.catalog(), catalog);

        let person = format!(
            ",\n{{ name = \"Person\", type = \"integer\", nullable = false, default = 1, references = \"{people}(id)\" }}"
        );
        database.install(&with(&length(i32::from(b'c')), &person)).unwrap();
        assert!(refuses("a", None) && refuses("d", Some(2)) && !refuses("d", Some(1)));
        // Another condition, and the column is wider; the other constraint stays as it is.
        let wide = with(&length(i32::from(b'b')), &person);
        let wide = if database.alters_columns() { wide.replace("text(10)", "text(12)") } else { wide };
        database.install(&wide).unwrap();
        assert!(refuses("a", None) && !refuses("b", None) && refuses("b", Some(2)));
        let catalog = database.catalog();
        database.install(&wide).unwrap();
        assert_eq!(database.catalog(), catalog);

        let without =
            wide.replace(&length(i32::from(b'b')), "").replace(&format!(", references = \"{people}(id)\""), "");
        database.install(&without).unwrap();
        assert!(!refuses("a", None) && !refuses("a", Some(2)));
        let queue = database.open("Work");
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        assert_eq!(queue.settle(&done, None).unwrap().len(), 5);
    });
}

#[test]
fn a_column_gets_a_type_of_the_authors_own() {
    on_each(|database| {
        let (text, number) =
            database.pick("dbo.short|dbo.number", "public.short|public.number").split_once('|').unwrap();
        database.run(database.pick(
            "CREATE TYPE dbo.short FROM nvarchar(10) NULL\nGO\nCREATE TYPE dbo.number FROM int NULL",
            "CREATE DOMAIN public.short AS varchar(10);\nGO\nCREATE DOMAIN public.number AS integer",
        ));
        let with =
            |label: &str, more: &str| WORK.replace("text(10)\" }", &format!("text(10)\"{label} }}{more}")) + HISTORY;
        database.install(&with("", "")).unwrap();
        database.open("Work").enqueue(&[item(json!({"Title": "1", "Label": "short"}))], None).unwrap();
        // A new one, in the history as well; and one that is there, where the server alters it.
        let rank = format!(
            ",\n{{ name = \"Rank\", type = \"integer\", sql_type = \"{number}\", nullable = false, default = 3 }}"
        );
        let label = if database.alters_columns() { format!(", sql_type = \"{text}\"") } else { String::new() };
        let missing = with(", sql_type = \"not_there\"", &rank);
        let error = database.install(&missing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        assert!(error.message().contains("not_there: there is no such type"), "{error}");
        database.install(&with(&label, &rank)).unwrap();
        let queue = database.open("Work");
        queue.enqueue(&[item(json!({"Title": "2", "Label": "own", "Rank": 4}))], None).unwrap();
        assert_eq!(rows(database, &["Label", "Rank"]), ["1 | short | Integer(3)", "2 | own | Integer(4)"]);
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        queue.settle(&done, None).unwrap();
        let kept = database.pick("[Title], [Rank]", "\"Title\", \"Rank\"");
        let history = database.pick("Work_History", "\"Work_History\"");
        assert_eq!(database.table(kept, history), ["1 | Integer(3)", "2 | Integer(4)"]);
        // And back.
        if database.alters_columns() {
            database.install(&with("", &rank.replace(&format!(", sql_type = \"{number}\""), ""))).unwrap();
            database.open("Work").enqueue(&[item(json!({"Title": "3"}))], None).unwrap();
            assert_eq!(rows(database, &["Rank"]), ["3 | Integer(3)"]);
        }
    });
}
