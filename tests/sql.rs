//! The SQL as users get it: every file rendered, held to the rules of `sql/README.md`, and written to `target/sql` for
//! the linter (`.ci/lint_sql.sh`). No server is needed.

use readpast::{
    dialect::{Dialect, statements},
    ident::Identifier,
    spec::{EXAMPLES, QueueSpec, Storage},
};
use std::{collections::BTreeSet, fs, path::Path, path::PathBuf};

const DIALECTS: [(Dialect, &str); 2] = [(Dialect::SqlServer, "sql_server"), (Dialect::Postgres, "postgres")];

/// A column of every kind, one that must have a value, and two kinds of work.
const NOTIFICATION: &str = r#"{"queue": "Notification", "types": ["Email", "Sms"], "columns": [
    {"name": "Recipient", "type": "text(254)", "nullable": false}, {"name": "Body", "type": "text"},
    {"name": "Priority", "type": "integer"}, {"name": "Reference", "type": "bigint"},
    {"name": "Urgent", "type": "boolean"}, {"name": "Score", "type": "float"},
    {"name": "Amount", "type": "decimal(10, 2)"}, {"name": "RemindAt", "type": "timestamp"},
    {"name": "Birthday", "type": "date"}, {"name": "Correlation", "type": "guid"},
    {"name": "Extra", "type": "json"}]}"#;

/// What only some queues have: strict order within groups after a priority, a history, and no work twice.
const DELIVERY: &str = r#"{"queue": "Delivery", "columns": [
    {"name": "Customer", "type": "text(40)"}, {"name": "Reference", "type": "bigint"},
    {"name": "Priority", "type": "integer", "nullable": false}],
    "order": {"priority": {"column": "Priority"}, "group": "Customer"},
    "attempts": {"limit": 5}, "backoff": {"first_ms": 500, "factor": 2, "cap_ms": 60000, "jitter": 0.5},
    "lease": {"ms": 30000, "kind": "fixed", "resume_own": true}, "completion": {"history": "Delivery_History"},
    "dedup": {"columns": ["Reference"], "answer": "existing", "among": "unfinished"}, "settings": "delivery"}"#;

/// Subtypes, the newest first, and nothing kept.
const NOTICE: &str = r#"{"queue": "Notice", "types": ["ResetPassword", "Welcome"], "columns": [
    {"name": "Reference", "type": "guid", "nullable": false}],
    "subtypes": [
        {"name": "ResetPassword", "exclusive": true, "columns": [{"name": "Code", "type": "text(10)", "nullable": false}]},
        {"name": "Email", "columns": [{"name": "EmailTo", "type": "text(254)"}, {"name": "Extra", "type": "json"}]}],
    "order": {"direction": "lifo"}, "backoff": {"first_ms": 1000, "factor": 1, "jitter": 0}, "completion": "delete",
    "dedup": {"columns": ["Reference"]}}"#;

/// No columns of its own, and no order.
const SYNC: &str = r#"{"queue": "SyncQueue", "types": ["Orders"], "columns": [], "order": {"direction": "unordered"}}"#;
/// Roles, and workers that see only their own types.
const SHARED: &str = r#"{"queue": "Shared", "types": ["Email", "Sms"], "roles": {
    "producer": "shared producer", "worker": "shared worker", "operator": "shared operator", "own_types_only": true}}"#;

