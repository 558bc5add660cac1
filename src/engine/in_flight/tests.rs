//! Tests of the items in flight.

mod runs;

use super::*;
use crate::item::{CLAIMED_ALONE, Cell, Column, ColumnType, Rows, answer_column};

const PROOF: Duration = Duration::from_secs(10);

/// Items `from..to`, as a claim brings them.
fn batch(from: i64, to: i64) -> Batch {
    batch_of("CLAIMED", from, to)
}

pub(in crate::engine) fn batch_of(word: &str, from: i64, to: i64) -> Batch {
    rows(word, "t", from, to)
}

fn batch_of_token(token: &str, from: i64, to: i64) -> Batch {
    rows("CLAIMED", token, from, to)
}

fn rows(word: &str, token: &str, from: i64, to: i64) -> Batch {
    rows_of(word, token, from, to, 1)
}

fn rows_of(word: &str, token: &str, from: i64, to: i64, attempt: i64) -> Batch {
    let column = Column { name: "c".to_owned(), kind: ColumnType::Text };
    let mut rows = Rows::new(vec![column; answer_column::COUNT].into());
    for number in from..to {
        for place in 0..answer_column::COUNT {
            match place {
                answer_column::ANSWER => rows.push_text(|text| text.push_str(word)),
                answer_column::KEY => rows.push_text(|text| text.push_str(&number.to_string())),
                answer_column::TOKEN => rows.push_text(|text| text.push_str(token)),
                answer_column::ATTEMPT => rows.push(Cell::Integer(attempt)),
                _ => rows.push(Cell::Null),
            }
        }
    }
    Batch::new(rows, 0)
}

/// Whether a quarantined item is begun or about to be.
fn has_quarantined(in_flight: &InFlight, now: Instant) -> bool {
    in_flight.quarantined_waits() || in_flight.unproven_until(PROOF).is_some_and(|at| at > now)
}

fn name(number: i64) -> ClaimName {
    (number.to_string(), 1)
}

fn keys(batch: &Batch) -> Vec<String> {
    batch.iter().map(|item| item.key().to_owned()).collect()
}

fn each(items: &[Batch]) -> Vec<String> {
    items.iter().flat_map(keys).collect()
}

#[test]
fn items_go_from_hand_to_hand_in_their_order() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 3), now);
    in_flight.put(batch(3, 5), now);
    assert_eq!(keys(&in_flight.take(2, now).unwrap()), ["0", "1"]);
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["2"], "what lies side by side");
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["3", "4"]);
    assert!(in_flight.take(1, now).is_none());
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 5, ended: 0 });

    assert!(in_flight.end(&name(1), Verdict::complete(), now).is_some());
    assert!(in_flight.end(&name(1), Verdict::complete(), now).is_none(), "once");
    assert!(
        in_flight.end(&("2".to_owned(), 2), Verdict::complete(), now).is_none(),
        "another attempt is another claim"
    );
    let taken = in_flight.take_ended(10, now);
    assert_eq!(taken[0].settlement().key, "1");
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 4, ended: 1 }, "in flight until it is settled");
    in_flight.settled(&taken, Vec::new());
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 4, ended: 0 });
    assert_eq!(in_flight.claims().len(), 4);
}

#[test]
fn the_token_of_the_last_step_ends_the_item() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 1), now);
    in_flight.take(1, now);
    assert_eq!(in_flight.begin_step(&name(0)).as_deref(), Some("t"));
    in_flight.stepped(&name(0), Some("u".to_owned()));
    in_flight.begin_none(&name(0));
    in_flight.end(&name(0), Verdict::complete(), now);
    assert_eq!(in_flight.take_ended(1, Instant::now())[0].settlement().token, Some("u"));
}

#[test]
fn an_abandoned_item_waits_for_the_token_of_its_step() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 2), now);
    in_flight.take(2, now);
    in_flight.begin(&name(0), now);
    in_flight.begin(&name(1), now);
    in_flight.begin_step(&name(0));
    assert_eq!((in_flight.abandon_taken().len(), in_flight.abandon_taken().len()), (2, 0));
    assert!(in_flight.is_lost(&name(1)) && in_flight.take_ended(9, now).is_empty(), "observers come first");
    in_flight.give_back_abandoned();
    assert_eq!(in_flight.take_ended(9, now)[0].settlement().key, "1");
    assert_eq!(in_flight.end(&name(0), Verdict::complete(), now), None);
    in_flight.stepped(&name(0), Some("u".to_owned()));
    let released = in_flight.take_ended(9, now);
    assert_eq!((released[0].settlement().action, released[0].settlement().token), (Action::Release, Some("u")));
}

