//! Items back from a dead worker, when one worker's fetchers claim them. Any of it may end that worker too.

use super::claim_new;
use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::for_tests::Session;
use readpast::item::{Action, Batch};
use readpast::queue::Queue;
use std::thread;
use std::time::Duration;
use support::limit::{NEVER, SOON, until};
use support::scratch::{Scratch, all, item};

/// How many claims wait for their lock.
const WAITING: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'";

/// Two items, 0 and 1, that a worker that died had in hand together.
fn two_that_came_back(scratch: &Scratch) {
    let dead = scratch.open(&[("lease.ms", "10"), ("recover.interval_ms", "3600000")]);
    claim_new(&dead, 2);
    scratch.wait_for("SELECT COUNT(*) FROM readpast.job WHERE lease_until < clock_timestamp()", "2");
    assert_eq!(dead.recover(10).unwrap(), 2);
}

/// Has a claim of item 0 and one of item 1 wait for a lock each, which the session holds.
fn claims_wait(scratch: &Scratch) -> Session {
    scratch.run(
        "CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN PERFORM pg_advisory_xact_lock(new.\"Payload\"::integer); RETURN new; END $$",
    );
    scratch.run(
        "CREATE TRIGGER hold BEFORE UPDATE ON readpast.job FOR EACH ROW \
         WHEN (new.status = 'Processing') EXECUTE FUNCTION public.hold()",
    );
    let mut holder = scratch.session();
    holder.execute("SELECT pg_advisory_lock(0), pg_advisory_lock(1)", &[]).unwrap();
    holder
}

/// No lease runs out by the clock, and nothing is claimed but for who waits for it.
fn lasting(scratch: &Scratch) -> Queue {
    scratch.open(&[("lease.ms", "3600000"), ("worker.fetchers", "2"), ("worker.ahead", "0")])
}

fn take(engine: &Engine) -> Batch {
    let Taken::Items(batch) = engine.take(1, NEVER).unwrap() else { panic!("an item is due") };
    batch
}

fn complete(engine: &Engine, batch: &Batch) {
    engine.end(&all(batch, Action::Complete));
}

/// An item given back when two have claimed at once is no suspect any more.
#[test]
fn one_fetcher_claims_at_a_time_when_it_may_bring_one() {
    let scratch = Scratch::new();
    two_that_came_back(&scratch);
    let mut holder = claims_wait(&scratch);
    let engine = Engine::new(&lasting(&scratch), WorkerTerms::default());
    thread::scope(|scope| {
        let work = || {
            let batch = take(&engine);
            complete(&engine, &batch);
            batch.is_quarantined()
        };
        let first = scope.spawn(work);
        scratch.wait_for(WAITING, "1");
        let second = scope.spawn(work);
        // Long enough for another fetcher to claim.
        thread::sleep(Duration::from_millis(200));
        holder.execute("SELECT pg_advisory_unlock(0), pg_advisory_unlock(1)", &[]).unwrap();
        assert_eq!([first, second].map(|taker| taker.join().unwrap()), [true; 2]);
    });
    engine.close(SOON).unwrap();
    assert_eq!(engine.figures().released, 0);
}

/// Should it end this process, the other would have spent an attempt that nobody has begun.
#[test]
fn it_is_begun_when_what_the_other_fetcher_brought_is_given_back() {
    let scratch = Scratch::new();
    let queue = lasting(&scratch);
    let engine = Engine::new(&queue, WorkerTerms::default());
    // It has nothing to fear when it is at work.
    queue.enqueue(&[item("9")], None).unwrap();
    complete(&engine, &take(&engine));
    scratch.wait_for("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'", "1");
    two_that_came_back(&scratch);
    let mut holder = claims_wait(&scratch);
    let take = || {
        let batch = take(&engine);
        let key = batch.get(0).unwrap().key().to_owned();
        let other = "SELECT status || attempt_num || COALESCE(lease_until::text, '') FROM readpast.job";
        (scratch.look(&format!("{other} WHERE enqueued_at <> '{key}Z' AND \"Payload\" <> '9'")), batch)
    };
    thread::scope(|scope| {
        let first = scope.spawn(take);
        scratch.wait_for(WAITING, "1");
        let second = scope.spawn(take);
        scratch.wait_for(WAITING, "2");
        holder.execute("SELECT pg_advisory_unlock(0)", &[]).unwrap();
        until("one is claimed", || engine.figures().claimed == 2);
        let more = engine.take(1, Duration::ZERO);
        let early = engine.figures().begun;

        holder.execute("SELECT pg_advisory_unlock(1)", &[]).unwrap();
        until("one is begun", || first.is_finished() || second.is_finished());
        let (begun, waits) = if first.is_finished() { (first, second) } else { (second, first) };
        let (other, batch) = begun.join().unwrap();
        complete(&engine, &batch);
        complete(&engine, &waits.join().unwrap().1);
        assert!(matches!(more, Ok(Taken::Nothing)) && early == 0, "the other fetcher could bring one");
        assert_eq!((other.as_str(), batch.is_quarantined()), ("Pending0", true));
    });
    engine.close(SOON).unwrap();
    assert_eq!(engine.figures().released, 1);
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed' AND attempt_num = 1"), "3");
}
