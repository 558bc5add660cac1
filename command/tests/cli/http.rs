//! `serve`, started for a test, and a client that sends what browsers do not.

use crate::shell::{Running, Shell, until, with};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Where servers say what goes to standard error.
const LOG: &str = "serve.log";

/// A server that is under way; it ends with the test.
pub struct Served {
    pub address: String,
    _running: Running,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}: ")));
        found.map(|line| line[name.len() + 2..].trim())
    }

    #[track_caller]
    pub fn shows(&self, words: &[&str]) -> &Self {
        assert_eq!(self.status, 200, "{self:?}");
        for word in words {
            assert!(self.body.contains(word), "{word} is missing in {}", self.body);
        }
        self
    }
}

impl Served {
    pub fn start(shell: &Shell, arguments: &[&str]) -> Self {
        Self::run(shell, shell.command(&Self::arguments(arguments)))
    }

    /// With the rights of a role that the test made.
    pub fn start_as(shell: &Shell, role: &str, arguments: &[&str]) -> Self {
        let mut command = shell.command(&Self::arguments(arguments));
        command.env("READPAST_CONNECTION", with(shell, &[("Uid", role), ("Pwd", "p")]));
        Self::run(shell, command)
    }

    /// The log of a shell's servers.
    pub fn log(shell: &Shell) -> String {
        std::fs::read_to_string(shell.folder.join(LOG)).unwrap()
    }

    pub fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["serve", "--listen", "127.0.0.1:0", "--every", "1s"], more].concat()
    }

    /// Runs a command of `serve` that the test has made.
    pub fn run(shell: &Shell, mut command: Command) -> Self {
        let log = OpenOptions::new().create(true).append(true).open(shell.folder.join(LOG)).unwrap();
        let mut running = Running::of(command.stderr(log).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(running.out()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { address, _running: running }
    }

    /// Waits for the first figures.
    pub fn ready(self) -> Self {
        until("figures are there", || self.get("/health/ready").status == 200);
        self
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
        stream
    }

    /// Sends bytes as they are, and reads the answer. A server closes a connection that says nothing for ten seconds, as on a
    /// machine that stalls; what only asks is sent again then.
    pub fn send(&self, request: &[u8]) -> Reply {
        for _ in 0..5 {
            let answer = self.answer(request);
            if !answer.is_empty() || !request.starts_with(b"GET ") {
                return Reply::of(&answer);
            }
        }
        panic!("no answer");
    }

    fn answer(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has refused need not read the rest.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn get(&self, path: &str) -> Reply {
        self.get_with(path, &[])
    }

    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send(self.request("GET", path, headers, "").as_bytes())
    }

    pub fn post(&self, path: &str, headers: &[(&str, &str)], form: &str) -> Reply {
        self.send(self.request("POST", path, headers, form).as_bytes())
    }

    /// As a browser sends a form of a page of ours.
    pub fn submit(&self, path: &str, form: &str) -> Reply {
        self.post(path, &[("Origin", &format!("http://{}", self.address))], form)
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if method == "POST" {
            request +=
                &format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n", body.len());
        }
        request + "\r\n" + body
    }
}

/// Text for an address or a form.
pub fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
