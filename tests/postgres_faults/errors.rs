//! Deadlocks, time-outs and other errors of the server in the middle of a settle.

use super::{claim_new, completions, watch_completions, while_locked};
use readpast::error::{Error, ErrorKind};
use readpast::item::{Action, Answer, Settlement};
use readpast::{description::QueueSpec, install::install};
use std::time::{Duration, Instant};
use support::limit::{in_time, open_at_last};
use support::scratch::{Scratch, all, look};

/// Makes the next `times` changes of items fail with this SQLSTATE, as the server's own errors do: all is rolled back.
fn fail_next(scratch: &Scratch, times: usize, sqlstate: &str) {
    fail_next_of("UPDATE", scratch, times, sqlstate, "no luck");
}

/// The same of a kind of statement, with this message.
fn fail_next_of(statement: &str, scratch: &Scratch, times: usize, sqlstate: &str, message: &str) {
    // A sequence counts on when all else is rolled back.
    scratch.run("CREATE SEQUENCE public.fault");
    scratch.run(&format!(
        "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN \
         IF nextval('public.fault') <= {times} THEN RAISE EXCEPTION '{message}' USING ERRCODE = '{sqlstate}'; END IF; \
         RETURN new; END $$"
    ));
    scratch.run(&format!(
        "CREATE TRIGGER faults BEFORE {statement} ON readpast.job FOR EACH ROW EXECUTE FUNCTION public.fail()"
    ));
}

#[test]
fn errors_that_pass_are_outlived_and_the_settle_done_once() {
    for sqlstate in ["40P01", "40001", "55P03", "57014", "53300", "57P03"] {
        let scratch = Scratch::new();
        watch_completions(&scratch);
        let queue = scratch.open(&[]);
        let batch = claim_new(&queue, 3);
        fail_next(&scratch, 2, sqlstate);
        let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "{sqlstate}");
        assert_eq!(completions(&scratch), "3", "{sqlstate}");
    }
}

/// The settle is undone with the enqueue, and both are made again. A generated key can be in use after a clock was set back.
#[test]
fn items_that_follow_are_put_in_once_after_errors_that_pass() {
    for (sqlstate, message) in [
        ("40P01", "no luck"),
        ("53300", "no luck"),
        ("23505", "duplicate key value violates unique constraint \"job_pk\""),
    ] {
        let scratch = Scratch::new();
        watch_completions(&scratch);
        let queue = scratch.open(&[]);
        let batch = claim_new(&queue, 3);
        fail_next_of("INSERT", &scratch, 2, sqlstate, message);
        let followed = all(&batch, Action::Complete);
        let followed: Vec<_> = followed.into_iter().map(|one| Settlement { then: Some("[{}, {}]"), ..one }).collect();
        let outcomes = queue.settle(&followed, None).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "{sqlstate}");
        assert_eq!(completions(&scratch), "3", "{sqlstate}");
        assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job WHERE status = 'Pending'"), "6", "{sqlstate}");
    }
}

#[test]
fn an_error_of_the_server_at_the_end_of_the_budget_leaves_nothing_open() {
    for (sqlstate, kind) in [
        ("40P01", ErrorKind::Deadlock),
        ("40001", ErrorKind::Deadlock),
        ("55P03", ErrorKind::TimedOut),
        ("57014", ErrorKind::TimedOut),
        ("53100", ErrorKind::Storage),
        ("XX000", ErrorKind::Database),
    ] {
        let scratch = Scratch::new();
        let queue = scratch.open(&[("retry.budget_ms", "0")]);
        let batch = claim_new(&queue, 1);
        fail_next(&scratch, 1, sqlstate);
        let error = queue.settle(&all(&batch, Action::Complete), None).unwrap_err();
        assert_eq!((error.kind(), error.sqlstate(), error.operation()), (kind, Some(sqlstate), None), "{error}");
        assert!(error.message().contains("no luck"), "{error}");
        assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap()[0].answer, Answer::Ok);
    }
}

#[test]
fn a_lock_that_is_not_granted_in_time_is_reported_as_such() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("lock.timeout_ms", "200"), ("retry.budget_ms", "0")]);
    let batch = claim_new(&queue, 1);
    let mut holder = scratch.session();
    let refused = holder.transaction(|session| {
        session.execute("SELECT 1 FROM readpast.job FOR UPDATE", &[])?;
        Ok(queue.settle(&all(&batch, Action::Complete), None))
    });
    let error = refused.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::TimedOut, Some("55P03")));
    assert!(error.is_retryable() && error.message().contains("lock timeout"), "{error}");
    assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap()[0].answer, Answer::Ok);
}

