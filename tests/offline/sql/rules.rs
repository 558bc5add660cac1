//! The rules of `sql/README.md` for each statement, on each server.

use super::queues::ADOPTED;
use super::{Rendered, code, words};
use readpast::description::{EXAMPLES, QueueSpec};
use readpast::ident::Identifier;
use readpast::render::Made;
use readpast::{Dialect, render};
use std::collections::BTreeSet;

/// The words between `start` and the next closing parenthesis, for each occurrence.
fn lists_after<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).map(|rest| rest.split_once(')').unwrap().0)
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
                || [
                    "N'SET LOCK_TIMEOUT ",
                    "N'CREATE SCHEMA ",
                    "N'CREATE FUNCTION ",
                    "N'CREATE VIEW ",
                    "@_Row);",
                    "@_History);"
                ]
                .iter()
                .any(|what| code.contains(&format!("EXECUTE ({what}"))),
            "dynamic SQL in {statement}"
        );
        for number in code.split("THROW ").skip(1).map(|rest| rest.split(',').next().unwrap()) {
            assert!(
                ["50005", "50012", "50013", "50014", "50015", "50016", "50021", "50023", "50024", "50025", "50026"]
                    .contains(&number),
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
        let code = words(statement);
        assert!(statement.contains("Table access order: "), "{statement}");
        assert!(code.contains("SET NOCOUNT, XACT_ABORT ON;"), "{statement}");
        let name = code.split('[').nth(2).unwrap().split(']').next().unwrap();
        if name.ends_with("_trx") || name.ends_with("_utx") {
            assert!(code.contains("SET ROWCOUNT 0;"), "{name} would work on the first rows only");
        }
        if name.ends_with("_trx") {
            for part in [
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;",
                "SET IMPLICIT_TRANSACTIONS OFF;",
                "IF @@TRANCOUNT > 0 THROW 50012",
            ] {
                assert!(code.contains(part), "{name} lacks {part}");
            }
        } else if name.ends_with("_utx") {
            assert!(code.contains("IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0 THROW 50012"), "{name}");
            assert!(!code.contains("COMMIT TRANSACTION") && !code.contains("ROLLBACK"), "{name}");
        }
        assert!(!name.starts_with("Next_") || !code.contains("UPDLOCK"), "{name}: one procedure claims");
        if name.ends_with("_Claim") {
            let hints = "WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([";
            // Where the due time gives the order there are two: for those without one, then for those that are due.
            let most = if adopted { 2 } else { 1 };
            // Where an entry is not kept, it is the row that is locked for it.
            let row = "WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON";
            let found = code.matches(hints).count() + code.matches(row).count();
            assert!((1..=most).contains(&found), "{name}: one locking access chooses the items");
        }
    }
    let mut inner_ones = 0;
    for object in &rendered.objects {
        let is_inner = |name: &str| ["_Add", "_Settle", "_Claim", "_Recover"].iter().any(|end| name.ends_with(end));
        match &object.makes {
            Made::Code { name, .. } => inner_ones += usize::from(is_inner(&name.name)),
            Made::Grant(grant) => assert!(!is_inner(&grant.on.name), "only other procedures call {}", grant.on.name),
            _ => {}
        }
    }
    assert!(inner_ones > 20, "{inner_ones}");
    let tables = EXAMPLES.iter().filter(|(_, text)| text.contains("[table]")).count() + ADOPTED.len();
    // Four of the queues take turns, three remember their attempts, one deletes what is over and takes schedules, one has limits (the
    // room, too), items that wait for others and progress, one is claimed by somebody else: no claim of that is looked for.
    assert_eq!(
        procedures,
        19 + (6 + tables) * 27 + 4 + 3 + 1 + 3 + 4 + 3 + 2 + 1 - 1 - 1,
        "nineteen for the schema, twenty-seven a queue, whoever made its table"
    );
}

