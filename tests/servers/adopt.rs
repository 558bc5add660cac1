//! Adopting a table: an error names each mistake in it, or in its description, with its place, and nothing is changed.

use readpast::adopt;
use readpast::error::ErrorKind;
use readpast::{Finding, QueueSpec, Severity, install::install};
use support::both::Database;

/// A table of orders, as somebody's application made it.
const SQL_SERVER: &str = "
CREATE TABLE dbo.Orders (
    OrderId bigint IDENTITY NOT NULL,
    State int NOT NULL,
    Body nvarchar(200) NULL,
    CreatedOn datetime NOT NULL DEFAULT GETDATE(),
    TakenOn datetime2 NULL,
    Tries int NOT NULL DEFAULT 0,
    TakenBy nvarchar(60) NULL,
    Age AS (Tries + 1),
    CONSTRAINT PK_Orders PRIMARY KEY (OrderId)
);
GO
CREATE INDEX IX_Orders_State ON dbo.Orders (State, OrderId);
GO
";

const POSTGRES: &str = "
CREATE TABLE orders (
    orderid bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state integer NOT NULL,
    body varchar(200),
    createdon timestamp NOT NULL DEFAULT LOCALTIMESTAMP,
    takenon timestamp,
    tries integer NOT NULL DEFAULT 0,
    takenby varchar(60),
    age integer GENERATED ALWAYS AS (tries + 1) STORED
);
GO
CREATE INDEX ix_orders_state ON orders (state, orderid);
GO
";

const SPEC: &str = r#"
queue = "Orders"
columns = [{ name = "Body", type = "text(200)" }]
[table]
name = "Orders"
key = [{ name = "OrderId", type = "bigint", source = "table" }]
time = "local"
lifecycle = { enqueued = "CreatedOn", started = "TakenOn", attempts = "Tries", owner = "TakenBy" }
[table.states]
Pending = { State = 0 }
Processing = { State = 1 }
Completed = { State = 2 }
"#;

fn made() -> Vec<Database> {
    let databases = Database::each();
    for database in &databases {
        database.run(database.pick(SQL_SERVER, POSTGRES));
    }
    databases
}

fn spec(text: &str) -> QueueSpec {
    QueueSpec::from_toml(text).unwrap()
}

/// The findings of a plan for `SPEC` with one part of it changed.
fn findings(database: &Database, from: &str, to: &str) -> Vec<Finding> {
    assert!(SPEC.contains(from), "{from}");
    adopt::plan(&database.config(&[]), &spec(&SPEC.replace(from, to))).unwrap().findings
}

/// Asserts that there is a finding of this severity about this object that has all these words.
#[track_caller]
fn assert_found(findings: &[Finding], severity: Severity, object: &str, words: &[&str]) {
    let fits = |finding: &&Finding| {
        let text = finding.to_string();
        finding.severity == severity
            && finding.object.to_lowercase().ends_with(&object.to_lowercase())
            && words.iter().all(|word| text.to_lowercase().contains(&word.to_lowercase()))
    };
    let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.iter().any(|finding| fits(&finding)), "{object} {words:?} in:\n{}", shown.join("\n"));
}

/// The number of objects in the database that somebody made.
fn objects(database: &Database) -> String {
    database.look(database.pick(
        "SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 0 AND type IN ('U', 'V', 'P', 'FN', 'SO')",
        "SELECT COUNT(*) FROM pg_class WHERE relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg\\_%' \
         OR nspname = 'information_schema')",
    ))
}

#[test]
fn a_table_that_fits_is_planned_and_left_alone() {
    for database in made() {
        database.run(database.pick(
            "INSERT INTO dbo.Orders (State) VALUES (0), (0), (1), (2), (7)",
            "INSERT INTO orders (state) VALUES (0), (0), (1), (2), (7)",
        ));
        let before = objects(&database);
        let plan = adopt::plan(&database.config(&[]), &spec(SPEC)).unwrap();
        assert!(plan.is_possible(), "{:#?}", plan.findings);
        assert_found(&plan.findings, Severity::Ok, "orders", &["rows", "2 Pending", "1 Completed", "1 Processing"]);
        assert_found(&plan.findings, Severity::Warning, "orders", &["1 rows are in none of the states"]);
        assert_found(&plan.findings, Severity::Warning, "orders", &["1 rows are in flight", "recovered"]);
        let indexes = database.pick("IX_Orders_Due, IX_Orders_InFlight", "orders_due, orders_in_flight");
        assert_found(&plan.findings, Severity::Ok, "orders", &["install adds to it", indexes, "nothing else"]);
        assert!(plan.script.contains("CREATE"));
        assert_eq!(objects(&database), before, "nothing is changed by a plan");
    }
}

