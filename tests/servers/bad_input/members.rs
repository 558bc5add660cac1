//! JSON that a procedure is given by hand: it refuses names that it does not know, and values that do not fit, in words that name the
//! place, and never the row.

use readpast::{Error, ErrorKind, QueueSpec, install};
use support::both::Database;

pub const OWN: &str = r#"{"queue": "By", "types": ["Letter", "Card"], "steps": ["first", "second"], "columns": [
    {"name": "Recipient", "type": "text(20)", "nullable": false}, {"name": "Amount", "type": "decimal(9, 2)"},
    {"name": "Count", "type": "integer"}, {"name": "Big", "type": "bigint"}, {"name": "Yes", "type": "boolean"},
    {"name": "Ratio", "type": "float"}, {"name": "At", "type": "timestamp"}, {"name": "Day", "type": "date"},
    {"name": "Id", "type": "guid"}, {"name": "Bytes", "type": "binary(3)"}, {"name": "Doc", "type": "json"}],
    "subtypes": [{"name": "Mail", "columns": [{"name": "Body", "type": "text", "nullable": false}]}]}"#;

pub const THEIRS: &str = r#"{"queue": "By", "types": ["Letter", "Card"], "columns": [
    {"name": "Recipient", "type": "text(20)", "nullable": false}, {"name": "Amount", "type": "decimal(9, 2)"}],
    "table": {"name": "Jobs", "key": [{"name": "Id", "type": "bigint"}], "lifecycle": {"type": "Kind"},
    "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;

pub fn given(spec: &str) -> Vec<Database> {
    Database::each()
        .into_iter()
        .inspect(|database| {
            let made = database.pick(
                "CREATE TABLE Jobs (Id bigint IDENTITY PRIMARY KEY, State int NOT NULL DEFAULT 0, Kind varchar(20) NOT NULL, \
                 Recipient nvarchar(20) NOT NULL, Amount decimal(9, 2))",
                "CREATE TABLE Jobs (Id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, State int NOT NULL DEFAULT 0, Kind \
                 varchar(20) NOT NULL, Recipient varchar(20) NOT NULL, Amount decimal(9, 2))",
            );
            database.run(made);
            install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        })
        .collect()
}

/// Calls a procedure with this text as its items; the other arguments stand before or behind.
pub fn call(
    database: &Database,
    procedure: (&str, &str),
    before: &str,
    items: &str,
    behind: &str,
) -> Result<usize, Error> {
    let items = items.replace('\'', "''");
    let call = if database.is_sql_server() {
        let before = before.replace('\'', "N'").replace("NN'", "N'");
        let call = format!("EXECUTE [readpast].{} {before}N'{items}'{behind}", procedure.0);
        if procedure.0.ends_with("_utx") { format!("BEGIN TRANSACTION; {call}; COMMIT TRANSACTION;") } else { call }
    } else {
        format!("SELECT * FROM readpast.{}({before}'{items}'{behind})", procedure.1)
    };
    let mut session = database.session();
    let rows = session.execute(&call, &[]);
    if rows.is_err() && database.is_sql_server() {
        let _ = session.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION", &[]);
    }
    rows.map(|rows| rows.len())
}

fn add(database: &Database, item: &str) -> Result<usize, Error> {
    call(database, ("Add_By_Set_utx", "add_by_set_utx"), "", &format!("[{item}]"), "")
}

fn refused(database: &Database, what: &str, result: Result<usize, Error>, words: &str) {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::InvalidItem, "{what}: {error}");
    assert!(error.message().contains(words), "{what}: {words:?} is not in {error}");
    assert_eq!(
        database.look(
            database.pick("SELECT COUNT(*) FROM [readpast].Worker_By_V", "SELECT COUNT(*) FROM readpast.worker_by_v")
        ),
        "0",
        "{what}"
    );
}

