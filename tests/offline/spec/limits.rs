//! Limits: what a description may limit, and how it is written back.

use proptest::{option, prelude::*, sample, sample::select};
use readpast::{
    QueueSpec,
    description::{ColumnKind, ColumnSpec, LimitSpec, Rate, TiersSpec},
    ident::Identifier,
};

fn name(text: &str) -> Identifier {
    Identifier::written("the name", text).unwrap()
}

/// A queue with columns of several kinds, and more keys.
fn limited(more: &str) -> Result<QueueSpec, readpast::Error> {
    QueueSpec::from_json(&format!(
        r#"{{"queue": "Work", "columns": [{{"name": "Customer", "type": "text(300)"}}, {{"name": "Long", "type": "text(301)"}},
            {{"name": "Body", "type": "text"}}, {{"name": "At", "type": "timestamp"}}, {{"name": "Sum", "type": "decimal(9, 2)"}},
            {{"name": "Hash", "type": "binary(8)"}}, {{"name": "Extra", "type": "json"}}, {{"name": "Score", "type": "float"}},
            {{"name": "Day", "type": "date"}}, {{"name": "Secret", "type": "integer", "secret": true}},
            {{"name": "Host", "type": "guid"}}, {{"name": "Rank", "type": "integer", "nullable": false}}], {more}}}"#
    ))
}