#[test]
fn lost_items_are_not_handed_out() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 4), now);
    assert_eq!([1, 2].map(|number| each(&in_flight.lose(&name(number), now))), [["1"], ["2"]]);
    assert!(in_flight.lose(&name(1), now).is_empty() && in_flight.lose(&name(9), now).is_empty(), "not in flight");
    assert_eq!(in_flight.claims(), [name(0), name(3)]);
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 2, begun: 0, ended: 0 });
    assert_eq!(keys(&in_flight.take(4, now).unwrap()), ["0"]);
    assert_eq!(keys(&in_flight.take(4, now).unwrap()), ["3"]);
    assert_eq!(each(&in_flight.lose(&name(3), now)), ["3"]);
    assert!(in_flight.is_lost(&name(3)) && !in_flight.is_lost(&name(0)));
    assert!(in_flight.lose(&name(3), now).is_empty(), "reported once");
    assert!(in_flight.is_lost(&name(1)), "no handler has it");
}

/// An operator redrives an item that a handler has.
#[test]
fn an_item_claimed_again_waits_for_its_first_handler() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    assert!(in_flight.put(batch(0, 1), now).is_empty());
    assert_eq!(keys(&in_flight.take(1, now).unwrap()), ["0"]);
    assert_eq!(each(&in_flight.put(batch(0, 3), now)), ["0"]);
    assert!(in_flight.is_lost(&name(0)), "by its handler");
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 3, begun: 1, ended: 0 });
    assert!(in_flight.put(batch(0, 1), now).is_empty(), "reported once");
    assert!(in_flight.lose_taken(&name(0), now).is_none(), "its handler's step says nothing of those that wait");
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["1", "2"], "the others are not held up");
    assert!(in_flight.take(1, now).is_none());
    assert_eq!(in_flight.claims().iter().filter(|claim| **claim == name(0)).count(), 2, "its lease is kept");

    assert!(in_flight.end(&name(0), Verdict::complete(), now).is_some());
    assert!(in_flight.take_ended(9, now).is_empty(), "the end of the earlier claim is not that of the later");
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["0"]);
    assert!(in_flight.take(9, now).is_none() && !in_flight.is_lost(&name(0)));
    assert_eq!(each(&in_flight.lose(&name(0), now)), ["0", "0"], "the one at work, and the one that waits");
    assert!(in_flight.end(&name(0), Verdict::complete(), now).is_some());
    assert!(in_flight.take(9, now).is_none());
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 2, ended: 0 });
}

#[test]
fn a_quarantined_item_that_waits_for_its_handler_holds_up_no_other() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 1), now);
    in_flight.take(1, now);
    assert_eq!(each(&in_flight.put(batch_of(CLAIMED_ALONE, 0, 1), now)), ["0"]);
    assert!(!has_quarantined(&in_flight, now) && in_flight.take_quarantined(PROOF, now).is_none());
    in_flight.end(&name(0), Verdict::complete(), now);
    assert!(has_quarantined(&in_flight, now) && in_flight.take_quarantined(PROOF, now).unwrap().is_quarantined());
}

#[test]
fn the_second_claim_of_a_name_waits_for_the_handler_of_the_first() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(1, 2), now);
    assert!(in_flight.put(batch(0, 3), now).is_empty());
    assert_eq!(keys(&in_flight.take(1, now).unwrap()), ["1"]);
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["0"]);
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["2"], "nothing else is held up");
    assert!(in_flight.take(9, now).is_none());
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 1, begun: 3, ended: 0 });
    in_flight.end(&name(1), Verdict::complete(), now);
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["1"]);
}

/// A renewal may learn of an item's state between its release and the next claim, which has the same name.
#[test]
fn an_item_claimed_again_after_the_request_is_not_lost() {
    let asked = Instant::now();
    let now = asked + Duration::from_millis(1);
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 2), now);
    in_flight.take(1, now);
    assert!(in_flight.lose(&name(0), asked).is_empty() && in_flight.lose(&name(1), asked).is_empty());
    assert!(!in_flight.is_lost(&name(0)));
    assert_eq!(keys(&in_flight.take(1, now).unwrap()), ["1"]);
    assert_eq!(each(&in_flight.lose(&name(1), now)), ["1"], "asked for since");
}

