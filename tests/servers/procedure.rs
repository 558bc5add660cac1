//! Procedures as handlers of items, on both servers and both kinds of table: what one writes and the end of its item are one.

use readpast::{
    ErrorKind, Filter, ItemState, NewItem, Queue, QueueSpec,
    install::install,
    worker::{Procedure, Worked},
};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use support::both::Database;
use support::limit::until;

/// A queue in a database of its own, and a ledger beside it.
struct Given {
    database: Database,
    queue: Queue,
}

impl Given {
    /// On each server at hand, each kind of table.
    fn each() -> Vec<Self> {
        [false, true]
            .into_iter()
            .flat_map(|described| Database::each().into_iter().map(move |database| Self::new(database, described)))
            .collect()
    }

    fn new(database: Database, described: bool) -> Self {
        let mut spec = json!({
            "queue": "Mail",
            "columns": [{"name": "N", "type": "integer"}, {"name": "Recipient", "type": "text(40)"}],
            "backoff": "none",
        });
        if described {
            spec["table"] = json!({
                "name": "Mails", "create": true, "key": ["Id"], "lifecycle": {"step": "StepAt", "response": "Answered"},
                "status": {"column": "State", "values": {
                    "Pending": 1, "Processing": 2, "Completed": 3, "Failed": 4, "PartiallyCompleted": 5}}
            });
        }
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        database.run("CREATE TABLE ledger (n integer NOT NULL, attempt integer NOT NULL)");
        let queue = Queue::open(&database.config(&[("worker", "me")]), "Mail").unwrap();
        Self { database, queue }
    }

    /// A procedure `handle`, or in PostgreSQL a function, that writes to the ledger and goes on with this.
    fn handler(&self, sql_server: &str, postgres: &str) {
        self.database.run(&if self.database.is_sql_server() {
            format!(
                "CREATE PROCEDURE dbo.handle @n int, @Recipient nvarchar(40), @p_Attempt int, @Other nvarchar(10) = N'none' AS \
                 BEGIN SET NOCOUNT ON; INSERT INTO dbo.ledger (n, attempt) VALUES (@n, @p_Attempt); {sql_server} END"
            )
        } else {
            format!(
                "CREATE FUNCTION public.handle(n_ integer, recipient text, p_attempt integer, other_ text DEFAULT 'none') RETURNS \
                 TABLE (status text, step text, response text, delay_ms bigint, set text) LANGUAGE plpgsql AS $$ BEGIN \
                 INSERT INTO ledger (n, attempt) VALUES (n_, p_attempt); {postgres} END $$"
            )
        });
    }

    fn put(&self, n: i32) {
        let columns = json!({"N": n, "Recipient": "r"}).as_object().unwrap().clone().into();
        self.queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap();
    }

    /// Works until nothing is due.
    fn work(&self) -> Vec<Worked> {
        let procedure = Procedure::find(&self.queue, "handle").unwrap();
        std::iter::from_fn(|| procedure.work(Duration::ZERO).unwrap()).collect()
    }

    fn ledger(&self) -> Vec<String> {
        let rows = self.database.rows("SELECT n, attempt FROM ledger ORDER BY n, attempt");
        (0..rows.len()).map(|row| format!("{:?}/{:?}", rows.value(row, 0), rows.value(row, 1))).collect()
    }

    fn count(&self, state: ItemState) -> i64 {
        self.queue.stats().unwrap().count(state)
    }
}

fn entry(n: i32, attempt: i32) -> String {
    format!("Integer({n})/Integer({attempt})")
}

#[test]
fn its_writes_and_the_end_of_its_item_are_one() {
    for given in Given::each() {
        given.handler("", "");
        given.put(1);
        given.put(2);
        let worked = given.work();
        assert!(worked.iter().all(|worked| worked.state == Some(ItemState::Completed)), "{worked:?}");
        assert_eq!(given.ledger(), [entry(1, 1), entry(2, 1)]);
        assert_eq!(given.count(ItemState::Completed), 2);
    }
}

/// The first statement is undone with the one that fails, and so is what a T-SQL procedure goes on with.
#[test]
fn an_error_undoes_what_it_did_and_costs_an_attempt() {
    for given in Given::each() {
        given.handler(
            "IF @p_Attempt < 3 INSERT INTO dbo.ledger (n, attempt) VALUES (NULL, 7); INSERT INTO dbo.ledger (n, attempt) VALUES (9, 9);",
            "IF p_attempt < 3 THEN INSERT INTO ledger (n, attempt) VALUES (NULL, 7); END IF; INSERT INTO ledger (n, attempt) VALUES (9, 9);",
        );
        given.put(1);
        let worked = given.work();
        let states: Vec<_> = worked.iter().map(|worked| (worked.attempt, worked.state)).collect();
        let (error, completed) = (Some(ItemState::Error), Some(ItemState::Completed));
        assert_eq!(states, [(1, error), (2, error), (3, completed)]);
        assert!(worked[0].error.as_ref().unwrap().to_lowercase().contains("null"), "{worked:?}");
        assert_eq!(given.ledger(), [entry(1, 3), entry(9, 9)]);
    }
}

