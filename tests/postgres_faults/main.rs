//! The core on PostgreSQL, through psqlODBC, when connections, locks and answers are lost: the outcome of every call is
//! known, and applied twice equals applied once.

mod connections;
mod ending;
mod errors;
mod lost_claims;
mod renewing;
mod silence;
mod suspects;

use readpast::item::Batch;
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::{Scratch, item};

/// Enqueues `count` items and claims them.
fn claim_new(queue: &Queue, count: u32) -> Batch {
    let items: Vec<_> = (0..count).map(|number| item(&number.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let batch = queue.claim(count, Duration::ZERO).unwrap();
    assert_eq!(batch.len(), items.len());
    batch
}

/// Counts how often items become Completed, whatever the library believes.
fn watch_completions(scratch: &Scratch) {
    scratch.run("CREATE TABLE public.completion (key timestamptz NOT NULL)");
    scratch.run(
        "CREATE FUNCTION public.note_completion() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ \
         BEGIN INSERT INTO public.completion VALUES (new.enqueued_at); RETURN NULL; END $$",
    );
    scratch.run(
        "CREATE TRIGGER completions AFTER UPDATE ON readpast.job FOR EACH ROW \
         WHEN (new.status = 'Completed') EXECUTE FUNCTION public.note_completion()",
    );
}

/// How often items became Completed.
fn completions(scratch: &Scratch) -> String {
    scratch.look("SELECT COUNT(*) FROM public.completion")
}

/// Runs `work` while another session holds the lock on every item; `then` is called once the work waits for it, and
/// the lock is let go afterwards.
fn while_locked<T: Send>(scratch: &Scratch, work: impl FnOnce() -> T + Send, then: impl FnOnce()) -> T {
    let mut holder = scratch.session();
    std::thread::scope(|scope| {
        let mut working = None;
        let held = holder.transaction(|session| {
            session.execute("SELECT 1 FROM readpast.job FOR UPDATE", &[])?;
            working = Some(scope.spawn(work));
            scratch.wait_for_blocked();
            then();
            Ok(())
        });
        held.unwrap();
        working.unwrap().join().unwrap()
    })
}
