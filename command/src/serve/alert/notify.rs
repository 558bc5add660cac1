//! Receivers of alerts: a web server, a command, or the log.

use crate::child_environment::withhold;
use crate::output::remark;
use crate::passthrough::Passthrough;
use crate::process::Process;
use log::Level;
use serde_json::Value;
use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

/// The longest time for a notification.
const LONGEST: Duration = Duration::from_secs(20);

pub enum To {
    Webhook(Webhook),
    /// Gets the alert on its standard input.
    Command(Vec<String>),
    /// Standard error, and so the journal of a unit; of a Windows service its event log.
    Log,
}

/// Where to post to.
pub struct Webhook {
    /// Name and port.
    host: String,
    path: String,
}

impl To {
    pub fn webhook(address: &str) -> Result<Self, String> {
        if address.starts_with("https://") {
            return Err("webhook: https:// needs a command: \
                        command = [\"curl\", \"-fsS\", \"--json\", \"@-\", \"https://...\"]"
                .to_owned());
        }
        let rest = address.strip_prefix("http://").ok_or("webhook: must be an address that begins with http://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !plain(rest) {
            return Err("webhook: must be an address like http://alerts.example:8080/readpast".to_owned());
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self::Webhook(Webhook { host: host.to_owned(), path: path.to_owned() }))
    }

    pub fn command(words: Vec<String>) -> Result<Self, &'static str> {
        if words.first().is_none_or(String::is_empty) {
            Err("command: there is no program in it")
        } else {
            Ok(Self::Command(words))
        }
    }
}

/// Notifies, once. An error's text holds no part of the address, which may be a secret.
pub fn notify(to: &To, alert: &Value) -> Result<(), String> {
    match to {
        To::Webhook(webhook) => post(webhook, &alert.to_string(), LONGEST).map_err(|why| format!("the webhook: {why}")),
        To::Command(words) => {
            run(words, &alert.to_string(), LONGEST).map_err(|why| format!("the command {}: {why}", words[0]))
        }
        To::Log => {
            let text = |name: &str| alert[name].as_str().unwrap_or_default();
            let level = if text("state") == "firing" { Level::Warn } else { Level::Info };
            remark(level, &format!("alert {} {}: {}", text("alert"), text("state"), text("text")));
            Ok(())
        }
    }
}

/// Posts, and returns within `longest`, however the server spreads what it says.
fn post(webhook: &Webhook, text: &str, longest: Duration) -> Result<(), String> {
    let deadline = Instant::now() + longest;
    // Never zero, which a socket takes for no limit, or refuses.
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let is_late = || Instant::now() >= deadline;
    let Webhook { host, path } = webhook;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port { host.clone() } else { format!("{host}:80") };
    let addresses = place.to_socket_addrs().map_err(|_| "its host name cannot be resolved")?;
    let kind = |error: std::io::Error| error.kind().to_string();
    let mut stream = Err("its host name cannot be resolved".to_owned());
    for address in addresses {
        stream = TcpStream::connect_timeout(&address, left().min(longest / 2)).map_err(kind);
        if stream.is_ok() || is_late() {
            break;
        }
    }
    let mut stream = stream?;
    stream.set_write_timeout(Some(left())).map_err(kind)?;
    let length = text.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: readpast\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    );
    stream.write_all(request.as_bytes()).map_err(kind)?;
    // `HTTP/1.1 204 No Content`: the rest is nobody's business here.
    let (mut line, mut some) = (Vec::new(), [0; 200]);
    while line.len() < some.len() && !line.contains(&b'\n') {
        if is_late() {
            return Err(format!("it did not answer within {} s", longest.as_secs()));
        }
        stream.set_read_timeout(Some(left())).map_err(kind)?;
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&some[..count]),
            // Time is up, or a signal came: the loop knows which.
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
            Err(error) => return Err(kind(error)),
        }
    }
    let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default());
    match line.split(' ').nth(1).filter(|_| line.starts_with("HTTP/1.")) {
        Some(status) if status.starts_with('2') && status.len() == 3 => Ok(()),
        Some(status) if status.len() == 3 => Err(format!("it answered {status}")),
        _ => Err("its answer is not HTTP".to_owned()),
    }
}

