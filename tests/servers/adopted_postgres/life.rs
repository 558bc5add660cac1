//! The life of an item, whatever its table looks like.

use super::tables::{ALL, Adopted, claim, settle};
use readpast::item::{Action, Answer, Filter, ItemRef, ItemState, Lease, Settlement};
use std::collections::HashSet;

#[test]
fn items_are_claimed_once_and_completed() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        let keys: Vec<_> = queue.enqueue(&adopted.items(5), None).unwrap().into_iter().map(|e| e.key).collect();
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 5, "{}", kind.name);
        let batch = claim(&queue, 3);
        assert_eq!(batch.len(), 3, "{}", kind.name);
        for item in batch.iter() {
            assert!(keys.iter().any(|key| *key == item.key()), "{}", kind.name);
            assert_eq!(item.attempt(), 1, "{}", kind.name);
        }
        assert_eq!(adopted.count("Processing"), 3, "{}", kind.name);
        let other = adopted.worker("v");
        let rest = claim(&other, 10);
        assert_eq!(rest.len(), 2, "{}", kind.name);
        settle(&queue, &batch, Action::Complete, "Completed");
        settle(&other, &rest, Action::Complete, "Completed");
        assert_eq!(claim(&queue, 10).len(), 0, "{}", kind.name);
        let left = if kind.deletes { 0 } else { 5 };
        assert_eq!(adopted.count("Completed"), left, "{}", kind.name);
        assert_eq!(adopted.total(), left, "{}", kind.name);
        assert_eq!(adopted.leases(), 0, "{}: completed items leave nothing behind", kind.name);
    }
}

#[test]
fn an_item_whose_attempts_fail_is_tried_again_and_then_failed() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        adopted.scratch.run(&format!(
            "INSERT INTO readpast.app_settings (param, val_int) VALUES ('{}.maxAttempts', 2)",
            kind.setting()
        ));
        let queue = adopted.worker("w");
        queue.enqueue(&adopted.items(1), None).unwrap();
        let batch = claim(&queue, 1);
        let item = batch.get(0).unwrap();
        let retry = Settlement { error: Some("no luck"), delay_ms: Some(0), ..Settlement::new(&item, Action::Retry) };
        let outcome = queue.settle(&[retry], None).unwrap().remove(0);
        assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Error)), "{}", kind.name);
        assert_eq!(adopted.look("v.item_error"), "no luck", "{}", kind.name);

        let batch = claim(&queue, 1);
        assert_eq!(batch.len(), 1, "{}", kind.name);
        let item = batch.get(0).unwrap();
        assert_eq!(item.attempt(), 2, "{}", kind.name);
        let retry = Settlement { error: Some("none again"), ..Settlement::new(&item, Action::Retry) };
        let outcome = queue.settle(&[retry], None).unwrap().remove(0);
        assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Failed)), "{}", kind.name);
        assert_eq!(adopted.look("v.item_status || '/' || v.item_error"), "Failed/none again", "{}", kind.name);
        assert_eq!(claim(&queue, 1).len(), 0, "{}", kind.name);

        let key = adopted.key();
        let redriven = queue.redrive(&[ItemRef { key: &key, token: None }], None).unwrap().remove(0);
        assert_eq!((redriven.answer, redriven.state), (Answer::Ok, Some(ItemState::Pending)), "{}", kind.name);
        let batch = claim(&queue, 1);
        assert_eq!(batch.get(0).unwrap().attempt(), 1, "{}: a redrive gives all attempts", kind.name);
        settle(&queue, &batch, Action::Complete, "Completed");
    }
}

#[test]
fn a_retry_waits_for_its_time() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        queue.enqueue(&adopted.items(1), None).unwrap();
        let batch = claim(&queue, 1);
        let item = batch.get(0).unwrap();
        let retry = Settlement { delay_ms: Some(3_600_000), ..Settlement::new(&item, Action::Retry) };
        queue.settle(&[retry], None).unwrap();
        assert_eq!(claim(&queue, 1).len(), 0, "{}", kind.name);
        assert_eq!(
            adopted.look("v.item_due_at BETWEEN clock_timestamp() + interval '1 minute' AND clock_timestamp() + interval '61 minutes'"),
            "Boolean(true)",
            "{}",
            kind.name
        );
        adopted.make_due();
        let batch = claim(&queue, 1);
        assert_eq!(batch.len(), 1, "{}", kind.name);
        assert_eq!(batch.get(0).unwrap().attempt(), 2, "{}", kind.name);
    }
}

#[test]
fn an_item_given_back_for_later_waits_too() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        let mut item = adopted.item(0);
        item.delay_ms = Some(3_600_000);
        queue.enqueue(&[item], None).unwrap();
        assert_eq!(claim(&queue, 1).len(), 0, "{}", kind.name);
        adopted.make_due();
        let batch = claim(&queue, 1);
        assert_eq!(batch.len(), 1, "{}: {}", kind.name, adopted.look("row_to_json(v)::text"));
        assert_eq!(batch.get(0).unwrap().attempt(), 1, "{}", kind.name);
        let item = batch.get(0).unwrap();
        let release = Settlement { delay_ms: Some(3_600_000), ..Settlement::new(&item, Action::Release) };
        assert_eq!(queue.settle(&[release], None).unwrap()[0].answer, Answer::Ok);
        assert_eq!(claim(&queue, 1).len(), 0, "{}", kind.name);
        adopted.make_due();
        let batch = claim(&queue, 1);
        assert_eq!(batch.get(0).unwrap().attempt(), 1, "{}: a release spends nothing", kind.name);
        settle(&queue, &batch, Action::Release, "Pending");
        assert_eq!(claim(&queue, 1).len(), 1, "{}", kind.name);
    }
}

