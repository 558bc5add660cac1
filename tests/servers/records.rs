//! The records that a schema keeps: actions of operators, workers, the figures of each minute. On both servers.

use readpast::engine::{Engine, WorkerTerms};
use readpast::item::{Action, NewItem, Settlement};
use readpast::{
    Edit, ErrorKind, Filter, ItemRef, ItemState, OperatorAction, OperatorVerb, Queue, QueueSpec, Worker, drop_queue,
    install, queue::MAX_WAIT, worker::Procedure,
};
use std::thread;
use std::time::{Duration, SystemTime};
use support::both::Database;
use support::limit::until;

fn install_mail(database: &Database) {
    let spec = QueueSpec::from_json(r#"{"queue": "MailBox", "columns": [{"name": "N", "type": "integer"}]}"#).unwrap();
    install(&database.config(&[]), Some(&spec)).unwrap();
}

fn open(database: &Database, settings: &[(&str, &str)]) -> Queue {
    Queue::open(&database.config(settings), "MailBox").unwrap()
}

fn enqueue(queue: &Queue, count: usize) -> Vec<String> {
    let items = vec![NewItem::default(); count];
    queue.enqueue(&items, None).unwrap().into_iter().map(|receipt| receipt.key).collect()
}

fn short(action: &OperatorAction) -> (&str, &str, &str, i64, i64) {
    (&action.verb, &action.who, &action.state, action.done, action.refused)
}

#[test]
fn calls_of_an_operator_are_recorded_and_those_of_a_worker_are_not() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[("operator", "ann@desk")]);
        let keys = enqueue(&queue, 3);
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        queue.settle(&[Settlement::new(&batch.get(0).unwrap(), Action::Complete)], None).unwrap();
        assert_eq!(queue.actions(false, None, 10).unwrap(), [], "a worker's own settle");

        let control = |key, action| Settlement::control(key, None, action);
        queue.settle(&[control(&keys[1], Action::Pause), control(&keys[2], Action::Pause)], None).unwrap();
        let bob = queue.on_behalf_of("bob");
        bob.settle(&[control(&keys[1], Action::Resume), control(&keys[2], Action::Cancel)], None).unwrap();
        let refs: Vec<_> = keys[1..].iter().map(|key| ItemRef { key, token: None }).collect();
        bob.redrive(&refs, None).unwrap();
        assert_eq!(queue.purge(&Filter::default(), 10).unwrap(), 1);
        assert_eq!(queue.purge(&Filter::default(), 10).unwrap(), 0, "which is no action");
        queue.set_setting("maxAttempts", Some(7)).unwrap();

        let edit = Edit { set: Some(r#"{"N": 7}"#), delay_ms: Some(0), ..Edit::default() };
        bob.edit(&refs[..1], &edit, None).unwrap();
        bob.edit(&[ItemRef { token: Some("2001-01-01T00:00:00.0000000"), ..refs[0] }], &edit, None).unwrap();

        let found = queue.actions(false, None, 10).unwrap();
        let recorded: serde_json::Value = serde_json::from_str(found[0].filter.as_ref().unwrap()).unwrap();
        let names_only = serde_json::json!({"keys": [keys[1]], "set": ["N"], "delay_ms": 0});
        assert_eq!((short(&found[0]), recorded), (("edit", "bob", "Done", 1, 0), names_only));
        let found = found[1..].to_vec();
        let expected = [
            ("set", "ann@desk", "Done", 1, 0),
            ("purge", "ann@desk", "Done", 1, 0),
            ("redrive", "bob", "Done", 1, 1),
            ("cancel", "bob", "Done", 1, 0),
            ("resume", "bob", "Done", 1, 0),
            ("pause", "ann@desk", "Done", 2, 0),
        ];
        assert_eq!(found.iter().map(short).collect::<Vec<_>>(), expected);
        assert_eq!(found[0].filter.as_deref(), Some(r#"{"maxAttempts":7}"#));
        assert!(found[3].filter.as_ref().unwrap().contains(&keys[2]), "{:?}", found[3]);
        let login = database.look(database.pick("SELECT ORIGINAL_LOGIN()", "SELECT session_user::text"));
        assert!(
            found.iter().all(|action| action.login == login && action.queue == "MailBox" && action.ended_at.is_some())
        );
        assert_eq!(queue.actions(true, Some(found[1].number), 2).unwrap(), found[2..4], "older ones, of all queues");
        assert_eq!(queue.action(found[1].number).unwrap().as_ref(), Some(&found[1]));
    }
}

#[test]
fn an_action_on_many_items_is_taken_up_by_another_process() {
    for database in Database::each() {
        install_mail(&database);
        let (one, other) = (open(&database, &[]), open(&database, &[]));
        enqueue(&one, 1200);
        let pending = Filter::of_states([ItemState::Pending]);
        let number = one.begin_action(OperatorVerb::Cancel, &pending, Some(1200)).unwrap();
        enqueue(&one, 10);
        assert!(other.open_actions().unwrap().is_empty(), "its caller comes first");
        let mut steps = 0;
        let left = one.run_action(number, |action| {
            assert!(action.is_held);
            assert!(other.open_actions().unwrap().is_empty());
            assert_eq!(other.run_action(number, |_| true).unwrap(), None, "one at a time");
            steps += 1;
            steps < 2
        });
        let left = left.unwrap().unwrap();
        assert_eq!((left.state.as_str(), left.done, left.is_held), ("Running", 500, false));
        assert_eq!(other.open_actions().unwrap(), [(number, "cancel".to_owned())]);
        assert!(left.place.is_some());

        // A process that dies leaves its lease behind, until that runs out.
        let lease = |until: &str| {
            let sql = database.pick(
                "UPDATE [readpast].QueueAction SET [Owner] = 'gone', LeaseUntil = DATEADD(MINUTE, {}, SYSUTCDATETIME())",
                "UPDATE readpast.queue_action SET owner = 'gone', lease_until = clock_timestamp() + {} * interval '1 minute'",
            );
            database.session().execute(&sql.replace("{}", until), &[]).unwrap();
        };
        lease("60");
        assert_eq!((other.open_actions().unwrap(), other.run_action(number, |_| true).unwrap()), (vec![], None));
        lease("-1");
        assert_eq!(other.open_actions().unwrap(), [(number, "cancel".to_owned())]);
        let mut seen = Vec::new();
        let done = other.run_action(number, |action| {
            seen.push(action.done);
            true
        });
        let done = done.unwrap().unwrap();
        assert_eq!(
            (done.state.as_str(), done.done, done.expected),
            ("Done", 1200, Some(1200)),
            "no item that came later"
        );
        assert_eq!(seen, [500, 1000]);
        let stats = one.stats().unwrap();
        assert_eq!((stats.count(ItemState::Cancelled), stats.count(ItemState::Pending)), (1200, 10));
        assert_eq!(one.run_action(number, |_| true).unwrap(), None, "it has ended");
    }
}

#[test]
fn each_action_changes_what_matches() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[]);
        enqueue(&queue, 6);
        let act = |verb: OperatorVerb, state| {
            let number = queue.begin_action(verb, &Filter::of_states([state]), None).unwrap();
            let done = queue.run_action(number, |_| true).unwrap().unwrap();
            (done.state, done.done, done.refused)
        };
        let done = |count| ("Done".to_owned(), count, 0);
        assert_eq!(act(OperatorVerb::Pause, ItemState::Pending), done(6));
        assert_eq!(act(OperatorVerb::Resume, ItemState::Paused), done(6));
        let batch = queue.claim(2, Duration::ZERO).unwrap();
        let retried: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Retry)).collect();
        queue.settle(&retried, None).unwrap();
        assert_eq!(act(OperatorVerb::Retry, ItemState::Error), done(2));
        assert_eq!(act(OperatorVerb::Cancel, ItemState::Pending), done(6));
        assert_eq!(act(OperatorVerb::Redrive, ItemState::Cancelled), done(6));
        assert_eq!(act(OperatorVerb::Cancel, ItemState::Pending), done(6));
        assert_eq!(act(OperatorVerb::Purge, ItemState::Cancelled), done(6));
        assert_eq!(queue.stats().unwrap().count(ItemState::Cancelled), 0);
        let refused =
            queue.begin_action(OperatorVerb::Purge, &Filter::of_states([ItemState::Pending]), None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert_eq!(act(OperatorVerb::Cancel, ItemState::Failed), done(0), "nothing matches");
    }
}

