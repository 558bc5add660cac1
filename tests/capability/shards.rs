//! Items that wait are dealt out into shards, at whose heads claims begin in turn.

use crate::by_hand;
use readpast::item::{Action, Answer, NewItem};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use support::api::{Api, Taken};
use support::dice::Dice;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("shards::items_are_dealt_out_and_each_is_handed_out_once", items_are_dealt_out_and_each_is_handed_out_once),
    ("shards::claims_begin_at_each_shard_in_turn", claims_begin_at_each_shard_in_turn),
    ("shards::no_item_waits_longer_than_its_shard", no_item_waits_longer_than_its_shard),
    ("shards::a_settle_claims_from_the_shards", a_settle_claims_from_the_shards),
    ("shards::every_order_holds_within_a_shard", every_order_holds_within_a_shard),
    ("shards::says_when_the_next_is_due_of_all_shards", says_when_the_next_is_due_of_all_shards),
    ("shards::an_item_that_came_back_goes_alone", an_item_that_came_back_goes_alone),
    ("shards::items_that_others_hold_are_passed_over", items_that_others_hold_are_passed_over),
    ("shards::other_options_go_with_them", other_options_go_with_them),
];

fn open(given: &Given, shards: usize, more: serde_json::Value) -> Box<dyn Api> {
    let mut spec = json!({"queue": given.queue, "shards": shards, "columns": [
        {"name": "Payload", "type": "text(100)"}, {"name": "Rank", "type": "integer", "nullable": false, "default": 0}]});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    given.queue_with(&spec.to_string(), &[])
}

fn ranked(number: usize, rank: i32) -> NewItem {
    let columns = json!({"Payload": number.to_string(), "Rank": rank});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// Items of one call are numbered in succession: each is of the next shard.
fn put(queue: &dyn Api, numbers: std::ops::Range<usize>) {
    queue.enqueue(&numbers.map(|number| ranked(number, 0)).collect::<Vec<_>>(), None).unwrap();
}

fn numbers(taken: &[Taken]) -> Vec<usize> {
    taken.iter().map(|item| item.column("Payload").as_str().unwrap().parse().unwrap()).collect()
}

fn take(queue: &dyn Api, max: u32) -> Vec<usize> {
    numbers(&queue.claim(max, Duration::ZERO).unwrap())
}

fn items_are_dealt_out_and_each_is_handed_out_once(given: &Given) {
    let queue = open(given, 4, json!({}));
    put(&*queue, 0..40);
    queue.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked(99, 0) });
    // A shard at a time, each in its order.
    let mut shards = BTreeSet::new();
    for _ in 0..4 {
        let taken = take(&*queue, 10);
        let first = taken[0] % 4;
        assert_eq!(taken, (0..10).map(|place| first + 4 * place).collect::<Vec<_>>());
        shards.insert(first);
    }
    assert_eq!(shards.len(), 4);
    queue.expect_empty();

    // And on through all of them while there is not enough.
    put(&*queue, 100..120);
    let taken = take(&*queue, 1_000);
    assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), (100..120).collect());
    assert!(taken.chunks(5).all(|shard| shard.windows(2).all(|two| two[0] + 4 == two[1])), "{taken:?}");
    queue.expect_empty();
}

fn claims_begin_at_each_shard_in_turn(given: &Given) {
    let queue = open(given, 3, json!({}));
    put(&*queue, 0..9);
    // Several sessions share the turns.
    let other = given.open(&[]);
    let taken: Vec<_> = (0..9).map(|turn| take(if turn % 2 == 0 { &*queue } else { &*other }, 1)[0]).collect();
    let first = taken[0];
    assert!(first < 3, "{taken:?}");
    for (round, three) in taken.chunks(3).enumerate() {
        let expected: Vec<_> = (0..3).map(|turn| (first + turn) % 3 + 3 * round).collect();
        assert_eq!(three, expected, "{taken:?}");
    }
}

