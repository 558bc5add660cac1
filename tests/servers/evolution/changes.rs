//! A description changes.

use super::database::{Database, item, on_each, titled};
use readpast::{Action, Dialect, ErrorKind, QueueSpec, Settlement, Value};
use serde_json::json;
use std::time::Duration;

/// A queue with what the tests change.
const WORK: &str = r#"
queue = "Work"
types = ["A"]
columns = [
    { name = "Title", type = "text(20)", nullable = false },
    { name = "Label", type = "text(10)" },
    { name = "Customer", type = "integer" },
    { name = "Price", type = "decimal(6, 2)" },
]
"#;

fn take(database: &Database) -> Vec<(String, String)> {
    let queue = database.open("Work");
    let batch = queue.claim(10, Duration::ZERO).unwrap();
    let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
    if !done.is_empty() {
        queue.settle(&done, None).unwrap();
    }
    let text = |value| match value {
        Some(Value::Text(text)) => text.to_owned(),
        other => format!("{other:?}"),
    };
    batch.iter().map(|item| (text(item.value_of("Title")), text(item.value_of("Note")))).collect()
}

#[test]
fn installing_twice_changes_nothing() {
    on_each(|database| {
        database.install(WORK).unwrap();
        database.open("Work").enqueue(&[titled("x")], None).unwrap();
        let (catalog, rows) = (database.catalog(), database.table("*", "Work"));
        database.install(WORK).unwrap();
        assert_eq!(database.catalog(), catalog);
        assert_eq!(database.table("*", "Work"), rows);
    });
}

#[test]
fn columns_are_added_and_widened_and_the_items_stay() {
    on_each(|database| {
        database.install(WORK).unwrap();
        let full = item(json!({"Title": "before", "Label": "l", "Customer": 7, "Price": "1234.50"}));
        database.open("Work").enqueue(&[full], None).unwrap();
        let columns = database
            .pick("[Title], [Label], [Customer], [Price]", "\"Title\", \"Label\", \"Customer\", \"Price\"::text");
        let rows = database.table(columns, "Work");
        let alters = database.alters_columns();
        let mut wider = WORK
            .replace("2)\" },", "2)\" },\n    { name = \"Note\", type = \"text\" },")
            .replace("[\"A\"]", "[\"A\", \"B\"]");
        if alters {
            wider = wider
                .replace("text(10)", "text(40)")
                .replace(", nullable = false", "")
                .replace("\"integer\"", "\"bigint\"")
                .replace("decimal(6, 2)", "decimal(8, 2)");
        }
        database.install(&wider).unwrap();
        assert_eq!(database.table(columns, "Work"), rows);

        let queue = database.open("Work");
        let mut after = item(json!({"Title": "after", "Note": "n"}));
        if alters {
            let long = "a".repeat(40);
            after =
                item(json!({"Title": "after", "Label": long, "Customer": i64::MAX, "Price": "123456.00", "Note": "n"}));
        }
        after.kind = Some("B".to_owned());
        let without = if alters { item(json!({"Note": "no title"})) } else { titled("title") };
        queue.enqueue(&[after, without], None).unwrap();
        let taken = take(database);
        assert_eq!(taken[0], ("before".to_owned(), "Some(Null)".to_owned()));
        assert_eq!(taken[1], ("after".to_owned(), "n".to_owned()));
        assert_eq!(taken[2].0, if alters { "Some(Null)" } else { "title" });
        let catalog = database.catalog();
        database.install(&wider).unwrap();
        assert_eq!(database.catalog(), catalog);
    });
}

#[test]
fn the_index_follows_the_order() {
    on_each(|database| {
        database.install(WORK).unwrap();
        let due = database.pick("IX_Work_Due", "work_due");
        let fifo = database.index(due);
        for title in ["first", "second"] {
            database.open("Work").enqueue(&[titled(title)], None).unwrap();
        }
        database.install(&format!("{WORK}[order]\ndirection = \"lifo\"\n")).unwrap();
        let lifo = database.index(due);
        assert!(lifo.contains("DESC") && !fifo.contains("DESC"), "{fifo} became {lifo}");
        let taken = take(database);
        assert_eq!(taken.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(), ["second", "first"]);
        database.install(WORK).unwrap();
        assert_eq!(database.index(due), fifo);
    });
}