/// Tables that are there, with what the examples do not have: a key of two columns, groups, priorities, a history, types.
const ADOPTED: [&str; 3] = [
    // Names that only quoting keeps whole.
    r##"{"queue": "Odd", "types": ["A", "B"], "columns": [
    {"name": "Customer", "type": "integer", "nullable": false}, {"name": "Rank", "type": "integer", "nullable": false},
    {"name": "Subject", "type": "text(40)"}, {"name": "Extra", "type": "json"}],
    "table": {"schema": "odd ones", "name": "c'd*/GO", "create": true,
        "key": [{"name": "Region", "type": "text(10)", "source": "producer"},
                {"name": "it's \"no\"", "type": "bigint", "source": "table"}],
        "lifecycle": {"type": "Kind", "enqueued": "Came", "due": "Due;--'", "started": "Began", "finished": "Ended",
            "duration": "Ms", "attempts": "Tries", "owner": "By", "lease_until": "Until", "step": "Step",
            "response": "Answer", "error": "Trouble", "token": "Version"},
        "status": {"column": "State", "values": {"Pending": "new", "Processing": "busy", "Completed": "done"}}},
    "order": {"priority": {"column": "Rank", "first": "highest"}, "group": "Customer"},
    "completion": {"history": "Odd_History"}, "dedup": {"columns": ["Subject"], "answer": "existing",
        "among": "unfinished"}, "backoff": {"first_ms": 100, "factor": 2.0, "cap_ms": 1000, "jitter": 0.5},
    "lease": {"ms": 60000, "kind": "fixed", "resume_own": true},
    "roles": {"producer": "odd producer", "worker": "odd worker", "operator": "odd operator", "own_types_only": true}}"##,
    r#"{"queue": "Orders", "types": ["New", "Change"], "columns": [{"name": "customer", "type": "integer"},
        {"name": "urgency", "type": "integer", "nullable": false}, {"name": "wanted", "type": "timestamp"}],
        "table": {"name": "orders", "create": true, "key": [{"name": "region", "type": "text(10)", "source": "producer"},
            {"name": "number", "type": "bigint", "source": "table"}],
            "lifecycle": {"type": "kind", "enqueued": "came", "due": "due_at", "lease_until": "lease", "step": "step",
                "response": "response", "error": "error", "duration": "ms", "token": "changed", "owner": "who"},
            "status": {"column": "state", "values": {"Pending": "new", "Processing": "taken", "Completed": "done",
                "Failed": "failed", "Error": "again"}}},
        "order": {"priority": {"column": "urgency", "first": "highest"}, "group": "customer"},
        "dedup": {"columns": ["customer", "wanted"], "answer": "existing", "among": "unfinished"},
        "completion": {"history": "orders_done"},
        "backoff": {"first_ms": 1000, "factor": 2.0, "cap_ms": 60000, "jitter": 0.5},
        "roles": {"producer": "p", "worker": "w", "operator": "o", "own_types_only": true}}"#,
    r#"{"queue": "Due", "columns": [{"name": "what", "type": "text"}],
        "table": {"name": "due", "key": ["id"], "lifecycle": {"due": "at"},
            "index": {"name": "by_time", "columns": ["state", "at", "id"]},
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#,
];

/// Queues much like another one: the linter is slow, and need not read their SQL too.
const LIKE_OTHERS: [&str; 8] = [
    "queue_PasswordReset",
    "queue_SyncQueue",
    "queue_FourQueue",
    "queue_EmailRequests",
    "queue_EmailRequestsHeap",
    "queue_EmailRequestsLifo",
    "queue_EmailRequestsSent",
    "queue_SimpleQueuePg",
];

/// The schema scripts and the hash of each. They may change only until the first release; from then on a change is a new
/// script with the next number, since databases out there have run these.
const SCHEMA_SCRIPTS: [(Dialect, &str, u64); 6] = [
    (Dialect::SqlServer, "schema/0001_base.sql", 0x6e75_7379_7b5c_f24c),
    (Dialect::Postgres, "schema/0001_base.sql", 0x6c8b_cb73_a11a_4a20),
    (Dialect::SqlServer, "schema/0002_type_access.sql", 0x5092_6908_a57e_0adf),
    (Dialect::Postgres, "schema/0002_type_access.sql", 0x4a2a_6e3b_3cda_0898),
    (Dialect::SqlServer, "schema/0003_turn.sql", 0xc53b_e4dd_dec2_6756),
    (Dialect::Postgres, "schema/0003_turn.sql", 0x16e1_547b_ce12_b04e),
];

/// What only SQL Server is asked: how its locks, plans and owners can stand in the way.
const ASKED_OF_SQL_SERVER: [&str; 7] = [
    "/owner_chain.sql",
    "/foreign_keys.sql",
    "/indexed_views.sql",
    "/plans_cached.sql",
    "/plans_stored.sql",
    "/row_locks.sql",
    "/transactions.sql",
];

/// A queue before and after a change of everything that an upgrade script has something to do for.
const CHANGED: [&str; 2] = [
    r#"{"queue": "Job", "columns": [{"name": "A", "type": "text(9)", "nullable": false}],
        "roles": {"worker": "before"}}"#,
    r#"{"queue": "Job", "columns": [{"name": "A", "type": "text(10)"}, {"name": "B", "type": "date"}],
        "order": {"direction": "lifo"}, "roles": {"worker": "after"}}"#,
];