/// While others keep coming, and however many: an item is claimed as soon as its shard was the first of as many claims as there
/// were items before it.
fn no_item_waits_longer_than_its_shard(given: &Given) {
    const SHARDS: usize = 5;
    let queue = open(given, SHARDS, json!({}));
    let mut dice = Dice::new(7);
    // By their numbers: how many claims there had been.
    // And how many were before each in its shard.
    let mut came: Vec<(usize, usize)> = Vec::new();
    let mut left: BTreeSet<usize> = BTreeSet::new();
    let before = |left: &BTreeSet<usize>, number: usize| {
        left.range(..number).filter(|other| (number - **other).is_multiple_of(SHARDS)).count()
    };
    for claims in 0..150 {
        let numbers = came.len()..came.len() + dice.below(4) as usize;
        if !numbers.is_empty() {
            put(&*queue, numbers.clone());
        }
        for number in numbers {
            came.push((claims, before(&left, number)));
            left.insert(number);
        }
        for number in take(&*queue, 1 + dice.below(2) as u32) {
            assert!(left.remove(&number), "{number} is handed out twice");
        }
        for number in &left {
            let (since, ahead) = came[*number];
            let firsts = (claims + 1 - since) / SHARDS;
            let taken = ahead - before(&left, *number);
            assert!(firsts <= taken, "{number} waits since {} claims, behind {ahead}: {left:?}", claims + 1 - since);
        }
    }
    let ahead = came.iter().map(|(_, ahead)| *ahead).max();
    assert!(ahead >= Some(3), "there was never much to do: {ahead:?}");
    while !left.is_empty() {
        for number in take(&*queue, 100) {
            left.remove(&number);
        }
    }
}

fn a_settle_claims_from_the_shards(given: &Given) {
    let queue = open(given, 4, json!({}));
    put(&*queue, 0..12);
    let mut taken = queue.claim(1, Duration::ZERO).unwrap();
    let mut seen = numbers(&taken);
    while !taken.is_empty() {
        let ends: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
        let (outcomes, next) = queue.settle_and_claim(&ends, 1).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
        seen.extend(numbers(&next));
        taken = next;
    }
    // None of four claims in succession begins where another did.
    assert!(
        seen.chunks(4).all(|four| four.iter().map(|number| number % 4).collect::<BTreeSet<_>>().len() == 4),
        "{seen:?}"
    );
    assert_eq!(seen.iter().copied().collect::<BTreeSet<_>>(), (0..12).collect());
}

fn every_order_holds_within_a_shard(given: &Given) {
    let rank = |number: usize| (number as i32 * 7) % 5;
    for (at, order) in [
        json!({"direction": "lifo"}),
        json!({"priority": {"column": "Rank"}}),
        json!({"direction": "lifo", "priority": {"column": "Rank", "first": "lowest"}}),
        json!({"direction": "unordered"}),
    ]
    .into_iter()
    .enumerate()
    {
        let given = given.sibling(at);
        let queue = open(&given, 2, json!({"order": order}));
        let items: Vec<_> = (0..12).map(|number| ranked(number, rank(number))).collect();
        queue.enqueue(&items, None).unwrap();
        queue.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked(98, 99) });
        queue.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked(99, -99) });
        for _ in 0..2 {
            let mut expected: Vec<usize> = Vec::new();
            let taken = take(&*queue, 6);
            expected.extend((0..12).filter(|number| number % 2 == taken[0] % 2));
            match at {
                0 => expected.reverse(),
                1 => expected.sort_by_key(|number| (-rank(*number), *number)),
                2 => expected.sort_by_key(|number| (rank(*number), std::cmp::Reverse(*number))),
                _ => assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), expected.iter().copied().collect()),
            }
            assert!(at == 3 || taken == expected, "{order}: {taken:?} and not {expected:?}");
        }
        queue.expect_empty();
    }
}