#[test]
fn a_claim_of_an_adopted_table_is_one_seek() {
    let schema = Identifier::new("the schema", "queue").unwrap();
    let words = |text: &str| {
        let objects = render::queue(Dialect::SqlServer, &schema, &QueueSpec::from_toml(text).unwrap()).unwrap();
        let script = render::text(Dialect::SqlServer, &objects);
        script.split_whitespace().collect::<Vec<_>>().join(" ")
    };
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
        let words = words(text);
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
        words(text)
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

/// To many databases `completed` is `Completed`; a later reader of the state compares more closely.
#[test]
fn a_settlement_writes_the_states_in_our_words() {
    let rendered = Rendered::new(Dialect::SqlServer, "queue");
    let statements: Vec<_> = rendered.statements().filter(|text| text.contains("_Settle]\n    @Operation")).collect();
    assert!(statements.len() > 10, "{}", statements.len());
    for statement in statements {
        let code = words(statement);
        let (_, judge) = code.split_once("[QueueJudge_fn](").unwrap_or_else(|| panic!("{statement} judges"));
        let (arguments, _) = judge.split_once(") AS j").unwrap();
        // Without one the item keeps its own.
        let arguments = arguments.replace("i.[Status] IS NULL", "");
        assert!(arguments.contains("t.[ToStatus]") && !arguments.contains("i.[Status]"), "{statement}");
    }
}

#[test]
fn postgres_functions_keep_their_rules() {
    let rendered = Rendered::new(Dialect::Postgres, "queue");
    let statements: Vec<_> = rendered.statements().collect();
    let (mut functions, mut inner_ones) = (0, BTreeSet::new());
    for (place, statement) in statements.iter().enumerate() {
        let code = code(statement);
        for banned in ["now()", "CURRENT_TIMESTAMP", "EXECUTE format", "SELECT *\n"] {
            assert!(!code.contains(banned), "{banned} in {statement}");
        }
        for number in code.split("ERRCODE = '").skip(1).map(|rest| rest.split('\'').next().unwrap()) {
            assert!(["RP014", "RP015", "RP021"].contains(&number), "{statement}");
        }
        let Some((_, function)) = code.split_once("CREATE OR REPLACE FUNCTION ") else { continue };
        let name = function.split('(').next().unwrap();
        if name.ends_with("_fn\"") && !name.ends_with("_is_type_fn\"") {
            let reads = ["FROM \"", "JOIN \""].iter().any(|of_a_table| function.contains(of_a_table));
            assert!(!reads, "open to everybody, so it reads no table: {statement}");
            continue;
        }
        functions += 1;
        assert!(statement.contains("Table access order: "), "{statement}");
        // A function that only others call has their rights and their settings, and no login may call it.
        let inner = function.contains(" SECURITY INVOKER\nAS $$");
        let pinned = function.contains("SECURITY DEFINER\nSET search_path = pg_catalog, pg_temp");
        assert!(inner || pinned, "{statement}");
        functions -= usize::from(inner);
        inner_ones.extend(inner.then(|| name.to_owned()));
        // However long the names are, and wherever the line is broken therefore.
        let revoke = statements[place + 1].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            revoke.starts_with(&format!("REVOKE ALL ON FUNCTION {name}(")) && revoke.ends_with(") FROM public;"),
            "{revoke}"
        );
    }
    let granted = rendered.objects.iter().filter_map(|object| match &object.makes {
        Made::Grant(grant) => Some(super::quoted(Dialect::Postgres, &grant.on)),
        _ => None,
    });
    let open: Vec<_> = granted.filter(|name| inner_ones.contains(name)).collect();
    assert!(!inner_ones.is_empty() && open.is_empty(), "granted, and only other functions call them: {open:?}");
    let adopted = ADOPTED.len() + 13;
    // Four of the queues take turns, three remember their attempts, one deletes what is over and takes schedules, one has limits, items that wait
    // for others and progress, one is claimed by somebody else, of which no claim is looked for; two of those beside a table move what is completed.
    assert_eq!(
        functions,
        12 + (6 + adopted) * 20 + 3 + 1 + 3 + 2 + 2 + 2 + 1 + 1 + 2 - 1,
        "twelve for the schema, twenty a queue, one for subtypes"
    );
}

