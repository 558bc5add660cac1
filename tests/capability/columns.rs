//! The properties of a column besides its type: the value of an item that leaves it out, and the rules for each.

use crate::by_hand;
use crate::kinds::{install, tables};
use readpast::item::{Action, Answer, NewItem, Settlement};
use serde_json::{Value, json};
use support::api::Api;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("columns::a_column_left_out_has_its_default", a_column_left_out_has_its_default),
    ("columns::a_default_where_null_may_not_be", a_default_where_null_may_not_be),
    ("columns::defaults_by_hand", defaults_by_hand),
    ("columns::the_table_has_the_default_too", the_table_has_the_default_too),
    ("columns::subtypes_have_defaults", subtypes_have_defaults),
    ("columns::two_that_leave_it_out_are_the_same_work", two_that_leave_it_out_are_the_same_work),
    ("columns::a_condition_is_kept_by_the_table", a_condition_is_kept_by_the_table),
    ("columns::a_row_that_is_referred_to_is_there", a_row_that_is_referred_to_is_there),
    ("columns::subtypes_have_constraints", subtypes_have_constraints),
    ("columns::a_type_of_the_authors_own", a_type_of_the_authors_own),
    ("columns::a_type_that_does_not_fit_is_refused", a_type_that_does_not_fit_is_refused),
    ("columns::a_type_of_fewer_digits_is_refused", a_type_of_fewer_digits_is_refused),
    ("columns::a_missing_table_to_refer_to_is_no_items_fault", a_missing_table_to_refer_to_is_no_items_fault),
];

/// A queue that is open.
pub type Open = dyn Api;

/// A default of every kind.
fn defaults() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("Note", "text(40)", json!("it's «é» $$ \\")),
        ("Letter", "text", json!("")),
        ("Count", "integer", json!(i32::MIN)),
        ("Big", "bigint", json!(i64::MIN)),
        ("Good", "boolean", json!(true)),
        ("Score", "float", json!(-2.5e-3)),
        ("Amount", "decimal(10, 2)", json!("12345678.90")),
        ("At", "timestamp", json!("2026-11-21T08:30:00Z")),
        ("Day", "date", json!("2026-02-28")),
        ("Ref", "guid", json!("d6513312-4dcc-4c44-b044-08b98257037c")),
        ("Extra", "json", json!({"a": [1, null, "b'c"]})),
    ]
}

pub fn on_each_table(given: &Given, more: &Value, body: impl Fn(&Given, &Open)) {
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        install(&given, table, more);
        body(&given, &*given.open(&[]));
    }
}

