//! `serve`: what its pages show and do, and what it lets nobody do.

use crate::http::{Served, encoded};
use crate::shell::{Shell, key, mixed, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

const HOSTILE: [&str; 9] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</td></table><form action=//evil.example><button>",
    "{{ 7919 * 7919 }}{% include 'base.html' %}",
    "javascript:alert(1)",
    "&lt;b&gt; &amp;#x3c;",
    "]]><!-- --><svg/onload=alert(1)>",
    "a\u{202e}cod.exe\u{2066}",
];

/// Nothing inline that a policy would have to let through, and the policy itself.
#[track_caller]
fn is_tight(served: &Served, path: &str) -> String {
    let reply = served.get(path);
    let policy = reply.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert!(reply.header("set-cookie").is_none(), "{path}");
    let body = reply.body;
    let own = ["live", "search"].map(|name| format!("<script src=\"/{name}.js\" defer></script>"));
    let own: usize = own.iter().map(|script| body.matches(script).count()).sum();
    assert_eq!(body.matches("<script").count(), own, "{path}");
    assert!(!body.contains("<style") && !body.contains(" style="), "{path}");
    body
}

/// In a queue of millions a search goes on by pieces, each as fast as the first.
#[test]
fn a_search_reads_so_many_items_and_says_where_it_is() {
    let shell = Shell::new();
    shell.fill(250);
    let served = Served::start(&shell, &["--most", "100"]).ready();
    let mut path = "/queue/Mail/items?error=nothing".to_owned();
    for looked in [true, true, false] {
        let page = served.get(&path);
        assert_eq!(page.body.contains("100 items were searched"), looked, "{path}: {page:?}");
        let Some((_, link)) = page.body.split_once("rel=\"next\" href=\"") else { break };
        link.split('"').next().unwrap().replace("&amp;", "&").clone_into(&mut path);
    }
    served.get(&path).shows(&["No item matches."]);
    served.get("/queue/Mail/items?status=Pending").shows(&["50 items", "Next page"]);
}

#[test]
fn pages_show_what_is_there() {
    let shell = mixed();
    let served = Served::start(&shell, &[]).ready();
    served.get("/").shows(&["/queue/Mail", "2 failed", "Needs attention"]);
    served.get("/queues").shows(&["/queue/Mail", "2 failed", "All queues", "Attention"]);
    served.get("/queue/Mail").shows(&["boom 100%", "Backlog", "<svg", "No worker holds an item"]);
    let failed = served.get("/queue/Mail/items?status=Failed");
    failed.shows(&["2 items", &key(&shell, 1), &key(&shell, 2)]);
    assert!(!failed.body.contains(&key(&shell, 4)));
    served.get("/queue/Mail/items?error=bang").shows(&["1 item in", &key(&shell, 3)]);
    served.get(&format!("/queue/Mail/items?key={}", encoded(&key(&shell, 4)))).shows(&["1 item in", "Completed"]);
    let one = served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 3))));
    one.shows(&["bang", "Recipient", "r3", "due in ", "attempt 1 has failed"]);
    for (path, status) in [
        ("/nowhere", 404),
        ("/queue/Nope", 404),
        ("/queue/Mail/item?key=x", 400),
        ("/queue/Mail/item?key=2000-01-01T00%3A00%3A00", 404),
        ("/queue/Mail/items?status=Nope", 400),
        ("/queue/Mail/items?older=soon", 400),
        ("/queue/Mail/act?verb=redrive", 403),
        ("/queue/Mail/edit?key=x", 403),
        ("//evil.example/", 400),
        ("/\\evil.example/", 400),
        ("/style.css", 200),
        ("/live.js", 200),
        ("/search.js", 200),
        ("/icon.svg", 200),
    ] {
        assert_eq!(served.get(path).status, status, "{path}");
    }
    for path in [
        "/",
        "/queue/Mail",
        "/queue/Mail/items",
        "/failed",
        "/workers",
        "/schedules",
        "/queue/Mail/limits",
        "/queue/Mail/pauses",
        "/doctor",
        "/nowhere",
        "/metrics",
        "/scale/Mail",
    ] {
        is_tight(&served, path);
    }
}