/// The schema's scripts, then those of each queue.
struct Rendered {
    files: Vec<(String, String)>,
}

impl Rendered {
    fn new(dialect: Dialect, schema: &str) -> Self {
        let schema = Identifier::new("the schema", schema).unwrap();
        let mut files = Vec::new();
        for version in 1.. {
            let Some(script) = dialect.schema_script(version, &schema).unwrap() else { break };
            files.push((format!("schema_{version:04}"), script));
        }
        files.push(("functions".to_owned(), dialect.functions_script(&schema).unwrap()));
        for (name, _) in dialect.files() {
            if let Some(call) = name.strip_prefix("call/").filter(|call| *call != "session.sql") {
                let call = call.trim_end_matches(".sql");
                // A call of a queue needs the queue's name; it is rendered with the queues below.
                if let Ok(text) = dialect.schema_call(call, &schema) {
                    files.push((format!("call_{call}"), text));
                }
            }
        }
        for spec in [NOTIFICATION, SHARED, r#"{"queue": "PasswordReset"}"#, DELIVERY, NOTICE, SYNC] {
            let spec = QueueSpec::from_json(spec).unwrap();
            let queue = spec.queue.as_str();
            let scripts = dialect.queue_scripts(&schema, &spec).unwrap();
            files.push((format!("queue_{queue}"), scripts.join("\n") + "\n"));
            let calls = dialect.calls(&schema, &spec).unwrap();
            for (call, text) in [
                ("enqueue", &calls.enqueue),
                ("claim", &calls.claim),
                ("settle", &calls.settle),
                ("enqueue_within", &calls.enqueue_within),
                ("settle_within", &calls.settle_within),
                ("renew", &calls.renew),
                ("recover", &calls.recover),
                ("stats", &calls.stats),
                ("find", &calls.find),
                ("redrive", &calls.redrive),
                ("purge", &calls.purge),
            ] {
                files.push((format!("call_{call}_{queue}"), text.to_string()));
            }
            if let Some(text) = &calls.blocked {
                files.push((format!("call_blocked_{queue}"), text.to_string()));
            }
        }
        for spec in ADOPTED.iter().copied().chain(EXAMPLES.iter().map(|(_, text)| *text)) {
            let spec = QueueSpec::from_text(spec).unwrap();
            if matches!(spec.storage, Storage::Table(_)) {
                let scripts = dialect.queue_scripts(&schema, &spec).unwrap();
                files.push((format!("queue_{}", spec.queue), scripts.join("\n") + "\n"));
            }
        }
        Self { files }
    }

    fn statements(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|(_, text)| statements(text))
    }
}

fn folder(dialect: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sql").join(dialect)
}

/// Whether a file is only taken into others.
fn is_part(name: &str) -> bool {
    name.starts_with("part/")
}

/// The names of the SQL files below `folder`, as `queue/table.sql`.
fn names_below(folder: &Path, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            names.extend(names_below(&entry.path(), &format!("{name}/")));
        } else {
            names.insert(name);
        }
    }
    names
}

/// `statement` without its comments.
fn code(statement: &str) -> String {
    let mut out = String::new();
    let mut rest = statement;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    out + rest
}

/// The words between `start` and the next closing parenthesis, for each occurrence.
fn lists_after<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).map(|rest| rest.split_once(')').unwrap().0)
}

/// The linter's grammar lacks this one option of a table.
fn is_known(line: &&str) -> bool {
    !line.ends_with(" SET (LOCK_ESCALATION = DISABLE);")
}

