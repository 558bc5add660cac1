//! What goes from hand to hand, and what does not.

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
    let column = Column { name: "c".to_owned(), kind: ColumnType::Text };
    let mut rows = Rows::new(vec![column; answer_column::COUNT].into());
    for number in from..to {
        for place in 0..answer_column::COUNT {
            match place {
                answer_column::ANSWER => rows.push_text(|text| text.push_str(word)),
                answer_column::KEY => rows.push_text(|text| text.push_str(&number.to_string())),
                answer_column::TOKEN => rows.push_text(|text| text.push_str(token)),
                answer_column::ATTEMPT => rows.push(Cell::Integer(1)),
                _ => rows.push(Cell::Null),
            }
        }
    }
    Batch::new(rows, 0)
}

/// Whether one is begun or about to be.
fn has_suspect(hand: &Hand, now: Instant) -> bool {
    hand.suspect_waits() || hand.unproven_until(PROOF).is_some_and(|at| at > now)
}

fn name(number: i64) -> Claim {
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
    let mut hand = Hand::default();
    hand.put(batch(0, 3), now);
    hand.put(batch(3, 5), now);
    assert_eq!(keys(&hand.take(2, now).unwrap()), ["0", "1"]);
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["2"], "what lies side by side");
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["3", "4"]);
    assert!(hand.take(1, now).is_none());
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 5, ended: 0 });

    assert!(hand.end(&name(1), Verdict::complete(), now).is_some());
    assert!(hand.end(&name(1), Verdict::complete(), now).is_none(), "once");
    assert!(hand.end(&("2".to_owned(), 2), Verdict::complete(), now).is_none(), "another attempt is another claim");
    let taken = hand.take_ended(10, now);
    assert_eq!(taken[0].settlement().key, "1");
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 4, ended: 1 }, "in hand until it is settled");
    hand.settled(&taken, Vec::new());
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 4, ended: 0 });
    assert_eq!(hand.claims().len(), 4);
}

#[test]
fn the_token_of_the_last_step_ends_the_item() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch(0, 1), now);
    hand.take(1, now);
    assert_eq!(hand.token(&name(0)).as_deref(), Some("t"));
    hand.stepped(&name(0), "u".to_owned());
    hand.begin_none(&name(0));
    hand.end(&name(0), Verdict::complete(), now);
    assert_eq!(hand.take_ended(1, Instant::now())[0].settlement().token, Some("u"));
}

#[test]
fn what_was_lost_before_its_turn_is_not_handed_out() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch(0, 4), now);
    assert_eq!([1, 2].map(|number| each(&hand.lose(&name(number), now))), [["1"], ["2"]]);
    assert!(hand.lose(&name(1), now).is_empty() && hand.lose(&name(9), now).is_empty(), "not in hand");
    assert_eq!(hand.claims(), [name(0), name(3)]);
    assert_eq!(hand.counts(), Counts { ready: 2, begun: 0, ended: 0 });
    assert_eq!(keys(&hand.take(4, now).unwrap()), ["0"]);
    assert_eq!(keys(&hand.take(4, now).unwrap()), ["3"]);
    assert_eq!(each(&hand.lose(&name(3), now)), ["3"]);
    assert!(hand.is_lost(&name(3)) && !hand.is_lost(&name(0)));
    assert!(hand.lose(&name(3), now).is_empty(), "told once");
    assert!(hand.is_lost(&name(1)), "nobody has it");
}

