//! Dead rows that nothing may remove, since a transaction that still sees them is open.

use super::{BATCH, MANY, MOST, claim, number, run};
use readpast::NewItem;
use readpast::for_tests::Session;
use support::scratch::Scratch;

/// A claim that has passed over many dead rows lets the next ones begin behind them. Once nothing else is due, a claim finds the items
/// that are due before that place.
#[test]
fn claims_bear_dead_rows_that_nothing_may_remove() {
    let scratch = Scratch::new();
    scratch.run("ALTER TABLE readpast.job SET (autovacuum_enabled = off)");
    let mut holder = scratch.session();
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ", &[]).unwrap();
    run(&mut holder, "SELECT COUNT(*) FROM readpast.job");
    let put = |from: &str, count: i64| {
        scratch.run(&format!(
            "INSERT INTO readpast.job (enqueued_at, type, status, attempt_num, scheduled_for, updated_at) \
             SELECT t, 'Default', 'Pending', 0, t, t FROM (SELECT timestamptz '{from}' + n * interval '1 minute' AS t \
             FROM generate_series(1, {count}) AS n) AS t"
        ));
    };
    put("2001-01-01", MANY);
    scratch.run("UPDATE readpast.job SET status = 'Completed'");
    put("2002-01-01", 3 * BATCH);
    let mut session = scratch.session();
    let passed = "SELECT pg_stat_get_xact_tuples_returned('readpast.job_due'::regclass)::integer";
    let claims = |session: &mut Session| {
        session.execute("BEGIN", &[]).unwrap();
        let before = number(&run(session, passed));
        assert_eq!(number(&run(session, &claim("w"))), BATCH);
        let entries = number(&run(session, passed)) - before;
        session.execute("COMMIT", &[]).unwrap();
        entries
    };
    let entries = claims(&mut session);
    assert!(entries >= MANY, "the first passes over {entries}");
    // As if it had taken long: how long its place is kept goes by the time of its work.
    let kept = "SELECT readpast.queue_begin_at_fn('readpast.head_job', 'readpast.job_due', clock_timestamp() - interval '1 hour', '2002-01-01')";
    run(&mut session, kept);
    let entries = claims(&mut session);
    assert!(entries < MOST, "the second passes over {entries}");
    put("2001-06-01", BATCH);
    let entries = claims(&mut session);
    assert!(entries < MOST, "the third takes what is left behind that place, and passes over {entries}");
    let entries = claims(&mut session);
    assert!(entries >= MANY, "the last takes what is before it, since nothing else is due, and passes over {entries}");
    holder.execute("COMMIT", &[]).unwrap();
}

/// An enqueue writes the identity of its call once, with the answers: a second version would be dead at once.
#[test]
fn an_enqueue_leaves_no_dead_row() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    queue.enqueue(&[NewItem::default()], None).unwrap();
    assert_eq!(scratch.look("SELECT ctid::text FROM readpast.queue_operation"), "(0,1)");
}