#[test]
fn an_item_with_a_name_or_a_value_that_does_not_fit_is_refused() {
    for database in given(OWN) {
        for (item, words) in [
            (r#"{"columns": {"Recipient": "r"}, "delay": 3600000}"#, r#"item 0: there is no "delay"; there are "#),
            (r#"{"columns": {"Recipient": "r", "Amounts": 1}}"#, r#"there is no "columns.Amounts"; there are "#),
            (
                r#"{"columns": {"Recipient": "r", "Mail": {"Body": "b", "To": "x"}}}"#,
                r#"there is no "columns.Mail.To"; there are Body"#,
            ),
            (r#"{"columns": {"Recipient": "r", "Mail": "b"}}"#, r#""columns.Mail" takes an object"#),
            (r#"{"columns": {"Recipient": "r", "Mail": {}}}"#, r#""columns.Mail.Body" must have a value"#),
            (r#"{"columns": {"Recipient": "r", "recipient": "r"}}"#, r#""columns.Recipient" is given twice"#),
            (r#"{"columns": {"Recipient": null}}"#, r#""columns.Recipient" must have a value"#),
            ("{}", r#""columns.Recipient" must have a value"#),
            ("5", "it is no object"),
            (r#"{"columns": ["r"]}"#, r#""columns" takes an object"#),
            (r#"{"columns": {"Recipient": "012345678901234567890"}}"#, r#""columns.Recipient" takes text(20)"#),
            (r#"{"columns": {"Recipient": {"a": 1}}}"#, r#""columns.Recipient" takes text(20)"#),
            (r#"{"columns": {"Recipient": "r"}, "type": "Parcel"}"#, r#""type" takes ["Letter","#),
            (r#"{"columns": {"Recipient": "r"}, "step": "third"}"#, r#""step" takes ["first","#),
            (r#"{"columns": {"Recipient": "r"}, "due": "soon"}"#, r#""due" takes timestamp"#),
            (r#"{"columns": {"Recipient": "r"}, "delay_ms": 1.5}"#, r#""delay_ms" takes milliseconds"#),
            (r#"{"columns": {"Recipient": "r", "Amount": "much"}}"#, r#""columns.Amount" takes decimal(9, 2)"#),
            (r#"{"columns": {"Recipient": "r", "Amount": 12345678.5}}"#, r#""columns.Amount" takes decimal(9, 2)"#),
            (r#"{"columns": {"Recipient": "r", "Amount": 1.234}}"#, r#""columns.Amount" takes decimal(9, 2)"#),
            (r#"{"columns": {"Recipient": "r", "Count": 2147483648}}"#, r#""columns.Count" takes integer"#),
            (r#"{"columns": {"Recipient": "r", "Count": ""}}"#, r#""columns.Count" takes integer"#),
            (r#"{"columns": {"Recipient": "r", "Big": 9223372036854775808}}"#, r#""columns.Big" takes bigint"#),
            (r#"{"columns": {"Recipient": "r", "Yes": "maybe"}}"#, r#""columns.Yes" takes boolean"#),
            (r#"{"columns": {"Recipient": "r", "Ratio": "half"}}"#, r#""columns.Ratio" takes float"#),
            (r#"{"columns": {"Recipient": "r", "At": "noon"}}"#, r#""columns.At" takes timestamp"#),
            (r#"{"columns": {"Recipient": "r", "Day": "monday"}}"#, r#""columns.Day" takes date"#),
            (r#"{"columns": {"Recipient": "r", "Id": "me"}}"#, r#""columns.Id" takes guid"#),
            (r#"{"columns": {"Recipient": "r", "Bytes": "!!"}}"#, "Bytes"),
            (r#"{"columns": {"Recipient": "r", "Doc": "text"}}"#, r#""columns.Doc" takes json"#),
        ] {
            refused(&database, item, add(&database, item), words);
        }
        let nine = ["5"; 1001].join(",");
        refused(&database, "1001", add(&database, &nine), "at most 1000 items a call");
        let object = call(&database, ("Add_By_Set_utx", "add_by_set_utx"), "", r#"{"columns": {}}"#, "");
        refused(&database, "object", object, "the items are no JSON array");
    }
}

#[test]
fn the_case_of_a_name_does_not_matter() {
    for database in given(OWN) {
        let item = r#"{"COLUMNS": {"recipient": "it's \"r\"\\\n€", "AMOUNT": 12.5, "yes": true, "doc": {"Recipient": [1, null, "x"]}, "mail": {"body": "b"}, "At": null}, "Type": "Card"}"#;
        assert_eq!(add(&database, item).unwrap(), 1, "{item}");
        let queue = readpast::Queue::open(&database.config(&[]), "By").unwrap();
        let batch = queue.claim(1, std::time::Duration::ZERO).unwrap();
        let found: serde_json::Value = serde_json::from_str(&batch.get(0).unwrap().to_json()).unwrap();
        assert_eq!(found["Recipient"], "it's \"r\"\\\n€");
        assert_eq!(
            (&found["Amount"], &found["Yes"], &found["Mail_Body"]),
            (&"12.50".into(), &true.into(), &"b".into())
        );
        assert_eq!(found["Doc"], serde_json::json!({"Recipient": [1, null, "x"]}));
    }
}

#[test]
fn values_that_fit_are_taken() {
    for database in given(OWN) {
        for item in [
            r#"{"columns": {"Recipient": "r"}}"#,
            r#"{"columns": {"Recipient": "01234567890123456789", "Amount": -1234567.89, "Count": -2147483648, "Big": 9223372036854775807, "Yes": false, "Ratio": -1.5e300, "At": "2026-11-21T08:30:00.1234567Z", "Day": "2024-02-29", "Id": "0D6B6A52-8F9D-4C44-B044-08B98257037C", "Bytes": "AAEC", "Doc": []}, "type": "Letter", "step": "second", "due": "2026-11-21 08:30", "delay_ms": null}"#,
            r#"{"columns": {"Recipient": "r", "Amount": "000000000.50", "At": "2026-11-21", "Mail": null}, "delay_ms": 5}"#,
        ] {
            assert_eq!(add(&database, item).unwrap_or_else(|error| panic!("{item}: {error}")), 1, "{item}");
        }
        assert_eq!(call(&database, ("Add_By_Set_utx", "add_by_set_utx"), "", "[]", "").unwrap(), 0);
    }
}

#[test]
fn a_described_table_is_held_to_its_description() {
    for database in given(THEIRS) {
        for (item, words) in [
            (r#"{"columns": {"Recipient": "r", "State": 2}}"#, r#"there is no "columns.State"; there are "#),
            (r#"{"columns": {"Amount": 1}}"#, r#""columns.Recipient" must have a value"#),
            (r#"{"columns": {"Recipient": "r"}, "type": "Parcel"}"#, r#""type" takes ["Letter","#),
        ] {
            refused(&database, item, add(&database, item), words);
        }
        assert_eq!(add(&database, r#"{"columns": {"recipient": "r", "amount": 1.25}}"#).unwrap(), 1);
    }
}

#[test]
fn every_other_call_with_items_refuses_what_it_does_not_know() {
    for spec in [OWN, THEIRS] {
        for database in given(spec) {
            let key = if spec == OWN { "2026-11-21T08:30:00" } else { "1" };
            let worker = database.pick("NULL, N'w', ", "NULL, 'w', ");
            for (procedure, before, member) in [
                (("Modify_By_Set_trx", "modify_by_set_trx"), worker, "respons"),
                (("Modify_By_Set_utx", "modify_by_set_utx"), worker, "delay"),
                (("Renew_By_Set_trx", "renew_by_set_trx"), database.pick("N'w', ", "'w', "), "tokens"),
                (("Redrive_By_Set_trx", "redrive_by_set_trx"), "NULL, ", "why"),
            ] {
                let items = format!(r#"[{{"key": "{key}", "{member}": "x"}}]"#);
                let words = format!(r#"item 0: there is no "{member}"; there are "#);
                refused(&database, procedure.0, call(&database, procedure, before, &items, ""), &words);
                let upper = format!(r#"[{{"KEY": "{key}"}}]"#);
                let found = call(&database, procedure, before, &upper, "")
                    .unwrap_or_else(|error| panic!("{procedure:?}: {error}"));
                assert_eq!(found, 1, "{procedure:?}");
            }
        }
    }
}

/// Makes one item, and returns its key.
pub fn item_of(database: &Database) -> String {
    add(database, r#"{"columns": {"Recipient": "r"}, "type": "Letter"}"#).unwrap();
    let queue = readpast::Queue::open(&database.config(&[]), "By").unwrap();
    queue.find(&readpast::item::Filter::default(), None, 1).unwrap().get(0).unwrap().key().to_owned()
}

/// A call with these items.
type Call<'a> = &'a dyn Fn(&str) -> Result<usize, Error>;

#[test]
fn every_other_call_with_items_refuses_a_value_that_does_not_fit() {
    for spec in [OWN, THEIRS] {
        for database in given(spec) {
            let key = item_of(&database);
            let worker = database.pick("NULL, N'w', ", "NULL, 'w', ");
            let modify = |items: &str| call(&database, ("Modify_By_Set_trx", "modify_by_set_trx"), worker, items, "");
            let within = |items: &str| call(&database, ("Modify_By_Set_utx", "modify_by_set_utx"), worker, items, "");
            let renew = |items: &str| {
                let worker = database.pick("N'w', ", "'w', ");
                call(&database, ("Renew_By_Set_trx", "renew_by_set_trx"), worker, items, "")
            };
            let redrive =
                |items: &str| call(&database, ("Redrive_By_Set_trx", "redrive_by_set_trx"), "NULL, ", items, "");
            let calls: [(&str, Call<'_>, &[&str]); 4] = [
                ("modify", &modify, &["key", "token", "attempt", "rest"]),
                ("modify within", &within, &["attempt"]),
                ("renew", &renew, &["key", "attempt"]),
                ("redrive", &redrive, &["key", "token"]),
            ];
            let of_key = if spec == OWN { "timestamp" } else { "bigint" };
            let wrong = [
                ("key", r#"{"a": 1}"#, of_key),
                ("key", r#""one""#, of_key),
                ("key", "1.5", of_key),
                ("token", r#""soon""#, "timestamp"),
                ("token", r#""2026-02-30T08:30:00""#, "timestamp"),
                ("token", "5", "timestamp"),
                ("token", r#"["2026-11-21"]"#, "timestamp"),
                ("attempt", r#""first""#, "integer"),
                ("attempt", "1.5", "integer"),
                ("attempt", "2147483648", "integer"),
                ("attempt", r#"{"is": 1}"#, "integer"),
                ("status", "5", "text(20)"),
                ("status", r#""Completed, as far as it goes; the rest another time""#, "text(20)"),
                ("step", "[]", "text(60)"),
                ("step", &format!(r#""{}""#, "s".repeat(130)), "text(60)"),
                ("response", r#"{"is": "done"}"#, "text"),
                ("error", "true", "text"),
                ("due", r#""2026-11-31""#, "timestamp"),
                ("delay_ms", "1.5", "milliseconds"),
                ("delay_ms", "-1", "milliseconds"),
                ("delay_ms", "2147483647001", "milliseconds (from 0 to 2147483647000)"),
                ("release", r#""maybe""#, "boolean"),
                ("set", "5", "an object"),
                ("set.Amount", r#"{"Amount": "much"}"#, "decimal(9, 2)"),
                (
                    "set.Recipient",
                    r#"{"Recipient": "012345678901234567890123456789012345678901234567890"}"#,
                    "text(20)",
                ),
            ];
            for (member, value, takes) in wrong {
                let name = member.split('.').next().unwrap_or_default();
                for (called, call, members) in &calls {
                    if !members.contains(&name) && !members.contains(&"rest") {
                        continue;
                    }
                    // The first is right: it is not done either.
                    let good = if members.contains(&"rest") { r#", "status": "Cancelled""# } else { "" };
                    let more = if name == "key" { String::new() } else { format!(r#""key": "{key}", "#) };
                    let status = if name == "status" { "" } else { good };
                    let status = if called.starts_with("modify") { status } else { "" };
                    let items = format!(r#"[{{"key": "{key}"{good}}}, {{{more}"{name}": {value}{status}}}]"#);
                    let error = call(&items).expect_err(&items);
                    assert_eq!(error.kind(), ErrorKind::InvalidItem, "{called} {items}: {error}");
                    let words = format!(r#"item 1: "{member}" takes {takes}"#);
                    assert!(error.message().contains(&words), "{called} {items}: {words:?} is not in {error}");
                }
            }
            let none = format!(r#"[{{"key": "{key}", "status": "Failed", "set": {{"Recipient": null}}}}]"#);
            let error = modify(&none).expect_err(&none);
            assert!(error.message().contains(r#""set.Recipient" must have a value"#), "{error}");
            let stats = readpast::Queue::open(&database.config(&[]), "By").unwrap().stats().unwrap();
            assert_eq!(stats.due, 1, "nothing is changed");

            // As text, and as it should be.
            let good = format!(
                r#"[{{"KEY": "{key}", "attempt": "0", "status": "Cancelled", "delay_ms": "5", "release": false, "set": {{"amount": 1.5}}}}]"#
            );
            assert_eq!(modify(&good).unwrap(), 1, "{good}");
            let place = match (spec == OWN, database.is_sql_server()) {
                (true, true) => "Amount FROM [readpast].[By]",
                (true, false) => r#""Amount" FROM readpast."by""#,
                (false, _) => "Amount FROM Jobs",
            };
            assert_eq!(database.look(&format!("SELECT {place}")), "1.50");
        }
    }
}

#[test]
fn a_key_of_several_columns_is_held_to_them() {
    const SPEC: &str = r#"{"queue": "By", "types": ["Letter"], "columns": [], "table": {"name": "Pairs", "key": [
        {"name": "A", "type": "text(5)", "source": "producer"}, {"name": "B", "type": "integer", "source": "producer"}],
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;
    for database in Database::each() {
        database.run(database.pick(
            "CREATE TABLE Pairs (A nvarchar(5), B int, State int NOT NULL DEFAULT 0, PRIMARY KEY (A, B))",
            "CREATE TABLE Pairs (A varchar(5), B int, State int NOT NULL DEFAULT 0, PRIMARY KEY (A, B))",
        ));
        install(&database.config(&[]), Some(&QueueSpec::from_json(SPEC).unwrap())).unwrap();
        let redrive = |key: &str| {
            let items = format!(r#"[{{"key": {key}}}]"#);
            call(&database, ("Redrive_By_Set_trx", "redrive_by_set_trx"), "NULL, ", &items, "")
        };
        for (key, words) in [
            (r#""a""#, r#""key" takes an array"#),
            (r#"{"A": "a"}"#, r#""key" takes an array"#),
            (r#"["a", "one"]"#, r#""key.1" takes integer"#),
            (r#"["a", {"B": 1}]"#, r#""key.1" takes integer"#),
            (r#"["abcdefghijklmn", 1]"#, r#""key.0" takes text(5)"#),
            (r#"["a", 1, 2]"#, r#"there is no "key.2"; there are 0, 1"#),
        ] {
            refused(&database, key, redrive(key), words);
        }
        assert_eq!(redrive(r#"["a", "1"]"#).unwrap(), 1);
    }
}

#[test]
fn values_of_one_item_are_held_to_its_columns() {
    for database in given(THEIRS) {
        let key = item_of(&database);
        for (set, words) in [
            (r#"{"Amount": "much"}"#, r#""set.Amount" takes decimal(9, 2)"#),
            (r#"{"Amounts": 1}"#, r#"there is no "set.Amounts"; there are "#),
            ("5", r#""set" takes an object"#),
        ] {
            let call = if database.is_sql_server() {
                format!(
                    "EXECUTE [readpast].Modify_By_trx @Key = N'{key}', @Token = NULL, @Status = 'Failed', @Set = N'{set}'"
                )
            } else {
                format!("SELECT * FROM readpast.modify_by_trx('{key}', NULL, 'Failed', set_ => '{set}')")
            };
            let error = database.session().execute(&call, &[]).expect_err(&call);
            assert_eq!(error.kind(), ErrorKind::InvalidItem, "{call}: {error}");
            assert!(error.message().contains(words), "{call}: {words:?} is not in {error}");
        }
    }
}

/// SQL Server alone has text in code pages. The stand-in has none either: a trigger does there what a column would do.
#[test]
fn letters_that_a_column_has_lost_are_refused() {
    for database in given(THEIRS).into_iter().filter(Database::is_sql_server) {
        database.run(
            "CREATE TRIGGER loses ON Jobs AFTER INSERT, UPDATE AS UPDATE j SET Recipient = REPLACE(j.Recipient, NCHAR(257), N'?') \
             FROM Jobs AS j INNER JOIN inserted AS i ON i.Id = j.Id",
        );
        let lost = r#"item 1: "columns.Recipient" has letters that the code page of its column lacks"#;
        let items = |last: &str| {
            let item = |text: &str| format!(r#"{{"columns": {{"Recipient": "{text}"}}}}"#);
            call(&database, ("Add_By_Set_utx", "add_by_set_utx"), "", &format!("[{}, {}]", item("r?"), item(last)), "")
        };
        refused(&database, "lost", items("\u{101}b"), lost);
        assert_eq!(items("\u{e9}b?").unwrap(), 2);

        let queue = readpast::Queue::open(&database.config(&[]), "By").unwrap();
        let batch = queue.claim(1, std::time::Duration::ZERO).unwrap();
        let item = batch.get(0).unwrap();
        let set = |text: &'static str| readpast::Settlement {
            set: Some(text),
            ..readpast::Settlement::new(&item, readpast::Action::Complete)
        };
        let error = queue.settle(&[set("{\"Recipient\": \"\u{101}\"}")], None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidItem, "{error}");
        assert!(error.message().contains(r#""set.Recipient" has letters"#), "{error}");
        let outcome = queue.settle(&[set("{\"Recipient\": \"\u{e9}\"}")], None).unwrap();
        assert_eq!(outcome[0].answer, readpast::Answer::Ok);
    }
}