/// An operator has an item done anew that a handler has.
#[test]
fn what_is_claimed_again_while_a_handler_has_it_waits_for_that_handler() {
    let now = Instant::now();
    let mut hand = Hand::default();
    assert!(hand.put(batch(0, 1), now).is_empty());
    assert_eq!(keys(&hand.take(1, now).unwrap()), ["0"]);
    assert_eq!(each(&hand.put(batch(0, 3), now)), ["0"]);
    assert!(hand.is_lost(&name(0)), "by its handler");
    assert_eq!(hand.counts(), Counts { ready: 3, begun: 1, ended: 0 });
    assert!(hand.put(batch(0, 1), now).is_empty(), "told once");
    assert!(hand.lose_taken(&name(0), now).is_none(), "its handler's step says nothing of those that wait");
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["1", "2"], "the others are not held up");
    assert!(hand.take(1, now).is_none());
    assert_eq!(hand.claims().iter().filter(|claim| **claim == name(0)).count(), 2, "its lease is kept");

    assert!(hand.end(&name(0), Verdict::complete(), now).is_some());
    assert!(hand.take_ended(9, now).is_empty(), "the end of the earlier claim is not that of the later");
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["0"]);
    assert!(hand.take(9, now).is_none() && !hand.is_lost(&name(0)));
    assert_eq!(each(&hand.lose(&name(0), now)), ["0", "0"], "the one at work, and the one that waits");
    assert!(hand.end(&name(0), Verdict::complete(), now).is_some());
    assert!(hand.take(9, now).is_none());
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 2, ended: 0 });
}

#[test]
fn what_came_back_and_waits_for_a_handler_of_its_own_holds_up_nothing_else() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch(0, 1), now);
    hand.take(1, now);
    assert_eq!(each(&hand.put(batch_of(CLAIMED_ALONE, 0, 1), now)), ["0"]);
    assert!(!has_suspect(&hand, now) && hand.take_suspect(PROOF, now).is_none());
    hand.end(&name(0), Verdict::complete(), now);
    assert!(has_suspect(&hand, now) && hand.take_suspect(PROOF, now).unwrap().is_alone());
}

/// Of two claims of one name the first may still wait for a handler when the second comes.
#[test]
fn of_two_claims_that_both_waited_the_later_waits_for_the_handler_of_the_first() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch(1, 2), now);
    assert!(hand.put(batch(0, 3), now).is_empty());
    assert_eq!(keys(&hand.take(1, now).unwrap()), ["1"]);
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["0"]);
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["2"], "nothing else is held up");
    assert!(hand.take(9, now).is_none());
    assert_eq!(hand.counts(), Counts { ready: 1, begun: 3, ended: 0 });
    hand.end(&name(1), Verdict::complete(), now);
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["1"]);
}

/// A renewal may be told what an item was between its release and the next claim of it, which has the same name.
#[test]
fn what_was_claimed_again_since_it_was_asked_for_is_not_lost() {
    let asked = Instant::now();
    let now = asked + Duration::from_millis(1);
    let mut hand = Hand::default();
    hand.put(batch(0, 2), now);
    hand.take(1, now);
    assert!(hand.lose(&name(0), asked).is_empty() && hand.lose(&name(1), asked).is_empty());
    assert!(!hand.is_lost(&name(0)));
    assert_eq!(keys(&hand.take(1, now).unwrap()), ["1"]);
    assert_eq!(each(&hand.lose(&name(1), now)), ["1"], "asked for since");
}

#[test]
fn what_nobody_has_begun_goes_back() {
    let long_ago = Instant::now();
    let now = long_ago + Duration::from_secs(1);
    let mut hand = Hand::default();
    hand.put(batch(0, 2), long_ago);
    hand.put(batch(2, 4), now);
    assert_eq!(each(&hand.lose(&name(1), now)), ["1"]);
    assert!(hand.overdue_at(Duration::from_secs(1), PROOF).is_some_and(|at| at <= now));
    hand.give_back_overdue(Duration::from_secs(1), PROOF, now);
    assert!(!hand.overdue_at(Duration::from_secs(1), PROOF).is_some_and(|at| at <= now));
    assert_eq!(hand.counts(), Counts { ready: 2, begun: 0, ended: 1 });
    hand.give_back_all();
    let actions: Vec<_> = hand.take_ended(9, now).iter().map(|ended| ended.verdict.action()).collect();
    assert_eq!(actions, [Action::Release; 3]);
}

#[test]
fn those_that_wait_for_another_try_let_the_others_by() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut hand = Hand::default();
    hand.put(batch(0, 3), now);
    hand.take(3, now);
    for number in 0..3 {
        hand.end(&name(number), Verdict::complete(), now);
    }
    let taken = hand.take_ended(1, now);
    let again = taken.iter().map(|ended| ended.put_off(later)).collect();
    hand.settled(&taken, again);
    assert_eq!(hand.take_ended(9, now).len(), 2);
    assert_eq!(hand.next_try(), Some(later));
    assert_eq!(hand.take_ended(9, later)[0].settlement().key, "0");
}

