//! The surroundings of a cell of the table: a schema of its own on one of the servers, roles, connection strings, and faults.

use crate::driver::{Place, Scenario, Variables, matches};
use readpast::item::{Rows, Value as Cell};
use readpast::{config::Config, description::QueueSpec, for_tests::Session, ident::QueueName, install::install};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use support::both::{Database, statements};
use support::database::as_on_a_standby;
use support::limit::{HOLDS, PATIENT};
use support::scratch::Proxy;
use support::scripted::server::Server as Scripted;

/// How long the driver waits for something to be seen on the server.
const PATIENCE: Duration = Duration::from_secs(600);

/// The surroundings of one scenario in one language.
pub struct World<'a> {
    pub variables: Variables,
    database: Option<&'a Database>,
    /// The driver's own connection, once it was needed. It stays: what a session holds is held until the scenario ends.
    session: RefCell<Option<Session>>,
    scripted: Option<Scripted>,
    settings: Map<String, Value>,
    schema: String,
    queue: String,
    proxy: Option<Proxy>,
    lock: Option<Lock>,
    roles: Vec<String>,
}

/// A transaction that holds locks until it has to end.
struct Lock {
    release: Sender<()>,
    holder: JoinHandle<()>,
}

impl<'a> World<'a> {
    /// A fresh schema with the scenario's queue in it.
    pub fn new(scenario: &Scenario, place: Place, language: &str, database: Option<&'a Database>) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);

        let schema = format!("conformance_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let scripted = (place == Place::Scripted).then(Scripted::start);
        let connection = match (&scripted, database) {
            (Some(server), _) => server.peer.connection_string(),
            (None, database) => database.expect("every other place is a database").connection(),
        };
        let queue = scenario.queue.as_ref().and_then(|spec| spec["queue"].as_str()).unwrap_or("Work").to_owned();
        // A call is given up, and an item given back, where a scenario says so and nowhere else, however busy the machine is.
        let mut settings = json!({
            "connection": connection, "retry.longest_ms": "50", "poll.interval_ms": "200",
        });
        for (key, value) in PATIENT.iter().chain([&HOLDS]) {
            settings[key] = (*value).into();
        }
        if scripted.is_none() {
            settings["schema"] = schema.clone().into();
            settings["application"] = schema.clone().into();
        } else {
            settings["recover.interval_ms"] = "3600000".into();
        }
        let Value::Object(settings) = settings else { unreachable!("it is one") };
        let mut variables = Variables::new();
        for (name, value) in [
            ("connection", connection.as_str().into()),
            ("schema", schema.as_str().into()),
            ("queue", queue.as_str().into()),
            ("language", language.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("stack", stack(language).into()),
            ("abi", readpast::ffi::READPAST_ABI.into()),
        ] {
            variables.insert(name.to_owned(), value);
        }
        let mut world = Self {
            variables,
            database,
            session: RefCell::new(None),
            scripted,
            settings,
            schema,
            queue,
            proxy: None,
            lock: None,
            roles: Vec::new(),
        };
        if world.scripted.is_none()
            && let Some(spec) = &scenario.queue
        {
            let spec = QueueSpec::from_json(&spec.to_string()).unwrap_or_else(|error| panic!("{error}"));
            install(&world.config(), Some(&spec)).unwrap_or_else(|error| panic!("installing failed: {error}"));
        }
        world.settings.extend(scenario.settings.clone());
        world
    }

    /// One of readpast's own columns, as the server spells it.
    pub fn spell(&self, column: &str) -> String {
        match self.database {
            Some(database) if !database.is_sql_server() => QueueName::new(column).unwrap().snake_case(),
            _ => column.to_owned(),
        }
    }

    /// The settings of a request, completed by those that every scenario needs. A setting that is null is left out.
    pub fn complete(&self, given: &Value) -> Value {
        let mut settings = self.settings.clone();
        settings.extend(given.as_object().cloned().unwrap_or_default());
        settings.retain(|_, value| !value.is_null());
        settings.into()
    }

    /// Does what a step with `driver` says. An answer is to be compared with the step's expectation.
    pub fn act(&mut self, what: &str, step: &Value) -> Result<Option<Value>, String> {
        match what {
            "sleep" => thread::sleep(Duration::from_millis(step["ms"].as_u64().expect("\"ms\" is a number"))),
            "sql" => self.run(&self.statement(step)),
            "standby" => {
                self.run(&as_on_a_standby(&self.fill_in(step["function"].as_str().expect("\"function\" is a text"))))
            }
            "look" => return Ok(Some(self.look(&self.statement(step)))),
            "wait_for" => return self.wait_for(&self.statement(step), &step["value"]).map(|()| None),
            "wait_for_blocked" => return self.wait_for(BLOCKED, &json!("1")).map(|()| None),
            "lock" => self.lock(),
            "unlock" => self.unlock(),
            "terminate" => drop(self.look(TERMINATE)),
            "role" => self.role(step),
            "connection" => self.connection(step),
            "proxy" => self.proxy(step),
            "cut" => self.proxy.as_ref().expect("a step \"proxy\" comes first").go_away(),
            "mend" => self.proxy.as_ref().expect("a step \"proxy\" comes first").come_back(),
            "lose_next_answer" => self.proxy.as_ref().expect("a step \"proxy\" comes first").lose_next_answer(),
            "wait_for_settled" => return self.wait_for_settled(&step["value"]).map(|()| None),
            "script" => script(self.scripted.as_ref().expect("the place is \"scripted\""), step),
            other => panic!("there is no driver step {other:?}"),
        }
        Ok(None)
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        for (key, value) in &self.settings {
            let value = value.as_str().unwrap_or_else(|| panic!("the setting {key} is a text"));
            config.set(key, value).unwrap_or_else(|error| panic!("{error}"));
        }
        config
    }

    fn database(&self) -> &'a Database {
        self.database.expect("the place is a database")
    }

    /// The text for this server, with `{schema}`, `{table}` and what else was captured under a name in braces.
    fn statement(&self, step: &Value) -> String {
        let place = self.database().pick("sqlserver", "postgres");
        let text = step[place].as_str().unwrap_or_else(|| panic!("no text for {place} in {step}"));
        self.fill_in(text)
    }

    fn fill_in(&self, text: &str) -> String {
        let table = match self.database().is_sql_server() {
            true => format!("[{}].[{}]", self.schema, self.queue),
            false => format!("{}.{}", self.schema, QueueName::new(&self.queue).unwrap().snake_case()),
        };
        let mut text = text.replace("{table}", &table);
        for (name, value) in &self.variables {
            if let Value::String(value) = value {
                text = text.replace(&format!("{{{name}}}"), value);
            }
        }
        text
    }

    fn run(&self, statement: &str) {
        for statement in statements(statement) {
            self.execute(&statement);
        }
    }

    fn execute(&self, statement: &str) -> Rows {
        let mut session = self.session.borrow_mut();
        let session = session.get_or_insert_with(|| self.database().session());
        session.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// The first value of a query.
    fn look(&self, query: &str) -> Value {
        let query = self.fill_in(query);
        let rows = self.execute(&query);
        match rows.value(0, 0) {
            Cell::Null => Value::Null,
            Cell::Boolean(value) => value.into(),
            Cell::Integer(value) => value.to_string().into(),
            Cell::Text(value) => value.into(),
            other => format!("{other:?}").into(),
        }
    }

    fn wait_for(&mut self, query: &str, value: &Value) -> Result<(), String> {
        wait_until(value, || self.look(query)).map_err(|wrong| format!("{query}: {wrong}"))
    }

    fn wait_for_settled(&self, value: &Value) -> Result<(), String> {
        let server = self.scripted.as_ref().expect("the place is \"scripted\"");
        wait_until(value, || settled(server))
    }

    /// Locks the queue's table, so that calls wait.
    fn lock(&mut self) {
        let statement = self.fill_in(self.database().pick(
            "SELECT COUNT(*) FROM {table} WITH (TABLOCKX, HOLDLOCK)",
            "LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE",
        ));
        let mut session = self.database().session();
        let (release, released) = channel();
        let (locked, is_locked) = channel();
        let holder = thread::spawn(move || {
            let held = session.transaction(|session| {
                session.execute(&statement, &[])?;
                locked.send(()).expect("the driver waits for it");
                // An error: the driver is gone, which ends it too.
                let _ = released.recv();
                Ok(())
            });
            held.unwrap_or_else(|error| panic!("{error}"));
        });
        is_locked.recv_timeout(PATIENCE).expect("the lock is granted");
        self.lock = Some(Lock { release, holder });
    }

    fn unlock(&mut self) {
        let lock = self.lock.take().expect("a step \"lock\" comes first");
        // An error: the holder has ended, and joining it returns the reason.
        let _ = lock.release.send(());
        lock.holder.join().expect("the lock was held");
    }

    /// A role that may log in and nothing else; its name is captured.
    fn role(&mut self, step: &Value) {
        let role = format!("{}_{}_role_{}", self.schema, std::process::id(), self.roles.len());
        self.run(&format!("CREATE ROLE {role} LOGIN PASSWORD 'p'"));
        self.roles.push(role.clone());
        self.capture(step, role);
    }

    /// A connection string that differs in some keys from the right one.
    fn connection(&mut self, step: &Value) {
        let connection = self.variables["connection"].as_str().expect("it is text");
        let changes = step["with"].as_object().expect("\"with\" is an object");
        let kept = connection.split(';').filter(|part| {
            let key = part.split('=').next().unwrap_or_default();
            !part.is_empty() && !changes.keys().any(|changed| key.eq_ignore_ascii_case(changed))
        });
        let kept: String = kept.map(|part| format!("{part};")).collect();
        let added = changes.iter().map(|(key, value)| match value {
            Value::String(value) => format!("{key}={value};"),
            other => panic!("{key} is a text, not {other}"),
        });
        let changed = kept + &added.collect::<String>();
        self.capture(step, changed);
    }

    /// A relay between adapter and server; the connection string that leads through it is captured.
    fn proxy(&mut self, step: &Value) {
        let connection = self.variables["connection"].as_str().expect("it is text");
        let port = connection.split(';').find_map(|part| part.strip_prefix("Port=")).expect("the server has a port");
        let proxy = Proxy::to(port.parse().expect("a port is a number"));
        let through = json!({"as": step["as"], "with": {"Port": proxy.port.to_string()}});
        self.connection(&through);
        self.proxy = Some(proxy);
    }

    fn capture(&mut self, step: &Value, value: String) {
        let name = step["as"].as_str().unwrap_or_else(|| panic!("\"as\" names what is captured: {step}"));
        self.variables.insert(name.to_owned(), value.into());
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        if self.lock.is_some() {
            self.unlock();
        }
        for role in &self.roles {
            let mut session = self.database().session();
            for statement in [format!("DROP OWNED BY {role}"), format!("DROP ROLE {role}")] {
                // After a failure there may be no server any more.
                let _ = session.execute(&statement, &[]);
            }
        }
    }
}

/// Looks again and again until what it sees fits.
fn wait_until(pattern: &Value, look: impl Fn() -> Value) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match matches(pattern, &look(), &mut Variables::new()) {
            Ok(()) => return Ok(()),
            Err(wrong) if Instant::now() > deadline => return Err(wrong),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// A text of every stack trace of a language; C and C++ have none.
fn stack(language: &str) -> &'static str {
    match language {
        "csharp" => "  at ",
        "go" => ".go:",
        "python" => "File \"",
        "rust" => ".rs:",
        _ => "",
    }
}

/// Whether any call of the adapter waits for a lock. Its connections bear the schema's name.
const BLOCKED: &str = "SELECT LEAST(COUNT(*), 1) FROM pg_stat_activity \
                       WHERE application_name = '{schema}' AND wait_event_type = 'Lock'";

const TERMINATE: &str = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
                         WHERE application_name = '{schema}'";

/// The outcomes of the settlements that the scripted server was asked for: how many of them took effect, in how many
/// calls, of how many identities.
fn settled(server: &Scripted) -> Value {
    let requests = server.requests("[Modify_Job");
    let identities: BTreeSet<_> =
        requests.iter().filter_map(|request| request.values()[0].as_str().map(str::to_owned)).collect();
    json!({"took_effect": server.ledger().settled.len(), "calls": requests.len(), "identities": identities.len()})
}

/// Lets the next request with a part in its text go wrong.
fn script(server: &Scripted, step: &Value) {
    use support::scripted::server::Fault;
    use support::tds_peer::{Answer, LoginReply, Reply, ServerMessage};

    let part = step["request"].as_str().unwrap_or_default();
    let fault = match step["fault"].as_str().expect("\"fault\" is a text") {
        "deadlock" => Fault::Instead(Reply::deadlock()),
        "cut before the work" => Fault::Instead(Reply::cut_before()),
        "cut after the work" => Fault::Spoilt(|_| Reply::cut_before()),
        "silence" => Fault::Instead(Reply::silence()),
        "nonsense" => Fault::Instead(Answer::new().scalar("Answer", support::tds_peer::Type::Int, 7).into()),
        "login refused" => {
            let number = step["number"].as_i64().expect("\"number\" is a number");
            let text = step["text"].as_str().expect("\"text\" is a text");
            return server.refuse_login(LoginReply::Refuse(ServerMessage::error(number as i32, text).class(14)));
        }
        "error" => {
            let number = step["number"].as_i64().expect("\"number\" is a number");
            let text = step["text"].as_str().expect("\"text\" is a text");
            return server.fail(part, &ServerMessage::error(number as i32, text));
        }
        other => panic!("there is no fault {other:?}"),
    };
    server.fault(part, fault);
}