/// `text` without what is ODBC's (the parameter markers) or ours (in PostgreSQL, the lines that say GO).
fn for_the_linter(dialect: Dialect, text: &str) -> String {
    let mut parameter = 0;
    let mut out = String::new();
    let is_theirs = |line: &&str| dialect == Dialect::SqlServer || *line != "GO";
    for line in text.trim().lines().filter(is_theirs).filter(is_known) {
        let mut parts = line.split('?');
        out.push_str(parts.next().unwrap());
        for part in parts {
            parameter += 1;
            let mark = if dialect == Dialect::SqlServer { "@p" } else { "$" };
            out.push_str(&format!("{mark}{parameter}{part}"));
        }
        out.push('\n');
    }
    out
}

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn what_is_rendered_is_written_for_the_linter() {
    for (dialect, name) in DIALECTS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/sql").join(name);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in Rendered::new(dialect, "queue").files {
            // An ODBC escape is no SQL: the driver takes the call out of it.
            if !text.starts_with("{CALL") && !LIKE_OTHERS.contains(&file.as_str()) {
                fs::write(folder.join(file + ".sql"), for_the_linter(dialect, &text)).unwrap();
            }
        }
        let schema = Identifier::new("the schema", "queue").unwrap();
        let [old, new] = CHANGED.map(|text| QueueSpec::from_json(text).unwrap());
        let scripts = [
            ("script_new.sql", dialect.render(&schema, Some(&old)).unwrap()),
            ("script_upgrade.sql", dialect.render_upgrade(&schema, &old, &new).unwrap()),
        ];
        for (file, script) in scripts {
            let script: String = script.split_inclusive('\n').filter(|line| is_known(&line.trim_end())).collect();
            fs::write(folder.join(file), script).unwrap();
        }
    }
}

#[test]
fn every_file_is_compiled_in() {
    for (dialect, name) in DIALECTS {
        let compiled: BTreeSet<_> = dialect.files().iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(compiled, names_below(&folder(name), ""), "{name}");
    }
}

#[test]
fn both_dialects_have_the_same_parts() {
    let parts = |dialect: Dialect| -> BTreeSet<String> {
        let parts = dialect.files().iter().map(|(name, _)| (*name).to_owned());
        // Only PostgreSQL makes functions anew that an upgrade changes, and then gives back who may use them.
        let alone = |name: &str| name == "schema/upgrade_after.sql";
        let of_sql_server = |name: &str| ASKED_OF_SQL_SERVER.iter().any(|asked| name.ends_with(asked));
        parts.filter(|name| !is_part(name) && !alone(name) && !of_sql_server(name)).collect()
    };
    assert_eq!(parts(Dialect::SqlServer), parts(Dialect::Postgres));
}

#[test]
fn every_file_is_used_and_filled_in() {
    for (dialect, name) in DIALECTS {
        let rendered = Rendered::new(dialect, "queue");
        for (file, text) in &rendered.files {
            assert!(
                !["{{", "}}", "{%", "%}", "{#"].iter().any(|mark| code(text).replace("}}}", "}").contains(mark)),
                "{name}: {file}"
            );
        }
        let again = Rendered::new(dialect, "queue");
        assert_eq!(rendered.files, again.files, "{name}: rendering is deterministic");

        let used: String = dialect.files().iter().map(|(_, text)| *text).collect();
        for (file, _) in dialect.files().iter().filter(|(name, _)| is_part(name)) {
            let taken_in = ["include", "import"].iter().any(|word| used.contains(&format!("{word} \"{file}\"")));
            assert!(taken_in, "{name}: nothing includes {file}");
        }
        // Those of the schema, and those of a queue, whose name follows; not every queue has all.
        let is_lower = |word: &&str| !word.contains(|c: char| c.is_ascii_uppercase());
        let calls = rendered.files.iter().filter_map(|(file, _)| file.strip_prefix("call_"));
        let calls: BTreeSet<_> = calls.map(|call| call.split('_').take_while(is_lower).collect::<Vec<_>>()).collect();
        let files = dialect.files().iter().filter(|(name, _)| name.starts_with("call/"));
        assert_eq!(calls.len(), files.filter(|(name, _)| *name != "call/session.sql").count());
    }
}

#[test]
fn hostile_names_stay_names() {
    for (dialect, name) in DIALECTS {
        let plain = Rendered::new(dialect, "queue");
        let hostile = Rendered::new(dialect, "a]b\"c'd;--/*GO{{x}}*/");
        for ((file, plain), (_, hostile)) in plain.files.iter().zip(&hostile.files) {
            assert_eq!(statements(plain).count(), statements(hostile).count(), "{name}: {file}");
        }
    }
}

#[test]
fn released_schema_scripts_keep_their_text() {
    for (dialect, name, hash) in SCHEMA_SCRIPTS {
        let (_, text) = dialect.files().iter().find(|(file, _)| *file == name).unwrap();
        assert_eq!(fnv1a(text), hash, "{dialect:?} {name}: {:#018x}", fnv1a(text));
    }
    let scripts = |dialect: Dialect| dialect.files().iter().filter(|(name, _)| name.starts_with("schema/0")).count();
    assert_eq!(
        scripts(Dialect::SqlServer) + scripts(Dialect::Postgres),
        SCHEMA_SCRIPTS.len(),
        "each has its hash above"
    );
}