/// Settles all that has ended.
fn settle(hand: &mut Hand, now: Instant) {
    let taken = hand.take_ended(9, now);
    hand.settled(&taken, Vec::new());
}

#[test]
fn those_that_came_back_from_a_dead_worker_are_begun_one_at_a_time() {
    let now = Instant::now();
    let mut hand = Hand::default();
    for number in 0..3 {
        hand.put(batch_of(CLAIMED_ALONE, number, number + 1), now);
    }
    assert_eq!(hand.unproven_until(PROOF), None);
    assert!(has_suspect(&hand, now), "it waits");
    assert_eq!(keys(&hand.take_suspect(PROOF, now).unwrap()), ["0"]);
    assert_eq!(hand.unproven_until(PROOF), Some(now + PROOF));
    hand.put(batch(3, 4), now);
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["3"], "others go on");
    assert!(hand.take(9, now).is_none() && hand.take_suspect(PROOF, now).is_none());
    hand.give_back_overdue(Duration::ZERO, PROOF * 2, now + PROOF);
    assert_eq!(hand.counts().ready, 2, "they may wait longer than others");
    assert_eq!(hand.overdue_at(Duration::ZERO, PROOF * 2), Some(now + PROOF * 2));

    let proven = now + PROOF;
    assert_eq!(keys(&hand.take_suspect(PROOF, proven).unwrap()), ["1"], "the first has done no harm");
    assert!(hand.take_suspect(PROOF, proven).is_none());
    assert!(hand.end(&name(0), Verdict::complete(), now).is_some() && hand.take_suspect(PROOF, proven).is_none());
    assert!(hand.end(&name(1), Verdict::complete(), now).is_some());
    settle(&mut hand, proven);
    assert_eq!(keys(&hand.take_suspect(PROOF, proven).unwrap()), ["2"]);
    assert!(has_suspect(&hand, proven), "it is begun");
    assert!(!has_suspect(&hand, proven + PROOF) && hand.end(&name(2), Verdict::complete(), now).is_some());
    assert!(!has_suspect(&hand, proven));
}

/// Whose attempt its end of the process would spend, or whose work it would have done twice.
#[test]
fn what_came_back_is_begun_when_the_others_are_begun_or_settled() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch_of(CLAIMED_ALONE, 0, 1), now);
    hand.put(batch(1, 3), now);
    assert!(hand.take_suspect(PROOF, now).is_none(), "two wait");
    assert_eq!(keys(&hand.take(1, now).unwrap()), ["1"]);
    assert!(hand.take_suspect(PROOF, now).is_none(), "one waits");
    hand.give_back_overdue(Duration::ZERO, PROOF, now);
    assert!(hand.take_suspect(PROOF, now).is_none(), "one is to be given back");
    let taken = hand.take_ended(9, now);
    assert!(hand.take_suspect(PROOF, now).is_none(), "it is being given back");
    let again = vec![taken[0].put_off(now + PROOF)];
    hand.settled(&taken, again);
    assert_eq!(keys(&hand.take_suspect(PROOF, now).unwrap()), ["0"], "what the server refuses holds up nothing");
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 2, ended: 1 });
}

#[test]
fn what_is_declined_goes_back() {
    let mut hand = Hand::default();
    hand.decline(&batch(0, 2));
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 0, ended: 2 });
    let actions: Vec<_> = hand.take_ended(9, Instant::now()).iter().map(|ended| ended.verdict.action()).collect();
    assert_eq!(actions, [Action::Release; 2]);
}

