//! `work --procedure`: claim, call and settle in one transaction.

use crate::shell::{Shell, until};

/// A shell with a ledger beside the queue, and a function that writes to it.
fn shell(body: &str) -> Shell {
    let shell = Shell::new();
    let mut session = shell.db.session();
    session.execute("CREATE TABLE ledger (n integer NOT NULL, attempt integer NOT NULL)", &[]).unwrap();
    let function = format!(
        "CREATE FUNCTION public.handle(n_ integer, recipient text, p_attempt integer, other_ text DEFAULT 'none') RETURNS TABLE (status \
         text, step text, response text, delay_ms bigint) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ledger VALUES (n_, \
         p_attempt); {body} END $$"
    );
    session.execute(&function, &[]).unwrap();
    shell
}

const WORK: [&str; 5] = ["work", "Mail", "--procedure", "handle", "--json"];

#[test]
fn its_writes_and_the_end_of_its_item_are_one() {
    let shell = shell("");
    shell.fill(50);
    let workers: Vec<_> =
        (0..3).map(|_| shell.start(&[&WORK[..], &["--until-empty", "--jobs", "2"]].concat())).collect();
    let mut completed = 0;
    for worker in workers {
        let done = worker.end();
        assert_eq!(done.status, Some(0), "{done:?}");
        completed += done.json().last().unwrap()["completed"].as_u64().unwrap();
    }
    assert_eq!((completed, shell.count("Completed")), (50, "50".to_owned()));
    assert_eq!(shell.look("SELECT COUNT(*) || '/' || COUNT(DISTINCT n) || '/' || MAX(attempt) FROM ledger"), "50/50/1");
}

#[test]
fn an_error_undoes_what_it_did_and_costs_an_attempt() {
    let shell = shell("IF n_ = 1 AND p_attempt < 3 THEN RAISE EXCEPTION 'no account %', n_; END IF;");
    shell.fill(3);
    let done = shell.run(&[&WORK[..], &["--until-empty"]].concat());
    assert_eq!(done.status, Some(0), "{done:?}");
    let lines = done.json();
    let retried: Vec<_> = lines.iter().filter(|line| line["state"] == "Error").collect();
    assert_eq!(retried.len(), 2, "{lines:?}");
    assert!(retried[0]["error"].as_str().unwrap().contains("no account 1"), "{lines:?}");
    assert_eq!(shell.look("SELECT STRING_AGG(n || ':' || attempt, ' ' ORDER BY n) FROM ledger"), "1:3 2:1 3:1");
    assert_eq!(shell.look("SELECT attempt_num FROM readpast.mail WHERE \"N\" = 1"), "3");
}

#[test]
fn an_item_that_never_works_ends_failed_and_says_why() {
    let shell = shell("RAISE EXCEPTION 'never';");
    shell.fill(1);
    shell.ok(&[&WORK[..], &["--until-empty"]].concat());
    assert_eq!(shell.count("Failed"), "1");
    assert!(shell.look("SELECT error FROM readpast.mail").contains("never"));
    assert_eq!(shell.look("SELECT COUNT(*) FROM ledger"), "0");
}

#[test]
fn a_row_says_what_becomes_of_the_item() {
    let shell = shell(
        "RETURN QUERY SELECT CASE WHEN p_attempt = 1 THEN 'Pending' ELSE 'PartiallyCompleted' END, 'half', 'r' || n_, 0::bigint;",
    );
    shell.fill(1);
    shell.ok(&[&WORK[..], &["--until-empty", "--metrics-file", "work.prom"]].concat());
    assert_eq!(shell.look("SELECT status || step || response FROM readpast.mail"), "PartiallyCompletedhalfr1");
    let figures = std::fs::read_to_string(shell.folder.join("work.prom")).unwrap();
    for (figure, number) in [
        ("claimed_items_total{schema=\"readpast\",queue=\"Mail\"}", 2),
        ("settled_items_total{schema=\"readpast\",queue=\"Mail\",outcome=\"Pending\"}", 1),
        ("settled_items_total{schema=\"readpast\",queue=\"Mail\",outcome=\"PartiallyCompleted\"}", 1),
    ] {
        assert!(figures.contains(&format!("readpast_{figure} {number}\n")), "{figure} {number}: {figures}");
    }
    assert_eq!(shell.look("SELECT COUNT(*) FROM ledger"), "2");
}

/// Killed in the middle of a call: nothing of it stays, and the item is there for the next one at once, whatever its lease.
#[test]
fn a_worker_that_is_killed_leaves_nothing_behind() {
    let shell = shell("PERFORM pg_advisory_lock_shared(4711);");
    shell.fill(1);
    let mut holder = shell.db.session();
    holder.execute("SELECT pg_advisory_lock(4711)::text", &[]).unwrap();
    let worker = shell.start(&WORK);
    let waits = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted";
    until("the procedure is called", || shell.look(waits) == "1");
    assert_eq!(shell.count("Pending"), "1", "nobody sees it taken");
    worker.signal("KILL");
    drop(worker.end());
    until("the server notices", || {
        shell.look(waits) == "0"
            || {
                shell.look("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted");
                false
            }
    });
    holder.execute("SELECT pg_advisory_unlock_all()::text", &[]).unwrap();
    assert_eq!(shell.look("SELECT COUNT(*) FROM ledger"), "0");
    shell.ok(&[&WORK[..], &["--until-empty"]].concat());
    assert_eq!((shell.count("Completed"), shell.look("SELECT attempt FROM ledger")), ("1".to_owned(), "1".to_owned()));
}

