//! The listening side: starting and stopping the peer, its script, and what tests ask it.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::connection::Connection;
use super::login::Login;
use super::record::{Event, Record};
use super::reply::{LoginReply, Reply};
use super::request::Request;
use crate::limit::until;

type OnRequest = dyn Fn(&Request) -> Reply + Send + Sync;
type OnLogin = dyn Fn(&Login) -> LoginReply + Send + Sync;

/// The state that the connections share with the [`Peer`].
pub struct Shared {
    pub record: Record,
    pub on_request: Box<OnRequest>,
    pub on_login: Box<OnLogin>,
    pub session_recovery: bool,
    stopping: AtomicBool,
    connections: Mutex<Vec<Open>>,
}

/// A connection from the outside: its socket to cut it, its thread to wait for.
struct Open {
    socket: TcpStream,
    thread: JoinHandle<io::Result<()>>,
}

/// A peer that does not listen yet.
pub struct Script {
    on_request: Box<OnRequest>,
    on_login: Box<OnLogin>,
    session_recovery: bool,
    port: u16,
}

impl Script {
    /// Decides what becomes of a login; each is accepted otherwise.
    pub fn on_login(mut self, on_login: impl Fn(&Login) -> LoginReply + Send + Sync + 'static) -> Self {
        self.on_login = Box::new(on_login);
        self
    }

    /// Agrees to session recovery, as a real SQL Server does: the driver then replaces a connection
    /// that was cut while idle without a word.
    pub fn session_recovery(mut self) -> Self {
        self.session_recovery = true;
        self
    }

    /// Listens on this port instead of a free one: that of a stopped peer, to be its return.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts to listen.
    pub fn start(self) -> Peer {
        let mut listener = None;
        // A port that was given up may be somebody's for a moment, before it is ours again.
        until("the port can be bound", || {
            listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).ok();
            listener.is_some()
        });
        let listener = listener.expect("a port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            record: Record::default(),
            on_request: self.on_request,
            on_login: self.on_login,
            session_recovery: self.session_recovery,
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let listening = thread::spawn({
            let shared = Arc::clone(&shared);
            move || listen(&listener, &shared)
        });
        Peer { address, shared, listening: Some(listening) }
    }
}

/// A scripted server on the loopback interface. Dropping it stops it, and fails the test if the
/// script panicked or a client sent something that the peer does not understand.
pub struct Peer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

impl Peer {
    /// Prepares a peer that does with each request as the closure says. Clients send settings of
    /// their own, so answer what is unknown with [`Reply::default`].
    pub fn script(on_request: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Script {
        Script {
            on_request: Box::new(on_request),
            on_login: Box::new(|_| LoginReply::Accept),
            session_recovery: false,
            port: 0,
        }
    }

    /// Starts a peer that accepts every login.
    pub fn start(on_request: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Peer {
        Peer::script(on_request).start()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything that happened so far, in order.
    pub fn events(&self) -> Vec<Event> {
        self.shared.record.events()
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        let events = self.events().into_iter();
        events
            .filter_map(|event| match event {
                Event::Request(request) => Some(request),
                _ => None,
            })
            .collect()
    }

    /// Kind and SQL text of every request so far, for assertions at a glance.
    pub fn transcript(&self) -> Vec<(&'static str, String)> {
        let requests = self.requests().into_iter();
        requests.map(|request| (request.kind(), request.sql().to_owned())).collect()
    }

    /// Every login so far, the refused ones included.
    pub fn logins(&self) -> Vec<Login> {
        let events = self.events().into_iter();
        events
            .filter_map(|event| match event {
                Event::Login(login) => Some(login),
                _ => None,
            })
            .collect()
    }

    /// How many attentions came so far.
    pub fn attentions(&self) -> usize {
        self.events().iter().filter(|event| matches!(event, Event::Attention { .. })).count()
    }

    /// Waits until the events satisfy the condition; panics, naming `what`, if they never do.
    pub fn wait_until(&self, what: &str, satisfied: impl Fn(&[Event]) -> bool) {
        self.shared.record.wait_until(what, satisfied);
    }

    /// Cuts every open connection, as a failover does; new ones are still accepted.
    pub fn cut_all(&self) {
        for open in self.shared.connections().iter() {
            // An error says that the connection is closed already.
            let _ = open.socket.shutdown(Shutdown::Both);
        }
    }

    /// Stops listening, cuts every connection and waits for the threads. Fails the test as
    /// dropping does.
    pub fn stop(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the listening thread, which sees the flag and ends.
        drop(TcpStream::connect(self.address));
        let mut failures = Vec::new();
        if listening.join().is_err() {
            failures.push("the listening thread panicked".to_owned());
        }
        self.cut_all();
        for open in self.shared.connections().drain(..) {
            match open.thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => failures.push(error.to_string()),
                Err(_) => failures.push("the script panicked, see above".to_owned()),
            }
        }
        assert!(failures.is_empty() || thread::panicking(), "TDS peer: {failures:?}");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Vec<Open>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for number in 0.. {
        let (stream, _) = listener.accept().expect("accept a connection");
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        stream.set_nodelay(true).expect("set TCP_NODELAY");
        let socket = stream.try_clone().expect("duplicate a socket");
        // Taken first: a test that has seen the connection at work finds it here, to cut it.
        let mut connections = shared.connections();
        let thread = thread::spawn({
            let shared = Arc::clone(shared);
            move || Connection::new(number, stream, &shared).run()
        });
        connections.push(Open { socket, thread });
    }
}