#[test]
fn an_item_that_never_works_ends_failed_and_says_why() {
    for given in Given::each() {
        given.handler("THROW 50777, N'no such account', 1;", "RAISE EXCEPTION 'no such account';");
        given.put(1);
        let worked = given.work();
        assert_eq!((worked.len(), worked[2].state), (3, Some(ItemState::Failed)), "{worked:?}");
        assert!(worked.iter().all(|worked| worked.error.as_ref().unwrap().contains("no such account")), "{worked:?}");
        assert_eq!((given.ledger().len(), given.count(ItemState::Failed)), (0, 1));
    }
}

#[test]
fn a_row_says_what_becomes_of_the_item() {
    for given in Given::each() {
        given.handler(
            "SELECT CASE WHEN @p_Attempt = 1 THEN N'Pending' ELSE N'PartiallyCompleted' END AS [Status], N'half' AS [Step], \
             CONCAT(N'r', @n) AS [Response], CAST(0 AS bigint) AS [DelayMs], \
             CONCAT(N'{\"recipient\": \"s', @p_Attempt, N'\"}') AS [Set];",
            "RETURN QUERY SELECT CASE WHEN p_attempt = 1 THEN 'Pending' ELSE 'PartiallyCompleted' END, 'half', 'r' || n_, 0::bigint, \
             '{\"recipient\": \"s' || p_attempt || '\"}';",
        );
        given.put(1);
        let worked = given.work();
        let states: Vec<_> = worked.iter().map(|worked| worked.state.unwrap()).collect();
        assert_eq!(states, [ItemState::Pending, ItemState::PartiallyCompleted]);
        let found = given.queue.get(&worked[0].key).unwrap();
        let item = found.get(0).unwrap();
        let value = |names: [&str; 4]| names.iter().find_map(|name| item.value_of(name));
        assert_eq!(value(["Step", "step", "ItemStep", "item_step"]), Some(readpast::item::Value::Text("half")));
        assert_eq!(
            value(["Response", "response", "ItemResponse", "item_response"]),
            Some(readpast::item::Value::Text("r1"))
        );
        assert_eq!(item.value_of("Recipient"), Some(readpast::item::Value::Text("s2")));
        assert_eq!(given.ledger().len(), 2);
    }
}

#[test]
fn a_value_that_no_column_takes_undoes_it() {
    for given in Given::each() {
        given.handler(
            "SELECT N'Completed' AS [Status], CASE WHEN @p_Attempt = 1 THEN N'{\"nope\": 1}' END AS [Set];",
            "RETURN QUERY SELECT 'Completed', NULL, NULL, NULL::bigint, CASE WHEN p_attempt = 1 THEN '{\"nope\": 1}' END;",
        );
        given.put(1);
        let worked = given.work();
        let states: Vec<_> = worked.iter().map(|worked| worked.state.unwrap()).collect();
        assert_eq!(states, [ItemState::Error, ItemState::Completed]);
        let why = worked[0].error.as_deref().unwrap();
        assert!(why.contains("what ") && why.contains("no column \"nope\""), "{why}");
        assert_eq!(given.ledger(), [entry(1, 2)]);
    }
}

/// Its new items are there with the end of its item. The answer to that has a status too, which says nothing of this item.
#[test]
fn its_new_items_are_a_part_of_it() {
    for given in Given::each() {
        given.handler(
            "IF @n = 1 EXECUTE [readpast].[Add_Mail_utx] @N = 2, @Recipient = @Recipient; IF @p_Attempt < 2 THROW 50777, N'later', 1;",
            "IF n_ = 1 THEN PERFORM * FROM readpast.add_mail_utx(\"N_\" => 2, \"Recipient_\" => recipient); END IF; \
             IF p_attempt < 2 THEN RAISE EXCEPTION 'later'; END IF;",
        );
        given.put(1);
        let worked = given.work();
        assert_eq!((worked.len(), given.ledger()), (4, vec![entry(1, 2), entry(2, 2)]), "{worked:?}");
        assert_eq!(given.count(ItemState::Completed), 2);
    }
}

/// T-SQL procedures have what functions have not: a number that they return, and a transaction that they can end.
#[test]
fn a_return_value_is_a_failure_unless_it_is_0() {
    for given in Given::each().into_iter().filter(|given| given.database.is_sql_server()) {
        given.handler("IF @p_Attempt < 2 RETURN 7; RETURN 0;", "");
        given.put(1);
        let worked = given.work();
        assert_eq!((worked.len(), worked[1].state), (2, Some(ItemState::Completed)), "{worked:?}");
        assert!(worked[0].error.as_ref().unwrap().contains("returned 7"), "{worked:?}");
        assert_eq!(given.ledger(), [entry(1, 2)]);
    }
}

