//! `serve`: who may look, operate and purge.

use crate::http::{Served, encoded};
use crate::shell::{Shell, key, mixed, until, with};

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
    // It keeps figures, may ask for a ring when an item ends, and may not write what has been done of a caller's transaction.
    let granted = format!(
        "SELECT STRING_AGG(p.proname, ' ' ORDER BY p.proname) FROM pg_proc AS p WHERE p.pronamespace = 'readpast'::regnamespace \
         AND EXISTS (SELECT 1 FROM ACLEXPLODE(p.proacl) AS a WHERE a.grantee = '{role}'::regrole)"
    );
    assert_eq!(
        shell.look(&granted),
        "attempts_mail find_mail queue_await queue_catalog queue_minute_keep stats_mail watch_mail"
    );
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

/// The forms of this server bring its secret to everybody who may look, so it is no right.
#[test]
fn each_form_needs_its_right() {
    let shell = mixed();
    let tokens = ["read reads-and-no-more-0", "operate operates-as-well-0", "purge even-purges-items-0"];
    let file = shell.write("tokens", &tokens.join("\n"));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let queue = readpast::Queue::open(&shell.db.config(&[]), "Mail").unwrap();
    let posts = |arguments: &[&str]| {
        let served = Served::start(&shell, &[&["--token-file", "tokens"], arguments].concat());
        let origin = format!("http://{}", served.address);
        let post = |token: &str, path: &str, form: &str| {
            let given = format!("Bearer {token}");
            served.post(path, &[("Authorization", &given), ("Origin", &origin)], form).status
        };
        let given = [("Authorization", "Bearer reads-and-no-more-0")];
        let doctor = served.get_with("/doctor", &given).body;
        let secret = doctor.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        // Nothing has this error: what is admitted changes nothing.
        let filter = readpast::Filter { error: Some("nothing".to_owned()), ..readpast::Filter::default() };
        let routes = |number: i64| {
            [
                ("/doctor", String::new()),
                ("/queue/Mail/act", "verb=redrive&error=nothing&".to_owned()),
                ("/queue/Mail/act", "verb=purge&error=nothing&".to_owned()),
                ("/queue/Mail/operation", format!("number={number}&")),
                ("/queue/Mail/edit", "key=x&".to_owned()),
                ("/queue/Mail/items", String::new()),
            ]
        };
        ["somebody-elses-token", "reads-and-no-more-0", "operates-as-well-0", "even-purges-items-0"].map(|token| {
            let number = queue.begin_action(readpast::OperatorVerb::Cancel, &filter, None).unwrap();
            // Another process would take it up after a while.
            shell.db.run("UPDATE readpast.queue_action SET lease_until = clock_timestamp() + interval '1 hour'");
            for (path, form) in routes(number) {
                let refused = [401, 403, 405];
                assert!(refused.contains(&post(token, path, &form)), "{path} by {token} without a secret");
                assert!(refused.contains(&post(token, path, &format!("{form}secret=x"))), "{path} by {token}");
            }
            assert_eq!(queue.action(number).unwrap().unwrap().state, "Running");
            let statuses = routes(number).map(|(path, form)| post(token, path, &format!("{form}secret={secret}")));
            let is_cancelled = queue.action(number).unwrap().unwrap().state == "Cancelled";
            assert_eq!(is_cancelled, statuses[3] == 303, "{token}");
            statuses
        })
    };
    let stranger = [401; 6];
    let reader = [200, 403, 403, 403, 403, 405];
    let operator = [200, 303, 403, 303, 400, 405];
    assert_eq!(
        posts(&["--allow-actions", "--allow-purge"]),
        [stranger, reader, operator, [200, 303, 303, 303, 400, 405]]
    );
    assert_eq!(posts(&["--allow-actions"]), [stranger, reader, operator, operator], "the server purges nothing");
    assert_eq!(posts(&[]), [stranger, reader, reader, reader], "the server changes nothing");
}
