//! A relay between driver and server that can lose an answer: what the server says next is dropped, and the connection
//! with it.

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

/// What is to be lost. It is over with the first answer that is.
#[derive(Default)]
struct Losing {
    /// The next answer, whatever it is to.
    next: AtomicBool,
    /// The answer to the first request that contains this text.
    to: Mutex<Option<String>>,
}

impl Proxy {
    /// A relay to a port of this machine.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), loses: Arc::default() };
        let loses = Arc::clone(&proxy.loses);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap());
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let asked = Arc::new(AtomicBool::new(false));
                let (asks, loses_it, loses) = (Arc::clone(&asked), Arc::clone(&loses), Arc::clone(&loses));
                thread::spawn(move || {
                    relay(from, to, |request| {
                        let mut to = loses.to.lock().unwrap();
                        if to.as_ref().is_some_and(|text| contains(request, text.as_bytes())) {
                            *to = None;
                            asks.store(true, Ordering::SeqCst);
                        }
                        false
                    });
                });
                thread::spawn(move || {
                    relay(server, client, |_| {
                        loses_it.next.swap(false, Ordering::SeqCst) || asked.load(Ordering::SeqCst)
                    });
                });
            }
        });
        proxy
    }

    /// The next answer on any connection is lost. For a caller of one call at a time: what works in the background may
    /// be answered first.
    pub fn lose_next_answer(&self) {
        self.loses.next.store(true, Ordering::SeqCst);
    }

    /// The answer to the next request that contains this text is lost, whatever else is answered before. The text is
    /// short: a request that is cut within it is not found.
    pub fn lose_answer_to(&self, text: &str) {
        *self.loses.to.lock().unwrap() = Some(text.to_owned());
    }

    /// Whether an answer that was to be lost is.
    pub fn has_lost_it(&self) -> bool {
        !self.loses.next.load(Ordering::SeqCst) && self.loses.to.lock().unwrap().is_none()
    }
}

fn contains(request: &[u8], text: &[u8]) -> bool {
    request.windows(text.len()).any(|window| window == text)
}

fn relay(mut from: TcpStream, mut to: TcpStream, loses: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if loses(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Gone already, if the other side was faster.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