/// Runs a command, and ends it with all that it has started if it takes longer than `longest`.
fn run(words: &[String], text: &str, longest: Duration) -> Result<(), String> {
    let kind = |error: std::io::Error| error.kind().to_string();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // It is somebody else's program: connection and token are not its business.
    withhold(&mut command, false);
    let mut process = Process::spawn(command).map_err(kind)?;
    let (stdin, _, stderr) = process.pipes();
    let (ends, ended) = sync_channel(1);
    let attended = process.when_ended(move || ends.send(()).unwrap_or_default()).and_then(|()| pass_on(stderr));
    if attended.is_ok()
        && let Some(mut stdin) = stdin
    {
        // One that does not want to know need not read; so short a text never blocks.
        let _ = stdin.write_all(text.as_bytes());
    }
    let is_late = attended.is_ok() && ended.recv_timeout(longest).is_err();
    if is_late || attended.is_err() {
        process.kill();
    }
    let status = process.wait().map_err(kind)?;
    attended.map_err(kind)?;
    if is_late {
        return Err(format!("it did not end within {} s", longest.as_secs()));
    }
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

/// Shows what a command writes to standard error, for as long as somebody has it open.
fn pass_on(errors: Option<ChildStderr>) -> std::io::Result<()> {
    let Some(mut errors) = errors else { return Ok(()) };
    let pass = move || {
        let (mut shown, mut bytes) = (Passthrough::new(), [0; 4096]);
        while let Ok(count) = errors.read(&mut bytes)
            && count > 0
        {
            shown.pass(&bytes[..count]);
        }
    };
    thread::Builder::new().name("stderr".to_owned()).spawn(pass).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The result of a post to a server that sends this answer, a byte at a time with a pause before each.
    fn posted(
        answer: impl Iterator<Item = u8> + Send + 'static,
        pause: Duration,
        longest: Duration,
    ) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let To::Webhook(webhook) = To::webhook(&format!("http://{}/x", listener.local_addr().unwrap())).unwrap() else {
            panic!("it is one")
        };
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"{}") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            for byte in answer {
                thread::sleep(pause);
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
            }
        });
        let result = post(&webhook, "{}", longest);
        server.join().unwrap();
        result
    }

    #[test]
    fn a_server_that_drips_is_not_listened_to_for_ever() {
        let line = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(posted(line.bytes(), Duration::ZERO, Duration::from_secs(600)), Ok(()));
        // The end of the line never comes, however late somebody looks.
        let endless = "HTTP/1.1 204 ".bytes().chain(std::iter::repeat(b'x'));
        let why = posted(endless, Duration::from_millis(300), Duration::from_secs(1));
        assert_eq!(why, Err("it did not answer within 1 s".to_owned()));
    }

    /// A process that a shell has started ends with the shell.
    #[cfg(unix)]
    #[test]
    fn a_command_that_takes_too_long_ends_with_what_it_has_started() {
        let words = ["sh", "-c", "sleep 3600 & read -r file; echo $! > \"$file\"; wait"].map(str::to_owned);
        let file = std::env::temp_dir().join(format!("readpast-alert-{}", std::process::id()));
        let started = || std::fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n'));
        // On a busy machine it may take long before it has started something.
        let id = [1, 10, 100].into_iter().find_map(|seconds| {
            let why = run(&words, &format!("{}\n", file.display()), Duration::from_secs(seconds));
            assert_eq!(why, Err(format!("it did not end within {seconds} s")));
            started()
        });
        let stat = format!("/proc/{}/stat", id.expect("it has begun").trim());
        let is_there = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let deadline = Instant::now() + Duration::from_secs(600);
        while is_there() {
            assert!(Instant::now() < deadline, "it goes on");
            thread::sleep(Duration::from_millis(20));
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(run(&["true".to_owned()], "", Duration::from_secs(600)), Ok(()));
        assert!(run(&["false".to_owned()], "", Duration::from_secs(600)).unwrap_err().contains("exit status: 1"));
    }
}