#[test]
fn items_that_have_not_begun_are_released() {
    let long_ago = Instant::now();
    let now = long_ago + Duration::from_secs(1);
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 2), long_ago);
    in_flight.put(batch(2, 4), now);
    assert_eq!(each(&in_flight.lose(&name(1), now)), ["1"]);
    assert!(in_flight.overdue_at(Duration::from_secs(1), PROOF).is_some_and(|at| at <= now));
    in_flight.give_back_overdue(Duration::from_secs(1), PROOF, now);
    assert!(!in_flight.overdue_at(Duration::from_secs(1), PROOF).is_some_and(|at| at <= now));
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 2, begun: 0, ended: 1 });
    in_flight.give_back_all();
    let actions: Vec<_> = in_flight.take_ended(9, now).iter().map(|ended| ended.verdict.action()).collect();
    assert_eq!(actions, [Action::Release; 3]);
}

#[test]
fn those_that_wait_for_another_try_let_the_others_by() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 3), now);
    in_flight.take(3, now);
    for number in 0..3 {
        in_flight.end(&name(number), Verdict::complete(), now);
    }
    let taken = in_flight.take_ended(1, now);
    let again = taken.iter().map(|ended| ended.put_off(later)).collect();
    in_flight.settled(&taken, again);
    assert_eq!(in_flight.take_ended(9, now).len(), 2);
    assert_eq!(in_flight.next_try(), Some(later));
    assert_eq!(in_flight.take_ended(9, later)[0].settlement().key, "0");
}

/// Settles all that has ended.
fn settle(in_flight: &mut InFlight, now: Instant) {
    let taken = in_flight.take_ended(9, now);
    in_flight.settled(&taken, Vec::new());
}

#[test]
fn those_that_came_back_from_a_dead_worker_are_begun_one_at_a_time() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    for number in 0..3 {
        in_flight.put(batch_of(CLAIMED_ALONE, number, number + 1), now);
    }
    assert_eq!(in_flight.unproven_until(PROOF), None);
    assert!(has_quarantined(&in_flight, now), "it waits");
    assert_eq!(keys(&in_flight.take_quarantined(PROOF, now).unwrap()), ["0"]);
    assert_eq!(in_flight.unproven_until(PROOF), Some(now + PROOF));
    in_flight.put(batch(3, 4), now);
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["3"], "others go on");
    assert!(in_flight.take(9, now).is_none() && in_flight.take_quarantined(PROOF, now).is_none());
    in_flight.give_back_overdue(Duration::ZERO, PROOF * 2, now + PROOF);
    assert_eq!(in_flight.counts().ready, 2, "they may wait longer than others");
    assert_eq!(in_flight.overdue_at(Duration::ZERO, PROOF * 2), Some(now + PROOF * 2));

    let proven = now + PROOF;
    assert_eq!(keys(&in_flight.take_quarantined(PROOF, proven).unwrap()), ["1"], "the first has done no harm");
    assert!(in_flight.take_quarantined(PROOF, proven).is_none());
    assert!(
        in_flight.end(&name(0), Verdict::complete(), now).is_some()
            && in_flight.take_quarantined(PROOF, proven).is_none()
    );
    assert!(in_flight.end(&name(1), Verdict::complete(), now).is_some());
    settle(&mut in_flight, proven);
    assert_eq!(keys(&in_flight.take_quarantined(PROOF, proven).unwrap()), ["2"]);
    assert!(has_quarantined(&in_flight, proven), "it is begun");
    assert!(
        !has_quarantined(&in_flight, proven + PROOF) && in_flight.end(&name(2), Verdict::complete(), now).is_some()
    );
    assert!(!has_quarantined(&in_flight, proven));
}

/// The end of the process would spend an attempt of the others, or repeat their work.
#[test]
fn a_quarantined_item_begins_when_the_others_are_begun_or_settled() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch_of(CLAIMED_ALONE, 0, 1), now);
    in_flight.put(batch(1, 3), now);
    assert!(in_flight.take_quarantined(PROOF, now).is_none(), "two wait");
    assert_eq!(keys(&in_flight.take(1, now).unwrap()), ["1"]);
    assert!(in_flight.take_quarantined(PROOF, now).is_none(), "one waits");
    in_flight.give_back_overdue(Duration::ZERO, PROOF, now);
    assert!(in_flight.take_quarantined(PROOF, now).is_none(), "one is to be given back");
    let taken = in_flight.take_ended(9, now);
    assert!(in_flight.take_quarantined(PROOF, now).is_none(), "it is being given back");
    let again = vec![taken[0].put_off(now + PROOF)];
    in_flight.settled(&taken, again);
    assert_eq!(
        keys(&in_flight.take_quarantined(PROOF, now).unwrap()),
        ["0"],
        "what the server refuses holds up nothing"
    );
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 2, ended: 1 });
}

#[test]
fn declined_items_are_released() {
    let mut in_flight = InFlight::default();
    in_flight.decline(&batch(0, 2));
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 0, ended: 2 });
    let actions: Vec<_> = in_flight.take_ended(9, Instant::now()).iter().map(|ended| ended.verdict.action()).collect();
    assert_eq!(actions, [Action::Release; 2]);
}

