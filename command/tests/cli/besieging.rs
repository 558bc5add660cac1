//! `serve` before clients that mean it ill: they keep nobody else out, and get no answer that is not theirs.

use crate::http::Served;
use crate::shell::{Shell, until};
use readpast::for_tests::Session;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use support::limit::{NEVER, within};

const GIVEN: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef-s3same");

fn with_token(shell: &Shell) -> Served {
    let token = shell.write("token", "0123456789abcdef-s3same\n");
    fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
    Served::start(shell, &["--token-file", "token"])
}

/// More than there are places, and none of them sends a byte.
#[test]
fn silent_clients_keep_nobody_out() {
    let shell = Shell::new();
    let served = with_token(&shell);
    let silent: Vec<_> = (0..300).map(|_| served.connect()).collect();
    assert_eq!(served.get("/health/live").status, 200);
    assert_eq!(served.get("/").status, 401);
    served.get_with("/", &[GIVEN]).shows(&["Queues of the schema"]);
    let mut last = silent.last().unwrap();
    // The newest of them is let go as well, when it has sent nothing for long enough: before its own patience ends.
    within(NEVER / 2, || last.read_to_end(&mut Vec::new()).unwrap());
}

/// They have shown that they may be here, and go all the same, or their answers would fill the server.
#[test]
fn clients_that_ask_and_read_nothing_are_dropped() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]);
    let request = format!("GET /style.css HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).repeat(1000);
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let (mut stream, request) = (served.connect(), request.clone());
            thread::spawn(move || while stream.write_all(request.as_bytes()).is_ok() {})
        })
        .collect();
    assert_eq!(served.get("/health/live").status, 200);
    within(NEVER / 2, || asking.into_iter().for_each(|asks| asks.join().unwrap()));
}

/// A stranger may ask whether the server is alive, but not stay for it.
#[test]
fn a_client_that_is_never_admitted_does_not_stay() {
    let shell = Shell::new();
    let served = with_token(&shell);
    let mut stream = served.connect();
    let request = format!("GET /health/live HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    within(NEVER / 2, || {
        let mut answers = 0;
        loop {
            if stream.write_all(request.as_bytes()).is_err() {
                break;
            }
            match stream.read(&mut [0; 4096]) {
                Ok(count) if count > 0 => answers += 1,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
            // A slow client: thousands of requests would only keep the machine busy.
            thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(answers > 0);
    });
}

/// Searches that wait for a table, as long as the session lives.
fn held(shell: &Shell) -> Session {
    let mut session = shell.db.session();
    session.execute("BEGIN TRANSACTION", &[]).unwrap();
    session.execute("LOCK TABLE readpast.mail IN ACCESS EXCLUSIVE MODE", &[]).unwrap();
    session
}

const SEARCH: &str = "/queue/Mail/items?status=Pending";

fn ask(served: &Served) -> TcpStream {
    let mut stream = served.connect();
    write!(stream, "GET {SEARCH} HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
    stream
}

/// Nobody waits any more for what they asked for, and nobody else may wait for it.
#[test]
fn clients_that_hang_up_leave_no_work_behind() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    let held = held(&shell);
    (0..1000).for_each(|_| drop(ask(&served)));
    within(NEVER / 4, || {
        for path in ["/health/ready", "/metrics", "/", "/queues", "/queue/Mail", "/style.css"] {
            assert!([200, 503].contains(&served.get(path).status), "{path}");
        }
    });
    drop(held);
    within(NEVER / 4, || until("searches are answered", || served.get(SEARCH).status == 200));
    // This search came after all that waited: they had gone, and only those at work have asked the database.
    let metrics = served.get("/metrics").body;
    let calls = metrics.lines().filter(|line| line.starts_with("readpast_call_duration_seconds_count{"));
    let searches = calls.filter(|line| line.contains("call=\"find\"")).map(|line| line.rsplit(' ').next().unwrap());
    let searches: u64 = searches.map(|count| count.parse::<u64>().unwrap()).sum();
    assert!((1..64).contains(&searches), "{searches} searches");
}

/// While all searches wait for the database, what needs none does not; and a search too many is refused.
#[test]
fn searches_that_wait_keep_nothing_else_waiting() {
    let shell = Shell::new();
    shell.fill(1);
    let served = Served::start(&shell, &[]).ready();
    let held = held(&shell);
    let asking: Vec<_> = (0..100).map(|_| ask(&served)).collect();
    until("one too many is refused", || {
        let reply = served.get(SEARCH);
        reply.status == 503 && reply.header("retry-after").is_some()
    });
    served.get("/metrics").shows(&["readpast_queue_items"]);
    assert_eq!(served.get("/scale/Mail").status, 200);
    drop((held, asking));
    until("searches are answered again", || served.get(SEARCH).status == 200);
}

/// An image or a script of theirs makes a browser ask; a link that a person follows is another thing.
#[test]
fn pages_of_other_sites_make_this_server_do_nothing() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    let of = |mode, dest| [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)];
    for path in [SEARCH, "/failed", "/metrics", "/events", "/doctor"] {
        assert_eq!(served.get_with(path, &of("no-cors", "image")).status, 403, "{path}");
    }
    served.get_with(SEARCH, &of("navigate", "document")).shows(&["Items of Mail"]);
    assert_eq!(served.get_with("/health/live", &of("no-cors", "image")).status, 200, "says nothing");
}