#[test]
fn an_action_on_all_items_means_the_states_of_its_word() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[]);
        let keys = enqueue(&queue, 3);
        let act = |verb: OperatorVerb, filter: &Filter| {
            let number = queue.begin_action(verb, filter, None).unwrap();
            queue.run_action(number, |_| true).unwrap().unwrap().done
        };
        let held = queue.claim(1, Duration::ZERO).unwrap();
        assert_eq!(act(OperatorVerb::Cancel, &Filter::default()), 2, "not the one that a worker holds");
        let failed = held.get(0).unwrap();
        queue.settle(&[Settlement::new(&failed, Action::Fail)], None).unwrap();
        assert_eq!(queue.purge(&Filter::of_keys([failed.key()]), 10).unwrap(), 0, "a key does not name the state");
        assert_eq!(act(OperatorVerb::Purge, &Filter::of_keys(keys)), 2);
        assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 1);
        assert_eq!(act(OperatorVerb::Redrive, &Filter::of_keys([failed.key()])), 1);
    }
}

#[test]
fn an_action_ends_after_a_cancel_or_a_failure() {
    for database in Database::each() {
        install_mail(&database);
        let (one, other) = (open(&database, &[]), open(&database, &[("operator", "ann@desk")]));
        enqueue(&one, 600);
        let pending = Filter::of_states([ItemState::Pending]);
        let number = one.begin_action(OperatorVerb::Pause, &pending, None).unwrap();
        let ended = one.run_action(number, |_| {
            assert_eq!(other.cancel_action(number).unwrap().as_deref(), Some("Cancelling"));
            true
        });
        let ended = ended.unwrap().unwrap();
        assert_eq!((ended.state.as_str(), ended.done), ("Cancelled", 500), "what is changed stays so");
        assert!(ended.ended_at.is_some());
        assert_eq!(ended.result.as_deref(), Some("ann@desk asked for a cancel"));
        let bob = other.on_behalf_of("bob");
        assert_eq!(bob.cancel_action(number).unwrap(), None, "it has ended");
        assert_eq!(one.action(number).unwrap().unwrap(), ended, "a cancel too late changes nothing");

        let number = one.begin_action(OperatorVerb::Pause, &pending, None).unwrap();
        assert_eq!(bob.cancel_action(number).unwrap().as_deref(), Some("Cancelled"), "nobody is at work on it");
        assert_eq!(one.action(number).unwrap().unwrap().result.as_deref(), Some("bob asked for a cancel"));
        assert_eq!(one.run_action(number, |_| true).unwrap(), None);

        let number = one.begin_action(OperatorVerb::Pause, &pending, None).unwrap();
        let sql = database
            .pick("UPDATE [readpast].QueueAction SET Verb = 'x'", "UPDATE readpast.queue_action SET verb = 'x'");
        database.session().execute(sql, &[]).unwrap();
        let failed = one.run_action(number, |_| true).unwrap().unwrap();
        assert_eq!((failed.state.as_str(), failed.done), ("Failed", 0));
        assert!(failed.result.unwrap().contains("no action \"x\""));
        assert!(one.open_actions().unwrap().is_empty());
    }
}

