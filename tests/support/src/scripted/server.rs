//! A scripted SQL Server with readpast and one queue, `Job`, installed in it: it takes the calls of the core by name,
//! keeps a ledger, and fails where a test wants it to.

use crate::limit::HOLDS;
use crate::scripted::ledger::Ledger;
use crate::tds_peer::{Answer, Call, Event, Login, LoginReply, Peer, Reply, Request, ServerMessage, Type, Value};
use readpast::config::Config;
use readpast::queue::Queue;
use std::collections::VecDeque;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};

/// The description of the queue `Job`.
pub const SPEC: &str = r#"{"queue": "Job", "types": ["Default"], "columns": [{"name": "Payload", "type": "text"}]}"#;

/// The fault of one request.
pub enum Fault {
    /// Nothing is done, and this is the answer.
    Instead(Reply),
    /// The work is done and committed, and its answer goes out like this.
    Spoilt(fn(Answer) -> Reply),
    /// The work is done once as many requests are there as the barrier asks for.
    Together(Arc<Barrier>),
}

/// The server.
pub struct Server {
    pub peer: Peer,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    ledger: Mutex<Ledger>,
    /// Requests to come that go wrong: a part of their text, and how.
    faults: Mutex<VecDeque<(String, Fault)>>,
    /// Log-ins to come that are not accepted.
    refusals: Mutex<VecDeque<LoginReply>>,
}

impl Server {
    pub fn start() -> Self {
        Self::listen(0, Arc::default())
    }

    fn listen(port: u16, shared: Arc<Shared>) -> Self {
        let (on_request, on_login) = (Arc::clone(&shared), Arc::clone(&shared));
        let script = Peer::script(move |request| on_request.serve(request));
        let peer = script.on_login(move |login| on_login.greet(login)).port(port).start();
        Self { peer, shared }
    }

    /// Stops the server and returns it to life on the same port, with its database as it was.
    pub fn restart(mut self) -> Self {
        self.peer.stop();
        Self::listen(self.peer.port(), self.shared)
    }

    /// The next request with `part` in its text goes wrong. Several faults for it come in order.
    pub fn fault(&self, part: &str, fault: Fault) {
        lock(&self.shared.faults).push_back((part.to_owned(), fault));
    }

    /// The next request with `part` in its text is answered with an error, and nothing is done.
    pub fn fail(&self, part: &str, error: &ServerMessage) {
        self.fault(part, Fault::Instead(Answer::new().abort(error).into()));
    }

    /// The next log-in ends like this.
    pub fn refuse_login(&self, reply: LoginReply) {
        lock(&self.shared.refusals).push_back(reply);
    }

    /// The database.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.shared.ledger)
    }

    /// A configuration for this server, patient enough for any test and with short pauses.
    pub fn config(&self, settings: &[(&str, &str)]) -> Config {
        let mut config = Config::new();
        config.set("connection", &self.peer.connection_string()).unwrap();
        config.set("retry.first_ms", "1").unwrap();
        config.set("retry.longest_ms", "20").unwrap();
        // However busy the machine is, a call is given up only where a test says so. A log-in a little sooner: for so long the
        // driver tries to reach a port that is closed.
        config.set("login.timeout_ms", "60000").unwrap();
        config.set("query.timeout_ms", "600000").unwrap();
        config.set("retry.budget_ms", "600000").unwrap();
        // Claims then give back the items of dead workers the first time and not again.
        config.set("recover.interval_ms", "3600000").unwrap();
        config.set(HOLDS.0, HOLDS.1).unwrap();
        config.set("worker", "w\u{1f642}").unwrap();
        for (key, value) in settings {
            config.set(key, value).unwrap();
        }
        config
    }

    /// Opens the queue.
    pub fn open(&self, settings: &[(&str, &str)]) -> Queue {
        Queue::open(&self.config(settings), "Job").unwrap()
    }

    /// The requests so far with `part` in their text.
    pub fn requests(&self, part: &str) -> Vec<Request> {
        self.peer.requests().into_iter().filter(|request| request.sql().contains(part)).collect()
    }

    /// Waits until `count` requests with `part` in their text are there.
    pub fn wait_for(&self, part: &str, count: usize) {
        let is_one = |event: &&Event| matches!(event, Event::Request(request) if request.sql().contains(part));
        self.peer.wait_until(part, |events| events.iter().filter(is_one).count() >= count);
    }
}

impl Shared {
    fn greet(&self, _login: &Login) -> LoginReply {
        lock(&self.refusals).pop_front().unwrap_or_default()
    }

    fn serve(&self, request: &Request) -> Reply {
        let sql = request.sql();
        let fault = {
            let mut faults = lock(&self.faults);
            let found = faults.iter().position(|(part, _)| sql.contains(part.as_str()));
            found.and_then(|index| faults.remove(index)).map(|(_, fault)| fault)
        };
        match fault {
            Some(Fault::Instead(reply)) => reply,
            Some(Fault::Spoilt(spoil)) => spoil(self.answer(request)),
            Some(Fault::Together(barrier)) => {
                barrier.wait();
                self.answer(request).into()
            }
            None => self.answer(request).into(),
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        match &request.call {
            Call::Procedure { name, .. } if name.contains("QueueCatalog") => catalog(),
            Call::Procedure { name, params } => lock(&self.ledger).run(name, params),
            _ => answer_text(request.sql()),
        }
    }
}

/// The queries of opening.
fn catalog() -> Answer {
    let columns = [
        ("Version", Type::Int),
        ("Queue", Type::VarChar(40)),
        ("Preset", Type::VarChar(20)),
        ("Spec", Type::NVarCharMax),
        ("RenderedBy", Type::Int),
    ];
    let version = || Value::from(readpast::render::SCHEMA_VERSION);
    Answer::new().columns(columns).row([version(), "Job".into(), "own".into(), SPEC.into(), version()])
}

/// The answers to plain SQL: what installing asks for.
fn answer_text(sql: &str) -> Answer {
    if sql.contains("QueueCatalog]") && !sql.contains("CREATE") {
        catalog()
    } else if sql.contains("FROM sys.tables") {
        Answer::new().scalar("Found", Type::Int, 1)
    } else if sql.contains("SELECT MAX(v.[Version])") {
        Answer::new().scalar("Version", Type::Int, readpast::render::SCHEMA_VERSION)
    } else if sql.contains("sp_getapplock") {
        Answer::new().scalar("Granted", Type::Int, 1)
    } else if sql.contains("'EngineEdition'") {
        Answer::new().scalar("Found", Type::Int, 1)
    } else {
        Answer::new()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A test that failed in another thread has reported it already.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