#[test]
fn transact_sql_keeps_its_rules() {
    let rendered = Rendered::new(Dialect::SqlServer, "queue");
    let mut procedures = 0;
    for statement in rendered.statements() {
        let code = code(statement);
        let adopted = code.contains("_Lease]");
        for banned in [
            "sp_addmessage",
            "RAISERROR",
            "sp_executesql",
            "NOLOCK",
            "GETDATE",
            "GETUTCDATE",
            " SYSDATETIME()",
            "MERGE ",
        ] {
            // A table in local time has it as a default, when it is made.
            let code = code.replace("DEFAULT SYSDATETIME()", "");
            assert!(!code.contains(banned), "{banned} in {statement}");
        }
        assert!(
            !code.contains("EXECUTE (")
                || ["N'CREATE SCHEMA ", "N'CREATE FUNCTION ", "@_Row);", "@_History);"]
                    .iter()
                    .any(|what| code.contains(&format!("EXECUTE ({what}"))),
            "dynamic SQL in {statement}"
        );
        for number in code.split("THROW ").skip(1).map(|rest| rest.split(',').next().unwrap()) {
            assert!(
                ["50005", "50012", "50013", "50014", "50021", "50023", "50024", "50025", "50026"].contains(&number),
                "{statement}"
            );
        }
        for hints in lists_after(&code, "WITH (").filter(|hints| hints.contains("PAST") || hints.contains("UPDLOCK")) {
            // Outside of these no other isolation level, and no lock of a page, is ever asked for.
            let reads_past = hints.contains("READPAST");
            assert_eq!(hints.contains("READCOMMITTEDLOCK"), reads_past, "{hints} in {statement}");
        }
        if !code.contains("CREATE OR ALTER PROCEDURE") {
            continue;
        }
        procedures += 1;
        assert!(statement.contains("Table access order: "), "{statement}");
        assert!(code.contains("SET NOCOUNT, XACT_ABORT ON;"), "{statement}");
        let name = code.split('[').nth(2).unwrap().split(']').next().unwrap();
        if name.ends_with("_trx") {
            for part in [
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;",
                "SET IMPLICIT_TRANSACTIONS OFF;",
                "IF @@TRANCOUNT > 0\n        THROW 50012",
            ] {
                assert!(code.contains(part), "{name} lacks {part}");
            }
        } else if name.ends_with("_utx") {
            assert!(code.contains("IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0\n        THROW 50012"), "{name}");
            assert!(!code.contains("COMMIT TRANSACTION") && !code.contains("ROLLBACK"), "{name}");
        }
        if name.starts_with("Next_") {
            let hints = "WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([";
            // Where the due time gives the order there are two: for those without one, then for those that are due.
            let most = if adopted { 2 } else { 1 };
            let found = code.matches(hints).count();
            assert!((1..=most).contains(&found), "{name}: one locking access chooses the items");
        }
    }
    let tables = EXAMPLES.iter().filter(|(_, text)| text.contains("[table]")).count() + ADOPTED.len();
    assert_eq!(procedures, 2 + (6 + tables) * 16, "two for the schema, sixteen a queue, whoever made its table");
}