#[test]
fn records_of_actions_go_after_90_days() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[]);
        let keys = enqueue(&queue, 1);
        let pause = || queue.settle(&[Settlement::control(&keys[0], None, Action::Pause)], None).unwrap();
        let resume = || queue.settle(&[Settlement::control(&keys[0], None, Action::Resume)], None).unwrap();
        pause();
        let age = database.pick(
            "UPDATE [readpast].QueueAction SET EndedAt = DATEADD(DAY, -91, EndedAt)",
            "UPDATE readpast.queue_action SET ended_at = ended_at - interval '91 days'",
        );
        database.session().execute(age, &[]).unwrap();
        resume();
        let left = queue.actions(false, None, 10).unwrap();
        assert_eq!(left.iter().map(|action| action.verb.as_str()).collect::<Vec<_>>(), ["resume"]);
    }
}

#[test]
fn workers_are_registered_idle_ones_too() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[]);
        queue.claim(1, Duration::ZERO).unwrap();
        assert_eq!(queue.workers().unwrap(), [], "one call makes no worker");
        // It makes no call: no handler asks for an item.
        let idle = open(&database, &[("worker", "idle one"), ("worker.ahead", "0")]);
        let engine = Engine::new(&idle, WorkerTerms::default());
        engine.start().unwrap();
        until("the idle worker is registered", || !queue.workers().unwrap().is_empty());
        engine.close(None).unwrap();
        Worker::new(&queue).until_empty(true).run(|_| ()).unwrap();
        let found = queue.workers().unwrap();
        let mut names: Vec<_> = found.iter().map(|worker| worker.worker.as_str()).collect();
        names.sort_unstable();
        let mut expected = ["idle one", queue.worker()];
        expected.sort_unstable();
        assert_eq!(names, expected);
        let process = i64::from(std::process::id());
        assert!(found.iter().all(|worker| worker.process == process && worker.version == env!("CARGO_PKG_VERSION")));
        assert!(found.iter().all(|worker| worker.started_at <= worker.seen_at && !worker.host.is_empty()), "{found:?}");

        // The same name in another process begins anew, and workers that have not reported for a week go.
        let old = database.pick(
            "UPDATE [readpast].QueueWorker SET StartedAt = '2020-01-01', SeenAt = '2020-01-01'",
            "UPDATE readpast.queue_worker SET started_at = '2020-01-01', seen_at = '2020-01-01'",
        );
        let seen = |worker: &str| {
            let call = database.pick(
                "EXECUTE [readpast].QueueWorkersSeen @Workers = N'[{\"queue\": \"MailBox\", \"worker\": \"{}\"}]', @Host = 'h', @Process = 1, \
                 @Version = '1'",
                "SELECT readpast.queue_workers_seen('[{\"queue\": \"mail_box\", \"worker\": \"{}\"}]', 'h', 1, '1')",
            );
            database.session().execute(&call.replace("{}", worker), &[]).unwrap();
        };
        database.session().execute(old, &[]).unwrap();
        seen("idle one");
        let again = queue.workers().unwrap().into_iter().find(|worker| worker.worker == "idle one").unwrap();
        assert!(again.started_at.as_str() > "2026" && again.process == 1, "{again:?}");
        database.session().execute(old, &[]).unwrap();
        seen("a new one");
        let names: Vec<_> = queue.workers().unwrap().into_iter().map(|worker| worker.worker).collect();
        assert_eq!(names, ["a new one"]);
    }
}

