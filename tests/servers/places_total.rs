//! Figures, settings and limits of a queue over several databases: all together, and where places differ.

use crate::places::{ANYWHERE, NAMES, SPREAD, Three, of};
use readpast::item::LimitChange;
use readpast::{ItemState, Queue};
use std::time::Duration;
use support::limit::{in_time, until};

#[test]
fn figures_add_up_and_a_place_that_is_away_is_named() {
    for three in Three::each() {
        three.install(SPREAD);
        let (proxy, relayed) = three.behind_a_relay();
        let connections = [three.0[0].connection(), relayed, three.0[2].connection()];
        let queue = Queue::open(&three.config_at(&connections, &[("retry.budget_ms", "0")]), "Job").unwrap();
        queue.enqueue(&(0..60).map(|customer| of(customer, 0)).collect::<Vec<_>>(), None).unwrap();
        let mut held = 0;
        while held < 45 {
            held += queue.claim(5, Duration::ZERO).unwrap().len();
        }
        let (all, each) = queue.watch_places(1000).unwrap();
        assert_eq!((all.stats.due, all.stats.count(ItemState::Processing)), (60 - held as i64, held as i64));
        let [worker] = all.workers.as_slice() else {
            panic!("one worker holds items at each place: {:?}", all.workers)
        };
        assert_eq!((worker.worker.as_str(), worker.items), (queue.worker(), held as i64));
        let names: Vec<_> = each.iter().map(|of| of.name.as_str()).collect();
        assert!(
            names == NAMES && each.iter().all(|of| of.watched.as_ref().unwrap().stats.due < all.stats.due),
            "{each:?}"
        );
        assert!(all.away.is_empty());
        assert_eq!(queue.trend(1000, Duration::ZERO).unwrap().1.depth, all.stats.due);
        let capped = queue.watch(1).unwrap();
        assert!(capped.due_capped && capped.is_capped(ItemState::Processing), "{capped:?}");

        queue.at("a").unwrap().pause_queue(None, readpast::item::PauseEnd::Resumed, None).unwrap();
        let (paused, each) = queue.watch_places(1000).unwrap();
        let at_a = each[0].watched.as_ref().unwrap().stats.due;
        assert_eq!((paused.is_paused(), paused.pauses[0].place.as_deref()), (false, Some("a")));
        assert_eq!((paused.startable().0, queue.pauses().unwrap()), (all.stats.due - at_a, paused.pauses));

        proxy.go_away();
        let rest = in_time(|| queue.watch(1000).unwrap());
        let at_b = each[1].watched.as_ref().unwrap().stats.due;
        assert_eq!((rest.away[0].place.as_str(), rest.stats.due), ("b", all.stats.due - at_b));
        assert!(queue.workers().is_ok() && queue.installed().unwrap().len() == 1);
        let findings: serde_json::Value =
            serde_json::from_str(&in_time(|| queue.ask("doctor", None).unwrap())).unwrap();
        let about = |place: &str| {
            let found = findings["findings"].as_array().unwrap().iter();
            found.filter(|one| one["object"].as_str().unwrap().starts_with(place)).count()
        };
        assert!(about("a: ") > 5 && about("c: ") > 5 && about("b: ") == 0 && about("b") == 1, "{findings}");
        proxy.come_back();
        until("the place is back", || queue.watch(1000).unwrap().away.is_empty());
    }
}

#[test]
fn settings_and_limits_are_changed_at_all_places_and_shown_where_they_differ() {
    for three in Three::each() {
        three.install(
            &ANYWHERE.replace("]}", r#"], "spread_by": ["Customer"], "limit": [{"by": "Customer", "at_once": 3}]}"#),
        );
        let (proxy, relayed) = three.behind_a_relay();
        let connections = [three.0[0].connection(), relayed, three.0[2].connection()];
        let queue = Queue::open(&three.config_at(&connections, &[("retry.budget_ms", "0")]), "Job").unwrap();
        let settings = || {
            let shown = queue.settings().unwrap().into_iter();
            shown.map(|of| (of.name, of.value, of.place.unwrap_or_default())).collect::<Vec<_>>()
        };
        let none = String::new();
        queue.set_setting("leaseMs", Some(5_000)).unwrap();
        assert_eq!(settings(), [("maxAttempts", None, none.clone()), ("leaseMs", Some(5_000), none.clone())]);
        for place in NAMES {
            assert_eq!(queue.at(place).unwrap().settings().unwrap()[1].value, Some(5_000), "{place}");
        }
        let limit = |key, at_once| LimitChange { key, at_once: Some(at_once), ..LimitChange::default() };
        let limits = || {
            let shown = queue.limits().unwrap().into_iter();
            shown.map(|of| (of.key, of.at_once.unwrap(), of.place.unwrap_or_default())).collect::<Vec<_>>()
        };
        assert_eq!(queue.set_limit(&limit(None, 2)).unwrap().at_once, Some(2));
        let of_key = queue.set_limit(&limit(Some("7"), 9)).unwrap();
        assert_eq!((of_key.key.as_deref(), of_key.at_once, of_key.place), (Some("7"), Some(9), None));
        assert_eq!(limits(), [(None, 2, none.clone()), (Some("7".to_owned()), 9, none.clone())]);

        // One place lacks a change; a repetition completes it.
        proxy.go_away();
        let error = in_time(|| queue.set_limit(&limit(None, 4)).unwrap_err());
        assert!(error.message().contains("changed at a, c, and not at b; a repetition"), "{error}");
        proxy.come_back();
        until("the place is back", || queue.watch(10).unwrap().away.is_empty());
        let at = |place: &str, at_once| (None, at_once, place.to_owned());
        assert_eq!(limits()[..3], [at("a", 4), at("b", 2), at("c", 4)]);
        queue.set_limit(&limit(None, 4)).unwrap();
        assert_eq!(limits()[0], (None, 4, none));
        queue.at("c").unwrap().set_setting("leaseMs", None).unwrap();
        let differs = [("leaseMs", Some(5_000), "a"), ("leaseMs", Some(5_000), "b"), ("leaseMs", None, "c")];
        assert_eq!(settings()[1..], differs.map(|(name, value, place)| (name, value, place.to_owned())));
    }
}
