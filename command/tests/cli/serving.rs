//! `serve`: what its pages show and do, and what it lets nobody do.

use crate::http::{Served, encoded};
use crate::shell::{Shell, until, with};
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

/// Two items Failed, one in Error, two Completed, one Pending.
fn mixed() -> Shell {
    let shell = Shell::new();
    shell.fill(5);
    let script = "case $READPAST_COL_N in 1|2) echo 'boom 100%' >&2; exit 65;; 3) echo bang >&2; exit 1;; esac";
    shell.ok(&shell.script(&["--until-empty", "--retry-delay", "1h"], script));
    shell.ok(&["enqueue", "Mail", "Recipient=r6", "N=6"]);
    shell
}

fn key(shell: &Shell, n: usize) -> String {
    shell.look(&format!(
        "SELECT to_char(enqueued_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '0' FROM readpast.mail WHERE \"N\" = {n}"
    ))
}

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

/// The preview counts within one look; what is meant is done all the same.
#[test]
fn a_preview_counts_so_many_items_and_says_that_there_may_be_more() {
    let shell = Shell::new();
    shell.fill(250);
    let served = Served::start(&shell, &["--most", "100", "--allow-actions"]).ready();
    let last = key(&shell, 250);
    let preview = served.get("/queue/Mail/act?verb=cancel");
    preview.shows(&["at least <b>100</b> items", "Cancel all that match"]);
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    served
        .get(&format!("/queue/Mail/act?verb=cancel&key={}", encoded(&last)))
        .shows(&["changes <b>1</b> item ", "Cancel 1 item<"]);
    let done = served.submit("/queue/Mail/act", &format!("verb=cancel&secret={secret}"));
    let location = done.header("location").unwrap_or_default();
    assert!(location.starts_with("/queue/Mail/operation?number="), "{done:?}");
    until("all are cancelled", || served.get(location).body.contains("<dd>Done</dd>"));
    assert_eq!(shell.count("Cancelled"), "250");
}

#[test]
fn actions_are_shown_first_and_then_done() {
    let shell = mixed();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let states = || shell.look("SELECT string_agg(status::text, ' ' ORDER BY \"N\") FROM readpast.mail");
    let before = states();
    assert_eq!(before, "Failed Failed Error Completed Completed Pending");
    let preview = served.get("/queue/Mail/act?verb=redrive&error=boom");
    preview.shows(&["<b>2</b> items", "2 Failed", &key(&shell, 1), "Redrive 2 items"]);
    assert_eq!(states(), before, "nothing is done by looking");
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let form = |verb: &str, more: &str| format!("verb={verb}&secret={secret}{more}");

    // The item's page offers the actions that its state allows, and no other.
    let done = encoded(&key(&shell, 4));
    let item = served.get(&format!("/queue/Mail/item?key={done}"));
    assert!(!item.body.contains("/act?"), "nothing can be done to what is Completed: {}", item.body);
    let refused = served.get(&format!("/queue/Mail/act?verb=cancel&key={done}"));
    refused.shows(&["None of the items that match", "They are 1 Completed, and stay as they are"]);
    assert!(!refused.body.contains("<form"), "{}", refused.body);
    served
        .get("/queue/Mail/act?verb=cancel&status=Completed&status=Pending")
        .shows(&["<b>1</b> item ", "These stay as they are: 2 Completed"]);
    let waiting = served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 3))));
    let offered =
        ["retry", "redrive", "cancel", "pause", "resume"].map(|verb| waiting.body.contains(&format!("verb={verb}&")));
    assert_eq!(offered, [true, true, true, true, false]);

    // From elsewhere, without the secret, by another way.
    let here = format!("http://{}", served.address);
    for (headers, body) in [
        (&[][..], form("redrive", "")),
        (&[("Origin", "http://evil.example")], form("redrive", "")),
        (&[("Origin", "null")], form("redrive", "")),
        (&[("Sec-Fetch-Site", "cross-site")], form("redrive", "")),
        (&[("Origin", &*here)], "verb=redrive&secret=x".to_owned()),
        (&[("Origin", &*here)], "verb=redrive".to_owned()),
    ] {
        assert_eq!(served.post("/queue/Mail/act", headers, &body).status, 403, "{headers:?} {body}");
    }
    assert_eq!(served.submit("/queue/Mail/act", &form("drop", "")).status, 400);
    assert_eq!(served.get(&format!("/queue/Mail/act?{}", form("redrive", ""))).status, 200, "is the preview again");
    assert_eq!(served.submit("/queue/Mail", &form("redrive", "")).status, 405);
    assert_eq!(states(), before);

    let done = served.submit("/queue/Mail/act", &form("redrive", "&error=boom"));
    let location = done.header("location").unwrap();
    assert!(done.status == 303 && location.starts_with("/queue/Mail/items?error=boom&did="), "{done:?}");
    served.get(location).shows(&["redriven: 2"]);
    assert_eq!(states(), "Pending Pending Error Completed Completed Pending");
    for (verb, more, after) in [
        ("pause", format!("&key={}", encoded(&key(&shell, 1))), "Paused Pending Error Completed Completed Pending"),
        ("resume", String::new(), "Pending Pending Error Completed Completed Pending"),
        ("retry", String::new(), "Pending Pending Pending Completed Completed Pending"),
        ("cancel", "&status=Pending".to_owned(), "Cancelled Cancelled Cancelled Completed Completed Cancelled"),
    ] {
        assert_eq!(served.submit("/queue/Mail/act", &form(verb, &more)).status, 303, "{verb}");
        assert_eq!(states(), after, "{verb}");
    }
    // Nothing of an address can begin a header.
    let key = encoded("2000-01-01T00:00:00\r\nX-Evil: 1");
    let reply = served.submit("/queue/Mail/act", &form("pause", &format!("&key={key}")));
    assert!(reply.header("x-evil").is_none(), "{reply:?}");
}

