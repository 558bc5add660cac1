//! Tests of runs that may last only so long.

use super::*;

const RUN: Duration = Duration::from_secs(60);

/// A run counts from its begin; an item that waits for a caller that reports begins does not run.
#[test]
fn a_handler_that_runs_too_long_loses_its_item() {
    let now = Instant::now();
    let at = |seconds| now + Duration::from_secs(seconds);
    let mut in_flight = InFlight::with_longest_run(Some(RUN));
    in_flight.put(batch(0, 4), now);
    in_flight.take(4, at(1)).unwrap();
    assert!(in_flight.begin(&name(0), at(5)) && in_flight.begin(&name(1), at(6)) && in_flight.begin(&name(2), at(7)));
    assert_eq!(in_flight.overrun_at(), Some(at(65)));
    in_flight.end(&name(0), Verdict::complete(), at(8));
    assert_eq!(in_flight.overrun_at(), Some(at(66)), "the first has ended");
    assert!(in_flight.overrun(at(65)).is_empty());
    assert_eq!(each(&in_flight.overrun(at(66))), ["1"]);
    assert!(in_flight.is_lost(&name(1)) && !in_flight.is_lost(&name(2)));
    let renewed = in_flight.claims();
    assert!(!renewed.contains(&name(1)) && renewed.contains(&name(2)) && renewed.contains(&name(3)), "{renewed:?}");
    // Its handler gives up, and has spent the attempt; another has done its work all the same.
    in_flight.end(&name(1), Verdict::release(), at(70));
    assert_eq!(each(&in_flight.overrun(at(70))), ["2"]);
    in_flight.end(&name(2), Verdict::complete(), at(70));
    let ended = in_flight.take_ended(9, at(70));
    let actions: Vec<_> = ended.iter().map(|ended| ended.verdict().action()).collect();
    assert_eq!(actions, [Action::Complete, Action::Retry, Action::Complete]);
    assert!(ended[1].verdict().error_text().unwrap().contains("60000 ms (worker.max_run_ms)"));
    assert_eq!(in_flight.overrun_at(), None, "one that has not begun waits");
}

/// A settle of both attempts in one call would name the item twice.
#[test]
fn an_item_that_comes_again_is_lost_to_the_handler_that_runs_too_long() {
    let now = Instant::now();
    let mut in_flight = InFlight::with_longest_run(Some(RUN));
    in_flight.put(batch(0, 2), now);
    in_flight.take(2, now).unwrap();
    assert_eq!(in_flight.overrun(now + RUN).len(), 2);
    assert!(in_flight.put(batch(5, 6), now + RUN).is_empty(), "another item");
    let again = rows_of("CLAIMED", "t", 1, 2, 2);
    assert_eq!(each(&in_flight.put(again, now + RUN)), ["1"]);
    in_flight.end(&name(0), Verdict::complete(), now + RUN);
    in_flight.end(&name(1), Verdict::complete(), now + RUN);
    assert_eq!(in_flight.take_ended(9, now + RUN).len(), 1, "the lost one is not settled");
}

#[test]
fn a_run_that_lasts_keeps_no_others() {
    let now = Instant::now();
    let mut in_flight = InFlight::with_longest_run(Some(RUN));
    in_flight.put(batch(0, 1000), now);
    in_flight.take(1, now).unwrap();
    for number in 1..1000 {
        in_flight.take(1, now).unwrap();
        in_flight.end(&name(number), Verdict::complete(), now);
        assert!(in_flight.runs_kept() < 100, "{number}");
    }
    assert_eq!(each(&in_flight.overrun(now + RUN)), ["0"]);
}
