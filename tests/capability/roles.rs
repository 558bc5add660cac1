//! Roles, and logins that see only their own types.

use readpast::for_tests::Session;
use readpast::item::{self, Action, Answer, ItemState, Lease, NewItem, Settlement};
use serde_json::Value;
use std::time::Duration;
use support::api::Api;
use support::fixture::{Body, Given, Settings};

pub const BODIES: &[(&str, Body)] = &[
    ("roles::each_may_do_its_work_and_no_more", each_may_do_its_work_and_no_more),
    ("roles::a_login_sees_its_own_types", a_login_sees_its_own_types),
    ("roles::and_so_of_an_adopted_table", and_so_of_an_adopted_table),
    ("roles::types_may_be_given_to_a_role", types_may_be_given_to_a_role),
    ("roles::no_function_of_a_login_sees_other_types", no_function_of_a_login_sees_other_types),
    ("roles::recovery_and_figures_show_nothing_of_other_types", recovery_and_figures_show_nothing_of_other_types),
    ("roles::a_former_operator_sees_no_more", a_former_operator_sees_no_more),
];

/// The roles of a queue, and logins that are members of them; gone with this.
struct People<'a> {
    given: &'a Given,
    roles: Vec<String>,
    logins: Vec<String>,
    spec: Value,
}

impl<'a> People<'a> {
    /// Installs the body's queue with two types and the roles, which are the server's in PostgreSQL: the names are the
    /// body's own.
    fn install(given: &'a Given, own_types_only: bool, table: Value) -> Self {
        let roles: Vec<_> =
            ["p", "w", "o"].map(|role| format!("{role} of {} {}", given.queue, std::process::id())).into();
        let mut spec = serde_json::json!({
            "queue": given.queue, "types": ["Email", "Sms"],
            "columns": [{"name": "Payload", "type": "text(100)"}, {"name": "Pin", "type": "text(10)", "secret": true}],
            "roles": {
                "producer": roles[0], "worker": roles[1], "operator": roles[2], "own_types_only": own_types_only
            }
        });
        if !table.is_null() {
            spec["table"] = table;
        }
        let people = Self { given, roles, logins: Vec::new(), spec };
        people.install_with(&[]);
        // Once more: nothing of it is in the way.
        people.install_with(&[]);
        people
    }

    /// The same with another description for some keys.
    fn install_with(&self, changes: &[(&str, Value)]) {
        let mut spec = self.spec.clone();
        for (key, value) in changes {
            spec[*key] = value.clone();
        }
        self.given.install(&spec.to_string());
    }