#[test]
fn an_item_begins_once_and_its_time_at_work_counts_from_then() {
    let second = Duration::from_secs(1);
    let claimed = Instant::now();
    let [taken, begun, ended] = [1, 2, 4].map(|seconds| claimed + second * seconds);
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 3), claimed);
    in_flight.take(3, taken);
    assert!(in_flight.begin(&name(0), begun) && !in_flight.begin(&name(0), ended), "once");
    assert!(!in_flight.begin(&name(9), begun), "no thread has taken it");
    let spans = in_flight.end(&name(0), Verdict::complete(), ended).unwrap();
    assert_eq!(spans, Spans { waited: second * 2, worked: second * 2 });
    assert!(!in_flight.begin(&name(0), ended), "it has ended");
    let spans = in_flight.end(&name(1), Verdict::complete(), ended).unwrap();
    assert_eq!(spans, Spans { waited: second, worked: second * 3 }, "without a begin it begins with the take");
}

#[test]
fn an_item_that_was_lost_before_it_begins_leaves_the_hand() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 2), now);
    in_flight.take(2, now);
    assert_eq!(each(&in_flight.lose(&name(1), now)), ["1"]);
    assert!(in_flight.begin(&name(0), now) && !in_flight.begin(&name(1), now));
    assert!(in_flight.end(&name(1), Verdict::complete(), now).is_none() && in_flight.take_ended(9, now).is_empty());
    assert_eq!(in_flight.counts(), InFlightCounts { ready: 0, begun: 1, ended: 0 });
    in_flight.put(batch(1, 2), now);
    assert_eq!(keys(&in_flight.take(9, now).unwrap()), ["1"], "the next claim of it waits for no handler");
}

/// The keys of released items.
fn given_back(in_flight: &mut InFlight, now: Instant) -> Vec<String> {
    let taken = in_flight.take_ended(9, now);
    assert!(taken.iter().all(|ended| ended.verdict.action() == Action::Release));
    let mut keys: Vec<_> = taken.iter().map(|ended| ended.settlement().key.to_owned()).collect();
    keys.sort();
    in_flight.settled(&taken, Vec::new());
    keys
}

#[test]
fn a_stop_gives_back_the_rest_of_a_batch_that_has_begun() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    for from in [0, 3, 6] {
        in_flight.put(batch(from, from + 3), now);
        in_flight.take(3, now);
    }
    assert!(in_flight.begin(&name(0), now));
    assert_eq!(in_flight.counts_by_work(), InFlightCounts { ready: 2, begun: 7, ended: 0 });
    assert_eq!(each(&in_flight.lose(&name(2), now)), ["2"]);
    in_flight.give_back_all();
    assert_eq!(given_back(&mut in_flight, now), ["1"], "not what is lost");
    assert_eq!(in_flight.counts().begun, 7, "callers that report no begin may work on all that they have");
    in_flight.begin_none(&name(4));
    assert_eq!(given_back(&mut in_flight, now), ["3", "4", "5"]);
    in_flight.begin_none(&name(4));
    assert!(given_back(&mut in_flight, now).is_empty() && in_flight.begin(&name(6), now), "a batch by itself");
}

#[test]
fn items_of_a_batch_that_have_not_begun_are_released_once() {
    let now = Instant::now();
    let mut in_flight = InFlight::default();
    in_flight.put(batch(0, 4), now);
    let taken = in_flight.take(4, now).unwrap();
    assert!(in_flight.begin(&name(0), now) && in_flight.end(&name(1), Verdict::complete(), now).is_some());
    assert_eq!(in_flight.take_ended(1, now)[0].verdict, Verdict::complete());
    assert_eq!(each(&in_flight.lose(&name(2), now)), ["2"]);
    let release = Verdict::release().after(PROOF);
    in_flight.give_back(&taken, &release);
    let ended = in_flight.take_ended(9, now);
    assert_eq!(
        ended.iter().map(|ended| (ended.settlement().key, &ended.verdict)).collect::<Vec<_>>(),
        [("3", &release)]
    );
    assert_eq!(in_flight.counts().begun, 1, "the one that has begun");

    // The next claim of a released item has its name, and another token.
    in_flight.put(batch_of_token("u", 3, 4), now);
    let again = in_flight.take(1, now).unwrap();
    in_flight.give_back(&taken, &release);
    assert_eq!(in_flight.counts().begun, 2, "a later claim is left alone");
    in_flight.give_back(&again, &release);
    assert_eq!(in_flight.counts().begun, 1);
}