pub fn item(columns: Value) -> NewItem {
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// The values of these columns, by the payload of the item that has them.
pub fn values(queue: &Open, payload: &str, names: &[&str]) -> Value {
    let found = queue.find("{}", None, 1000).unwrap();
    let item = found.iter().find(|item| item.column("Payload") == payload).unwrap();
    names.iter().map(|name| item.column(name).clone()).collect()
}

fn a_column_left_out_has_its_default(given: &Given) {
    let all = defaults();
    let mut columns = vec![json!({"name": "Payload", "type": "text(100)"})];
    columns.extend(all.iter().map(|(name, kind, value)| json!({"name": name, "type": kind, "default": value})));
    on_each_table(given, &json!({"columns": columns}), |_, queue| {
        let names: Vec<_> = all.iter().map(|(name, ..)| *name).collect();
        let mut nulls: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
        nulls.insert("Payload".to_owned(), json!("nulls"));
        let others = json!({"Payload": "others", "Note": "n", "Count": 1, "Good": false, "Extra": []});
        let items = [item(json!({"Payload": "none"})), item(Value::Object(nulls)), item(others)];
        queue.enqueue(&items, None).unwrap();

        let shown = values(queue, "none", &names);
        for ((name, kind, default), value) in all.iter().zip(shown.as_array().unwrap()) {
            match *kind {
                "timestamp" => assert!(value.as_str().unwrap().starts_with("2026-11-21T08:30:00"), "{value}"),
                "guid" => assert_eq!(value.as_str().unwrap().to_lowercase(), *default),
                _ => assert_eq!(value, default, "{name}"),
            }
        }
        assert_eq!(values(queue, "nulls", &names), json!(vec![Value::Null; names.len()]), "null is a value, too");
        assert_eq!(values(queue, "others", &["Note", "Count", "Good", "Extra"]), json!(["n", 1, false, []]));
        assert_eq!(values(queue, "others", &["Letter", "Day"]), json!(["", "2026-02-28"]));
    });
}

fn a_default_where_null_may_not_be(given: &Given) {
    let columns = json!({"columns": [
        {"name": "Payload", "type": "text(100)"}, {"name": "Rank", "type": "integer", "nullable": false, "default": 5},
    ], "order": {"priority": {"column": "Rank", "first": "lowest"}}});
    on_each_table(given, &columns, |given, queue| {
        queue.put_item(item(json!({"Payload": "five"})));
        queue.put_item(item(json!({"Payload": "one", "Rank": 1})));
        let problem = queue.enqueue(&[item(json!({"Payload": "x", "Rank": null}))], None).unwrap_err();
        assert_eq!(problem.kind, "InvalidItem");
        assert!(problem.message.contains("\"Rank\" must have a value"), "{}", problem.message);
        // The same by hand, where nobody looks before the server does.
        let refused = given.session().execute(&add_set(given, r#"{"Payload": "x", "Rank": null}"#), &[]).unwrap_err();
        assert_eq!(refused.kind(), readpast::error::ErrorKind::InvalidItem, "{refused}");
        assert_eq!([queue.take(), queue.take()].map(|item| item.column("Rank").clone()), [json!(1), json!(5)]);
        queue.expect_empty();
    });
}

/// A call of `Add_Q_Set_trx`.
pub fn add_set(given: &Given, columns: &str) -> String {
    let procedure = by_hand::procedure(given, "Add_", "_Set_trx");
    if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Operation = NULL, @Items = N'[{{\"columns\": {columns}}}]'")
    } else {
        format!("SELECT * FROM {procedure}(NULL, '[{{\"columns\": {columns}}}]')")
    }
}

fn defaults_by_hand(given: &Given) {
    let columns = json!({"columns": [
        {"name": "Payload", "type": "text(100)"}, {"name": "Note", "type": "text(10)", "default": "none"},
        {"name": "Count", "type": "integer", "default": -1}, {"name": "Extra", "type": "json", "default": {"a": 1}},
    ]});
    on_each_table(given, &columns, |given, queue| {
        let names = ["Note", "Count", "Extra"];
        let add = by_hand::procedure(given, "Add_", "_trx");
        let call = |payload: &str, note: &str, rest: &str| {
            let call = if given.server.is_sql_server() {
                let given = [("Note", note), ("Count", rest), ("Extra", rest)];
                let given = given.iter().filter(|(_, value)| !value.is_empty());
                let given: String = given.map(|(name, value)| format!(", @{name} = {value}")).collect();
                format!("EXECUTE {add} @Payload = N'{payload}'{given}")
            } else {
                let given = [("Note", note), ("Count", rest), ("Extra", rest)];
                let given = given.iter().filter(|(_, value)| !value.is_empty());
                let given: String = given.map(|(name, value)| format!(", \"{name}_\" => {value}")).collect();
                format!("SELECT * FROM {add}(\"Payload_\" => '{payload}'{given})")
            };
            given.session().execute(&call, &[]).unwrap_or_else(|error| panic!("{call}: {error}"));
        };
        call("none", "", "");
        call("nulls", "NULL", "NULL");
        call("note", "'n'", "");
        assert_eq!(values(queue, "none", &names), json!(["none", -1, {"a": 1}]));
        assert_eq!(values(queue, "nulls", &names), json!([null, null, null]));
        assert_eq!(values(queue, "note", &names), json!(["n", -1, {"a": 1}]));
        given.session().execute(&add_set(given, r#"{"Payload": "set", "Count": null}"#), &[]).unwrap();
        assert_eq!(values(queue, "set", &names), json!(["none", null, {"a": 1}]));
        // Without any object of columns each has its default.
        given.session().execute(&add_set(given, "null"), &[]).unwrap();
        let bare = queue.find("{}", None, 100).unwrap();
        assert!(bare.iter().any(|item| item.column("Payload").is_null() && item.column("Note") == "none"));
    });
}

fn the_table_has_the_default_too(given: &Given) {
    let queue = given.described(
        r#""columns": [{"name": "Payload", "type": "text(100)", "default": "plain"}], "subtypes": [
            {"name": "Email", "columns": [{"name": "Language", "type": "text(10)", "nullable": false, "default": "en"}]}]"#,
    );
    let (types, inserted) = if given.server.is_sql_server() { ("Type", "SYSUTCDATETIME()") } else { ("type", "now()") };
    let insert = format!(
        "INSERT INTO {} (EnqueuedAt, {types}, Status, AttemptNum, ScheduledFor, UpdatedAt) VALUES ({inserted}, \
         'Default', 'Pending', 0, {inserted}, {inserted})",
        given.table()
    );
    given.session().execute(&given.spell(&insert), &[]).unwrap();
    assert_eq!(queue.take().column("Payload"), "plain");
    let is_named = |named: &str| {
        let query = "SELECT d.name FROM sys.default_constraints AS d WHERE d.name = 'DF_{}'";
        let query = query.replace("{}", &format!("{}{named}", given.queue));
        given.session().execute(&query, &[]).unwrap().len() == 1
    };
    // Not every server keeps the names that defaults are given.
    if given.server.is_sql_server() && is_named("_Response") {
        assert!(is_named(".Payload") && is_named("_Email.Language"));
    }
}

fn subtypes_have_defaults(given: &Given) {
    let queue = given.described(
        r#""types": ["Welcome", "Reset"], "columns": [{"name": "Payload", "type": "text(100)", "default": "p"}], "subtypes": [
            {"name": "Reset", "exclusive": true, "columns": [
                {"name": "Code", "type": "integer", "nullable": false, "default": 7}, {"name": "Used", "type": "boolean"}]},
            {"name": "Email", "columns": [{"name": "EmailTo", "type": "text(254)", "nullable": false},
                {"name": "Language", "type": "text(10)", "default": "en"}]}]"#,
    );
    let columns = |columns: Value| item(columns);
    queue.put_item(columns(json!({"Payload": "out", "Email": {"EmailTo": "a"}})));
    queue.put_item(columns(json!({"Payload": "null", "Email": {"EmailTo": "a", "Language": null}})));
    queue.put_item(columns(json!({"Payload": "fr", "Email": {"EmailTo": "a", "Language": "fr"}})));
    queue.put_item(columns(json!({"Payload": "none"})));
    queue.put_item(NewItem { kind: Some("Reset".to_owned()), ..columns(json!({"Payload": "reset", "Reset": {}})) });
    let language = |payload| values(&*queue, payload, &["Email_Language", "Reset_Code"]);
    assert_eq!(language("out"), json!(["en", null]));
    assert_eq!(language("null"), json!([null, null]));
    assert_eq!(language("fr"), json!(["fr", null]));
    assert_eq!(language("none"), json!([null, null]), "what has no row there has no default");
    assert_eq!(language("reset"), json!([null, 7]));
}

fn two_that_leave_it_out_are_the_same_work(given: &Given) {
    let more = json!({"columns": [
        {"name": "Payload", "type": "text(100)"}, {"name": "Work", "type": "text(10)", "default": "daily"},
    ], "dedup": {"columns": ["Work"], "answer": "existing"}});
    on_each_table(given, &more, |given, queue| {
        let first = queue.put_item(item(json!({"Payload": "first"})));
        let rest =
            [json!({"Payload": "second"}), json!({"Payload": "third", "Work": "daily"}), json!({"Work": "other"})];
        let told = queue.enqueue(&rest.map(item), None).unwrap();
        let repeats: Vec<_> = told.iter().map(|told| told.duplicate).collect();
        assert_eq!(repeats, [true, true, false], "{}", given.queue);
        assert_eq!([&told[0].key, &told[1].key], [&first.key, &first.key]);
    });
}

/// The mistake is the item's, and the server says which constraint it breaks.
fn refused(problem: &support::api::Problem, constraint: &str) {
    assert_eq!(problem.kind, "InvalidItem", "{}", problem.message);
    let message = problem.message.to_lowercase();
    assert!(message.contains(&constraint.to_lowercase()), "{constraint} is named: {message}");
}

/// The name of a constraint of the queue's table.
fn constraint(given: &Given, what: &str, column: &str) -> String {
    match (given.server.is_sql_server(), what) {
        (true, _) => format!("{what}_{}.{column}", given.queue),
        (false, "CK") => format!("{}_{column}_check", given.stem()),
        (false, _) => format!("{}_{column}_fkey", given.stem()),
    }
}

fn a_condition_is_kept_by_the_table(given: &Given) {
    let columns = json!({"columns": [
        {"name": "Payload", "type": "text(100)"},
        {"name": "Amount", "type": "decimal(10, 2)", "nullable": false, "default": 1, "check":
            {"sql_server": "[Amount] > 0 AND [Amount] <= [Most]", "postgresql": "amount > 0 AND amount <= most"}},
        {"name": "Most", "type": "integer", "nullable": false, "default": 100},
    ]});
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        let mut columns = columns.clone();
        if table.is_null() {
            // Our own columns have the letters that the description gives them. Double quotes mean the same to both servers.
            columns["columns"][1]["check"] = json!("\"Amount\" > 0 AND \"Amount\" <= \"Most\"");
        }
        install(&given, table, &columns);
        let queue = given.open(&[]);
        let named = constraint(&given, "CK", "Amount");
        queue.put_item(item(json!({"Payload": "good", "Amount": "50"})));
        let bad = [item(json!({"Payload": "good too"})), item(json!({"Payload": "bad", "Amount": 101}))];
        refused(&queue.enqueue(&bad, None).unwrap_err(), &named);
        let by_hand = given.session().execute(&add_set(&given, r#"{"Amount": 0}"#), &[]).unwrap_err();
        assert_eq!(by_hand.kind(), readpast::error::ErrorKind::InvalidItem, "{by_hand}");

        let taken = queue.take();
        let ends = |values: &'static str| Settlement { set: Some(values), ..taken.settle(Action::Complete) };
        refused(&queue.settle(&[ends(r#"{"Amount": "-1"}"#)], None).unwrap_err(), &named);
        assert_eq!(queue.end(ends(r#"{"Amount": "99.5", "Payload": "done"}"#)).answer, Answer::Ok);
        assert_eq!(values(&*queue, "done", &["Most"]), json!([100]));
        queue.expect_empty();
    }
}

fn a_row_that_is_referred_to_is_there(given: &Given) {
    let users = format!("users_{}", given.queue.to_lowercase());
    let schema = given.theirs();
    let mut session = given.session();
    session.execute(&format!("CREATE TABLE {schema}.{users} (ID int NOT NULL PRIMARY KEY)"), &[]).unwrap();
    session.execute(&format!("INSERT INTO {schema}.{users} (ID) VALUES (7)"), &[]).unwrap();
    let columns = json!({"columns": [
        {"name": "Payload", "type": "text(100)"},
        {"name": "UserID", "type": "integer", "references": format!("{schema}.{users}(ID)")},
    ]});
    on_each_table(given, &columns, |given, queue| {
        let named = constraint(given, "FK", "UserID");
        queue.put_item(item(json!({"Payload": "seven", "UserID": 7})));
        queue.put_item(item(json!({"Payload": "nobody"})));
        refused(&queue.enqueue(&[item(json!({"UserID": 8}))], None).unwrap_err(), &named);
        let taken = queue.take();
        let ends = |values: &'static str| Settlement { set: Some(values), ..taken.settle(Action::Complete) };
        refused(&queue.settle(&[ends(r#"{"UserID": 8}"#)], None).unwrap_err(), &named);
        assert_eq!(queue.end(ends(r#"{"UserID": null}"#)).answer, Answer::Ok);
        queue.take();
    });
}

fn subtypes_have_constraints(given: &Given) {
    let queue = given.described(
        r#""columns": [], "subtypes": [{"name": "Sms", "columns": [
            {"name": "Parts", "type": "integer", "default": 1, "check": "\"Parts\" BETWEEN 1 AND 9"}]}]"#,
    );
    let sms = |parts: i32| item(json!({"Sms": {"Parts": parts}}));
    queue.put_item(sms(9));
    let named = if given.server.is_sql_server() { "Sms.Parts" } else { "sms_Parts_check" };
    refused(&queue.enqueue(&[sms(1), sms(10)], None).unwrap_err(), named);
    let taken = queue.take();
    let none = Settlement { set: Some(r#"{"Sms": {"Parts": 0}}"#), ..taken.settle(Action::Complete) };
    refused(&queue.settle(&[none], None).unwrap_err(), named);
    let five = Settlement { set: Some(r#"{"Sms": {"Parts": 5}}"#), ..taken.settle(Action::Retry) };
    queue.end(five);
    assert_eq!(queue.take().column("Sms_Parts"), 5);
}

fn a_missing_table_to_refer_to_is_no_items_fault(given: &Given) {
    let spec = format!(
        r#"{{"queue": "{}", "columns": [{{"name": "UserID", "type": "integer", "references": "Nobody(ID)"}}]}}"#,
        given.queue
    );
    let _turn = given.server.alone();
    let spec = readpast::QueueSpec::from_json(&spec).unwrap();
    let error = readpast::install(&given.settings(&[]).config(), Some(&spec)).unwrap_err();
    // The number by which SQL Server says it is held to its kind beside the list of them; another server has one of its own.
    let kind = if given.server.is_sql_server() { error.kind() } else { readpast::error::ErrorKind::SchemaMismatch };
    assert!(error.kind() == kind && kind != readpast::error::ErrorKind::InvalidItem, "{error}");
    assert!(error.message().to_lowercase().contains("nobody"), "{error}");
}

/// Makes types of the author's own, whose names end in the queue's: a text of six digits, a number, and JSON.
fn types(given: &Given) -> [String; 3] {
    let named = |what: &str| format!("{what}_{}", given.queue).to_lowercase();
    let names = [named("Otp"), named("Id"), named("Doc")];
    let bases = if given.server.is_sql_server() {
        ["FROM nvarchar(6) NULL", "FROM bigint NULL", "FROM nvarchar(max) NULL"]
    } else {
        ["AS varchar(6) CHECK (VALUE ~ '^[0-9]*$')", "AS bigint", "AS json"]
    };
    for (name, base) in names.iter().zip(bases) {
        let (word, schema) = if given.server.is_sql_server() { ("TYPE", "dbo") } else { ("DOMAIN", "public") };
        if given.server.is_citus() {
            drop_domain(given, name);
        }
        given.session().execute(&format!("CREATE {word} {schema}.{name} {base}"), &[]).unwrap();
    }
    names
}

fn a_type_of_the_authors_own(given: &Given) {
    let [otp, id, doc] = types(given);
    let more = json!({"columns": [
        {"name": "Payload", "type": "text(100)"},
        {"name": "Code", "type": "text(6)", "sql_type": otp, "default": "000000"},
        {"name": "UserID", "type": "bigint", "sql_type": id, "nullable": false},
        {"name": "Extra", "type": "json", "sql_type": doc},
    ], "dedup": {"columns": ["UserID"], "answer": "existing"}, "order": {"group": "UserID"}});
    on_each_table(given, &more, |given, queue| {
        let all =
            |payload: &str, id: i64| json!({"Payload": payload, "Code": "123456", "UserID": id, "Extra": {"a": [1]}});
        let items = [all("one", 1), json!({"Payload": "two", "UserID": 2}), all("again", 1)];
        let told = queue.enqueue(&items.map(item), None).unwrap();
        assert_eq!(told.iter().map(|told| told.duplicate).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(told[0].key, told[2].key);
        let names = ["Code", "UserID", "Extra"];
        assert_eq!(values(queue, "one", &names), json!(["123456", 1, {"a": [1]}]));
        let taken = queue.take();
        assert_eq!(json!(names.map(|name| taken.column(name))), json!(["123456", 1, {"a": [1]}]));
        let sets = Settlement { set: Some(r#"{"Code": null, "Extra": [2]}"#), ..taken.settle(Action::Complete) };
        assert_eq!(queue.end(sets).answer, Answer::Ok);
        assert_eq!(values(queue, "one", &names), json!([null, 1, [2]]));
        assert_eq!(queue.take().column("Code"), "000000");
        // A value that only the type refuses is a mistake of the item's.
        if !given.server.is_sql_server() {
            let bad = queue.enqueue(&[item(json!({"UserID": 3, "Code": "abc"}))], None).unwrap_err();
            assert_eq!(bad.kind, "InvalidItem", "{}", bad.message);
        }
        let kept = if given.server.is_sql_server() {
            format!(
                "SELECT t.name FROM sys.types AS t WHERE t.name = '{otp}' AND EXISTS (SELECT 1 FROM sys.columns AS c \
                     WHERE c.user_type_id = t.user_type_id AND c.name = 'Code')"
            )
        } else {
            format!("SELECT domain_name::text FROM information_schema.columns WHERE domain_name = '{otp}' LIMIT 1")
        };
        assert_eq!(given.session().execute(&kept, &[]).unwrap().len(), 1, "the table has it in its type");
    });
    let given = given.sibling(9);
    let queue = given.described(&format!(
        r#""columns": [], "subtypes": [{{"name": "Reset", "columns": [
            {{"name": "Otp", "type": "text(6)", "sql_type": "{otp}", "default": "1"}}]}}]"#
    ));
    queue.put_item(item(json!({"Reset": {}})));
    let taken = queue.take();
    assert_eq!(taken.column("Reset_Otp"), "1");
    let sets = Settlement { set: Some(r#"{"Reset": {"Otp": "22"}}"#), ..taken.settle(Action::Retry) };
    queue.end(sets);
    assert_eq!(queue.take().column("Reset_Otp"), "22");
}

fn a_type_that_does_not_fit_is_refused(given: &Given) {
    let [otp, id, _] = types(given);
    for (kind, named, part) in [
        ("text(6)", "no_such_type", "there is no such type for the column \"Code\"; CREATE "),
        ("text(6)", id.as_str(), "and the column \"Code\" is text(6)"),
        ("text(7)", otp.as_str(), "holds 6 characters, and the column \"Code\" is text(7); say type = \"text(6)\""),
        ("text", otp.as_str(), "holds 6 characters"),
    ] {
        let spec = format!(
            r#"{{"queue": "{}", "columns": [{{"name": "Code", "type": "{kind}", "sql_type": "{named}"}}]}}"#,
            given.queue
        );
        let _turn = given.server.alone();
        let spec = readpast::QueueSpec::from_json(&spec).unwrap();
        let error = readpast::install(&given.settings(&[]).config(), Some(&spec)).unwrap_err();
        assert_eq!(error.kind(), readpast::error::ErrorKind::SchemaMismatch, "{error}");
        assert!(error.message().contains(named) && error.message().contains(part), "{error}");
    }
}

/// Drops a domain that an earlier run has left, in a database that stays.
fn drop_domain(given: &Given, name: &str) {
    given.session().execute(&format!("DROP DOMAIN IF EXISTS public.{name} CASCADE"), &[]).unwrap();
}

/// A value that it would round, or cut, is refused before there is a table.
fn a_type_of_fewer_digits_is_refused(given: &Given) {
    let named = |what: &str| format!("{what}_{}", given.queue).to_lowercase();
    let sum = named("Sum");
    let hash = named("Hash");
    let mut made = vec![format!(
        "CREATE {} {sum} {} decimal(8, 3)",
        if given.server.is_sql_server() { "TYPE dbo." } else { "DOMAIN public." },
        if given.server.is_sql_server() { "FROM" } else { "AS" }
    )];
    let few = "holds 5 digits before the point and 3 behind it, and the column \"Code\" is";
    let mut cases = vec![
        ("decimal(8, 3)", sum.as_str(), None),
        ("decimal(7, 2)", sum.as_str(), None),
        ("decimal(8, 4)", sum.as_str(), Some(few)),
        ("decimal(8, 2)", sum.as_str(), Some(few)),
    ];
    if given.server.is_sql_server() {
        // A domain over bytea has no length but by a condition.
        made.push(format!("CREATE TYPE dbo. {hash} FROM varbinary(4)"));
        let short = "holds 4 bytes, and the column \"Code\" is";
        cases.extend([
            ("binary(4)", hash.as_str(), None),
            ("binary(5)", hash.as_str(), Some(short)),
            ("binary", hash.as_str(), Some(short)),
        ]);
    }
    if given.server.is_citus() {
        drop_domain(given, &sum);
    }
    for statement in made {
        given.session().execute(&statement.replace(". ", "."), &[]).unwrap();
    }
    for (number, (kind, named, why)) in cases.into_iter().enumerate() {
        let spec = format!(
            r#"{{"queue": "{}{number}", "columns": [{{"name": "Code", "type": "{kind}", "sql_type": "{named}"}}]}}"#,
            given.queue
        );
        let _turn = given.server.alone();
        let spec = readpast::QueueSpec::from_json(&spec).unwrap();
        let installed = readpast::install(&given.settings(&[]).config(), Some(&spec));
        match why {
            None => installed.unwrap(),
            Some(why) => {
                let error = installed.unwrap_err();
                assert_eq!(error.kind(), readpast::error::ErrorKind::SchemaMismatch, "{error}");
                assert!(error.message().contains(why) && error.message().contains(named), "{error}");
            }
        }
    }
}
