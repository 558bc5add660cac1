//! One mistake each, with what the error has to say.

use readpast::{ErrorKind, QueueSpec};

/// An adopted table without a mistake. Each test changes one line of it.
const TABLE: &str = r#"queue = "Work"
types = ["A"]
columns = [
    { name = "Body", type = "text" },
    { name = "Rank", type = "integer", nullable = false },
]
completion = "keep"

[table]
name = "work"
key = [{ name = "id", type = "bigint" }]
seek = { flag = [false, true] }
lifecycle = { started = "begun", error = "fault", attempts = "tries" }
states.Pending = { flag = false }
states.Processing = { flag = true, done = false }
states.Completed = { flag = true, done = true }
index = { name = "ix", columns = ["flag", "id"] }

[order]
by = ["id"]
"#;

/// The message of a mistake at `line` of [`TABLE`], when `from` is replaced by `to`.
fn mistake(from: &str, to: &str) -> String {
    assert_eq!(TABLE.matches(from).count(), 1, "{from}");
    let error = QueueSpec::from_toml(&TABLE.replace(from, to)).expect_err(to);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.message().to_owned()
}

#[test]
fn the_table_by_itself_is_right() {
    QueueSpec::from_toml(TABLE).unwrap();
}

#[test]
fn each_mistake_has_its_line_and_key() {
    for (from, to, place, why) in [
        // Keys.
        (
            "completion =",
            "compleetion =",
            "line 7: compleetion:",
            "no such key (did you mean \"completion\"?); the keys here are queue, types",
        ),
        ("seek =", "sek =", "line 12: table.sek:", "(did you mean \"seek\"?)"),
        ("type = \"text\"", "typ = \"text\"", "line 4: columns[0].typ:", "no such key"),
        ("[order]", "[order]\nby = [\"id\"]", "line 21: ", "duplicate key by"),
        ("queue = \"Work\"", "", "the description:", "\"queue\" is missing"),
        ("name = \"work\"\n", "", "line 9: table:", "\"name\" is missing"),
        (
            "[table]",
            "[retention]\nhistory = \"7d\"\n[table]",
            "line 10: retention.history:",
            "none are recorded; say attempts.history = true as well",
        ),
        ("[table]", "[retention]\nhistory = \"7\"\n[table]", "line 10: retention.history:", "like \"30d\""),
        ("[table]", "trace = \"Nowhere\"\n[table]", "trace:", "there is no column \"Nowhere\""),
        ("completion =", "trace = \"Rank\"\ncompletion =", "line 7: trace:", "nullable text of 55 characters or more"),
        ("completion =", "trace = 1\ncompletion =", "line 7: trace:", "must be true, or the name of a column, not 1"),
        (
            "completion =",
            "trace = \"Body\"\ndedup = { columns = [\"Body\"] }\ncompletion =",
            "line 7: trace:",
            "no two items",
        ),
        // Types of values.
        ("\"Work\"", "7", "line 1: queue:", "must be text, not 7"),
        ("[\"A\"]", "\"A\"", "line 2: types:", "must be a list of at least one value, not \"A\""),
        ("[\"A\"]", "[]", "line 2: types:", "not an empty list"),
        ("[\"A\"]", "[\"A\", \"A\"]", "line 2: types[1]:", "there already"),
        ("[\"A\"]", "[\"A\"]\nsteps = []", "line 3: steps:", "not an empty list"),
        ("[\"A\"]", "[\"A\"]\nsteps = [\"a\", \"A\"]", "line 3: steps[1]:", "there already"),
        ("[\"A\"]", "[\"A\"]\nsteps = [\"a \"]", "line 3: steps[0]:", "ends in a blank"),
        ("[\"A\"]", "[\"A\"]\nsteps = [\"\"]", "line 3: steps[0]:", "1 to 60 characters"),
        ("nullable = false", "nullable = 0", "line 5: columns[1].nullable:", "true or false, not 0"),
        ("nullable = false", "secret = 1", "line 5: columns[1].secret:", "true or false, not 1"),
        ("\"integer\"", "\"int\"", "line 5: columns[1].type:", "no column type \"int\""),
        ("\"keep\"", "\"drop\"", "line 7: completion:", "\"keep\" or \"delete\", not \"drop\""),
        ("\"keep\"", "1979-05-27", "line 7: completion:", "not a time"),
        ("\"keep\"", "{ history = \"WORK\" }", "line 7: completion.history:", "another table"),
        ("done = false", "done = 0.5", "line 15: table.states.Processing.done:", "{ is = \"null\" }"),
        ("done = false", "done = { is = \"nul\" }", "states.Processing.done.is:", "\"null\" or \"set\""),
        // Two keys for one thing.
        (
            "states.Pending",
            "status = { column = \"S\", values = { Pending = 1 } }\nstates.Pending",
            "line 14: table.status:",
            "short for \"states\"",
        ),
        ("\"Body\"", "\"id\"", "line 4: columns[0]:", "a column of the key already"),
        ("\"Body\"", "\"begun\"", "line 4: columns[0]:", "is table.lifecycle.started already"),
        ("\"Body\"", "\"Flag\"", "line 4: columns[0]:", "in table.states"),
        ("\"Rank\"", "\"body\"", "line 5: columns[1]:", "another column"),
        ("\"fault\"", "\"begun\"", "line 13: table.lifecycle.error:", "is \"started\" already"),
        ("\"fault\"", "\"id\"", "line 13: table.lifecycle.error:", "column of the key"),
        ("{ flag = false }", "{ id = 1 }", "line 14: table.states:", "column of the key"),
        (
            "[order]",
            "[procedures]\nnext = 'n'\nmodify = 'm'\nview = 'v'\nkey = 'k'\ntoken = 't'\n[order]",
            "line 21: procedures.modify:",
            "is decided by \"table\"",
        ),
        // Columns that are not there.
        (
            "by = [\"id\"]",
            "by = [\"ID\"]",
            "line 20: order.by[0]:",
            "no column \"ID\"; there are Body, Rank, id, begun",
        ),
        ("by = [\"id\"]", "group = \"x\"", "line 20: order.group:", "no column \"x\""),
        ("by = [\"id\"]", "group = \"flag\"", "line 20: order.group:", "no column \"flag\""),
        ("by = [\"id\"]", "priority = { column = \"x\" }", "line 20: order.priority.column:", "no column \"x\""),
        ("[order]", "[dedup]\ncolumns = [\"x\"]\n[order]", "line 20: dedup.columns[0]:", "no column \"x\""),
        ("[order]", "[dedup]\ncolumns = [\"Body\"]\n[order]", "line 20: dedup.columns[0]:", "in an index"),
        ("seek = { flag", "seek = { flg", "line 12: table.seek.flg:", "no column \"flg\""),
        ("\"flag\", \"id\"]", "\"flag\", \"no\"]", "line 17: table.index.columns[1]:", "no column \"no\""),
        // States.
        ("states.Completed = { flag = true, done = true }", "", "line 14: table.states:", "Completed is missing"),
        ("states.Pending = { flag = false }", "", "line 15: table.states:", "Pending is missing"),
        (
            "states.Pending",
            "states.Waiting",
            "line 14: table.states.Waiting:",
            "no state \"Waiting\"; the states are Pending",
        ),
        (
            "states.Pending = { flag = false }",
            "states.Pending = { flag = true }",
            "line 14: table.states:",
            "Pending and Processing hold for the same rows",
        ),
        (
            "{ flag = true, done = true }",
            "{ flag = true, done = false }\nstates.Failed = { done = false, flag = true }",
            "table.states:",
            "Processing and Failed are the same",
        ),
        (
            "{ flag = true, done = true }",
            "{ flag = true, done = true }\nstates.Failed = { flag = true, fault = { is = \"set\" } }",
            "table.states:",
            "Processing and Failed hold for the same rows",
        ),
        ("{ flag = false }", "{}", "line 14: table.states.Pending:", "is empty"),
        (
            "{ flag = false }",
            "{ flag = false, begun = { is = \"set\" } }",
            "line 14: table.states.Pending.begun:",
            "Pending",
        ),
        (
            "done = true",
            "done = { is = \"set\" }",
            "line 16: table.states.Completed.done:",
            "started, finished, owner, error",
        ),
        (
            "done = true",
            "tries = { is = \"null\" }",
            "line 16: table.states.Completed.tries:",
            "table.lifecycle.attempts",
        ),
        ("done = true", "begun = 5", "line 16: table.states.Completed.begun:", "no constant"),
        ("done = true", "done = 1", "table.states:", "values of different types"),
        ("[false, true]", "[false]", "line 12: table.seek.flag:", "lacks a value"),
        // Keys of the table, times, runs.
        ("type = \"bigint\"", "type = \"text\"", "line 11: table.key[0].type:", "has a length"),
        ("type = \"bigint\"", "type = \"float\"", "line 11: table.key[0].type:", "not float"),
        (
            "type = \"bigint\"",
            "type = \"guid\", source = \"table\"",
            "line 11: table.key[0].source:",
            "comes from the producer",
        ),
        ("[{ name = \"id\", type = \"bigint\" }]", "[\"id\", \"Id\"]", "line 11: table.key[1]:", "already"),
        (
            "[{ name = \"id\", type = \"bigint\" }]",
            "[\"id\", \"no\"]",
            "line 11: table.key[1]:",
            "one column of the key at most",
        ),
        // Options.
        ("by = [\"id\"]", "direction = \"filo\"", "line 20: order.direction:", "\"lifo\""),
        ("by = [\"id\"]", "direction = \"lifo\"\ngroup = \"Rank\"", "line 21: order.group:", "\"fifo\""),
        ("by = [\"id\"]", "direction = \"unordered\"\nby = [\"id\"]", "line 21: order.by:", "unordered"),
        ("by = [\"id\"]", "priority = { column = \"Body\" }", "line 20: order.priority.column:", "integer or bigint"),
        ("by = [\"id\"]", "by = [\"id\", \"id\"]", "line 20: order.by[1]:", "already"),
        ("[order]", "[attempts]\nhistory = 1\n[order]", "line 20: attempts.history:", "true or false, not 1"),
        ("[order]", "[attempts]\nlimit = 0\n[order]", "line 20: attempts.limit:", "from 1 to 2147483647, not 0"),
        ("[order]", "[attempts]\nlimit = 99999999999\n[order]", "line 20: attempts.limit:", "from 1 to"),
        ("[order]", "[attempts]\nlimit = 99999999999999999999\n[order]", "line 20: ", "64 bits"),
        ("[order]", "[lease]\nms = 9\n[order]", "line 20: lease.ms:", "from 10 to 86400000, not 9"),
        ("[order]", "[lease]\nkind = \"long\"\n[order]", "line 20: lease.kind:", "\"fixed\""),
        ("[order]", "[backoff]\nfactor = 2\n[order]", "line 19: backoff:", "\"first_ms\" is missing"),
        ("[order]", "[backoff]\nfirst_ms = 5\nfactor = 0.5\n[order]", "line 21: backoff.factor:", "from 1 to 100"),
        ("[order]", "[backoff]\nfirst_ms = 5\njitter = nan\n[order]", "line 21: backoff.jitter:", "from 0 to 1"),
        ("[order]", "[backoff]\nfirst_ms = 5\ncap_ms = 4\n[order]", "line 21: backoff.cap_ms:", "less than first_ms"),
        (
            "[order]",
            "[roles]\nown_types_only = true\n[order]",
            "line 20: roles.own_types_only:",
            "table.lifecycle.type",
        ),
        (
            "[order]",
            "[[subtypes]]\nname = \"A\"\ncolumns = [{ name = \"ID\", type = \"date\" }]\n[order]",
            "subtypes[0].columns[0]:",
            "has the key ID already",
        ),
        (
            "[order]",
            "[[subtypes]]\nname = \"A\"\ncolumns = [{ name = \"X\", type = \"date\", check = \"X > 0\" }]\n[order]",
            "subtypes[0].columns[0].check:",
            "this one is yours",
        ),
        ("\"A\"]", "\"A\", \"B\"]", "line 2: types:", "table.lifecycle.type"),
        ("completion =", "settings = \"a'b\"\ncompletion =", "line 7: settings:", "letters, digits"),
        // Names.
        ("\"Body\"", "\"Bo]dy\"", "line 4: columns[0].name:", "Bo]dy"),
        ("\"Body\"", "\"Item_Status\"", "line 4: columns[0]:", "every queue has already"),
        ("\"work\"", "\"wo\\u0000rk\"", "line 10: table.name:", "control character"),
        ("\"work\"", "\"\"", "line 10: table.name:", "empty"),
        ("\"Work\"", "\"Wo-rk\"", "line 1: queue:", "Wo-rk"),
    ] {
        let message = mistake(from, to);
        assert!(message.contains(place) && message.contains(why), "{from} -> {to}: {message}");
    }
}