/// JSON that is given to a procedure by hand loses no part of itself by a slip.
#[test]
fn procedures_look_at_the_names_of_items_first() {
    for (dialect, given, look, read) in [
        (
            Dialect::SqlServer,
            " @Items nvarchar(max)",
            "EXECUTE [queue].[QueueTake]",
            "FROM OPENJSON(@Items) AS k) AS j CROSS APPLY OPENJSON(j.[value]) WITH",
        ),
        (Dialect::Postgres, "items_ json", "items_ := \"queue\".\"queue_taken_fn\"(", "json_to_recordset(items_)"),
    ] {
        let mut looked = 0;
        for statement in Rendered::new(dialect, "queue").statements() {
            let code = words(statement);
            // A procedure that only hands the items on leaves the look to the one that takes them.
            let hands_on = match dialect {
                Dialect::Postgres => code.contains("LANGUAGE sql"),
                _ => code.contains("@Items = @Items") && !code.contains("OPENJSON"),
            };
            // The procedure that takes a call's identity has looked at a call that was made before.
            let was_looked_at = code.contains("PROCEDURE [queue].[QueueTake]")
                || code.contains("_Answered] @Operation uniqueidentifier")
                // The procedure that puts items in has looked at those that wait for others.
                || code.contains("_Wait] @Items")
                || code.contains(r#"FUNCTION "queue"."wait_"#)
                // The procedure that settles has looked at those whose holders and waiters it wakes.
                || code.contains(r#"FUNCTION "queue"."ring_"#);
            if !code.contains(given) || was_looked_at || hands_on {
                continue;
            }
            let (before, _) = code.split_once(look).unwrap_or_else(|| panic!("{statement} takes what it is given"));
            assert!(!before.contains(read), "{statement} reads before it looks");
            looked += 1;
        }
        assert!(looked > 60, "{looked}");
    }
}

/// Two calls that let finished items of one work in again: in somebody's table each locks what it finds for change, or both would
/// find nothing; in an own one the index refuses the second, which is to be tried again.
#[test]
fn a_redrive_and_the_same_work_meet() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let table = r#", "table": {"name": "Qs", "create": true, "key": ["Id"],
        "status": {"column": "State", "values": {"Pending": 1, "Processing": 2, "Completed": 3, "Failed": 4}}}"#;
    for (more, expected) in [(table, "AS e WITH (UPDLOCK, ROWLOCK"), ("", "IF ERROR_NUMBER() = 2601 THROW 50005,")] {
        let spec = format!(
            r#"{{"queue": "Q", "columns": [{{"name": "W", "type": "integer"}}], "dedup": {{"columns": ["W"], "among": "unfinished"}}{more}}}"#
        );
        let spec = QueueSpec::from_json(&spec).unwrap();
        let script = render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap();
        let (_, redrive) = script.split_once("PROCEDURE [readpast].[Redrive_Q_Set_trx]").unwrap();
        let (redrive, _) = redrive.split_once("\nGO\n").unwrap();
        assert!(words(redrive).contains(expected), "{redrive}");
    }
}

/// Only a table that somebody else has declared, or a type of the author's own, can keep text in a code page.
#[test]
fn a_write_reads_text_again_where_a_code_page_may_have_lost_some() {
    let schema = Identifier::new("the schema", "readpast").unwrap();
    let rendered = |spec: &str| {
        let spec = QueueSpec::from_json(spec).unwrap();
        render::script(Dialect::SqlServer, &schema, Some(&spec)).unwrap().matches("THROW 50021, @_Lost, 1;").count()
    };
    let columns = |more: &str| {
        format!(r#""columns": [{{"name": "Note", "type": "text"{more}}}, {{"name": "N", "type": "bigint"}}]"#)
    };
    let own = format!(r#"{{"queue": "Q", {}}}"#, columns(""));
    let of_a_type = format!(r#"{{"queue": "Q", {}}}"#, columns(r#", "sql_type": "dbo.Note""#));
    let table = r#""table": {"name": "t", "key": ["id"], "status": {"column": "s", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}"#;
    let theirs = format!(r#"{{"queue": "Q", {}, {table}}}"#, columns(""));
    let numbers = format!(r#"{{"queue": "Q", "columns": [{{"name": "N", "type": "bigint"}}], {table}}}"#);
    assert_eq!([own, of_a_type, theirs, numbers].map(|spec| rendered(&spec)), [0, 2, 2, 0], "Add_ and Modify_");
}