    /// A new login with the rights of one of the roles.
    fn login(&mut self, role: usize) -> String {
        let login = format!("l{}{}{}", self.logins.len(), self.given.queue, std::process::id()).to_ascii_lowercase();
        let mut session = self.given.session();
        let quoted = self.given.quoted(&self.roles[role]);
        let statements = if self.given.server.is_sql_server() {
            vec![
                format!("CREATE LOGIN {login} WITH PASSWORD = '{PASSWORD}'"),
                format!("CREATE USER {login} FOR LOGIN {login}"),
                format!("ALTER ROLE {quoted} ADD MEMBER {login}"),
            ]
        } else {
            vec![format!("CREATE ROLE {login} LOGIN PASSWORD '{PASSWORD}'"), format!("GRANT {quoted} TO {login}")]
        };
        for statement in statements {
            session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        self.logins.push(login.clone());
        login
    }

    /// Gives types of the queue to a user or a role.
    fn give(&self, types: &[&str], user: &str) {
        for kind in types {
            let statement = if self.given.server.is_sql_server() {
                format!("INSERT INTO [readpast].QueueTypeAccess VALUES ('{}', '{kind}', '{user}')", self.given.queue)
            } else {
                let stem = readpast::ident::QueueName::new(&self.given.queue).unwrap().snake_case();
                format!("INSERT INTO readpast.queue_type_access VALUES ('{stem}', '{kind}', '{user}')")
            };
            self.given.session().execute(&statement, &[]).unwrap();
        }
    }

    fn settings(&self, login: &str) -> Settings {
        let pairs = self.given.settings(&[]).pairs().to_vec();
        let with_login = |text: &str| {
            let kept = text.split(';').filter(|part| {
                let part = part.to_ascii_lowercase();
                !part.is_empty() && !part.starts_with("uid=") && !part.starts_with("pwd=")
            });
            format!("{};Uid={login};Pwd={PASSWORD};", kept.collect::<Vec<_>>().join(";"))
        };
        let changed = pairs.into_iter().map(|(key, value)| {
            let value = if key == "connection" { with_login(&value) } else { value };
            (key, value)
        });
        Settings::from(changed.collect::<Vec<_>>())
    }

    fn session(&self, login: &str) -> Session {
        Session::open(&self.settings(login).config()).unwrap()
    }

    /// The queue as this login has it. `None` on a server that lacks ownership chaining: there a login would need rights on
    /// the tables behind the procedures, and only what it may execute can be looked at.
    fn open(&self, login: &str) -> Option<Box<dyn Api>> {
        if self.given.server.is_sql_server()
            && let Err(error) = self.session(login).execute("EXECUTE [readpast].[QueueCatalog]", &[])
        {
            assert!(error.message().contains("denied for table"), "{error}");
            return None;
        }
        Some(self.given.layer.open(&self.settings(login), &self.given.queue).unwrap())
    }

    /// How many items this login sees in the worker view.
    fn seen(&self, login: &str) -> usize {
        let statement = format!("SELECT 1 AS one FROM {}", self.given.view());
        self.session(login).execute(&statement, &[]).unwrap().len()
    }
}

impl Drop for People<'_> {
    fn drop(&mut self) {
        let _turn = self.given.server.alone();
        let mut session = self.given.session();
        let is_sql_server = self.given.server.is_sql_server();
        let mut statements = Vec::new();
        for login in &self.logins {
            if is_sql_server {
                statements.push(format!("DROP USER {login}"));
                statements.push(format!("DROP LOGIN {login}"));
            } else {
                statements.push(format!("DROP ROLE {login}"));
            }
        }
        for role in self.roles.iter().filter(|_| !is_sql_server) {
            let role = self.given.quoted(role);
            statements.push(format!("DROP OWNED BY {role}"));
            statements.push(format!("DROP ROLE {role}"));
        }
        for statement in statements {
            if let Err(error) = session.execute(&statement, &[]) {
                eprintln!("{statement}: {error}");
            }
        }
    }
}

const PASSWORD: &str = "Role-1-test";

/// The name of each procedure without the queue, and which roles may execute it.
const PROCEDURES: [(&str, &str, &[usize]); 25] = [
    ("Add_", "_utx", &[0, 2]),
    ("Add_", "_trx", &[0, 2]),
    ("Add_", "_Set_utx", &[0, 2]),
    ("Add_", "_Set_trx", &[0, 2]),
    ("Next_", "_utx", &[1, 2]),
    ("Next_", "_trx", &[1, 2]),
    ("Next_", "_Set_trx", &[1, 2]),
    ("Modify_", "_utx", &[1, 2]),
    ("Modify_", "_trx", &[1, 2]),
    ("Modify_", "_Set_utx", &[1, 2]),
    ("Modify_", "_Set_trx", &[1, 2]),
    ("Renew_", "_Set_trx", &[1, 2]),
    ("Recover_", "_trx", &[1, 2]),
    ("Stats_", "", &[2]),
    ("Find_", "", &[2]),
    ("Watch_", "", &[1, 2]),
    ("QueueActionNote", "", &[1, 2]),
    ("QueueActionStep", "", &[2]),
    ("QueueWorkersSeen", "", &[1, 2]),
    ("QueueLifelineTake", "", &[1, 2]),
    ("QueueMinuteKeep", "", &[1, 2]),
    ("Redrive_", "_Set_trx", &[2]),
    ("Purge_", "_trx", &[2]),
    ("QueueCatalog", "", &[0, 1, 2]),
    ("QueueIsDone", "", &[0, 1, 2]),
];

/// The same of those that only SQL Server has. The inner ones are nobody's: what is granted calls them with its owner's rights.
const ON_SQL_SERVER: [(&str, &str, &[usize]); 6] = [
    ("Next_", "_Set_utx", &[1, 2]),
    ("", "_Add", &[]),
    ("", "_Settle", &[]),
    ("", "_Answered", &[]),
    ("", "_Claim", &[]),
    ("", "_Recover", &[]),
];