#[test]
fn shards_come_and_change_and_go_and_the_items_stay() {
    on_each(|database| {
        database.install(WORK).unwrap();
        let due = database.pick("IX_Work_Due", "work_due");
        let before = database.index(due);
        let queue = database.open("Work");
        for shards in [Some(4), Some(7), Some(2), None, Some(4)] {
            let titles: Vec<_> = (0..9).map(|number| format!("{shards:?} {number}")).collect();
            queue.enqueue(&titles.iter().map(|title| titled(title)).collect::<Vec<_>>(), None).unwrap();
            let more = shards.map_or_else(String::new, |shards| format!("\nshards = {shards}\n"));
            database.install(&format!("{more}{WORK}")).unwrap();
            // In SQL Server the index names the column, which says of how many shards.
            let index = if database.dialect == Dialect::SqlServer {
                let computed = "SELECT c.definition FROM sys.computed_columns AS c WHERE c.name = 'Shard'";
                format!("{} {}", database.index(due), database.rows(computed).join(""))
            } else {
                database.index(due)
            };
            match shards {
                Some(shards) => assert!(index.contains(&format!("{shards}")) && index != before, "{index}"),
                None => assert_eq!(index.trim(), before),
            }
            let mut taken: Vec<_> = take(database).into_iter().map(|(title, _)| title).collect();
            taken.sort();
            assert_eq!(taken, titles);
            let catalog = database.catalog();
            database.install(&format!("{more}{WORK}")).unwrap();
            assert_eq!(database.catalog(), catalog);
        }
    });
}

#[test]
fn a_wider_column_keeps_its_unique_index() {
    on_each(|database| {
        if !database.alters_columns() {
            return;
        }
        let unique = format!("{WORK}[dedup]\ncolumns = [\"Title\"]\nanswer = \"existing\"\n");
        database.install(&unique).unwrap();
        database.open("Work").enqueue(&[titled("one")], None).unwrap();
        database.install(&unique.replace("text(20)", "text(30)")).unwrap();
        let again = database.open("Work").enqueue(&[titled("one"), titled("two")], None).unwrap();
        assert_eq!(again.len(), 2);
        assert_eq!(take(database).len(), 2, "the duplicate was not put in");
        // Without it the same work may be there twice.
        database.install(&WORK.replace("text(20)", "text(30)")).unwrap();
        database.open("Work").enqueue(&[titled("one"), titled("one")], None).unwrap();
        assert_eq!(take(database).len(), 2);
    });
}

#[test]
fn a_subtype_is_added() {
    on_each(|database| {
        database.install(WORK).unwrap();
        database.open("Work").enqueue(&[titled("plain")], None).unwrap();
        let with = format!(
            "{WORK}[[subtypes]]\nname = \"Mail\"\ncolumns = [{{ name = \"To\", type = \"text(9)\", nullable = false }}]\n"
        );
        database.install(&with).unwrap();
        let queue = database.open("Work");
        queue.enqueue(&[item(json!({"Title": "mailed", "Mail": {"To": "me"}}))], None).unwrap();
        if !database.alters_columns() {
            return;
        }
        let wider = with.replace("text(9)\", nullable = false }", "text(90)\" }, { name = \"Cc\", type = \"text\" }");
        database.install(&wider).unwrap();
        let long = "x".repeat(90);
        queue_of(database).enqueue(&[item(json!({"Title": "long", "Mail": {"To": long, "Cc": "you"}}))], None).unwrap();
        let batch = queue_of(database).claim(10, Duration::ZERO).unwrap();
        let to: Vec<_> = batch.iter().map(|item| format!("{:?}", item.value_of("Mail_To").unwrap())).collect();
        assert_eq!(to, ["Null".to_owned(), "Text(\"me\")".to_owned(), format!("Text({long:?})")]);
    });
}

fn queue_of(database: &Database) -> readpast::Queue {
    database.open("Work")
}

#[test]
fn a_change_that_would_lose_data_is_refused_and_nothing_changes() {
    on_each(|database| {
        let with_subtype =
            format!("{WORK}[[subtypes]]\nname = \"Mail\"\ncolumns = [{{ name = \"To\", type = \"text\" }}]\n");
        database.install(&with_subtype).unwrap();
        database.open("Work").enqueue(&[titled("x")], None).unwrap();
        let (catalog, rows) = (database.catalog(), database.table("*", "Work"));
        let stored = database.table("*", database.pick("QueueSpec", "queue_spec"));
        for (from, to, why) in [
            ("{ name = \"Customer\", type = \"integer\" },", "", "columns: \"Customer\" is not there any more"),
            ("text(20)", "text(19)", "columns: \"Title\" is text(20), of which text(19)"),
            ("decimal(6, 2)", "decimal(6, 3)", "columns: \"Price\" is decimal(6, 2)"),
            ("\"integer\" }", "\"integer\", nullable = false }", "columns: \"Customer\" may be NULL"),
            ("\"integer\" }", "\"text(9)\" }", "columns: \"Customer\" is integer"),
            (
                "columns = [\n",
                "columns = [\n{ name = \"New\", type = \"date\", nullable = false },",
                "columns: \"New\" is new and not null",
            ),
            ("[\"A\"]", "[\"B\"]", "types: \"A\" is not there any more"),
            ("name = \"Mail\"", "name = \"Post\"", "subtypes: Mail is not there any more"),
            ("name = \"To\"", "name = \"Too\"", "subtypes.columns: \"To\" is not there any more"),
        ] {
            assert_eq!(with_subtype.matches(from).count(), 1, "{from}");
            let error = database.install(&with_subtype.replace(from, to)).expect_err(to);
            assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
            assert!(error.message().contains(why), "{error}");
        }
        let table = "[table]\nname = \"t\"\nkey = [\"id\"]\nstatus = { column = \"s\", values = { Pending = 0, Processing = 1, \
                     Completed = 2 } }\n";
        let error = database.install(&format!("{WORK}{table}")).unwrap_err();
        assert!(error.message().contains("table: the items would stay where they are"), "{error}");
        assert_eq!(database.catalog(), catalog);
        assert_eq!(database.table("*", "Work"), rows);
        assert_eq!(database.table("*", database.pick("QueueSpec", "queue_spec")), stored);
    });
}