#[test]
fn one_that_ends_the_transaction_has_failed() {
    for ends in ["ROLLBACK TRANSACTION;", "COMMIT TRANSACTION;"] {
        for given in Given::each().into_iter().filter(|given| given.database.is_sql_server()) {
            given.handler(&format!("IF @p_Attempt < 2 {ends}"), "");
            given.put(1);
            let worked = given.work();
            assert_eq!((worked.len(), worked[1].state), (2, Some(ItemState::Completed)), "{ends} {worked:?}");
            assert_eq!((worked[0].state, worked[0].attempt), (Some(ItemState::Error), 1), "{ends} {worked:?}");
            assert!(worked[0].error.is_some(), "{ends}");
        }
    }
}

/// One worker's procedure fails; before that is recorded, another's has done the item. Both have the one connection in turn.
#[test]
fn the_work_of_another_is_not_reported_as_that_of_a_failed_worker() {
    for given in Given::each() {
        let (sequence, table) = ("CREATE SEQUENCE turns START WITH 1", "CREATE TABLE begun (n integer NOT NULL)");
        [sequence, table].into_iter().for_each(|statement| given.database.run(statement));
        given.handler(
            "DECLARE @turn bigint = NEXT VALUE FOR dbo.turns; IF @turn = 1 BEGIN WHILE NOT EXISTS (SELECT 1 FROM dbo.begun) \
             SET @turn = 1; THROW 50777, N'first', 1; END",
            "IF nextval('turns') = 1 THEN WHILE NOT EXISTS (SELECT 1 FROM begun) LOOP PERFORM pg_sleep(0.02); END LOOP; \
             RAISE EXCEPTION 'first'; END IF;",
        );
        let patient =
            [("pool.acquire_ms", "600000"), ("query.timeout_ms", "600000"), ("recover.interval_ms", "3600000")];
        let settings = [&[("pool.size", "1")][..], &patient].concat();
        let queue = Queue::open(&given.database.config(&settings), "Mail").unwrap();
        let procedure = Procedure::find(&queue, "handle").unwrap();
        assert_eq!(procedure.work(Duration::ZERO).unwrap(), None, "has looked after dead workers, for an hour");
        given.put(1);
        let work = || procedure.work(Duration::ZERO).unwrap().unwrap();
        let (failed, done) = thread::scope(|scope| {
            let failed = scope.spawn(work);
            until("the first has it", || queue.connections().idle == 0);
            let done = scope.spawn(work);
            until("the second waits for the connection", || queue.connections().waiting == 1);
            given.database.run("INSERT INTO begun (n) VALUES (1)");
            (failed.join().unwrap(), done.join().unwrap())
        });
        assert_eq!((failed.state, done.state), (None, Some(ItemState::Completed)), "{failed:?} {done:?}");
        assert!(failed.error.unwrap().contains("first") && done.error.is_none());
        assert_eq!(given.ledger(), [entry(1, 1)]);
    }
}