#[test]
fn the_lease_of_a_dead_worker_runs_out() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let dead = adopted.worker("dead");
        dead.enqueue(&adopted.items(1), None).unwrap();
        let batch = claim(&dead, 1);
        let alive = adopted.worker("alive");
        assert_eq!(alive.recover(10).unwrap(), 0, "{}", kind.name);
        adopted.age_leases();
        assert_eq!(alive.recover(10).unwrap(), 1, "{}", kind.name);
        assert_eq!(adopted.count("Error"), 1, "{}", kind.name);
        let taken = claim(&alive, 1);
        assert_eq!(taken.get(0).unwrap().attempt(), 2, "{}", kind.name);

        let item = batch.get(0).unwrap();
        let lost = dead.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap().remove(0);
        assert_eq!(lost.answer, Answer::LeaseLost, "{}", kind.name);
        let renewed = dead.renew(&[Lease { key: item.key(), attempt: 1 }]).unwrap().remove(0);
        assert_eq!(renewed.answer, Answer::LeaseLost, "{}", kind.name);
        settle(&alive, &taken, Action::Complete, "Completed");
    }
}

#[test]
fn a_renewal_keeps_the_item_and_its_token() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        queue.enqueue(&adopted.items(1), None).unwrap();
        let batch = claim(&queue, 1);
        adopted.age_leases();
        let item = batch.get(0).unwrap();
        let renewed = queue.renew(&[Lease { key: item.key(), attempt: 1 }]).unwrap().remove(0);
        assert_eq!(renewed.answer, Answer::Ok, "{}", kind.name);
        assert_eq!(renewed.token, item.token(), "{}", kind.name);
        let recovered = u32::from(kind.has_fixed_leases());
        assert_eq!(queue.recover(10).unwrap(), recovered, "{}", kind.name);
        if recovered == 0 {
            settle(&queue, &batch, Action::Complete, "Completed");
        }
        assert_ne!(queue.renew(&[Lease { key: item.key(), attempt: 1 }]).unwrap()[0].answer, Answer::Ok);
    }
}

#[test]
fn every_state_is_kept_and_shown() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        for (number, (action, state)) in (0..).zip([
            (Action::Fail, "Failed"),
            (Action::Cancel, "Cancelled"),
            (Action::Terminate, "Terminated"),
            (Action::Pause, "Paused"),
            (Action::CompletePartially, "PartiallyCompleted"),
            (Action::Step, "Processing"),
            (Action::Release, "Pending"),
        ]) {
            queue.enqueue(&[adopted.item(number)], None).unwrap();
            let batch = claim(&queue, 1);
            settle(&queue, &batch, action, state);
            assert_eq!(adopted.count(state), 1, "{}: {state}", kind.name);
            let found = queue.get(batch.get(0).unwrap().key()).unwrap();
            assert_eq!(found.get(0).unwrap().state().unwrap().as_str(), state, "{}", kind.name);
            let due = claim(&queue, 1).len();
            assert_eq!(due, usize::from(action == Action::Release), "{}: {state}", kind.name);
        }
        // A step and a second claim are in work; all else is where it was put.
        assert_eq!(adopted.count("Processing"), 2, "{}", kind.name);
        assert_eq!(queue.find(&Filter::default(), None, 100).unwrap().len(), 7, "{}", kind.name);
        assert_eq!(queue.purge(&Filter::default(), 100).unwrap(), 3, "{}: neither failed nor unfinished", kind.name);
        assert_eq!(adopted.total(), 4, "{}", kind.name);
    }
}

#[test]
fn a_repeated_call_gives_the_same_answers_when_the_row_is_gone() {
    for kind in ALL {
        let adopted = Adopted::new(kind);
        let queue = adopted.worker("w");
        let operation = "01234567-0000-7000-8000-000000000000";
        let first = queue.enqueue(&adopted.items(2), Some(operation)).unwrap();
        let again = queue.enqueue(&adopted.items(2), Some(operation)).unwrap();
        assert_eq!(first, again, "{}", kind.name);
        let batch = claim(&queue, 1);
        let item = batch.get(0).unwrap();
        let operation = "01234567-0000-7000-8000-000000000001";
        let first = queue.settle(&[Settlement::new(&item, Action::Complete)], Some(operation)).unwrap();
        let again = queue.settle(&[Settlement::new(&item, Action::Complete)], Some(operation)).unwrap();
        assert_eq!(first, again, "{}", kind.name);
        assert_eq!(first[0].answer, Answer::Ok, "{}", kind.name);
        // Anybody else finds it gone, or done.
        let late = queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap();
        let expected = if kind.deletes { Answer::NotFound } else { Answer::LeaseLost };
        assert_eq!(late[0].answer, expected, "{}", kind.name);
    }
}