#[test]
fn a_login_that_may_use_a_queue_still_may() {
    on_each(|database| {
        // SQL Server lists at least who may connect; what lists nothing cannot be asked.
        let listed = database.pick("SELECT COUNT(*) FROM sys.database_permissions", "SELECT 1");
        if database.rows(listed) == ["Integer(0)"] {
            return;
        }
        let (role, other) = (format!("{}_r", database.name()), format!("{}_o", database.name()));
        let roles = |worker: &str| format!("{WORK}[roles]\nworker = \"{worker}\"\n");
        database.install(&roles(&role)).unwrap();
        // One that a DBA granted, besides those of the description.
        let by_hand = database.pick(
            "GRANT EXECUTE ON [readpast].Stats_Work TO {}",
            "GRANT EXECUTE ON FUNCTION readpast.stats_work TO {}",
        );
        database.run(&by_hand.replace("{}", &role));
        let held = |role: &str| {
            database.rows(&database.pick(
                "SELECT o.name FROM sys.database_permissions AS p INNER JOIN sys.objects AS o ON o.object_id = p.major_id \
                 WHERE p.grantee_principal_id = DATABASE_PRINCIPAL_ID('{}') AND SCHEMA_NAME(o.schema_id) = 'readpast' AND \
                 o.name LIKE '%Work%' AND o.name NOT LIKE 'Queue%' ORDER BY 1",
                "SELECT p.proname::text FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS a WHERE \
                 a.grantee = '{}'::regrole AND p.proname LIKE '%work%' AND p.proname NOT LIKE 'queue%' ORDER BY 1",
            ).replace("{}", role))
        };
        let before = held(&role);
        assert!(before.iter().any(|name| name.eq_ignore_ascii_case("Stats_Work")), "{before:?}");
        assert!(before.iter().any(|name| name.eq_ignore_ascii_case("Next_Work_trx")), "{before:?}");
        database.install(&roles(&role).replace("text(20)", "text(30)")).unwrap();
        if database.dialect == Dialect::Postgres {
            assert_eq!(held(&role), before);
        }
        // Another role takes its place: what the description gave goes, what a DBA gave stays.
        database.install(&roles(&other).replace("text(20)", "text(30)")).unwrap();
        let left = held(&role);
        if database.dialect == Dialect::Postgres {
            assert_eq!(left, ["stats_work"]);
        }
        assert!(held(&other).iter().any(|name| name.eq_ignore_ascii_case("Next_Work_trx")));
        let drop = |role: &str| format!("DROP OWNED BY {role}; DROP ROLE {role}");
        if database.dialect == Dialect::Postgres {
            database.run(&format!("{}\nGO\n{}", drop(&role), drop(&other)));
        }
    });
}