/// The poller looks for them; in half a minute they have reported.
#[test]
fn waiting_claims_and_procedures_do_the_work_of_idle_workers() {
    for database in Database::each() {
        let spec =
            r#"{"queue": "MailBox", "columns": [{"name": "N", "type": "integer"}], "retention": {"cancelled": "1h"}}"#;
        install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        database.run(database.pick(
            "CREATE PROCEDURE dbo.handle @n int AS RETURN 0",
            "CREATE FUNCTION public.handle(n_ integer) RETURNS void LANGUAGE sql AS 'SELECT NULL'",
        ));
        let queue = open(&database, &[]);
        let waits = |worker| {
            let hour = [("poll.interval_ms", "3600000"), ("recover.interval_ms", "3600000"), ("poll.doorbell", "off")];
            open(&database, &[&hour[..], &[("worker", worker), ("retention.interval_ms", "10")]].concat())
        };
        let (claims, works) = (waits("claims"), waits("works"));
        let stops = [claims.clone(), works.clone()];
        thread::scope(|scope| {
            let procedure = Procedure::find(&works, "handle").unwrap();
            scope.spawn(move || claims.claim(1, MAX_WAIT).unwrap_err());
            scope.spawn(move || procedure.work(MAX_WAIT).unwrap_err());
            let in_an_hour = NewItem { delay_ms: Some(3_600_000), ..NewItem::default() };
            let key = queue.enqueue(&[in_an_hour], None).unwrap().remove(0).key;
            queue.settle(&[Settlement::control(&key, None, Action::Cancel)], None).unwrap();
            database.run(database.pick(
                "UPDATE [readpast].MailBox SET UpdatedAt = DATEADD(DAY, -1, UpdatedAt), EnqueuedAt = DATEADD(DAY, -1, EnqueuedAt)",
                "UPDATE readpast.mail_box SET updated_at = updated_at - interval '1 day', enqueued_at = enqueued_at - interval '1 day'",
            ));
            until("the expired item is deleted", || queue.find(&Filter::default(), None, 1).unwrap().is_empty());
            until("figures are kept", || !queue.minutes(SystemTime::UNIX_EPOCH).unwrap().is_empty());
            until("both are registered", || queue.workers().unwrap().len() == 2);
            stops.iter().for_each(Queue::interrupt);
        });
    }
}