fn says_when_the_next_is_due_of_all_shards(given: &Given) {
    let queue = open(given, 3, json!({}));
    let none = by_hand::claim(given, "w", 1, 0);
    assert_eq!([by_hand::cell(&none, 0, 0), by_hand::cell(&none, 0, 2)], ["EMPTY", "NULL"]);
    // Whichever shard the claim has looked at last, the earliest is of another one too.
    for minutes in [30, 20, 10, 40, 50, 60] {
        queue.put_item(NewItem { delay_ms: Some(minutes * 60_000), ..ranked(0, 0) });
    }
    for _ in 0..3 {
        let rows = by_hand::claim(given, "w", 1, 0);
        assert_eq!(by_hand::cell(&rows, 0, 0), "EMPTY");
        let due: i64 = by_hand::cell(&rows, 0, 2).parse().unwrap();
        assert!((1..=600_001).contains(&due), "{due}");
    }
}

fn an_item_that_came_back_goes_alone(given: &Given) {
    let queue = open(given, 2, json!({}));
    put(&*queue, 0..2);
    let dead = given.open(&[("lease.ms", "10")]);
    assert_eq!(take(&*dead, 10).len(), 2);
    put(&*queue, 2..4);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(given.open(&[]).recover(10).unwrap(), 2);
    let mut answers = Vec::new();
    while answers.len() < 5 {
        let rows = by_hand::claim(given, "w", 10, 0);
        let answer = by_hand::cell(&rows, 0, 0);
        if answer == "EMPTY" {
            break;
        }
        answers.push((answer, rows.len()));
    }
    let alone: Vec<_> = answers.iter().filter(|(answer, _)| answer == "CLAIMED_ALONE").map(|(_, rows)| *rows).collect();
    assert_eq!(alone, [1, 1], "{answers:?}");
    assert_eq!(answers.iter().map(|(_, rows)| rows).sum::<usize>(), 4, "{answers:?}");
}

fn items_that_others_hold_are_passed_over(given: &Given) {
    // The stand-in for SQL Server has no hints of locks.
    if given.server.is_sql_server() {
        return;
    }
    let queue = open(given, 2, json!({}));
    put(&*queue, 0..4);
    let mut other = given.session();
    other
        .transaction(|session| {
            // All of one shard, and the head of the other.
            let lock = format!("SELECT 1 FROM {} WHERE \"Payload\" IN ('0', '1', '2') FOR UPDATE", given.table());
            assert_eq!(session.execute(&lock, &[])?.len(), 3);
            assert_eq!(take(&*queue, 2), [3]);
            queue.expect_empty();
            Ok(())
        })
        .unwrap();
    assert_eq!(take(&*queue, 10).into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]));
}

fn other_options_go_with_them(given: &Given) {
    let queue = open(
        given,
        8,
        json!({"completion": {"history": format!("{}_Done", given.queue)}, "attempts": {"history": true},
            "dedup": {"columns": ["Payload"], "answer": "existing", "among": "unfinished"},
            "lease": {"resume_own": true}, "steps": ["first", "second"], "trace": true}),
    );
    put(&*queue, 0..10);
    let again = queue.enqueue(&(0..10).map(|number| ranked(number, 1)).collect::<Vec<_>>(), None).unwrap();
    assert!(again.iter().all(|receipt| receipt.duplicate));
    let taken = queue.claim(100, Duration::ZERO).unwrap();
    assert_eq!(taken.len(), 10);
    let back: Vec<_> = taken.iter().map(|item| item.settle(Action::Release)).collect();
    assert!(queue.settle(&back, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    // Released, they are where they were.
    let taken = queue.claim(100, Duration::ZERO).unwrap();
    let done: Vec<_> = taken.iter().map(|item| item.settle(Action::Complete)).collect();
    assert!(queue.settle(&done, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    queue.expect_empty();
    assert_eq!(given.look("COUNT(*)", "1 = 1"), "0", "they are in the history");
    put(&*queue, 0..10);
    assert_eq!(queue.find(r#"{"status": ["Pending"]}"#, None, 100).unwrap().len(), 10);
    assert_eq!(queue.stats().unwrap().due, 10);
}
