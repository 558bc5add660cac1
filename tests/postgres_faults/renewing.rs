//! Leases while other calls take all connections of a queue.

use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::item::{Action, Answer, Settlement};
use std::thread;
use std::time::Duration;
use support::limit::until;
use support::scratch::{Scratch, item};

const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn renewals_wait_behind_no_other_call() {
    let scratch = Scratch::new();
    let patient = [("pool.size", "1"), ("lock.timeout_ms", "600000"), ("query.timeout_ms", "600000")];
    let queue = scratch.open(&[&patient[..], &[("lease.ms", "3000"), ("worker.ahead", "0")]].concat());
    let engine = Engine::new(&queue, WorkerTerms::default());
    queue.enqueue(&[item("x")], None).unwrap();
    let Taken::Items(batch) = engine.take(1, PATIENCE).unwrap() else { panic!("nothing came") };
    scratch.run(
        "CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$",
    );
    scratch.run("CREATE TRIGGER hold AFTER INSERT ON readpast.job FOR EACH STATEMENT EXECUTE FUNCTION public.hold()");
    let mut holder = scratch.session();
    holder.execute("SELECT pg_advisory_lock(77)", &[]).unwrap();
    thread::scope(|scope| {
        let producer = scope.spawn(|| queue.enqueue(&[item("y")], None));
        scratch.wait_for_blocked();
        for _ in 0..3 {
            let lease = || scratch.look("SELECT lease_until::text FROM readpast.job WHERE \"Payload\" = 'x'");
            let before = lease();
            until("the lease is renewed", || lease() != before);
        }
        assert_eq!(queue.connections().open, 2, "one for calls, and one for renewals");
        holder.execute("SELECT pg_advisory_unlock(77)", &[]).unwrap();
        producer.join().unwrap().unwrap();
    });
    let item = batch.get(0).unwrap();
    assert!(!engine.is_lost(item.key(), item.attempt()));
    assert_eq!(engine.end(&[Settlement::new(&item, Action::Complete)]), [Answer::Ok]);
    engine.close(PATIENCE).unwrap();
    assert_eq!(engine.figures().settled, 1);
}