#[test]
fn an_adopted_table_is_read_as_it_was() {
    let table = r#"
        queue = "Adopted"
        columns = [{ name = "body", type = "text" }]
        [table]
        name = "adopted"
        key = ["id"]
        lifecycle = { started = "begun" }
        status = { column = "state", values = { Pending = 0, Processing = 1, Completed = 2 } }
    "#;
    let spec = QueueSpec::from_toml(table).unwrap();
    let schema = readpast::ident::Identifier::new("the schema", "readpast").unwrap();
    for dialect in [Dialect::SqlServer, Dialect::Postgres] {
        let upgrade = |text: &str| {
            readpast::render::upgrade_script(dialect, &schema, &spec, &QueueSpec::from_toml(text).unwrap())
        };
        for (from, to, key) in [
            ("\"id\"", "\"no\"", "table.key:"),
            ("name = \"adopted\"", "name = \"other\"", "table.name:"),
            ("name = \"adopted\"", "name = \"adopted\"\nschema = \"s\"", "table.schema:"),
            ("name = \"adopted\"", "name = \"adopted\"\ntime = \"local\"", "table.time:"),
            ("Completed = 2", "Completed = 3", "table.states:"),
            ("\"begun\"", "\"start\"", "table.lifecycle.started:"),
            ("\"begun\"", "\"begun\", owner = \"who\"", "table.lifecycle.owner:"),
        ] {
            let error = upgrade(&table.replace(from, to)).expect_err(to);
            assert!(error.message().contains(key), "{error}");
        }
        // The description of the owner's columns may change: nothing of theirs does.
        let more = table
            .replace("[{ name", "[{ name = \"extra\", type = \"date\" }, { name")
            .replace("begun", "begun\", finished = \"ended");
        let script = upgrade(&more).unwrap();
        assert!(!script.contains("ALTER TABLE \"public\"") && !script.contains("ALTER TABLE [dbo]"), "{dialect:?}");
    }
}

#[test]
fn an_adopted_table_gets_its_index_anew() {
    on_each(|database| {
        database.run(database.pick(
            "CREATE TABLE adopted (id bigint IDENTITY NOT NULL PRIMARY KEY, state int NOT NULL, body nvarchar(50) NULL)",
            "CREATE TABLE adopted (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state integer NOT NULL, body text)",
        ));
        let fifo = "queue = \"Adopted\"\ncolumns = [{ name = \"body\", type = \"text(50)\" }]\n[table]\nname = \"adopted\"\n\
                    key = [\"id\"]\nstatus = { column = \"state\", values = { Pending = 0, Processing = 1, Completed = 2 } }\n";
        database.install(fifo).unwrap();
        for body in ["first", "second"] {
            database.open("Adopted").enqueue(&[item(json!({"body": body}))], None).unwrap();
        }
        let schema = database.pick("dbo", "public");
        let indexes = || database.index_in(schema, database.pick("IX_Adopted_Due", "adopted_due"));
        let before = indexes();
        assert!(!before.is_empty() && !before.contains("DESC"), "{before}");
        database.install(&format!("{fifo}[order]\ndirection = \"lifo\"\n")).unwrap();
        // SQL Server's claim reads the same index from its other end.
        if database.dialect == Dialect::SqlServer {
            assert_eq!(indexes(), before);
        } else {
            assert!(indexes().contains("DESC"), "{}", indexes());
        }
        let queue = database.open("Adopted");
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        let body = batch.get(0).unwrap().value_of("body").map(|value| format!("{value:?}"));
        assert_eq!(body.as_deref(), Some("Text(\"second\")"));
    });
}

/// The tables of an install fit its demands on a table, the second time as well.
#[test]
fn a_described_table_with_dedup_is_installed_twice() {
    on_each(|database| {
        let made = |queue: &str, among: &str, nullable: bool| {
            format!(
                "queue = \"{queue}\"\ncolumns = [{{ name = \"Title\", type = \"text(20)\", nullable = {nullable} }}]\n\
                 dedup = {{ columns = [\"Title\"], among = \"{among}\" }}\n[table]\nschema = \"readpast\"\n\
                 name = \"{queue}s\"\ncreate = true\nkey = [\"Id\"]\n\
                 status = {{ column = \"State\", values = {{ Pending = 0, Processing = 1, Completed = 2 }} }}\n"
            )
        };
        for (queue, among, nullable) in [
            ("Whole", "all", false),
            ("Partly", "all", true),
            ("Open", "unfinished", false),
            ("Opener", "unfinished", true),
        ] {
            let spec = made(queue, among, nullable);
            database.install(&spec).unwrap();
            let add = || database.open(queue).enqueue(&[titled("one"), titled("two")], None).unwrap();
            assert!(add().iter().all(|added| !added.duplicate), "{queue}");
            let catalog = database.catalog();
            database.install(&spec).unwrap_or_else(|error| panic!("{queue}: {error}"));
            assert_eq!(database.catalog(), catalog, "{queue}: the second install changes nothing");
            assert!(add().iter().all(|added| added.duplicate), "{queue}");
            if nullable {
                let nothing = || database.open(queue).enqueue(&[item(json!({})), item(json!({}))], None).unwrap();
                assert!(
                    nothing().iter().chain(&nothing()).all(|added| !added.duplicate),
                    "{queue}: nothing is no work"
                );
            }
        }
        // Where the server can hold the whole table to it, other programs that put rows in are held to it.
        let place = database.pick("[readpast].[Wholes]", "readpast.wholes");
        let error =
            database.session().execute(&format!("INSERT INTO {place} (Title) VALUES ('one')"), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidItem, "{error}");
    });
}