#[test]
fn limits_that_limit_nothing_or_the_same_again_are_refused() {
    for (limit, words) in [
        ("5", "limit: must be a list, not 5"),
        ("[5]", "limit[0]: must be a table"),
        (r#"[{"by": "Customer", "atonce": 1}]"#, "limit[0].atonce: there is no such key (did you mean \"at_once\"?)"),
        (r#"[{"by": "Customer"}]"#, "limit[0]: limits nothing: give at_once, rate, or both"),
        (r#"[{"by": "Customer", "burst": 4}]"#, "limit[0]: limits nothing"),
        (r#"[{"at_once": 1, "burst": 4}]"#, "limit[0].burst: says how many of a rate start together"),
        (r#"[{"at_once": 0}]"#, "limit[0].at_once: must be a whole number from 1 to 1000000, not 0"),
        (r#"[{"at_once": 1000001}]"#, "limit[0].at_once: must be a whole number from 1 to 1000000, not 1000001"),
        (r#"[{"rate": "1/1s", "burst": 0}]"#, "limit[0].burst: must be a whole number from 1"),
        (r#"[{"rate": "60/m"}]"#, "limit[0].rate: must be starts/period like \"60/1m\""),
        (r#"[{"rate": 60}]"#, "limit[0].rate: must be starts/period"),
        (r#"[{"rate": "1/25h"}]"#, "a period from 1ms to 1d with ms, s, m, h or d, not \"1/25h\""),
        (r#"[{"by": "Nobody", "at_once": 1}]"#, "limit[0].by: there is no column \"Nobody\"; there are Customer"),
        (r#"[{"by": "Type", "at_once": 1}]"#, "limit[0].by: there is no column \"Type\""),
        (
            r#"[{"by": "Rank", "at_once": 1}, {"by": "Host", "at_once": 1}, {"by": "Rank", "rate": "1/1s"}]"#,
            "limit[2].by: \"Rank\" has a limit already; give both numbers in one",
        ),
        (r#"[{"at_once": 1}, {"rate": "1/1s"}]"#, "limit[1]: has no \"by\", as a limit before it"),
        (
            r#"[{"at_once": 1}, {"by": "Rank", "at_once": 1}, {"by": "Host", "at_once": 1}, {"by": "Customer", "at_once": 1},
                {"by": "Rank", "at_once": 1}]"#,
            "limit: has 5 limits; 4 are the most",
        ),
        (r#"[{"by": "Customer", "at_once": {"free": 1}}]"#, "limit[0].at_once: needs \"from\", the column that says"),
        (r#"[{"by": "Customer", "at_once": {"from": "Rank"}}]"#, "limit[0].at_once: has no number: give one for each"),
        (
            r#"[{"by": "Customer", "at_once": {"from": "Rank", "free": 0}}]"#,
            "limit[0].at_once.free: must be a whole number",
        ),
        (
            r#"[{"by": "Customer", "at_once": {"from": "Body", "free": 1}}]"#,
            "limit[0].at_once.from: has to be an integer",
        ),
        (
            r#"[{"by": "Customer", "at_once": {"from": "No", "free": 1}}]"#,
            "limit[0].at_once.from: there is no column \"No\"",
        ),
        (
            r#"[{"at_once": {"from": "Rank", "free": 1}}]"#,
            "limit[0].at_once: goes by a column only in the first limit with",
        ),
        (
            r#"[{"by": "Rank", "at_once": 1}, {"by": "Customer", "at_once": {"from": "Rank", "free": 1}}]"#,
            "limit[1].at_once: goes by a column only in the first limit with",
        ),
        (
            r#"[{"by": "Customer", "at_once": {"from": "Secret", "free": 1}}]"#,
            "limit[0].at_once.from: \"Secret\" cannot be secret: the number of a key",
        ),
        (
            r#"[{"at_once": 1, "weight": "Rank"}]"#,
            "limit[0].weight: says as how many an item counts for at_once of a key",
        ),
        (
            r#"[{"by": "Customer", "rate": "1/1s", "weight": "Rank"}]"#,
            "limit[0].weight: says as how many an item counts",
        ),
        (
            r#"[{"by": "Customer", "at_once": 1, "weight": "Host"}]"#,
            "limit[0].weight: has to be an integer or bigint, not",
        ),
        (r#"[{"by": "Customer", "at_once": 1, "weight": "No"}]"#, "limit[0].weight: there is no column \"No\""),
        (r#"[{"by": "Secret", "at_once": 1}]"#, "limit[0].by: \"Secret\" cannot be secret: answers about its limit"),
    ] {
        let error = limited(&format!(r#""limit": {limit}"#)).expect_err(limit);
        assert!(error.message().contains(words), "{limit}: {error}");
    }
    for by in ["Long", "Body", "At", "Sum", "Hash", "Extra", "Score", "Day"] {
        let error = limited(&format!(r#""limit": [{{"by": "{by}", "at_once": 1}}]"#)).expect_err(by);
        let words = "limit[0].by: has to be an integer, bigint, boolean, guid, or text of at most 300 characters, not ";
        assert!(error.message().contains(words), "{by}: {error}");
    }
    for limit in [
        "[]",
        r#"[{"by": "Customer", "at_once": 10}, {"by": "Host", "rate": "60/1m", "burst": 10}, {"at_once": 200}, {"by": "Rank",
            "rate": "5/1s"}]"#,
    ] {
        limited(&format!(r#""limit": {limit}"#)).unwrap_or_else(|error| panic!("{limit}: {error}"));
    }
}

#[test]
fn limits_are_refused_beside_claims_that_search_in_another_way() {
    let present = r#""completion": "delete", "table": {"name": "t", "key": ["id"]}"#;
    let claimed = r#""lease": {"kind": "fixed"}, "procedures": {"next": "p"}, "table": {"name": "t", "key": ["id"], "lifecycle": {"owner": "o", "started": "b"},
        "status": {"column": "s", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}"#;
    for (more, words) in [
        (present, "cannot be with a table whose rows show no state"),
        (claimed, "is for claims of readpast's own, not for those of a procedure that a table has already"),
        (r#""order": {"group": "Customer"}"#, "with \"by\" cannot be beside order.group"),
        (r#""shards": 4"#, "cannot be beside shards: its claims take turns"),
        (r#""claim_by": ["type"]"#, "with \"by\" cannot be beside claim_by: a claim would search"),
        (r#""claim_by": ["step"]"#, "with \"by\" cannot be beside claim_by"),
        (r#""roles": {"own_types_only": true}"#, "with \"by\" cannot be beside roles.own_types_only"),
        (r#""lease": {"durable": false}"#, "cannot be beside lease.durable = false: after a crash"),
    ] {
        let error = limited(&format!(r#"{more}, "limit": [{{"by": "Rank", "at_once": 1}}]"#)).expect_err(more);
        assert!(error.message().contains(&format!("limit: {words}")), "{more}: {error}");
    }
    // One limit of all only says how many a claim takes.
    for more in [
        r#""order": {"group": "Customer"}"#,
        r#""claim_by": ["type"]"#,
        r#""claim_by": ["step"]"#,
        r#""roles": {"own_types_only": true}"#,
    ] {
        limited(&format!(r#"{more}, "limit": [{{"at_once": 1, "rate": "5/1s"}}]"#)).expect(more);
    }
    let procedures = r#"{"queue": "Work", "limit": [{"at_once": 1}], "columns": [], "procedures": {"next": "n", "modify": "m",
        "view": "v", "key": "k", "token": "t"}}"#;
    let error = QueueSpec::from_json(procedures).unwrap_err();
    assert!(error.message().contains("limit: is decided by the hand-written procedures"), "{error}");
    // Put together in a program it is held to the same.
    let mut built = limited(r#""limit": [{"rate": "1/1s"}]"#).unwrap();
    assert_eq!(built.limits[0].burst(), Some(1));
    built.limits[0].rate.as_mut().unwrap().ms = 86_400_001;
    assert!(built.check().unwrap_err().message().starts_with("limit[0].rate: must be starts/period"));
    built.limits[0].rate = None;
    assert!(built.check().unwrap_err().message().starts_with("limit[0]: limits nothing"));
}

/// Columns that a limit counts by, and the whole queue.
const KEYS: [(&str, ColumnKind); 5] = [
    ("Customer", ColumnKind::BigInteger),
    ("Host", ColumnKind::Text(Some(300))),
    ("Job", ColumnKind::Guid),
    ("Urgent", ColumnKind::Boolean),
    ("Part", ColumnKind::Integer),
];

fn limits() -> impl Strategy<Value = Vec<LimitSpec>> {
    let count = || 1..=1_000_000_u32;
    let rate = (count(), 1..=86_400_000_u64, select(vec![1, 1000, 60_000, 3_600_000, 86_400_000]))
        .prop_map(|(starts, ms, unit)| Rate { starts, ms: (ms / unit * unit).max(1) });
    let numbers = (option::of(count()), option::of((rate, option::of(count()))));
    let numbers = numbers.prop_filter("a limit", |(at_once, rate)| at_once.is_some() || rate.is_some());
    let keys = sample::subsequence(vec![None, Some(0), Some(1), Some(2), Some(3), Some(4)], 1..=4);
    (keys.prop_shuffle(), prop::collection::vec(numbers, 4)).prop_map(|(keys, numbers)| {
        let limits = keys.into_iter().zip(numbers).map(|(key, (at_once, rate)): (Option<usize>, _)| LimitSpec {
            by: key.map(|key| name(KEYS[key].0)),
            at_once,
            tiers: None,
            weight: key.and(at_once).filter(|most| most % 3 == 0).map(|_| name("Part")),
            rate: rate.map(|(rate, _)| rate),
            burst: rate.and_then(|(_, burst)| burst),
        });
        limits.collect()
    })
}

proptest! {
    #[test]
    fn limits_round_trip(limits in limits()) {
        let mut spec = QueueSpec::from_json(r#"{"queue": "Work"}"#).unwrap();
        spec.columns = KEYS.map(|(column, kind)| ColumnSpec::new(name(column), kind)).into();
        spec.limits = limits;
        let sought = spec.limits.iter_mut().find(|limit| limit.by.is_some());
        if let Some(limit) = sought.filter(|limit| limit.at_once.is_some_and(|most| most % 2 == 0)) {
            let numbers = vec![("free".to_owned(), 1), ("it's".to_owned(), limit.at_once.take().unwrap())];
            limit.tiers = Some(TiersSpec { from: name("Host"), numbers });
        }
        spec.check().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let text = spec.to_json();
        prop_assert_eq!(QueueSpec::from_json(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?, spec);
    }
}