/// All that was sent is one request, or a wrong one: what stands in it is never answered as another.
#[test]
fn a_request_within_a_request_is_not_answered() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    let inner = "GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let long = inner.len();
    for (head, body, status) in [
        ("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", format!("0\r\n\r\n{inner}"), 411),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5", format!("0\r\n\r\n{inner}"), 411),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked", format!("0\r\n\r\n{inner}"), 411),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: identity", inner.to_owned(), 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding : chunked", format!("0\r\n\r\n{inner}"), 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding:\x0bchunked", format!("0\r\n\r\n{inner}"), 400),
        (&format!("POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: {long}"), inner.to_owned(), 400),
        ("POST / HTTP/1.1\r\nContent-Length: +0", inner.to_owned(), 400),
        ("POST / HTTP/1.1\r\nContent-Length: 0x0", inner.to_owned(), 400),
        ("POST / HTTP/1.1\r\nX: a\r\n Content-Length: 0", inner.to_owned(), 400),
        ("POST / HTTP/1.1\r\n: x", inner.to_owned(), 400),
        ("GET / HTTP/9.9\r\nX: a", inner.to_owned(), 400),
        ("GET  / HTTP/1.1\r\nX: a", inner.to_owned(), 400),
        ("TRACE / HTTP/1.1\r\nX: a", inner.to_owned(), 405),
        ("CONNECT localhost:1 HTTP/1.1\r\nX: a", inner.to_owned(), 405),
        (&format!("GET /nowhere HTTP/1.1\r\nConnection: close\r\nContent-Length: {long}"), inner.to_owned(), 404),
    ] {
        let request = format!("{head}\r\nHost: localhost\r\n\r\n{body}");
        let reply = served.send(request.as_bytes());
        assert_eq!(reply.status, status, "{head}: {reply:?}");
        assert!(!reply.body.contains("HTTP/1.1 200"), "{head}: {reply:?}");
    }
}

/// Requests behind a refused one get no answer, so that nobody tries many tokens at the price of one.
#[test]
fn a_refusal_ends_the_connection() {
    let shell = Shell::new();
    let served = with_token(&shell);
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    let reply = served.send(request.repeat(3).as_bytes());
    assert_eq!((reply.status, reply.header("connection")), (401, Some("close")));
    assert!(!reply.body.contains("HTTP/1.1"), "{reply:?}");
    for host in ["evil.example", "localhost\r\nHost: localhost"] {
        let request = format!("GET /health/live HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let reply = served.send(request.repeat(2).as_bytes());
        assert_eq!((reply.status, reply.header("connection")), (421, Some("close")), "{host}");
    }
}

/// One is the proxy's, the other was forged: nobody knows which.
#[test]
fn a_user_who_is_named_twice_is_refused() {
    let shell = Shell::new();
    let proxied = Served::start(&shell, &["--trust-header", "X-Remote-User"]);
    assert_eq!(proxied.get_with("/", &[("X-Remote-User", "ann")]).status, 200);
    for names in [["root", "ann"], ["ann", "ann"], ["", "ann"]] {
        let named = names.map(|name| ("X-Remote-User", name));
        assert_eq!(proxied.get_with("/", &named).status, 403, "{names:?}");
    }
    assert_eq!(proxied.get_with("/", &[("X-Remote-User", "root"), ("x-remote-user", "ann")]).status, 403);
}