#[test]
fn a_table_to_make_needs_the_type_of_every_column() {
    let text = TABLE.replace("[table]", "[table]\ncreate = true");
    QueueSpec::from_toml(&text).unwrap();
    let text = text.replace("{ flag = false }", "{ flag = false, seen = { is = \"null\" } }");
    let error = QueueSpec::from_toml(&text).unwrap_err();
    assert!(error.message().contains("line 10: table.create: the type of the column \"seen\" is not known"), "{error}");
}

#[test]
fn a_result_of_a_run_needs_its_column() {
    let message = mistake("lifecycle = { started = \"begun\", ", "run_time = true\nlifecycle = { ");
    assert!(message.contains("line 13: table.run_time: needs the column"), "{message}");
}

#[test]
fn json_is_held_to_the_same() {
    for (text, place, why) in [
        ("nonsense", "line 1:", "JSON"),
        ("{\"queue\": \"Q\",\n \"queue\": \"R\"}", "line 2:", "\"queue\" stands twice"),
        ("{\"queue\": \"Q\",\n}", "line 2:", "JSON"),
        ("{\"queue\": \"Q\" /* no */}", "line 1:", "JSON"),
        ("[]", "line 1: the description:", "not an empty list"),
        ("{\"queue\": null}", "line 1: queue:", "not null"),
        ("{\"queue\": \"Q\", \"colums\": []}", "line 1: colums:", "no such key"),
        ("{\"queue\": \"Q\", \"columns\": [{\"name\": \"Updated_At\", \"type\": \"text\"}]}", "columns[0]:", "already"),
        ("{\"queue\": \"Q\", \"columns\": [{\"name\": \"A\", \"type\": \"text(0)\"}]}", "columns[0].type:", "text(0)"),
        ("{\"queue\": \"Q\",\n\"attempts\": {\"limit\": 1e400}}", "line 2:", "JSON"),
        ("{\"queue\": \"Q\",\n\"order\": {\"by\": [\"Payload\"]}}", "line 2: order.by:", "EnqueuedAt"),
    ] {
        let error = QueueSpec::from_json(text).unwrap_err();
        assert!(error.message().contains(place) && error.message().contains(why), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(QueueSpec::from_json(&deep).is_err());
    assert!(QueueSpec::from_toml(&format!("queue = {deep}")).is_err());
}

#[test]
fn subtypes_are_held_to_names_that_fit() {
    let long = "L".repeat(40);
    for (subtype, why) in [
        (
            r#"{"name": "X", "exclusive": true, "columns": [{"name": "C", "type": "date"}]}"#,
            "no type \"X\"; it has A, B",
        ),
        (r#"{"name": "Body", "columns": [{"name": "C", "type": "date"}]}"#, "name of a column"),
        (r#"{"name": "Step", "columns": [{"name": "C", "type": "date"}]}"#, "every queue has already"),
        (r#"{"name": "Seq", "columns": [{"name": "C", "type": "date"}]}"#, "another object"),
        (r#"{"name": "A", "columns": [{"name": "Body", "type": "date"}]}"#, "A_Body"),
        (r#"{"name": "A", "columns": []}"#, "at least one"),
        (r#"{"name": "A", "columns": [{"name": "EnqueuedAt", "type": "date"}]}"#, "has the key EnqueuedAt"),
        (r#"{"name": "A"}"#, "\"columns\" is missing"),
    ] {
        let columns = r#"[{"name": "Body", "type": "text"}, {"name": "A_Body", "type": "text"}]"#;
        let text = format!(r#"{{"queue": "Q", "types": ["A", "B"], "columns": {columns}, "subtypes": [{subtype}]}}"#);
        let error = QueueSpec::from_json(&text).expect_err(subtype);
        assert!(error.message().contains("subtypes[0]") && error.message().contains(why), "{subtype}: {error}");
    }
    let text = format!(
        r#"{{"queue": "Q", "subtypes": [{{"name": "{long}", "columns": [{{"name": "{long}", "type": "date"}}]}}]}}"#
    );
    assert!(QueueSpec::from_json(&text).unwrap_err().message().contains("more than 63 characters"));
}

#[test]
fn hand_written_procedures_decide_for_themselves() {
    let text = "queue = 'Q'\n[procedures]\nnext = 'n'\nmodify = 'm'\nview = 'v'\nkey = 'k'\ntoken = 't'\n";
    assert!(QueueSpec::from_toml(text).unwrap().columns.is_empty());
    let error = QueueSpec::from_toml(&format!("{text}[lease]\nresume_own = true\n")).unwrap_err();
    assert!(error.message().contains("line 8: lease: is decided by the hand-written procedures"), "{error}");
    let error = QueueSpec::from_toml(&format!("progress = true\n{text}")).unwrap_err();
    assert!(error.message().contains("line 1: progress: is decided by the hand-written procedures"), "{error}");
    let error = QueueSpec::from_toml(&text.replace("view = 'v'\n", "")).unwrap_err();
    assert!(error.message().contains("line 2: procedures: the key \"view\" is missing"), "{error}");
}

#[test]
fn a_table_of_settings_has_a_name() {
    for (to, words) in [
        ("name = \"work\"\nsettings = {}", "table.settings: the key \"name\" is missing"),
        (
            "name = \"work\"\nsettings = { name = \"s\", values = \"v\" }",
            "table.settings.values: there is no such key (did you mean \"value\"?)",
        ),
        ("name = \"work\"\nsettings = \"\"", "table.settings:"),
    ] {
        let error = mistake("name = \"work\"", to);
        assert!(error.contains(words), "{to}: {error}");
    }
}

/// Beside a table only the procedure that claims is somebody's own, and what it decides the description does not say.
#[test]
fn a_foreign_procedure_alone_decides_about_claims() {
    let text = "queue = 'Q'\ncolumns = [{ name = 'Rank', type = 'integer', nullable = false }]\n[procedures]\nnext = 'n'\n[table]\n\
                name = 't'\nkey = ['id']\nlifecycle = { owner = 'who', started = 'since' }\n\
                states.Pending = { done = 0, since = { is = 'null' } }\nstates.Processing = { done = 0, since = { is = 'set' } }\n\
                states.Completed = { done = 1 }\n[lease]\nkind = 'fixed'\n";
    let spec = QueueSpec::from_toml(text).unwrap();
    assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);
    let readpast::description::Storage::Table(table) = &spec.storage else { panic!("not a table: {spec:?}") };
    assert_eq!(table.claimed_by.as_ref().map(|by| by.next.as_str()), Some("n"));
    for (from, to, words) in [
        ("owner = 'who', ", "", "table.lifecycle: needs \"owner\", the column into which"),
        ("started = 'since'", "error = 'since'", "table.lifecycle: needs \"started\", the column into which"),
        ("'since' }\n", "'since', lease_until = 'until' }\n", "table.lifecycle.lease_until: leave it out"),
        (
            "done = 1",
            "done = 0, since = { is = 'set' }",
            "table.states.Processing: has to differ from all other states",
        ),
        ("kind = 'fixed'", "kind = 'sliding'", "lease.kind: has to be \"fixed\""),
        ("kind = 'fixed'", "kind = 'fixed'\nresume_own = true", "lease.resume_own: is decided by the procedure"),
        (
            "[lease]",
            "[order]\npriority = { column = 'Rank', first = 'highest' }\n[lease]",
            "order.priority: is decided by",
        ),
        ("[lease]", "[order]\ngroup = 'Rank'\n[lease]", "order.group: is decided by"),
        ("name = 't'", "name = 't'\nrun_time = true", "table.run_time: is decided by"),
        ("next = 'n'", "next = 'n'\nview = 'v'", "procedures.view: is decided by \"table\""),
        ("next = 'n'", "schema = 's'", "procedures: the key \"next\" is missing"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        let error = QueueSpec::from_toml(&text.replace(from, to)).expect_err(to);
        assert!(error.message().contains(words), "{to}: {error}");
    }
    let kinds = text.replace("started = 'since'", "started = 'since', type = 'kind'");
    for (more, words) in [
        ("claim_by = ['type']\n", "claim_by: is decided by"),
        ("roles = { own_types_only = true }\n", "roles.own_types_only: is"),
    ] {
        let error = QueueSpec::from_toml(&format!("{more}{kinds}")).expect_err(more);
        assert!(error.message().contains(words), "{more}: {error}");
    }
}

#[test]
fn the_name_of_a_file_is_no_description() {
    for name in ["x.toml", "specs/Notification.JSON "] {
        let error = QueueSpec::from_text(name).unwrap_err();
        assert!(error.message().contains("is the name of a file"), "{error}");
    }
}

#[test]
fn a_backoff_is_a_table_or_none() {
    let spec = |backoff: &str| QueueSpec::from_json(&format!(r#"{{"queue": "Job", "backoff": {backoff}}}"#));
    for (backoff, words) in [("5", "\"none\" or a table"), ("\"never\"", "\"none\"")] {
        let error = spec(backoff).unwrap_err();
        assert!(error.message().contains("backoff") && error.message().contains(words), "{error}");
    }
    assert_eq!(spec("\"none\"").unwrap().backoff, None);
    assert_eq!(QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap().backoff.unwrap().first_ms, 5_000);
}

#[test]
fn a_shown_column_cannot_be_secret() {
    let spec = r#"{"queue": "Work", "columns": [{"name": "Customer", "type": "text(20)", "secret": true}],
        "order": {"group": "Customer"}}"#;
    let error = QueueSpec::from_json(spec).unwrap_err().to_string();
    assert!(error.contains("line 2: order.group: \"Customer\" cannot be secret"), "{error}");
    assert!(QueueSpec::from_json(&spec.replace("\"group\": \"Customer\"", "")).is_ok());
}

#[test]
fn a_group_waits_for_the_log() {
    let spec = r#"{"queue": "Work", "columns": [{"name": "Customer", "type": "text(20)"}],
        "lease": {"durable": false}, "order": {"group": "Customer"}}"#;
    let error = QueueSpec::from_json(spec).unwrap_err().to_string();
    assert!(error.contains("line 2: lease.durable:") && error.contains("with a group"), "{error}");
    assert!(QueueSpec::from_json(&spec.replace("false", "true")).is_ok());
}

/// Where it cannot be, the message has the reason; and how a table of others gets several heads.
#[test]
fn shards_are_for_what_has_one_head() {
    let spec = |more: &str| {
        QueueSpec::from_json(&format!(
            r#"{{"queue": "Work", "columns": [{{"name": "Customer", "type": "text(20)"}}, {{"name": "Rank", "type": "integer",
            "nullable": false}}], {more}}}"#
        ))
    };
    let table = r#""table": {"name": "t", "key": ["id"], "status": {"column": "s", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}"#;
    for (more, words) in [
        (r#""shards": 1"#, "shards: must be a whole number from 2 to 64, not 1"),
        (r#""shards": 65"#, "shards: must be a whole number from 2 to 64, not 65"),
        (r#""shards": "8""#, "shards: must be a whole number from 2 to 64"),
        (
            r#""shards": 8, "order": {"group": "Customer"}"#,
            "shards: makes no sense beside order.group: its claims take turns",
        ),
        (r#""shards": 8, "claim_by": ["type"]"#, "shards: cannot be beside claim_by: each kind has a head of its own"),
        (r#""shards": 8, "claim_by": ["step"]"#, "shards: cannot be beside claim_by"),
        (r#""shards": 8, "roles": {"own_types_only": true}"#, "shards: cannot be beside roles.own_types_only"),
        (&format!(r#""shards": 8, {table}"#), r#"write claim_by = ["type"], and let each process take some of them"#),
    ] {
        let error = spec(more).expect_err(more);
        assert!(error.message().contains(words), "{more}: {error}");
    }
    for more in [
        r#""shards": 2"#,
        r#""shards": 64, "order": {"direction": "lifo", "priority": {"column": "Rank"}}"#,
        r#""shards": 8, "order": {"direction": "unordered"}"#,
    ] {
        spec(more).unwrap_or_else(|error| panic!("{more}: {error}"));
    }
    let named =
        |more: &str| format!(r#"{{"queue": "Work", "columns": [{{"name": "shard", "type": "integer"}}]{more}}}"#);
    let error = QueueSpec::from_json(&named(r#", "shards": 4"#)).unwrap_err();
    assert!(error.message().contains("shards: needs the name Shard"), "{error}");
    QueueSpec::from_json(&named("")).unwrap();
    // Put together in a program it is held to the same.
    let mut built = spec(r#""shards": 2"#).unwrap();
    built.shards = Some(65);
    assert!(built.check().unwrap_err().message().contains("from 2 to 64, not 65"));
    let procedures = r#"{"queue": "Work", "shards": 4, "columns": [], "procedures": {"next": "n", "modify": "m", "view": "v",
        "key": "k", "token": "t"}}"#;
    let error = QueueSpec::from_json(procedures).unwrap_err();
    assert!(error.message().contains("shards: is decided by the hand-written procedures"), "{error}");
}

#[test]
fn replacing_is_for_tables_of_its_own() {
    let of = |more: &str| {
        let columns = r#"[{"name": "Work", "type": "text(9)"}, {"name": "Customer", "type": "integer"}]"#;
        let text = format!(r#"{{"queue": "Job", "columns": {columns}, {more}}}"#);
        QueueSpec::from_json(&text).map_err(|error| error.to_string())
    };
    let limited = |columns: &str| {
        of(&format!(
            r#""dedup": {{"columns": {columns}, "on_duplicate": "later"}}, "limit": [{{"by": "Customer", "at_once": 1}}, {{"at_once": 9}}]"#
        ))
    };
    assert!(limited(r#"["Customer", "Work"]"#).is_ok());
    let message = limited(r#"["Work"]"#).unwrap_err();
    assert!(message.contains("dedup.on_duplicate") && message.contains("\"Customer\""), "{message}");
    let message = of(r#""dedup": {"columns": ["Work"], "on_duplicate": "latest"}"#).unwrap_err();
    assert!(message.contains("dedup.on_duplicate") && message.contains("\"replace\""), "{message}");
    let message = of(r#""after": true, "dedup": {"columns": ["Work"], "answer": "existing", "on_duplicate": "later"}"#)
        .unwrap_err();
    assert!(message.contains("dedup.on_duplicate") && message.contains("\"after\""), "{message}");
    let dedup = "[dedup]\ncolumns = [\"Rank\"]\non_duplicate = \"replace\"\n[order]";
    let message = mistake("[order]", dedup);
    assert!(message.contains("dedup.on_duplicate") && message.contains("own tables"), "{message}");
}