fn producer_view(given: &Given) -> String {
    given.view().replace("Worker_", "Producer_").replace("worker_", "producer_")
}

fn each_may_do_its_work_and_no_more(given: &Given) {
    let mut people = People::install(given, false, Value::Null);
    let may = |session: &mut Session, object: &str, right: &str| {
        let statement = if given.server.is_sql_server() {
            format!("SELECT HAS_PERMS_BY_NAME('{object}', 'OBJECT', '{right}')")
        } else if right == "EXECUTE" {
            // By name, whatever it takes: a name stands for one function here.
            format!("SELECT has_function_privilege(to_regproc('{object}')::oid, 'EXECUTE')::integer")
        } else {
            format!("SELECT has_table_privilege('{object}', '{right}')::integer")
        };
        match session.execute(&statement, &[]).unwrap().value(0, 0) {
            item::Value::Integer(granted) => granted == 1,
            other => panic!("{object}: {other:?}"),
        }
    };
    for role in 0..3 {
        let login = people.login(role);
        let mut session = people.session(&login);
        let of_server = ON_SQL_SERVER.into_iter().filter(|_| given.server.is_sql_server());
        for (prefix, suffix, roles) in PROCEDURES.into_iter().chain(of_server) {
            let object = given.procedure(prefix, suffix);
            assert_eq!(may(&mut session, &object, "EXECUTE"), roles.contains(&role), "{role} {object}");
        }
        assert_eq!(may(&mut session, &given.view(), "SELECT"), role > 0, "{role}");
        assert_eq!(may(&mut session, &producer_view(given), "SELECT"), role == 0, "{role}");
        for right in ["SELECT", "INSERT", "UPDATE", "DELETE"] {
            assert!(!may(&mut session, &given.table(), right), "{role} {right}");
        }
        let by_hand = session.execute(&format!("SELECT * FROM {}", given.table()), &[]).unwrap_err();
        assert!(by_hand.message().contains("denied"), "{by_hand}");
    }
    let Some(producer) = people.open(&people.logins[0]) else { return };
    let mut columns = serde_json::Map::new();
    columns.insert("Pin".to_owned(), "1234".into());
    producer.enqueue(&[NewItem { columns: columns.into(), ..NewItem::default() }], None).unwrap();
    assert_eq!(producer.claim(1, Duration::ZERO).unwrap_err().kind, "PermissionDenied");
    let worker = people.open(&people.logins[1]).unwrap();
    let taken = worker.take();
    assert_eq!(worker.end(taken.settle(Action::Fail)).answer, Answer::Ok);
    let statement = format!("SELECT Status, \"Pin\" FROM {}", producer_view(given));
    let told = people.session(&people.logins[0]).execute(&statement, &[]).unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told.value(0, 0), told.value(0, 1)), (item::Value::Text("Failed"), item::Value::Null));
    assert_eq!(worker.purge(r#"{"status": ["Failed"]}"#, 1).unwrap_err().kind, "PermissionDenied");
    assert_eq!(worker.enqueue(&[NewItem::default()], None).unwrap_err().kind, "PermissionDenied");
    let operator = people.open(&people.logins[2]).unwrap();
    assert_eq!(operator.stats().unwrap().count(ItemState::Failed), 1);
    assert_eq!(operator.purge(r#"{"status": ["Failed"]}"#, 1).unwrap(), 1);

    // A worker records what it cancels. An action on many items may be done by another process, with that one's rights: only an
    // operator begins one.
    let note = |login: &str, state: &str| {
        let stem = readpast::ident::QueueName::new(&given.queue).unwrap().snake_case();
        let call = if given.server.is_sql_server() {
            format!(
                "EXECUTE [readpast].QueueActionNote '{}', 'purge', 'w', '{{}}', '{state}', NULL, 0, 0, NULL",
                given.queue
            )
        } else {
            format!("SELECT readpast.queue_action_note('{stem}', 'purge', 'w', '{{}}', '{state}', NULL, 0, 0, NULL)")
        };
        people.session(login).execute(&call, &[]).map(drop)
    };
    note(&people.logins[1], "Done").unwrap();
    assert_eq!(note(&people.logins[1], "Running").unwrap_err().kind(), readpast::ErrorKind::PermissionDenied);
    note(&people.logins[2], "Running").unwrap();
}

fn of_types(types: &[&str]) -> Vec<NewItem> {
    types.iter().map(|kind| NewItem { kind: Some((*kind).to_owned()), ..support::api::item(kind) }).collect()
}

fn a_login_sees_its_own_types(given: &Given) {
    own_types(given, Value::Null);
}

/// The type is one of the table's columns.
fn adopted(given: &Given) -> Value {
    serde_json::json!({
        "schema": "readpast", "name": format!("{}_Items", given.queue), "create": true, "key": ["Id"],
        "lifecycle": {"type": "Kind"},
        "status": {"column": "State", "values": {"Pending": 1, "Processing": 2, "Completed": 3}}
    })
}

fn and_so_of_an_adopted_table(given: &Given) {
    own_types(given, adopted(given));
}

/// One that costs next to nothing would be evaluated first, and could note what it is given.
fn no_function_of_a_login_sees_other_types(given: &Given) {
    // There a login's own functions are not in its reach here, and views are no barrier: the manual says what is.
    if given.server.is_sql_server() {
        return;
    }
    for (number, table) in [|_: &Given| Value::Null, adopted].into_iter().enumerate() {
        let given = &given.sibling(number);
        let mut people = People::install(given, true, table(given));
        given.open(&[]).enqueue(&of_types(&["Email", "Sms", "Sms"]), None).unwrap();
        let login = people.login(1);
        people.give(&["Email"], &login);
        let mut session = people.session(&login);
        for statement in [
            "CREATE TEMPORARY TABLE noted (payload text)",
            "CREATE FUNCTION pg_temp.note(payload text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS \
             $$ BEGIN INSERT INTO noted VALUES (payload); RETURN TRUE; END $$",
        ] {
            session.execute(statement, &[]).unwrap();
        }
        let view = given.view();
        let seen =
            session.execute(&format!("SELECT 1 AS one FROM {view} WHERE pg_temp.note(\"Payload\")"), &[]).unwrap();
        assert_eq!(seen.len(), 1);
        let noted = session.execute("SELECT DISTINCT payload FROM noted", &[]).unwrap();
        let noted: Vec<_> = (0..noted.len()).map(|row| crate::by_hand::cell(&noted, row, 0)).collect();
        assert_eq!(noted, ["Email"]);
    }
}

fn own_types(given: &Given, table: Value) {
    let mut people = People::install(given, true, table);
    let all = given.open(&[]);
    all.enqueue(&of_types(&["Email", "Sms", "Email", "Sms", "Sms"]), None).unwrap();
    assert_eq!(all.find("{}", None, 10).unwrap().len(), 5, "who installed it sees all");
    let most = all.claim(4, Duration::ZERO).unwrap();
    assert_eq!((most.len(), all.claim(4, Duration::ZERO).unwrap().len()), (4, 1), "and takes all, of either type");
    all.expect_empty();
    let back: Vec<_> = all.find("{}", None, 10).unwrap();
    let back: Vec<_> = back.iter().map(|item| item.settle(Action::Release)).collect();
    assert!(all.settle(&back, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    let (email, sms, nobody, operator) = (people.login(1), people.login(1), people.login(1), people.login(2));
    people.give(&["Email"], &email);
    people.give(&["Sms"], &sms);
    for (login, seen) in [(&email, 2), (&sms, 3), (&nobody, 0), (&operator, 5)] {
        assert_eq!(people.seen(login), seen, "{login}");
    }

    let Some(for_sms) = people.open(&sms) else { return };
    let for_email = people.open(&email).unwrap();
    people.open(&nobody).unwrap().expect_empty();
    let kinds = |taken: &[support::api::Taken]| -> Vec<String> {
        taken.iter().map(|item| item.column("Payload").as_str().unwrap().to_owned()).collect()
    };
    let emails = for_email.claim(10, Duration::ZERO).unwrap();
    assert_eq!(kinds(&emails), ["Email", "Email"]);
    for_email.expect_empty();
    let texts = for_sms.claim(2, Duration::ZERO).unwrap();
    assert_eq!(kinds(&texts), ["Sms", "Sms"]);

    // Another's items are as if they were not there, by whatever key, name and token.
    let theirs = &texts[0];
    for settlement in [theirs.settle(Action::Complete), Settlement::control(&theirs.key, None, Action::Terminate)] {
        assert_eq!(for_email.end(settlement).answer, Answer::NotFound);
    }
    let lease = Lease { key: &theirs.key, attempt: theirs.attempt };
    assert_eq!(for_email.renew(&[lease]).unwrap()[0].answer, Answer::NotFound);
    assert_eq!(for_sms.renew(&[lease]).unwrap()[0].answer, Answer::Ok);
    assert_eq!(for_sms.end(theirs.settle(Action::Complete)).answer, Answer::Ok);
    assert_eq!(for_email.end(emails[0].settle(Action::Complete)).answer, Answer::Ok);
    let (_, next) = for_sms.settle_and_claim(&[texts[1].settle(Action::Complete)], 10).unwrap();
    assert_eq!(kinds(&next), ["Sms"]);
    assert_eq!(people.open(&operator).unwrap().find("{}", None, 10).unwrap().len(), 5);
}

/// Leases that ran out may be anybody's, and are: of an item of another type it shows only that there was one.
fn recovery_and_figures_show_nothing_of_other_types(given: &Given) {
    for (number, table) in [|_: &Given| Value::Null, adopted].into_iter().enumerate() {
        let given = &given.sibling(number);
        let mut people = People::install(given, true, table(given));
        let mut changes = vec![
            ("order", serde_json::json!({"group": "Payload"})),
            ("lease", serde_json::json!({"resume_own": true})),
        ];
        if number == 1 {
            changes.push(("table", people.spec["table"].clone()));
        }
        people.install_with(&changes);
        let all = given.open(&[("worker", "app1")]);
        all.enqueue(&of_types(&["Email", "Sms", "Email", "Sms"]), None).unwrap();
        let taken = all.claim(10, Duration::ZERO).unwrap();
        let kinds: Vec<_> = taken.iter().map(|item| item.column("Payload").as_str().unwrap().to_owned()).collect();
        assert_eq!(kinds, ["Email", "Sms"], "the first of each group");
        let failing = |kind: &str| taken.iter().find(|item| item.column("Payload") == kind).unwrap();
        let login = people.login(2);
        let statement = if given.server.is_sql_server() {
            format!(
                "DELETE FROM [readpast].QueueTypeAccess WHERE Queue = '{}' AND UserName = '{}'",
                given.stem(),
                people.roles[2]
            )
        } else {
            format!(
                "DELETE FROM readpast.queue_type_access WHERE queue = '{}' AND user_name = '{}'",
                given.stem(),
                people.roles[2]
            )
        };
        given.session().execute(&statement, &[]).unwrap();
        people.give(&["Sms"], &login);
        let Some(_) = people.open(&login) else { return };
        let rows = |statement: &str| {
            people.session(&login).execute(statement, &[]).unwrap_or_else(|e| panic!("{statement}: {e}"))
        };
        let count = |statement: &str| rows(statement).len();

        // The login that watches.
        let blocked = if given.server.is_sql_server() {
            format!("[readpast].[{}_Blocked_V]", given.queue)
        } else {
            format!("readpast.{}_blocked_v", given.stem())
        };
        assert_eq!(count(&format!("SELECT 1 AS one FROM {blocked}")), 1, "the group of its own type");
        let watch = if given.server.is_sql_server() {
            format!("EXECUTE {}", given.procedure("Watch_", ""))
        } else {
            format!("SELECT * FROM {}()", given.procedure("Watch_", ""))
        };
        let told = |name: &str| {
            let rows = rows(&watch);
            (0..rows.len())
                .map(|row| [0, 1, 4].map(|column| crate::by_hand::cell(&rows, row, column)))
                .filter(|[figure, ..]| *figure == name || figure.starts_with(&format!("{name}.")))
                .map(|[_, value, detail]| (value, detail))
                .collect::<Vec<_>>()
        };
        assert_eq!(told("worker"), [("1".to_owned(), "app1".to_owned())], "and what it holds of it");
        assert!(told("type").iter().all(|(_, kind)| kind == "Sms"), "{:?}", told("type"));
        let wrong = Settlement { error: Some("no such address"), ..failing("Email").settle(Action::Fail) };
        assert_eq!(all.end(wrong).answer, Answer::Ok);
        assert!(told("error").is_empty(), "{:?}", told("error"));
        let wrong = Settlement { error: Some("no such number"), ..failing("Sms").settle(Action::Retry) };
        assert_eq!(all.end(wrong).answer, Answer::Ok);
        assert_eq!(told("error"), [("1".to_owned(), "no such number".to_owned())]);

        // A login that claims to be another worker.
        let again = all.claim(10, Duration::ZERO).unwrap();
        assert_eq!(again.len(), 2);
        if given.server.is_sql_server() {
            let next =
                format!("EXECUTE {} @Worker = 'app1', @Max = 10, @Recover = 2", given.procedure("Next_", "_Set_trx"));
            rows(&next);
        } else {
            let recover = format!("SELECT * FROM {}(100, 'app1')", given.procedure("Recover_", "_trx"));
            assert_eq!(count(&recover), 1, "its own type's");
        }
        let left = all.find(r#"{"status": ["Processing"], "types": ["Email"]}"#, None, 10).unwrap();
        assert_eq!(left.len(), 1, "the other's item is still its worker's");
        let leases = match (given.server.is_sql_server(), number) {
            (_, 0) => given.table(),
            (true, _) => format!("[readpast].[{}_Lease]", given.queue),
            (false, _) => format!("readpast.{}_lease", given.stem()),
        };
        let ran_out = format!("UPDATE {leases} SET LeaseUntil = StartedAt WHERE Status = 'Processing'");
        given.session().execute(&given.spell(&ran_out), &[]).unwrap();
        let recover = if given.server.is_sql_server() {
            format!("EXECUTE {}", given.procedure("Recover_", "_trx"))
        } else {
            format!("SELECT * FROM {}()", given.procedure("Recover_", "_trx"))
        };
        let recovered = rows(&recover);
        let keys: Vec<_> = (0..recovered.len()).map(|row| recovered.value(row, 3) == item::Value::Null).collect();
        assert!(keys.contains(&true), "of the other's item there is no key: {keys:?}");
        assert!((0..recovered.len()).all(
            |row| (recovered.value(row, 3) == item::Value::Null) == (recovered.value(row, 4) == item::Value::Null)
        ));
    }
}

fn a_former_operator_sees_no_more(given: &Given) {
    let mut people = People::install(given, true, Value::Null);
    given.open(&[]).enqueue(&of_types(&["Email", "Sms"]), None).unwrap();
    let login = people.login(2);
    assert_eq!(people.seen(&login), 2);
    people.install_with(&[("roles", serde_json::json!({"worker": people.roles[2], "own_types_only": true}))]);
    assert_eq!(people.seen(&login), 0, "it works now, and has been given no type");
}

fn types_may_be_given_to_a_role(given: &Given) {
    let mut people = People::install(given, true, Value::Null);
    given.open(&[]).enqueue(&of_types(&["Email", "Sms", "Sms"]), None).unwrap();
    let (first, second) = (people.login(1), people.login(1));
    people.give(&["Sms"], &people.roles[1]);
    people.give(&["Email"], &second);
    assert_eq!((people.seen(&first), people.seen(&second)), (2, 3));
    let Some(queue) = people.open(&second) else { return };
    // A login that names types gets those that it may see.
    let naming = |login: &str, types: &str| {
        let mut pairs = people.settings(login).pairs().to_vec();
        pairs.push(("worker.types".to_owned(), types.to_owned()));
        given.layer.open(&Settings::from(pairs), &given.queue).unwrap()
    };
    naming(&first, r#"["Email"]"#).expect_empty();
    assert_eq!(naming(&second, r#"["Email"]"#).claim(10, Duration::ZERO).unwrap().len(), 1);
    assert_eq!(naming(&first, r#"["Email", "Sms"]"#).claim(1, Duration::ZERO).unwrap().len(), 1);
    assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 1);
}