#[test]
fn without_leave_nothing_is_changed() {
    let shell = mixed();
    let served = Served::start(&shell, &[]).ready();
    let reply = served.submit("/queue/Mail/act", "verb=cancel");
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains("--allow-actions") && shell.count("Cancelled") == "0", "{reply:?}");
    assert!(!served.get("/queue/Mail/items").body.contains("/act?"), "nor offered");
}

#[test]
fn a_monitor_may_look_and_no_more() {
    let mut shell = Shell::empty();
    let role = shell.db.role();
    let more = format!("{{\"attempts\": {{\"history\": true}}, \"roles\": {{\"monitor\": \"{role}\"}}, ");
    let spec = crate::shell::MAIL.replacen('{', &more, 1);
    shell.write("mail.json", &spec);
    shell.ok(&["install", "mail.json"]);
    shell.fill(2);
    let served = Served::start_as(&shell, &role, &["--allow-actions"]).ready();
    served.get("/queue/Mail").shows(&["<dt>Backlog</dt><dd>2</dd>"]);
    served.get("/queue/Mail/items").shows(&["2 items"]);
    served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 1)))).shows(&["due for "]);
    let preview = served.get("/queue/Mail/act?verb=cancel");
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let reply = served.submit("/queue/Mail/act", &format!("verb=cancel&secret={secret}"));
    assert_eq!((reply.status, shell.count("Pending").as_str()), (502, "2"), "{reply:?}");
    assert!(reply.body.contains("lacks the role of an operator"), "{reply:?}");
    shell.ok(&shell.script(&["--until-empty", "--retry-delay", "1h"], "echo the first bang >&2; exit 1"));
    let item = served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 1))));
    item.shows(&["Attempt 1", "the first bang"]);
    // Without the right to the attempts the rest of the item is there.
    shell.db.run(&format!("REVOKE EXECUTE ON FUNCTION readpast.attempts_mail FROM {role}"));
    let item = served.get(&format!("/queue/Mail/item?key={}", encoded(&key(&shell, 1))));
    item.shows(&["Columns of the queue", "may not see its attempts"]);
    let mut show = shell.bare(&["show", "Mail", &key(&shell, 1), "--json"]);
    show.env("READPAST_CONNECTION", with(&shell, &[("Uid", &role), ("Pwd", "p")]));
    let shown = show.output().unwrap();
    let (text, err) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(shown.status.success() && text.contains("the first bang") && !text.contains("\"attempts\""), "{text}{err}");
    assert!(err.contains("may not see the attempts"), "{err}");
    shell.db.run(&format!("GRANT EXECUTE ON FUNCTION readpast.attempts_mail TO {role}"));
    served.get("/operations").shows(&["Operations", "None."]);
    // It keeps figures, and may not write what has been done of a caller's transaction.
    let granted = format!(
        "SELECT STRING_AGG(p.proname, ' ' ORDER BY p.proname) FROM pg_proc AS p WHERE p.pronamespace = 'readpast'::regnamespace \
         AND EXISTS (SELECT 1 FROM ACLEXPLODE(p.proacl) AS a WHERE a.grantee = '{role}'::regrole)"
    );
    assert_eq!(shell.look(&granted), "attempts_mail find_mail queue_catalog queue_minute_keep stats_mail watch_mail");
}