#[test]
fn one_of_all_keeps_the_figures_of_a_minute() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[]);
        enqueue(&queue, 3);
        assert_eq!(queue.minutes(SystemTime::UNIX_EPOCH).unwrap(), []);
        let old = database.pick(
            "INSERT INTO [readpast].QueueMinute ([Queue], [At], Due) VALUES ('MailBox', DATEADD(HOUR, -26, SYSUTCDATETIME()), 9)",
            "INSERT INTO readpast.queue_minute (queue, at, due) VALUES ('mail_box', clock_timestamp() - interval '26 hours', 9)",
        );
        database.session().execute(old, &[]).unwrap();
        assert_eq!(queue.minutes(SystemTime::UNIX_EPOCH).unwrap().len(), 1);
        let before = queue.minutes(SystemTime::UNIX_EPOCH).unwrap()[0].at;
        assert!(queue.keep_minute(&queue.watch(100).unwrap()).unwrap());
        assert!(!queue.keep_minute(&queue.watch(100).unwrap()).unwrap(), "once a minute");
        let found = queue.minutes(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(found.len(), 1, "those of yesterday go");
        let minute = found[0];
        assert!(minute.at > before && minute.oldest_ms.is_some());
        assert_eq!((minute.due, minute.in_flight, minute.failed, minute.ended), (3, 0, 0, 0));
        assert_eq!(queue.minutes(minute.at).unwrap(), [], "later ones");
        // Another process offers to keep the figures of two queues, and then keeps both; the next minute may have begun meanwhile.
        let places = |minutes: &str| {
            let minutes =
                if database.is_sql_server() { minutes.to_owned() } else { minutes.replace("MailBox", "mail_box") };
            let call = database.pick(
                "EXECUTE [readpast].QueueMinuteKeep 'GIVEN'",
                "SELECT k.place FROM readpast.queue_minute_keep('GIVEN') AS k ORDER BY 1",
            );
            let rows = database.rows(&call.replace("GIVEN", &minutes));
            (0..rows.len()).map(|row| format!("{:?}", rows.value(row, 0))).collect::<Vec<_>>()
        };
        assert_eq!(
            places(r#"[{"queue": "MailBox"}, {"queue": "other"}]"#),
            ["Integer(1)"],
            "nobody keeps those of the other"
        );
        let figures = r#"[{"queue": "MailBox", "due": 1}, {"queue": "other", "due": 2, "oldest_ms": 3, "in_flight": 4, "failed": 5, "ended": 6}]"#;
        let kept: Vec<_> = (0..3).flat_map(|_| places(figures)).collect();
        let of = |place: &str| kept.iter().filter(|kept| kept.as_str() == place).count();
        assert!(of("Integer(0)") <= 1 && (1..=2).contains(&of("Integer(1)")), "{kept:?}");
    }
}