#[test]
fn an_item_begins_once_and_its_time_at_work_counts_from_then() {
    let second = Duration::from_secs(1);
    let claimed = Instant::now();
    let [taken, begun, ended] = [1, 2, 4].map(|seconds| claimed + second * seconds);
    let mut hand = Hand::default();
    hand.put(batch(0, 3), claimed);
    hand.take(3, taken);
    assert!(hand.begin(&name(0), begun) && !hand.begin(&name(0), ended), "once");
    assert!(!hand.begin(&name(9), begun), "nobody has taken it");
    let spans = hand.end(&name(0), Verdict::complete(), ended).unwrap();
    assert_eq!(spans, Spans { waited: second * 2, worked: second * 2 });
    assert!(!hand.begin(&name(0), ended), "it has ended");
    let spans = hand.end(&name(1), Verdict::complete(), ended).unwrap();
    assert_eq!(spans, Spans { waited: second, worked: second * 3 }, "without a begin it begins with the take");
}

#[test]
fn an_item_that_was_lost_before_it_begins_leaves_the_hand() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch(0, 2), now);
    hand.take(2, now);
    assert_eq!(each(&hand.lose(&name(1), now)), ["1"]);
    assert!(hand.begin(&name(0), now) && !hand.begin(&name(1), now));
    assert!(hand.end(&name(1), Verdict::complete(), now).is_none() && hand.take_ended(9, now).is_empty());
    assert_eq!(hand.counts(), Counts { ready: 0, begun: 1, ended: 0 });
    hand.put(batch(1, 2), now);
    assert_eq!(keys(&hand.take(9, now).unwrap()), ["1"], "the next claim of it waits for nobody");
}

/// The keys of those that are to be given back.
fn given_back(hand: &mut Hand, now: Instant) -> Vec<String> {
    let taken = hand.take_ended(9, now);
    assert!(taken.iter().all(|ended| ended.verdict.action() == Action::Release));
    let mut keys: Vec<_> = taken.iter().map(|ended| ended.settlement().key.to_owned()).collect();
    keys.sort();
    hand.settled(&taken, Vec::new());
    keys
}

#[test]
fn a_stop_gives_back_the_rest_of_a_batch_that_has_begun() {
    let now = Instant::now();
    let mut hand = Hand::default();
    for from in [0, 3, 6] {
        hand.put(batch(from, from + 3), now);
        hand.take(3, now);
    }
    assert!(hand.begin(&name(0), now));
    assert_eq!(hand.counts_by_work(), Counts { ready: 2, begun: 7, ended: 0 });
    assert_eq!(each(&hand.lose(&name(2), now)), ["2"]);
    hand.give_back_all();
    assert_eq!(given_back(&mut hand, now), ["1"], "not what is lost");
    assert_eq!(hand.counts().begun, 7, "callers that report no begin may work on all that they have");
    hand.begin_none(&name(4));
    assert_eq!(given_back(&mut hand, now), ["3", "4", "5"]);
    hand.begin_none(&name(4));
    assert!(given_back(&mut hand, now).is_empty() && hand.begin(&name(6), now), "a batch by itself");
}

#[test]
fn what_has_not_begun_of_a_batch_goes_back_once() {
    let now = Instant::now();
    let mut hand = Hand::default();
    hand.put(batch(0, 4), now);
    let taken = hand.take(4, now).unwrap();
    assert!(hand.begin(&name(0), now) && hand.end(&name(1), Verdict::complete(), now).is_some());
    assert_eq!(hand.take_ended(1, now)[0].verdict, Verdict::complete());
    assert_eq!(each(&hand.lose(&name(2), now)), ["2"]);
    let release = Verdict::release().after(PROOF);
    hand.give_back(&taken, &release);
    let ended = hand.take_ended(9, now);
    assert_eq!(
        ended.iter().map(|ended| (ended.settlement().key, &ended.verdict)).collect::<Vec<_>>(),
        [("3", &release)]
    );
    assert_eq!(hand.counts().begun, 1, "the one that has begun");

    // The next claim of an item that was given back has its name, and another token.
    hand.put(batch_of_token("u", 3, 4), now);
    let again = hand.take(1, now).unwrap();
    hand.give_back(&taken, &release);
    assert_eq!(hand.counts().begun, 2, "a later claim is left alone");
    hand.give_back(&again, &release);
    assert_eq!(hand.counts().begun, 1);
}