/// Services that start together install one after the other, however long that takes each. On what others lock, an install waits
/// only as long as its setting allows: behind it wait all who come after.
#[test]
fn an_install_waits_for_another_and_not_for_other_locks() {
    let scratch = Scratch::new();
    let settings = [("lock.timeout_ms", "500"), ("retry.budget_ms", "0")];
    let spec = QueueSpec::from_json(r#"{"queue": "Job", "types": ["Default", "A"], "backoff": "none"}"#).unwrap();
    let mut holder = scratch.session();
    std::thread::scope(|scope| {
        let installing = holder.transaction(|session| {
            session.execute("LOCK TABLE readpast.queue_schema_version IN SHARE ROW EXCLUSIVE MODE", &[])?;
            let installing = scope.spawn(|| install(&scratch.config(&settings), Some(&spec)));
            scratch.wait_for_blocked();
            std::thread::sleep(Duration::from_millis(1500));
            assert!(!installing.is_finished());
            Ok(installing)
        });
        installing.unwrap().join().unwrap().unwrap();
    });

    let is_soon = holder.transaction(|session| {
        session.execute("LOCK TABLE readpast.job", &[])?;
        // A minute would be that of the other lock. The machine may stand still for as long, but not each time.
        Ok((0..5).any(|_| {
            let (error, waited) = refused_install(&scratch, &settings, &spec);
            assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::TimedOut, Some("55P03")), "{error}");
            waited < Duration::from_secs(45)
        }))
    });
    assert!(is_soon.unwrap());
}

/// The error of an install that meets a lock, and how long it was seen to wait for it.
fn refused_install(scratch: &Scratch, settings: &[(&str, &str)], spec: &QueueSpec) -> (Error, Duration) {
    const BLOCKED: &str = "SELECT COUNT(*) FROM pg_stat_activity \
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut session = scratch.session();
    std::thread::scope(|scope| {
        let installing = scope.spawn(|| install(&scratch.config(settings), Some(spec)));
        while look(&mut session, BLOCKED) == "0" && !installing.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let begun = Instant::now();
        let error = in_time(|| installing.join().unwrap().unwrap_err());
        (error, begun.elapsed())
    })
}

#[test]
fn an_answer_that_takes_too_long_is_reported_as_such() {
    let scratch = Scratch::new();
    let worker = ("worker", "w");
    let short = [worker, ("lock.timeout_ms", "600000"), ("query.timeout_ms", "1000"), ("retry.budget_ms", "0")];
    // The same worker, with time for the calls that are not to take too long.
    let queue = scratch.open(&[worker]);
    let impatient = open_at_last(&scratch.config(&short));
    let batch = claim_new(&queue, 1);
    let mut holder = scratch.session();
    let refused = holder.transaction(|session| {
        session.execute("SELECT 1 FROM readpast.job FOR UPDATE", &[])?;
        // A machine that stalls longer than the library waits for the word of it loses the connection instead.
        let mut tries = (0..10).map(|_| impatient.settle(&all(&batch, Action::Complete), None).unwrap_err());
        Ok(tries.find(|error| error.kind() == ErrorKind::TimedOut))
    });
    let error = refused.unwrap().unwrap();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::TimedOut, Some("57014")));
    assert!(error.message().contains("statement timeout"), "{error}");
    assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap()[0].answer, Answer::Ok);
}

/// A real deadlock: the settle waits for one item while it holds another, which the holder of the first then wants.
/// Which of the two the server picks does not matter. The one it picks may be back before the other has woken: again, then.
#[test]
fn a_settle_that_runs_into_a_deadlock_is_done_once() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let queue = scratch.open(&[("lock.timeout_ms", "60000")]);
    let batch = claim_new(&queue, 2);
    let (first, last) = (batch.get(0).unwrap().key(), batch.get(1).unwrap().key());
    let lock = |key: &str| format!("SELECT 1 FROM readpast.job WHERE enqueued_at = '{key}Z' FOR UPDATE");
    let mut other = scratch.session();
    let outcomes = std::thread::scope(|scope| {
        let mut settling = None;
        // The session is rolled back if it is the victim.
        let _ = other.transaction(|session| {
            session.execute(&lock(last), &[])?;
            settling = Some(scope.spawn(|| queue.settle(&all(&batch, Action::Complete), None).unwrap()));
            scratch.wait_for_blocked();
            session.execute(&lock(first), &[])
        });
        settling.unwrap().join().unwrap()
    });
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
    assert_eq!(completions(&scratch), "2");
    scratch.wait_for("SELECT LEAST(deadlocks, 1) FROM pg_stat_database WHERE datname = current_database()", "1");
}

#[test]
fn an_administrators_cancel_is_outlived() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let queue = scratch.open(&[("lock.timeout_ms", "60000")]);
    let batch = claim_new(&queue, 1);
    let settle = || queue.settle(&all(&batch, Action::Complete), None).unwrap();
    let outcomes = while_locked(&scratch, settle, || {
        scratch.run(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
    });
    assert_eq!(outcomes[0].answer, Answer::Ok);
    assert_eq!(completions(&scratch), "1");
}