#[test]
fn a_column_that_is_not_there() {
    for database in made() {
        let found = findings(&database, "TakenOn", "taken_onn");
        assert_found(
            &found,
            Severity::Error,
            "taken_onn",
            &["no such column", "table.lifecycle.started", "there is TakenOn"],
        );
        let found =
            findings(&database, r#"name = "Body", type = "text(200)""#, r#"name = "Recipient", type = "text(200)""#);
        assert_found(&found, Severity::Error, "Recipient", &["columns[0]", "the columns are", "Body"]);
        let found = findings(&database, "{ State = 2 }", "{ State = 2, Stat = 2 }");
        assert_found(&found, Severity::Error, "Stat", &["table.states.Completed", "there is State"]);
    }
}

#[test]
fn a_table_that_is_not_there() {
    for database in made() {
        let found = findings(&database, r#"name = "Orders""#, r#"name = "Order""#);
        assert_found(&found, Severity::Error, "order", &["no such table", "orders", "table.name"]);
        let refused = install(&database.config(&[]), Some(&spec(&SPEC.replace(r#"name = "Orders""#, r#"name = "X""#))));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
        assert!(error.message().contains("no such table"), "{error}");
    }
}

#[test]
fn types_that_do_not_fit() {
    for database in made() {
        let found = findings(&database, r#"name = "Body", type = "text(200)""#, r#"name = "Body", type = "guid""#);
        assert_found(
            &found,
            Severity::Error,
            "Body",
            &["is", "varchar", "columns[0] says guid", "say type = \"text(200)\""],
        );
        let found =
            findings(&database, r#"type = "bigint", source = "table""#, r#"type = "text(9)", source = "producer""#);
        assert_found(
            &found,
            Severity::Error,
            "OrderId",
            &[database.pick("bigint", "int8"), "table.key says text(9)", "type = \"bigint\" }"],
        );
        database.run("ALTER TABLE Orders ADD Price money");
        database.run("ALTER TABLE Orders ADD Notes xml");
        let price = r#"name = "Price", type = "text(200)""#;
        let found = findings(&database, r#"name = "Body", type = "text(200)""#, price);
        let remedy = database.pick("say type = \"decimal(19, 4)\"", "leave the column out, columns[0]");
        assert_found(&found, Severity::Error, "Price", &["money", remedy]);
        let notes = r#"name = "Notes", type = "text(200)""#;
        let found = findings(&database, r#"name = "Body", type = "text(200)""#, notes);
        assert_found(
            &found,
            Severity::Error,
            "Notes",
            &["xml", "no type of a description holds that", "leave the column out"],
        );
        let words = SPEC
            .replace("State = 0", "State = 'a'")
            .replace("State = 1", "State = 'b'")
            .replace("State = 2", "State = 'c'");
        let found = adopt::plan(&database.config(&[]), &spec(&words)).unwrap().findings;
        assert_found(
            &found,
            Severity::Error,
            "State",
            &["does not hold \"a\"", "table.states.Pending (or table.status)", "whole number"],
        );
        let found = findings(&database, "State = 2", "State = 9999999999");
        assert_found(&found, Severity::Error, "State", &["does not hold 9999999999"]);
        let found = findings(&database, r#"started = "TakenOn""#, r#"started = "Age""#);
        assert_found(&found, Severity::Error, "Age", &["table.lifecycle.started", "date and time"]);
        let found = findings(&database, "owner = \"TakenBy\"", "error = \"TakenBy\"");
        assert_found(
            &found,
            Severity::Warning,
            "TakenBy",
            &["holds 60 characters", "table.lifecycle.error may need 100"],
        );
        let found = findings(&database, "text(200)", "text(4000)");
        assert_found(&found, Severity::Warning, "Body", &["holds 200 characters", "text(4000)", "text(200)"]);
        let set = SPEC
            .replace("enqueued = \"CreatedOn\"", "finished = \"CreatedOn\"")
            .replace("{ State = 2 }", "{ State = 2, CreatedOn = { is = 'set' } }");
        let found = adopt::plan(&database.config(&[]), &spec(&set)).unwrap().findings;
        assert_found(&found, Severity::Error, "CreatedOn", &["is never NULL", "table.states.Completed"]);
    }
}

/// The table writes it by itself, so readpast must not.
#[test]
fn a_computed_column() {
    for database in made() {
        let found = findings(&database, r#"attempts = "Tries""#, r#"duration = "Age""#);
        assert_found(&found, Severity::Error, "Age", &["computed", "table.lifecycle.duration", "leave it out"]);
        let found = findings(&database, r#"name = "Body", type = "text(200)""#, r#"name = "Age", type = "integer""#);
        assert_found(&found, Severity::Error, "Age", &["computed", "columns"]);
    }
}

/// An add writes NULL where items leave a column out, unless the description has a default.
#[test]
fn a_default_of_the_table_is_none_of_the_items() {
    for database in made() {
        database.run(database.pick(
            "ALTER TABLE dbo.Orders ADD Rank int NOT NULL DEFAULT 7",
            "ALTER TABLE orders ADD rank int NOT NULL DEFAULT 7",
        ));
        let with = |more: &str| {
            let rank = format!(r#"text(200)" }}, {{ name = "Rank", type = "integer"{more} }}]"#);
            let found = findings(&database, r#"text(200)" }]"#, &rank);
            (rank, found)
        };
        assert_found(&with("").1, Severity::Warning, "Rank", &["not the table's default", "say default = ..."]);
        for good in [", default = 7", ", nullable = false"] {
            let (_, found) = with(good);
            assert!(!found.iter().any(|finding| finding.to_string().contains("the table's default")), "{found:?}");
        }
        // And so it is.
        let (rank, _) = with(", nullable = false, default = 7");
        let described = spec(&SPEC.replace(r#"text(200)" }]"#, &rank));
        install(&database.config(&[]), Some(&described)).unwrap();
        let queue = readpast::Queue::open(&database.config(&[]), "Orders").unwrap();
        queue.enqueue(&[readpast::NewItem::default()], None).unwrap();
        assert_eq!(database.look(database.pick("SELECT Rank FROM dbo.Orders", "SELECT rank FROM orders")), "7");
    }
}

#[test]
fn a_coarse_time_column_is_taken_with_a_word_about_it() {
    for database in made().into_iter().filter(Database::is_sql_server) {
        let plan = adopt::plan(&database.config(&[]), &spec(SPEC)).unwrap();
        assert_found(&plan.findings, Severity::Ok, "CreatedOn", &["datetime", "3.33 ms"]);
        let found = findings(&database, r#"enqueued = "CreatedOn""#, r#"token = "CreatedOn""#);
        assert_found(&found, Severity::Error, "CreatedOn", &["table.lifecycle.token", "microsecond"]);
    }
}

/// A token has to change with every change.
#[test]
fn a_token_of_few_decimals() {
    for database in made() {
        database.run(database.pick(
            "ALTER TABLE dbo.Orders ADD Changed datetime2(3) NULL;
GO
ALTER TABLE dbo.Orders ADD ChangedWell datetime2(6) NULL;",
            "ALTER TABLE orders ADD changed timestamp(3), ADD changedwell timestamp",
        ));
        let found = findings(&database, r#"enqueued = "CreatedOn""#, r#"token = "Changed""#);
        assert_found(&found, Severity::Error, "Changed", &["table.lifecycle.token", "microsecond"]);
        let found = findings(&database, r#"enqueued = "CreatedOn""#, r#"token = "ChangedWell""#);
        assert!(found.iter().all(|finding| finding.severity != Severity::Error), "{found:#?}");
    }
}

/// A time with a zone is no local time.
#[test]
fn a_time_with_a_zone() {
    for database in made().into_iter().filter(Database::is_sql_server) {
        database.run("ALTER TABLE dbo.Orders ADD Due datetimeoffset NULL");
        let with = r#"due = "Due", started"#;
        let found = findings(&database, "started", with);
        assert_found(&found, Severity::Error, "Due", &["table.lifecycle.due", "time = \"utc\""]);
        let utc = SPEC.replace("local", "utc").replace("started", with);
        let found = adopt::plan(&database.config(&[]), &spec(&utc)).unwrap().findings;
        assert_found(&found, Severity::Warning, "Due", &["without its zone", "+00:00"]);
    }
}

/// SQL Server converts text to the column's code page without a word, and letters that it lacks are question marks then.
#[test]
fn a_column_that_keeps_a_code_page() {
    for database in made().into_iter().filter(Database::is_sql_server) {
        database.run("ALTER TABLE dbo.Orders ADD Narrow varchar(200) COLLATE Latin1_General_100_CI_AS NULL");
        let text = SPEC.replace("columns = [", r#"columns = [{ name = "Narrow", type = "text(200)" }, "#);
        let found = adopt::plan(&database.config(&[]), &spec(&text)).unwrap().findings;
        assert_found(&found, Severity::Warning, "Narrow", &["code page 1252", "become '?'", "columns[0]"]);
        assert!(
            !found.iter().any(|finding| finding.check == "code page" && finding.object.ends_with("Body")),
            "{found:?}"
        );
    }
}

/// Keys are compared with text in the database's collation.
#[test]
fn a_key_in_another_collation() {
    for database in Database::each().into_iter().filter(Database::is_sql_server) {
        database.run(
            "CREATE TABLE dbo.Codes (Code nvarchar(10) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY, State int NOT NULL)",
        );
        let text = r#"
queue = "Codes"
columns = []
[table]
name = "Codes"
key = [{ name = "Code", type = "text(10)", source = "producer" }]
states = { Pending = { State = 0 }, Processing = { State = 1 }, Completed = { State = 2 } }
"#;
        let found = adopt::plan(&database.config(&[]), &spec(text)).unwrap().findings;
        assert_found(&found, Severity::Error, "Code", &["collation", "bin2", "table.key"]);
    }
}

#[test]
fn a_table_with_triggers() {
    for database in made() {
        database.run(database.pick(
            "CREATE TRIGGER dbo.OrdersChanged ON dbo.Orders AFTER UPDATE AS SELECT 1 WHERE 1 = 0",
            "CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
GO
CREATE TRIGGER orderschanged BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION changed();",
        ));
        let plan = adopt::plan(&database.config(&[]), &spec(SPEC)).unwrap();
        assert_found(&plan.findings, Severity::Warning, "orders", &["trigger", "orderschanged", "OUTPUT"]);
        assert!(plan.is_possible());
    }
}

/// SQL Server alone: elsewhere a table has none.
#[test]
fn a_table_with_a_trigger_instead() {
    for database in made().into_iter().filter(|database| database.is_sql_server()) {
        database.run("CREATE TRIGGER dbo.OrdersKept ON dbo.Orders INSTEAD OF UPDATE AS SELECT 1 WHERE 1 = 0");
        let plan = adopt::plan(&database.config(&[]), &spec(SPEC)).unwrap();
        assert_found(&plan.findings, Severity::Error, "Orders", &["OrdersKept", "INSTEAD OF", "AFTER"]);
        assert!(!plan.is_possible());
    }
}

/// A type that does not fit would be an error of the server's when the item is settled.
#[test]
fn numbers_that_are_too_narrow() {
    for database in made() {
        database.run(database.pick(
            "ALTER TABLE dbo.Orders ADD Took int NULL, Short smallint NULL",
            "ALTER TABLE orders ADD took integer, ADD short smallint",
        ));
        let with = |lifecycle: &str| {
            let text = SPEC
                .replace(r#"attempts = "Tries""#, lifecycle)
                .replace("[table]\n", "attempts = { limit = 40000 }\n[table]\n");
            adopt::plan(&database.config(&[]), &spec(&text)).unwrap().findings
        };
        let found = with(r#"attempts = "Tries", duration = "Took""#);
        assert_found(&found, Severity::Warning, "Took", &["24 days", "table.lifecycle.duration", "bigint"]);
        let found = with(r#"attempts = "Tries", duration = "Short""#);
        assert_found(&found, Severity::Error, "Short", &["32767 ms", "table.lifecycle.duration", "bigint"]);
        let found = with(r#"attempts = "Short""#);
        assert_found(&found, Severity::Error, "Short", &["counts to 32767", "40000", "attempts.limit"]);
    }
}

#[test]
fn a_key_that_is_not_one() {
    for database in made() {
        database.run(database.pick(
            "ALTER TABLE dbo.Orders ADD Other int NOT NULL DEFAULT 0",
            "ALTER TABLE orders ADD other int NOT NULL DEFAULT 0",
        ));
        let found = findings(
            &database,
            r#"key = [{ name = "OrderId", type = "bigint", source = "table" }]"#,
            r#"key = [{ name = "Other", type = "integer", source = "producer" }]"#,
        );
        assert_found(&found, Severity::Error, "orders", &["no unique index", "(Other)"]);
        database.run(database.pick(
            "CREATE TABLE dbo.Pairs (A int NOT NULL, B nvarchar(10) NOT NULL, State int NOT NULL, PRIMARY KEY (A, B))",
            "CREATE TABLE pairs (a integer NOT NULL, b varchar(10) NOT NULL, state integer NOT NULL, PRIMARY KEY (a, b))",
        ));
        let composite = r#"
queue = "Pairs"
columns = []
[table]
name = "Pairs"
key = [{ name = "A", type = "integer", source = "producer" }, { name = "B", type = "text(10)", source = "producer" }]
states = { Pending = { State = 0 }, Processing = { State = 1 }, Completed = { State = 2 } }
"#;
        let plan = adopt::plan(&database.config(&[]), &spec(composite)).unwrap();
        assert!(plan.is_possible(), "a composite key is no fault: {:#?}", plan.findings);
        if database.is_sql_server() {
            database.run("CREATE TABLE dbo.Slow (A varchar(10) NOT NULL PRIMARY KEY, State int NOT NULL)");
            let slow = composite.replace("\"Pairs\"", "\"Slow\"").replace(
                r#"{ name = "A", type = "integer", source = "producer" }, { name = "B", type = "text(10)", source = "producer" }"#,
                r#"{ name = "A", type = "text(10)", source = "producer" }"#,
            );
            let found = adopt::plan(&database.config(&[]), &spec(&slow)).unwrap().findings;
            assert_found(&found, Severity::Error, "slow.a", &["varchar", "reads and locks the whole table"]);
        }
        let half = composite.replace(r#", { name = "B", type = "text(10)", source = "producer" }"#, "");
        let found = adopt::plan(&database.config(&[]), &spec(&half)).unwrap().findings;
        assert_found(&found, Severity::Error, "pairs", &["no unique index keeps the key (A)"]);
    }
}

#[test]
fn indexes_that_are_not_there_or_are_others() {
    for database in made() {
        let add = |index: &str| format!("{SPEC}[table.index]\n{index}");
        let plan = |index: &str| adopt::plan(&database.config(&[]), &spec(&add(index))).unwrap();
        let good = plan("name = \"IX_Orders_State\"\ncolumns = [\"State\", \"OrderId\"]");
        assert!(good.is_possible(), "{:#?}", good.findings);
        let found = plan("name = \"IX_Order_State\"\ncolumns = [\"State\", \"OrderId\"]").findings;
        assert_found(&found, Severity::Error, "IX_Order_State", &["no such index", "IX_Orders_State"]);
        let found = plan("name = \"IX_Orders_State\"\ncolumns = [\"OrderId\", \"State\"]").findings;
        assert_found(&found, Severity::Error, "IX_Orders_State", &["has the columns", "OrderId, State"]);
    }
}

#[test]
fn dedup_without_a_unique_index() {
    for database in made() {
        let with = format!("{SPEC}[dedup]\ncolumns = [\"Body\"]\n");
        let found = adopt::plan(&database.config(&[]), &spec(&with)).unwrap().findings;
        assert_found(&found, Severity::Error, "orders", &["no unique index keeps the same Body"]);
        database.run(
            database.pick(
                "CREATE UNIQUE INDEX UQ_Body ON dbo.Orders (Body)",
                "CREATE UNIQUE INDEX uq_body ON orders (body)",
            ),
        );
        let plan = adopt::plan(&database.config(&[]), &spec(&with)).unwrap();
        assert_found(&plan.findings, Severity::Ok, "orders", &["UQ_Body", "keeps duplicates out"]);
    }
}

/// The doctor finds what was applied as it should be.
#[test]
fn a_plan_is_applied_as_a_whole() {
    for database in made() {
        let plan = adopt::plan(&database.config(&[]), &spec(SPEC)).unwrap();
        plan.apply(&database.config(&[])).unwrap();
        plan.apply(&database.config(&[])).expect("doing it again changes nothing");
        let findings = readpast::doctor::check(&database.config(&[]), Some("Orders")).unwrap();
        let errors: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error && finding.check != "compatibility")
            .map(ToString::to_string)
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

/// An obstacle stops install, too, and leaves nothing behind.
#[test]
fn nothing_is_half_applied() {
    for database in made() {
        let before = objects(&database);
        let bad = spec(&SPEC.replace("TakenOn", "TakenAt"));
        let plan = adopt::plan(&database.config(&[]), &bad).unwrap();
        assert!(!plan.is_possible());
        for refused in [plan.apply(&database.config(&[])), install(&database.config(&[]), Some(&bad))] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
            assert!(error.message().contains("TakenAt") && error.message().contains("no such column"), "{error}");
        }
        assert_eq!(objects(&database), before);
    }
}

/// A plan for a queue that is there is the way from its description to the new one, and says when there is none.
#[test]
fn a_changed_description_is_planned_as_a_change() {
    for database in made() {
        let config = database.config(&[]);
        install(&config, Some(&spec(SPEC))).unwrap();
        let newest_first = format!("{SPEC}\n[order]\ndirection = \"lifo\"\n");
        let plan = adopt::plan(&config, &spec(&newest_first)).unwrap();
        assert!(plan.is_possible(), "{:#?}", plan.findings);
        let drops = |script: &str| script.contains("DROP INDEX");
        // SQL Server's claim reads the same index from its other end.
        assert_eq!(drops(&plan.script), !database.is_sql_server(), "the index of the other order has to go");
        assert!(!drops(&adopt::plan(&config, &spec(SPEC)).unwrap().script), "nothing has to go");

        let others = spec(&SPEC.replace("Completed = { State = 2 }", "Completed = { State = 3 }"));
        let plan = adopt::plan(&config, &others).unwrap();
        assert!(!plan.is_possible() && plan.script.is_empty());
        assert_found(&plan.findings, Severity::Error, "Orders", &["[change]", "states"]);
        let error = plan.apply(&config).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    }
}

#[test]
fn a_table_of_two_queues_is_reported() {
    for database in made() {
        let config = database.config(&[]);
        install(&config, Some(&spec(SPEC))).unwrap();
        let other =
            SPEC.replace("queue = \"Orders\"", "queue = \"Again\"").replace("name = \"Orders\"", "name = \"orders\"");
        let plan = adopt::plan(&config, &spec(&other)).unwrap();
        assert!(plan.is_possible(), "{:#?}", plan.findings);
        assert_found(&plan.findings, Severity::Warning, "orders", &["[shared]", "Orders works on this table too"]);
        plan.apply(&config).unwrap();
        let found = readpast::doctor::check(&config, None).unwrap();
        assert_found(&found, Severity::Warning, "orders", &["[shared]", "Again works"]);
        assert_found(&found, Severity::Warning, "orders", &["[shared]", "Orders works"]);
        let alone = adopt::plan(&database.config(&[("schema", "elsewhere")]), &spec(SPEC)).unwrap();
        assert!(alone.findings.iter().all(|finding| finding.check != "shared"), "another schema's are not looked at");
    }
}

#[test]
fn a_queue_of_its_own_is_not_adopted() {
    for database in Database::each() {
        let error = adopt::plan(&database.config(&[]), &spec("queue = 'Job'")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("no table of yours"), "{error}");
    }
}
