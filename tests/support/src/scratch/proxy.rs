//! A relay between driver and server that can lose an answer: what the server says next is dropped, and the connection
//! with it. Or it falls silent, as a firewall does: the connection stays open, what is sent is taken, and nothing comes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The relay. It lives as long as the process: its threads end with their connections.
pub struct Proxy {
    pub port: u16,
    loses: Arc<Losing>,
}

/// Where a connection falls silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// At the start of the next connection.
    AtItsStart,
    /// At the request that contains this text, which does not get to the server.
    Before(String),
    /// At the request that contains this text, which does: its answer is what does not come.
    After(String),
}

/// The part to be lost. It is over with the first answer that is.
#[derive(Default)]
struct Losing {
    /// Where a connection is to fall silent.
    silence: Mutex<Option<Silence>>,
    /// Whether each connection so far has it.
    silent: Mutex<Vec<Arc<AtomicBool>>>,
    /// Answers until it, whatever they are to; 1 is the next, 0 none.
    next: Mutex<usize>,
    /// The answer to the first request that contains this text.
    to: Mutex<Option<String>>,
    /// Whether every connection is cut, new ones too.
    is_away: AtomicBool,
    /// Whether new connections are silent from the start.
    is_silent: AtomicBool,
    /// The clients so far.
    clients: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// A relay to a port of this machine.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), loses: Arc::default() };
        let loses = Arc::clone(&proxy.loses);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                loses.clients.lock().unwrap().push(client.try_clone().unwrap());
                if loses.is_away.load(Ordering::SeqCst) {
                    let _ = client.shutdown(Shutdown::Both);
                    continue;
                }
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let asked = Arc::new(AtomicBool::new(false));
                let (asks, loses_it, loses) = (Arc::clone(&asked), Arc::clone(&loses), Arc::clone(&loses));
                let (hears, is_silent) = (Arc::clone(&loses), loses.connected());
                let falls_silent = Arc::clone(&is_silent);
                thread::spawn(move || {
                    let passes = |request: &[u8]| hears.passes(&falls_silent, request);
                    relay(from, to, passes, |request| {
                        let mut to = loses.to.lock().unwrap();
                        if to.as_ref().is_some_and(|text| contains(request, text.as_bytes())) {
                            *to = None;
                            asks.store(true, Ordering::SeqCst);
                        }
                        false
                    });
                });
                thread::spawn(move || {
                    relay(
                        server,
                        client,
                        |_| !is_silent.load(Ordering::SeqCst),
                        |_| loses_it.is_next() || asked.load(Ordering::SeqCst),
                    );
                });
            }
        });
        proxy
    }

    /// The next answer on any connection is lost. For a caller of one call at a time: what works in the background may
    /// be answered first.
    pub fn lose_next_answer(&self) {
        self.lose_answer_after(0);
    }

    /// No answer is lost any more.
    pub fn lose_nothing(&self) {
        *self.loses.next.lock().unwrap() = 0;
    }

    /// The same of the one after so many others.
    pub fn lose_answer_after(&self, others: usize) {
        *self.loses.next.lock().unwrap() = others + 1;
    }

    /// The answer to the next request that contains this text is lost, whatever else is answered before. The text is
    /// short: a request that is cut within it is not found.
    pub fn lose_answer_to(&self, text: &str) {
        *self.loses.to.lock().unwrap() = Some(text.to_owned());
    }

    /// The first connection that comes there falls silent, and stays so.
    pub fn fall_silent(&self, silence: Silence) {
        *self.loses.silence.lock().unwrap() = Some(silence);
    }

    /// All connections that are open fall silent, and stay so. New ones do not.
    pub fn hush(&self) {
        self.loses.silent.lock().unwrap().iter().for_each(|is_silent| is_silent.store(true, Ordering::SeqCst));
    }

    /// Cuts every connection, new ones too, until the server [comes back](Self::come_back).
    pub fn go_away(&self) {
        self.loses.is_away.store(true, Ordering::SeqCst);
        for client in self.loses.clients.lock().unwrap().drain(..) {
            // Gone already, if it has ended.
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// All connections fall silent, new ones too, as behind a firewall that drops what it gets, until the server
    /// [comes back](Self::come_back).
    pub fn go_silent(&self) {
        self.loses.is_silent.store(true, Ordering::SeqCst);
        self.hush();
    }

    /// Lets new connections through.
    pub fn come_back(&self) {
        self.loses.is_silent.store(false, Ordering::SeqCst);
        self.loses.is_away.store(false, Ordering::SeqCst);
    }

    /// Whether the one that was to fall silent has.
    pub fn has_fallen_silent(&self) -> bool {
        self.loses.silence.lock().unwrap().is_none()
    }

    /// Whether an answer that was to be lost is.
    pub fn has_lost_it(&self) -> bool {
        *self.loses.next.lock().unwrap() == 0 && self.loses.to.lock().unwrap().is_none()
    }
}

impl Losing {
    /// Counts an answer, and returns whether it is lost.
    fn is_next(&self) -> bool {
        let mut left = self.next.lock().unwrap();
        let is_it = *left == 1;
        *left = left.saturating_sub(1);
        is_it
    }

    /// A new connection; whether it is silent.
    fn connected(&self) -> Arc<AtomicBool> {
        let mut silence = self.silence.lock().unwrap();
        let is_first = *silence == Some(Silence::AtItsStart) && silence.take().is_some();
        let is_silent = is_first || self.is_silent.load(Ordering::SeqCst);
        let is_silent = Arc::new(AtomicBool::new(is_silent));
        self.silent.lock().unwrap().push(Arc::clone(&is_silent));
        is_silent
    }

    /// Whether a request is passed on.
    fn passes(&self, is_silent: &AtomicBool, request: &[u8]) -> bool {
        let mut silence = self.silence.lock().unwrap();
        let (is_there, passes) = match &*silence {
            Some(Silence::Before(text)) => (contains(request, text.as_bytes()), false),
            Some(Silence::After(text)) => (contains(request, text.as_bytes()), true),
            _ => (false, true),
        };
        if is_silent.load(Ordering::SeqCst) {
            return false;
        }
        if is_there {
            is_silent.store(true, Ordering::SeqCst);
            *silence = None;
        }
        !is_there || passes
    }
}

fn contains(request: &[u8], text: &[u8]) -> bool {
    request.windows(text.len()).any(|window| window == text)
}

fn relay(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> bool, loses: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        // Read all the same, so that it is acknowledged.
        if !passes(&buffer[..count]) {
            continue;
        }
        if loses(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Gone already, if the other side was faster.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