#[test]
fn clients_are_known_or_refused() {
    let shell = mixed();
    for address in ["0.0.0.0:0", "[::]:0"] {
        shell.run(&["serve", "--listen", address]).says(2, &["other machines", "--token-file", "--trust-header"]);
    }
    let short = shell.write("short", "tooshort\n");
    let token = shell.write("token", "0123456789abcdef-s3same\n");
    for (path, mode) in [(&short, 0o600), (&token, 0o644)] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    shell.run(&["serve", "--token-file", "short"]).says(2, &["16 characters"]);
    shell.run(&["serve", "--token-file", "token"]).says(2, &["chmod 600"]);
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();

    let served = Served::start(&shell, &["--token-file", "token", "--host", "queues.example"]);
    let given = [("Authorization", "Bearer 0123456789abcdef-s3same")];
    until("figures are there", || served.get_with("/health/ready", &given).status == 200);
    for path in ["/", "/queue/Mail", "/metrics", "/events", "/scale/Mail", "/health/ready", "/style.css"] {
        let reply = served.get(path);
        assert_eq!((reply.status, reply.body.contains("Mail")), (401, false), "{path}");
        assert!(reply.header("www-authenticate").unwrap().starts_with("Basic "), "{path}");
    }
    assert_eq!(served.get_with("/", &[("Authorization", "Bearer 0123456789abcdef-s3samf")]).status, 401);
    assert_eq!(served.get("/health/live").status, 200, "says nothing of the queues");
    served.get_with("/", &given).shows(&["Mail"]);
    for (host, status) in [("queues.example", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("", 421)] {
        assert_eq!(served.get_with("/", &[given[0], ("Host", host)]).status, status, "{host}");
    }

    let proxied = Served::start(&shell, &["--trust-header", "X-Remote-User"]);
    assert_eq!(proxied.get("/").status, 403);
    assert_eq!(proxied.get_with("/", &[("X-Remote-User", " ")]).status, 403);
    assert_eq!(proxied.get_with("/", &[("X-Remote-User", "ann")]).status, 200);

    // The log says who did what.
    let acting = Served::start(&shell, &["--trust-header", "X-Remote-User", "--allow-actions"]);
    let ann = ("X-Remote-User", "ann");
    let preview = acting.get_with("/queue/Mail/act?verb=redrive", &[ann]);
    let secret = preview.body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let origin = format!("http://{}", acting.address);
    let form = format!("verb=redrive&status=Failed&secret={secret}");
    assert_eq!(acting.post("/queue/Mail/act", &[ann, ("Origin", &origin)], &form).status, 303);
    let log = Served::log(&shell);
    assert!(log.contains("redriven of Mail: 2, refused: 0; status=Failed; by ann (127.0.0.1, a proxy)"), "{log}");
}

#[test]
fn each_token_and_each_user_has_a_right() {
    let shell = mixed();
    let tokens = ["read reads-and-no-more-0", "operate operates-as-well-0", "purge even-purges-items-0"];
    let file = shell.write("tokens", &tokens.join("\n"));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let served = Served::start(&shell, &["--token-file", "tokens", "--allow-actions", "--allow-purge"]);
    let statuses = |token: &str| {
        let given = format!("Bearer {token}");
        let get = |path: &str| served.get_with(path, &[("Authorization", &given)]).status;
        let items = ["/queue/Mail/act?verb=redrive", "/queue/Mail/act?verb=purge", "/queue/Mail/items"];
        items.map(get)
    };
    assert_eq!(statuses("reads-and-no-more-0"), [403, 403, 200]);
    assert_eq!(statuses("operates-as-well-0"), [200, 403, 200]);
    assert_eq!(statuses("even-purges-items-0"), [200, 200, 200]);
    assert_eq!(statuses("somebody-elses-token"), [401, 401, 401]);
    let reader = ("Authorization", "Bearer reads-and-no-more-0");
    assert!(!served.get_with("/queue/Mail/items", &[reader]).body.contains("/act?verb="), "nothing is offered");

    let arguments = ["--trust-header", "X-User", "--right-header", "X-Right", "--allow-actions"];
    let proxied = Served::start(&shell, &arguments);
    let status = |right: &str, verb: &str| {
        let headers = [("X-User", "ann"), ("X-Right", right)];
        proxied.get_with(&format!("/queue/Mail/act?verb={verb}"), &headers).status
    };
    assert_eq!((status("read", "redrive"), status("operate", "redrive"), status("purge", "redrive")), (403, 200, 200));
    assert_eq!(status("purge", "purge"), 403, "the server purges nothing");
    let short = shell.write("tokens", "read short");
    std::fs::set_permissions(&short, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    shell.run(&["serve", "--token-file", "tokens"]).says(2, &["at least 16 characters"]);
}

#[test]
fn large_and_broken_requests_are_refused() {
    let shell = Shell::new();
    let served = Served::start(&shell, &["--allow-actions"]).ready();
    let origin = format!("http://{}", served.address);
    let large = format!("verb=cancel&error={}", "a".repeat(100_000));
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

/// Each figure that the dashboard shows is one that there is, with the labels that it goes by.
#[test]
fn the_dashboard_shows_what_there_is() {
    let shell = mixed();
    let served = Served::start(&shell, &[]).ready();
    let body = served.get("/metrics").body;
    let dashboard: serde_json::Value = serde_json::from_str(include_str!("../../../docs/grafana.json")).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array());
    let mut shown = std::collections::BTreeSet::new();
    for target in targets.flatten() {
        let expression = target["expr"].as_str().unwrap();
        for (at, _) in expression.match_indices("readpast_") {
            let name: String =
                expression[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let family = name.strip_suffix("_bucket").unwrap_or(&name);
            assert!(body.contains(&format!("# TYPE {family} ")), "there is no {family}: {expression}");
            // Calls that were not made have no samples.
            let samples: Vec<_> = body.lines().filter(|line| line.starts_with(&format!("{name}{{"))).collect();
            let by = expression.split("by (").nth(1).map(|rest| rest.split(')').next().unwrap()).unwrap_or_default();
            for label in by.split(", ").chain(["queue"]).filter(|label| !label.is_empty()) {
                let has = |line: &&str| line.contains(&format!("{label}=\""));
                assert!(samples.iter().all(has), "{name} has no label {label}: {samples:?}");
            }
            shown.insert(family.to_owned());
        }
    }
    // And each figure of a process that has queues is shown.
    for family in readpast::metrics().families().iter().filter(|family| family.name() != "readpast_build_info") {
        let is_wait = family.name() == "readpast_pool_waits_total";
        assert!(is_wait || shown.contains(family.name()), "{} is in no panel", family.name());
    }
}

/// The rules of `promtool check metrics`: each sample has its name declared before it, once, with a help, and a number for its value;
/// and names, suffixes and labels are those of its kind.
#[track_caller]
fn is_by_the_conventions(text: &str) {
    let (mut declared, mut helped): (Vec<(&str, &str)>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(!declared.iter().any(|(known, _)| *known == name), "{name} twice");
            assert_eq!(helped.last(), Some(&name), "the help comes first");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            let of_histograms = ["_bucket", "_sum", "_count", "_info"].iter().any(|suffix| name.ends_with(suffix));
            assert!(!of_histograms || name == "readpast_build_info", "{line}");
            let abbreviated = ["_ms", "_millis", "_milliseconds", "_s", "_sec", "_minutes", "_hours", "_kb", "_pct"];
            assert!(!abbreviated.iter().any(|unit| name.trim_end_matches("_total").ends_with(unit)), "{line}");
            declared.push((name, kind));
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.trim().is_empty(), "{line}");
            helped.push(name);
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let (last, kind) = *declared.last().unwrap();
            let suffixes = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            assert!(last == name || (kind == "histogram" && suffixes == Some(last)), "{line}");
            assert_eq!(series.contains("quantile=\""), kind == "summary", "{line}: {kind}");
            let has_bound = series.contains("{le=\"") || series.contains(",le=\"");
            assert_eq!(has_bound, kind == "histogram" && name.ends_with("_bucket"), "{line}: {kind}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}

#[test]
fn figures_are_there_for_machines() {
    let shell = mixed();
    let served = Served::start(&shell, &[]).ready();
    let reply = served.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    reply.shows(&[
        "readpast_queue_items{queue=\"Mail\",state=\"Failed\"} 2\n",
        "readpast_queue_due_items{queue=\"Mail\"} 1\n",
        "readpast_queue_up{queue=\"Mail\"} 1\n",
        "# TYPE readpast_queue_oldest_due_seconds gauge\n",
        // Figures of this process, by the same writer.
        "# TYPE readpast_call_duration_seconds histogram\n",
        "readpast_claimed_items_total{schema=\"readpast\",queue=\"Mail\"} 0\n",
    ]);
    is_by_the_conventions(&reply.body);
    let scale: serde_json::Value = serde_json::from_str(&served.get("/scale/Mail").body).unwrap();
    assert_eq!((&scale["workers_needed"], &scale["from"]), (&1.into(), &"arrivals".into()));
    assert_eq!((&scale["depth_in_an_hour"], &scale["workers_to_catch_up"]), (&serde_json::Value::Null, &1.into()));
    let of_type = served.get("/scale/Mail?type=Email").body;
    let of_type: serde_json::Value = serde_json::from_str(&of_type).unwrap();
    assert_eq!(
        (&of_type["type"], &of_type["workers_needed"], &of_type["due"]),
        (&"Email".into(), &1.into(), &1.into())
    );
    assert_eq!(served.get("/scale/Mail?type=Moon").status, 404);
    reply.shows(&[
        "# TYPE readpast_queue_depth_in_an_hour_items gauge\n",
        "readpast_queue_type_due_items{queue=\"Mail\",type=\"Email\"} 1\n",
        "readpast_queue_type_workers_needed{queue=\"Mail\",type=\"Email\"} 1\n",
    ]);
    served.get("/queue/Mail").shows(&["Types of work", "Sms", "Forecast, 1 h", "not known yet"]);
    assert_eq!(served.get("/scale/Nope").status, 404);
    assert_eq!(served.get("/health/live").status, 200);

    shell.look("DROP FUNCTION readpast.watch_mail; SELECT 1");
    until("the loss is noticed", || served.get("/health/ready").status == 503);
    served.get("/metrics").shows(&["readpast_queue_up{queue=\"Mail\"} 0\n"]);
    served.get("/queue/Mail").shows(&["The last query failed", "boom"]);
    assert_eq!(served.get("/scale/Mail").status, 503);
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