#[test]
fn a_claim_of_an_adopted_table_is_one_seek() {
    let schema = Identifier::new("the schema", "queue").unwrap();
    for (name, index, predicate, order) in [
        ("four_queue", "[big_idea]", "q.[in_process] = 0", "q.[id]"),
        ("four_queue_scheduler", "[big_idea]", "q.[in_process] = 0", "q.[id]"),
        ("email_requests", "[IX_EmailRequests_Due]", "q.[IsProcessed] = 0", "q.[Created], q.[Id]"),
        ("email_requests_lifo", "[IX_EmailRequestsLifo_Due]", "q.[IsProcessed] = 0", "q.[Created] DESC, q.[Id] DESC"),
        ("email_requests_heap", "[IX_EmailRequestsHeap_Due]", "q.[IsProcessed] = 0", ""),
        ("simple_queue", "[IX_SIMPLEQUEUE_POP]", "q.[ProcessingStartedAt] IS NULL", "q.[CreatedAt]"),
        (
            "queue_lock_table",
            "[IX_LockTable_Due]",
            "q.[Status] = 1 AND q.[LockedTime] IS NULL",
            "q.[RequestedTime], q.[RequestId]",
        ),
    ] {
        let (_, text) = EXAMPLES.iter().find(|(other, _)| *other == name).unwrap();
        let scripts = Dialect::SqlServer.queue_scripts(&schema, &QueueSpec::from_toml(text).unwrap()).unwrap();
        let words = scripts.join("\n").split_whitespace().collect::<Vec<_>>().join(" ");
        let claim = format!("WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({index})) WHERE {predicate}");
        let (_, rest) = words.split_once(&claim).unwrap_or_else(|| panic!("{name}: no {claim}"));
        let statement = rest.split(';').next().unwrap();
        let (statement, option) = statement.split_once(" OPTION (").unwrap();
        assert!(option.ends_with("OPTIMIZE FOR (@_Take = 1))"), "{name}: a plan for more rows locks ahead: {option}");
        let ordered = statement.split_once(" ORDER BY ").map(|(_, order)| order).unwrap_or_default();
        assert_eq!(ordered, order, "{name}");
    }
    let made = |name: &str| {
        let (_, text) = EXAMPLES.iter().find(|(other, _)| *other == name).unwrap();
        let scripts = Dialect::SqlServer.queue_scripts(&schema, &QueueSpec::from_toml(text).unwrap()).unwrap();
        scripts.join("\n").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (name, index) in [
        (
            "email_requests",
            "[IX_EmailRequests_Due] ON [dbo].[EmailRequests] ([IsProcessed], [Created], [Id]) WITH (ONLINE = ON);",
        ),
        ("email_requests_heap", "[IX_EmailRequestsHeap_Due] ON [dbo].[EmailRequests] ([IsProcessed], [Id]);"),
        (
            "queue_lock_table",
            "[IX_LockTable_Due] ON [dbo].[Queue] ([Status], [LockedTime], [RequestedTime], [RequestId]);",
        ),
        (
            "four_queue_scheduler",
            "[IX_FourQueueScheduler_InFlight] ON [dbo].[four_queue] ([in_process], [end_date], [start_date]);",
        ),
    ] {
        assert!(made(name).contains(index), "{name}: no {index}");
    }
}

/// Every name that stands in `text`: in brackets, or as a variable.
fn names_used(text: &str) -> BTreeSet<String> {
    let bracketed = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(name, _)| name);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let variables = text.split('@').skip(1).map(|rest| rest.split(|c| !is_word(c)).next().unwrap());
    bracketed.chain(variables).map(str::to_owned).collect()
}

/// What `code` declares: variables and parameters, and the columns of each table, each list as the server compares names.
fn declared(code: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = |rest: &str| rest.split(|c| !is_word(c)).next().unwrap().to_lowercase();
    let mut variables: Vec<String> = code.split("DECLARE @").skip(1).map(word).collect();
    if let Some((_, procedure)) = code.split_once("CREATE OR ALTER PROCEDURE ") {
        let (parameters, _) = procedure.split_once("\nAS\n").unwrap();
        variables.extend(parameters.split('@').skip(1).map(word));
    }
    let mut lists = vec![variables];
    for table in code.split("TABLE ").skip(1).filter_map(|rest| rest.split_once("(\n")).map(|(_, rest)| rest) {
        let lines = table.lines().take_while(|line| !line.trim_start().starts_with(')')).map(str::trim_start);
        // A name with a type behind it; the lists of keys may be broken into lines too.
        let columns = lines.filter_map(|line| line.strip_prefix('[')?.split_once("] "));
        let columns = columns.map(|(name, _)| name.to_lowercase());
        lists.push(columns.collect());
    }
    lists
}