/// Each type as the parameter of that type, there and back.
#[test]
fn values_come_as_they_were_enqueued() {
    let values = [
        ("A", "integer", "int", "integer", json!(-7)),
        ("B", "bigint", "bigint", "bigint", json!(9_007_199_254_740_993_i64)),
        ("C", "boolean", "bit", "boolean", json!(true)),
        ("D", "float", "float", "double precision", json!(0.1)),
        ("E", "decimal(20, 4)", "decimal(20, 4)", "numeric", json!("123456789012345.6789")),
        ("F", "timestamp", "datetime2(7)", "timestamptz", json!("2026-11-21T08:30:01.123456Z")),
        ("G", "date", "date", "date", json!("2026-11-21")),
        ("H", "guid", "uniqueidentifier", "uuid", json!("0000000a-0000-4000-8000-00000000000f")),
        ("I", "json", "nvarchar(max)", "json", json!({"a": [1, "ü"]})),
        ("J", "text", "nvarchar(max)", "text", json!("größer 😀")),
        ("K", "text(10)", "nvarchar(10)", "text", Value::Null),
        ("L", "binary(9)", "varbinary(9)", "bytea", json!("AP8=")),
    ];
    for database in Database::each() {
        let columns: Vec<_> = values.iter().map(|(name, kind, ..)| json!({"name": name, "type": kind})).collect();
        let spec = json!({"queue": "Mail", "columns": columns}).to_string();
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
        let list = |of: &dyn Fn(&str, &str, &str) -> String| {
            values.iter().map(|(name, _, there, here, _)| of(name, there, here)).collect::<Vec<_>>().join(", ")
        };
        let seen = list(&|name, there, here| format!("{name} {}", database.pick(there, here)));
        database.run(&format!("CREATE TABLE seen ({seen})"));
        let taken = list(&|name, there, here| {
            if database.is_sql_server() { format!("@{name} {there}") } else { format!("p_{name} {here}") }
        });
        let given = list(&|name, _, _| format!("{}{name}", database.pick("@", "p_")));
        database.run(&if database.is_sql_server() {
            format!("CREATE PROCEDURE dbo.handle {taken} AS BEGIN SET NOCOUNT ON; INSERT INTO dbo.seen VALUES ({given}); END")
        } else {
            format!("CREATE FUNCTION public.handle({taken}) RETURNS void LANGUAGE sql AS $$ INSERT INTO seen VALUES ({given}) $$")
        });
        let queue = Queue::open(&database.config(&[]), "Mail").unwrap();
        let columns: serde_json::Map<_, _> =
            values.iter().map(|(name, .., value)| ((*name).to_owned(), value.clone())).collect();
        queue.enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None).unwrap();
        let worked = Procedure::find(&queue, "handle").unwrap().work(Duration::ZERO).unwrap().unwrap();
        assert_eq!(worked.state, Some(ItemState::Completed), "{worked:?}");
        let names = list(&|name, _, _| format!("t.{name} = s.{name}"));
        let same = names.replace(", ", " AND ").replace("t.K = s.K", "t.K IS NULL AND s.K IS NULL");
        let same = if database.is_sql_server() { same } else { same.replace("t.I = s.I", "t.I::text = s.I::text") };
        let table = database.pick("[readpast].[Mail]", "readpast.mail");
        let quoted: String = if database.is_sql_server() {
            same
        } else {
            // The columns of the queue's table keep their capitals.
            values.iter().fold(same, |same, (name, ..)| same.replace(&format!("t.{name}"), &format!("t.\"{name}\"")))
        };
        assert_eq!(database.look(&format!("SELECT COUNT(*) FROM {table} AS t INNER JOIN seen AS s ON {quoted}")), "1");
    }
}

/// The transaction of the claim holds the item's row: nobody else can end it meanwhile.
#[test]
fn an_item_that_is_too_large_ends_in_the_transaction_of_its_claim() {
    for database in Database::each() {
        let spec = json!({"queue": "Mail", "columns": [{"name": "Body", "type": "text"}]}).to_string();
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec).unwrap())).unwrap();
        database.run(database.pick(
            "CREATE PROCEDURE dbo.handle @Body nvarchar(max) AS RETURN 0",
            "CREATE FUNCTION public.handle(body text) RETURNS void LANGUAGE sql AS 'SELECT'",
        ));
        let put = |length: usize| {
            let columns = json!({"Body": "x".repeat(length)}).as_object().unwrap().clone().into();
            let producer = Queue::open(&database.config(&[("item.max_bytes", "0")]), "Mail").unwrap();
            producer.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap();
        };
        [200_000, 1].into_iter().for_each(put);
        let queue = Queue::open(&database.config(&[("item.max_bytes", "100000")]), "Mail").unwrap();
        let procedure = Procedure::find(&queue, "handle").unwrap();
        let worked: Vec<_> = std::iter::from_fn(|| procedure.work(Duration::ZERO).unwrap()).collect();
        assert_eq!(worked.iter().map(|worked| worked.state).collect::<Vec<_>>(), [Some(ItemState::Completed)]);
        let failed = Filter { states: vec![ItemState::Failed], ..Filter::default() };
        let failed = queue.find(&failed, None, 10).unwrap();
        assert_eq!(failed.len(), 1);
        let error =
            format!("{:?}", failed.get(0).unwrap().value_of("Error").or(failed.get(0).unwrap().value_of("error")));
        assert!(error.contains("item.max_bytes"), "{error}");
    }
}

/// A fault of the call itself costs no item an attempt.
#[test]
fn one_that_does_not_fit_is_no_items_fault() {
    for given in Given::each() {
        given.put(1);
        assert_eq!(Procedure::find(&given.queue, "nobody").err().unwrap().kind(), ErrorKind::InvalidArgument);
        given.database.run(given.database.pick(
            "CREATE PROCEDURE dbo.odd @Unheard int AS RETURN 0",
            "CREATE FUNCTION public.odd(unheard integer) RETURNS void LANGUAGE sql AS 'SELECT'",
        ));
        let error = Procedure::find(&given.queue, "odd").unwrap().work(Duration::ZERO).unwrap_err();
        assert!(error.message().to_lowercase().contains("unheard"), "{error}");
        assert_eq!(given.count(ItemState::Pending), 1);
    }
}