/// A fault of the call itself costs no item an attempt.
#[test]
fn a_procedure_that_does_not_fit_ends_the_work() {
    let shell = shell("");
    shell.fill(1);
    let missing = shell.run(&["work", "Mail", "--procedure", "nobody.handle", "--until-empty"]);
    assert_eq!(missing.status, Some(2), "{missing:?}");
    assert!(missing.err.contains("nobody.handle"), "{}", missing.err);
    shell
        .db
        .session()
        .execute("CREATE FUNCTION public.odd(unheard integer) RETURNS void LANGUAGE sql AS 'SELECT'", &[])
        .unwrap();
    let odd = shell.run(&["work", "Mail", "--procedure", "public.odd", "--until-empty"]);
    assert_eq!(odd.status, Some(2), "{odd:?}");
    assert!(odd.err.contains("unheard"), "{}", odd.err);
    let both = shell.run(&["work", "Mail", "--procedure", "handle", "--", "true"]);
    assert_eq!(both.status, Some(2), "{both:?}");
    assert_eq!(shell.look("SELECT attempt_num FROM readpast.mail"), "0");
}

/// A procedure of PostgreSQL's is called, and a void function is taken as well.
#[test]
fn procedures_are_called() {
    let shell = shell("");
    shell.fill(1);
    let procedure = "CREATE PROCEDURE public.called(n integer) LANGUAGE sql AS 'INSERT INTO ledger VALUES (n, 9)'";
    shell.db.session().execute(procedure, &[]).unwrap();
    shell.ok(&["work", "Mail", "--procedure", "public.called", "--until-empty"]);
    assert_eq!((shell.count("Completed"), shell.look("SELECT attempt FROM ledger")), ("1".to_owned(), "9".to_owned()));
    shell.fill(1);
    let void =
        "CREATE FUNCTION public.void_one(n integer) RETURNS void LANGUAGE sql AS 'INSERT INTO ledger VALUES (n, 8)'";
    shell.db.session().execute(void, &[]).unwrap();
    shell.ok(&["work", "Mail", "--procedure", "void_one", "--until-empty"]);
    assert_eq!(shell.count("Completed"), "2");
}

/// As with a command: of which kinds items are taken.
#[test]
fn it_takes_the_kinds_that_are_named() {
    let shell = shell("");
    shell.write("parts.toml", "queue = \"Parts\"\ntypes = [\"Big\", \"Small\"]\nclaim_by = [\"type\"]\n");
    shell.ok(&["install", "parts.toml"]);
    for kind in ["Big", "Small", "Big"] {
        shell.ok(&["enqueue", "Parts", "--type", kind, "Payload=p"]);
    }
    let function = "CREATE FUNCTION public.part(type text) RETURNS void LANGUAGE sql AS \
                    'INSERT INTO ledger VALUES (LENGTH(type), 0)'";
    shell.db.session().execute(function, &[]).unwrap();
    let work = ["work", "Parts", "--procedure", "part", "--until-empty"];
    let done = || shell.look("SELECT STRING_AGG(n::text, ' ' ORDER BY n) FROM ledger");
    shell.ok(&[&work[..], &["--type", "Small"]].concat());
    assert_eq!(done(), "5");
    shell.ok(&work);
    assert_eq!(done(), "3 3 5");
    let refused = shell.run(&["work", "Mail", "--procedure", "handle", "--until-empty", "--type", "Sms"]);
    assert!(refused.status != Some(0) && refused.err.contains("claim_by = [\"type\"]"), "{}", refused.err);
}

#[test]
fn an_item_that_is_over_is_gone_when_it_ends() {
    let shell = shell("");
    shell.write("mail.json", &crate::shell::MAIL.replacen('{', r#"{"retention": {"completed": "30d"}, "#, 1));
    shell.ok(&["install", "mail.json"]);
    shell.fill(600);
    shell.ok(&[&WORK[..], &["--until-empty", "--jobs", "2"]].concat());
    assert_eq!(shell.count("Completed"), "600");
    shell.db.run(
        "UPDATE readpast.mail SET enqueued_at = enqueued_at - interval '31 days', updated_at = updated_at - interval '31 days'",
    );
    shell.db.run("UPDATE readpast.queue_retention SET done_at = '-infinity'");
    shell.fill(3);
    shell.ok(&[&WORK[..], &["--until-empty", "--jobs", "2"]].concat());
    assert_eq!(shell.count("Completed"), "3");
}