#[test]
fn workers_keep_the_figures_of_each_minute() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[("retention.interval_ms", "86400000")]);
        let engine = Engine::new(&queue, WorkerTerms::default());
        engine.start().unwrap();
        until("figures are kept", || !queue.minutes(SystemTime::UNIX_EPOCH).unwrap().is_empty());
        engine.close(None).unwrap();
    }
}

/// A later queue of the name has other items, on which nobody goes on.
#[test]
fn an_action_ends_with_its_queue() {
    for database in Database::each() {
        install_mail(&database);
        let queue = open(&database, &[]);
        enqueue(&queue, 1);
        queue.begin_action(OperatorVerb::Cancel, &Filter::of_states([ItemState::Pending]), None).unwrap();
        drop(queue);
        drop_queue(&database.config(&[]), "MailBox").unwrap();
        install_mail(&database);
        let found = open(&database, &[]).actions(false, None, 10).unwrap();
        let [action] = &found[..] else { panic!("{found:?}") };
        assert_eq!((action.state.as_str(), action.result.as_deref()), ("Cancelled", Some("the queue was dropped")));
        assert!(action.ended_at.is_some() && !action.is_held);
    }
}

/// A lifeline has the items of a worker taken, so no login of another queue may report one.
#[test]
fn a_login_reports_lifelines_only_of_queues_from_which_it_may_claim() {
    for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
        install_mail(&database);
        let role = format!("reporter_{}", std::process::id());
        let mut session = database.session();
        let mut run = |statement: &str| {
            session
                .execute(&statement.replace("{role}", &role), &[])
                .unwrap_or_else(|error| panic!("{statement}: {error}"))
        };
        let report = "SELECT readpast.queue_workers_seen('[{\"queue\": \"mail_box\", \"worker\": \"w\", \"grace\": 1}]', 'h', 1, '1')";
        let ends = "SELECT readpast.queue_workers_seen('[{\"queue\": \"mail_box\", \"worker\": \"w\", \"grace\": 0}]', 'h', 1, '1')";
        let known = "SELECT COUNT(*)::bigint FROM readpast.queue_lifeline AS f WHERE f.worker = 'w'";
        let may = "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA readpast TO {role}";
        let may_not = "REVOKE ALL ON FUNCTION readpast.next_mail_box_set_trx FROM {role}";
        let mut counts = Vec::new();
        run("CREATE ROLE {role}");
        run("GRANT USAGE ON SCHEMA readpast TO {role}");
        for (right, call) in [(may_not, report), (may, report), (may_not, ends), (may, ends)] {
            run(may);
            run(right);
            run("SET SESSION AUTHORIZATION {role}");
            run(call);
            run("RESET SESSION AUTHORIZATION");
            counts.push(format!("{:?}", run(known).value(0, 0)));
        }
        run("DROP OWNED BY {role}");
        run("DROP ROLE {role}");
        assert_eq!(counts, ["Integer(0)", "Integer(1)", "Integer(1)", "Integer(0)"]);
    }
}