#[test]
fn many_items_come_page_by_page() {
    let shell = Shell::new();
    shell.fill(120);
    let served = Served::start(&shell, &[]).ready();
    let (mut path, mut seen) = ("/queue/Mail/items?status=Pending".to_owned(), 0);
    loop {
        let reply = served.get(&path);
        assert_eq!(reply.status, 200, "{reply:?}");
        seen += reply.body.matches("<th scope=\"row\" class=\"key\">").count();
        let Some(next) = reply.body.split("rel=\"next\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().replace("&amp;", "&");
        assert!(path.contains("status=Pending"), "{path}");
    }
    assert_eq!(seen, 120);
}

#[test]
fn item_contents_stay_text() {
    let shell = Shell::new();
    for (n, text) in HOSTILE.iter().enumerate() {
        let item = serde_json::json!({"Recipient": text, "Body": text, "N": n, "Tags": {"<b>": text}});
        shell.ok(&["enqueue", "Mail", "--item", &item.to_string()]);
    }
    shell.ok(&shell.script(&["--until-empty"], "printf '%s' \"$READPAST_COL_BODY\" >&2; exit 65"));
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    until("the failures are seen", || served.get("/").body.contains(&format!("{} failed", HOSTILE.len())));
    let pages =
        ["/", "/queues", "/failed", "/workers", "/queue/Mail", "/queue/Mail/items", "/queue/Mail/act?verb=redrive"];
    let mut paths: Vec<_> = pages.map(str::to_owned).into();
    for n in 0..HOSTILE.len() {
        paths.push(format!("/queue/Mail/item?key={}", encoded(&key(&shell, n))));
    }
    for text in HOSTILE {
        let text = encoded(text);
        paths.push(format!("/queue/Mail/items?error={text}&key={text}&older={text}&type={text}&status={text}"));
        paths.push(format!("/queue/Mail/item?key={text}&did={text}&done={text}&refused={text}"));
        paths.push(format!("/queue/Mail/items?q={text}"));
        paths.push(format!("/queue/{text}"));
        paths.push(format!("/queue/Mail/act?verb={text}&error={text}"));
    }
    for path in paths {
        let body = is_tight(&served, &path);
        for text in HOSTILE.iter().filter(|text| text.contains(['<', '>', '"', '\u{202e}'])) {
            assert!(!body.contains(text), "{path} has {text}");
        }
        assert!(!body.contains(" onmouseover='") && !body.contains("href=\"javascript:"), "{path}");
        assert!(!body.contains("62710561"), "{path}: a template of theirs was run");
    }
}

#[test]
fn large_and_broken_requests_are_refused() {
    let shell = Shell::new();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let origin = format!("http://{}", served.address);
    let large = format!("verb=cancel&error={}", "a".repeat(200_000));
    assert_eq!(served.post("/queue/Mail/act", &[("Origin", &origin)], &large).status, 413);
    for request in [
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(100_000)),
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000)),
        "nonsense\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n".to_owned(),
        "DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        let status = served.send(request.as_bytes()).status;
        assert!((400..500).contains(&status), "{status}: {}", &request[..30.min(request.len())]);
    }
    served.get("/").shows(&["Mail"]);
}

#[test]
fn slow_clients_keep_nobody_waiting_and_are_dropped() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    let begun = Instant::now();
    let mut slow: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = served.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    served.get("/").shows(&["Mail"]);
    let mut rest = Vec::new();
    // Its read ends when the server gives up; only then is it known that it did.
    let _ = slow[0].read_to_end(&mut rest);
    assert!(begun.elapsed() < Duration::from_secs(599), "the server let go");
    assert!(!String::from_utf8_lossy(&rest).contains(" 200 "), "{rest:?}");
}

#[test]
fn events_tell_of_new_figures() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]);
    let mut stream = served.connect();
    write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
    let lines: Vec<_> = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .filter(|line| line.starts_with("event: ") || line.to_ascii_lowercase().starts_with("content-type"))
        .take(3)
        .collect();
    assert_eq!(lines, ["content-type: text/event-stream", "event: figures", "event: figures"]);
}

#[test]
fn listeners_take_no_place_from_requests() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]).ready();
    let listening: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = served.connect();
            write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
            stream
        })
        .collect();
    served.get("/").shows(&["Mail"]);
    let refused = served.get("/events");
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    drop(listening);
    // The server notices a closed listener with the next figures.
    until("there is room again", || {
        let mut stream = served.connect();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.contains(" 200 ")
    });
}

#[test]
fn queues_come_change_and_go_under_its_eyes() {
    let shell = Shell::empty();
    readpast::install(&shell.db.config(&[]), None).unwrap();
    let served = Served::start(&shell, &[]);
    served.get("/").shows(&["This schema has no queues"]);
    assert_eq!(served.get("/queue/Mail").status, 404);

    shell.write("mail.json", crate::shell::MAIL);
    shell.ok(&["install", "mail.json"]);
    until("the new queue is seen", || served.get("/scale/Mail").status == 200);
    served.get("/").shows(&["/queue/Mail"]);
    let chosen = Served::start(&shell, &["--queue", "Mail"]).ready();
    shell.write("other.json", r#"{"queue": "Other"}"#);
    shell.ok(&["install", "other.json"]);
    until("the second queue is seen", || served.get("/queue/Other").status == 200);

    // A column that came later: an item is found by it, and shown with it.
    shell.write(
        "mail.json",
        &crate::shell::MAIL.replace(r#""columns": ["#, r#""columns": [{"name": "Later", "type": "text"}, "#),
    );
    shell.ok(&["install", "mail.json"]);
    shell.ok(&["enqueue", "Mail", "Recipient=r", "N=1", "Later=new"]);
    until("the change is seen", || served.get("/queue/Mail/items").body.contains("Later"));

    shell.look("WITH gone AS (DELETE FROM readpast.queue_spec WHERE queue = 'Mail') SELECT 1");
    shell.look("DROP FUNCTION readpast.watch_mail; SELECT 1");
    until("the loss is seen", || served.get("/queue/Mail").status == 404);
    let metrics = served.get("/metrics");
    // The process keeps its own counts of it.
    let mut of_queues = metrics.body.lines().filter(|line| line.starts_with("readpast_queue_"));
    assert!(of_queues.all(|line| !line.contains("Mail")), "{metrics:?}");
    assert!(metrics.body.contains("readpast_queue_up{queue=\"Other\"}"), "{metrics:?}");
    until("what was asked for is missed", || chosen.get("/health/ready").status == 503);
    chosen.get("/metrics").shows(&["readpast_queue_up{queue=\"Mail\"} 0\n"]);
    assert_eq!(chosen.get("/queue/Other").status, 404);

    shell.look("DELETE FROM readpast.queue_spec WHERE queue = 'Other' RETURNING 1");
    until("the last one is gone", || served.get("/").body.contains("This schema has no queues"));
}
