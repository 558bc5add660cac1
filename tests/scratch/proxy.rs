//! A relay between driver and server that can lose an answer: what the server says next is dropped, and the connection
//! with it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The relay. It lives as long as the process: its threads end with their connections.
pub struct Proxy {
    pub port: u16,
    loses_answer: Arc<AtomicBool>,
}

impl Proxy {
    /// A relay to a port of this machine.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), loses_answer: Arc::default() };
        let loses_answer = Arc::clone(&proxy.loses_answer);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap());
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || relay(from, to, || false));
                let loses_answer = Arc::clone(&loses_answer);
                thread::spawn(move || relay(server, client, || loses_answer.swap(false, Ordering::SeqCst)));
            }
        });
        proxy
    }

    /// The next answer on any connection is lost.
    pub fn lose_next_answer(&self) {
        self.loses_answer.store(true, Ordering::SeqCst);
    }

    /// Whether an answer that was to be lost is.
    pub fn has_lost_it(&self) -> bool {
        !self.loses_answer.load(Ordering::SeqCst)
    }
}

fn relay(mut from: TcpStream, mut to: TcpStream, loses: impl Fn() -> bool) {
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if loses() || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Gone already, if the other side was faster.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