#[test]
fn no_name_of_a_column_meets_one_of_ours() {
    let schema = Identifier::new("the schema", "queue").unwrap();
    let names: BTreeSet<_> =
        Rendered::new(Dialect::SqlServer, "queue").files.iter().flat_map(|(_, text)| names_used(text)).collect();
    assert!(["_Now", "_Number", "Ordinal", "Key1", "Status"].iter().all(|name| names.contains(*name)), "{names:?}");
    let columns = |names: &[&str], more: &str| -> String {
        let columns = names.iter().map(|name| format!(r#"{{"name": {name:?}, "type": "text(40)"{more}}}"#));
        columns.collect::<Vec<_>>().join(", ")
    };
    let table = |key: &str| {
        format!(
            r#""table": {{"name": "any", "create": true, "key": [{key}], "status": {{"column": "state_of_it",
                "values": {{"Pending": 0, "Processing": 1, "Completed": 2}}}}}}"#
        )
    };
    let plain = |names: &[&str]| format!(r#"{{"queue": "Any", "columns": [{}]}}"#, columns(names, ""));
    let own = |names: &[&str]| {
        let columns = columns(names, "");
        format!(
            r#"{{"queue": "Any", "columns": [{columns}], "subtypes": [{{"name": "Extra", "columns": [{columns}]}}],
                "dedup": {{"columns": {names:?}}}}}"#
        )
    };
    let adopted = |names: &[&str]| {
        let (columns, table) = (columns(names, ""), table(r#""id_of_it""#));
        format!(r#"{{"queue": "Any", "columns": [{columns}], "dedup": {{"columns": {names:?}}}, {table}}}"#)
    };
    let key = |names: &[&str]| {
        format!(r#"{{"queue": "Any", "columns": [], {}}}"#, table(&columns(names, r#", "source": "producer""#)))
    };
    type Describe<'a> = &'a dyn Fn(&[&str]) -> String;
    let descriptions: [(usize, Describe<'_>); 4] = [(60, &plain), (60, &own), (60, &adopted), (10, &key)];
    let more = ["Number", "Now", "Tries", "Items", "Key", "Place", "First"];
    let names: BTreeSet<_> = names.iter().map(String::as_str).chain(more).collect();
    let mut taken = [0; 4];
    for ((size, describe), taken) in descriptions.iter().zip(&mut taken) {
        // A name of ours that nobody may take is refused by the description; so are two that differ in case only.
        let mut fit: Vec<&str> = Vec::new();
        for name in names.iter().filter(|name| QueueSpec::from_json(&describe(&[name])).is_ok()) {
            if !fit.iter().any(|other| other.eq_ignore_ascii_case(name)) {
                fit.push(name);
            }
        }
        *taken = fit.len();
        for names in fit.chunks(*size) {
            let spec = QueueSpec::from_json(&describe(names)).unwrap();
            let scripts = Dialect::SqlServer.queue_scripts(&schema, &spec).unwrap();
            for statement in scripts.iter().flat_map(|script| statements(script)) {
                for list in declared(&code(statement)) {
                    let once: BTreeSet<_> = list.iter().collect();
                    assert_eq!(once.len(), list.len(), "declared twice: {list:?} in {statement}");
                }
            }
        }
    }
    assert!(taken.iter().all(|taken| *taken > 50), "{taken:?}");
}

#[test]
fn postgres_functions_keep_their_rules() {
    let rendered = Rendered::new(Dialect::Postgres, "queue");
    let statements: Vec<_> = rendered.statements().collect();
    let mut functions = 0;
    for (place, statement) in statements.iter().enumerate() {
        let code = code(statement);
        for banned in ["now()", "CURRENT_TIMESTAMP", "EXECUTE format", "SELECT *\n"] {
            assert!(!code.contains(banned), "{banned} in {statement}");
        }
        for number in code.split("ERRCODE = '").skip(1).map(|rest| rest.split('\'').next().unwrap()) {
            assert!(["RP014", "RP021"].contains(&number), "{statement}");
        }
        let Some((_, function)) = code.split_once("CREATE OR REPLACE FUNCTION ") else { continue };
        let name = function.split('(').next().unwrap();
        if name.ends_with("_fn\"") && !name.ends_with("_is_type_fn\"") {
            assert!(!function.contains("FROM"), "open to everybody, so it reads no table: {statement}");
            continue;
        }
        functions += 1;
        assert!(statement.contains("Table access order: "), "{statement}");
        assert!(function.contains("SECURITY DEFINER\nSET search_path = pg_catalog, pg_temp\n"), "{statement}");
        // However long the names are, and wherever the line is broken therefore.
        let revoke = statements[place + 1].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            revoke.starts_with(&format!("REVOKE ALL ON FUNCTION {name}(")) && revoke.ends_with(") FROM public;"),
            "{revoke}"
        );
    }
    let adopted = ADOPTED.len() + 10;
    assert_eq!(functions, 2 + (6 + adopted) * 16 + 1, "two for the schema, sixteen a queue, one for subtypes");
}
