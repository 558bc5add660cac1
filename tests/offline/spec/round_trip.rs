//! Descriptions are written back as they were read, whatever was chosen.

use proptest::{option, prelude::*, sample::select};
use readpast::{
    ItemState, QueueSpec,
    description::{
        BackoffSpec, CheckSpec, ClaimBySpec, ColumnCondition, ColumnKind, ColumnSpec, Comparison, Completion,
        DedupSpec, Direction, Holds, IndexSpec, KeyColumn, KeySource, KeyText, LeaseSpec, LifecycleSpec, Literal,
        OnDuplicate, OrderSpec, PrioritySpec, ReferenceSpec, RetentionSpec, RolesSpec, RowCondition, RowTest,
        SeekColumn, SettingsTableSpec, SqlName, StateSpec, Storage, SubtypeSpec, TableSpec,
    },
    ident::{Identifier, QueueName},
};
use serde_json::{Value, json};

fn name(text: &str) -> Identifier {
    Identifier::written("the name", text).unwrap()
}

/// A name that a DBA may have given: with a number, so that no two are one.
fn any_name(number: usize) -> impl Strategy<Value = Identifier> {
    "[^\\p{Cc}$]{0,20}".prop_map(move |text| name(&format!("{number} {text}")))
}

fn kind() -> impl Strategy<Value = ColumnKind> {
    prop_oneof![
        (1_u16..=4000).prop_map(|length| ColumnKind::Text(Some(length))),
        (1_u8..=38)
            .prop_flat_map(|precision| (Just(precision), 0..=precision))
            .prop_map(|(precision, scale)| ColumnKind::Decimal(precision, scale)),
        select(vec![
            ColumnKind::Text(None),
            ColumnKind::Integer,
            ColumnKind::BigInteger,
            ColumnKind::Boolean,
            ColumnKind::Float,
            ColumnKind::Timestamp,
            ColumnKind::Date,
            ColumnKind::Guid,
            ColumnKind::Json,
            ColumnKind::Binary(None),
            ColumnKind::Binary(Some(8000)),
        ]),
    ]
}

/// A value that a column of this kind can have.
fn default(kind: ColumnKind) -> Option<Value> {
    Some(match kind {
        ColumnKind::Text(_) => json!("'"),
        ColumnKind::Integer | ColumnKind::BigInteger => json!(-7),
        ColumnKind::Boolean => json!(true),
        ColumnKind::Float => json!(0.25),
        ColumnKind::Decimal(..) => json!("0"),
        ColumnKind::Timestamp => json!("2026-11-21T08:30:00Z"),
        ColumnKind::Date => json!("2026-11-21"),
        ColumnKind::Guid => json!("d6513312-4dcc-4c44-b044-08b98257037c"),
        ColumnKind::Json => json!({"a": [1, null, "b"]}),
        ColumnKind::Binary(_) => json!("AA=="),
    })
}

fn refers(kind: ColumnKind) -> bool {
    !matches!(kind, ColumnKind::Json | ColumnKind::Text(None) | ColumnKind::Binary(None))
}

/// Columns of any kind, and at the end one that can give the order and a key.
fn columns(prefix: &'static str) -> impl Strategy<Value = Vec<ColumnSpec>> {
    prop::collection::vec((kind(), any::<bool>(), any::<bool>(), 0..6_u8), 0..4).prop_map(move |kinds| {
        let mut columns: Vec<_> = kinds
            .into_iter()
            .enumerate()
            .map(|(i, (kind, nullable, secret, more))| ColumnSpec {
                nullable,
                secret,
                default: if more == 1 { default(kind) } else { None },
                check: [2, 3].contains(&more).then(|| CheckSpec {
                    sql_server: "[C0] IS NULL".to_owned(),
                    postgres: if more == 2 { "[C0] IS NULL" } else { "\"C0\" IS NULL" }.to_owned(),
                }),
                sql_type: (more == 5).then(|| SqlName {
                    schema: nullable.then(|| name("dbo")),
                    name: name(if secret { "OtpCode" } else { "\"Otp code\"" }),
                }),
                references: (more == 4 && refers(kind)).then(|| ReferenceSpec {
                    table: SqlName { schema: nullable.then(|| name("dbo")), name: name("\"Us er(s\"") },
                    column: name("ID"),
                }),
                ..ColumnSpec::new(name(&format!("{prefix}{i}")), kind)
            })
            .collect();
        columns.push(ColumnSpec::new(name(&format!("{prefix}Trace")), ColumnKind::Text(Some(55))));
        columns.push(ColumnSpec::new(name(&format!("{prefix}Until")), ColumnKind::Timestamp));
        columns.push(ColumnSpec::not_null(name(&format!("{prefix}Rank")), ColumnKind::Integer));
        columns
    })
}

fn literal() -> impl Strategy<Value = [Literal; 4]> {
    prop_oneof![
        any::<i64>().prop_map(|n| {
            let next = |by| Literal::Integer(n.wrapping_add(by));
            [Literal::Integer(n), next(1), next(2), next(3)]
        }),
        "[^\\p{Cc}]{0,9}".prop_map(|text| {
            let next = |more: &str| Literal::Text(format!("{text}{more}"));
            [next(""), next("a"), next("b"), next("c")]
        }),
    ]
}

fn table() -> impl Strategy<Value = TableSpec> {
    let names = (any_name(0), any_name(1), any_name(2), any_name(3), any_name(4), any_name(5));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (names, literal(), flags, option::of(any_name(6))).prop_map(|(names, values, flags, schema)| {
        let (table, id, flag, started, error, index) = names;
        let [waits, taken, done, more] = values;
        let (create, composite, seek, local_time, run_time) = flags;
        let settings = seek.then(|| SettingsTableSpec {
            schema: schema.clone(),
            name: index.clone(),
            param: name("Param"),
            value: id.clone(),
        });
        let condition = |column: &Identifier, holds| ColumnCondition { column: column.clone(), holds };
        let state = |state, conditions| StateSpec { state, conditions };
        let mut key = vec![KeyColumn::new(id.clone(), ColumnKind::Integer, KeySource::Table)];
        if composite {
            key.push(KeyColumn {
                stored: KeyText::Char,
                collation: Some(name("Latin1_General_BIN2")),
                ..KeyColumn::new(name("Part"), ColumnKind::Text(Some(9)), KeySource::Producer)
            });
        }
        let all = vec![waits.clone(), taken.clone(), done.clone()];
        let row = |column: &str, test| RowCondition { column: name(column), test };
        let rows = vec![
            row("Tenant", RowTest::Values(all.clone())),
            row(
                "Weight",
                RowTest::Compared(vec![(Comparison::NotEqual, taken.clone()), (Comparison::AtLeast, waits.clone())]),
            ),
            row("Gone", if seek { RowTest::Null } else { RowTest::Something }),
        ];
        TableSpec {
            schema,
            name: table,
            create,
            key,
            seek: if seek { vec![SeekColumn { name: flag.clone(), values: all }] } else { Vec::new() },
            local_time,
            // A table that is made needs a type for each column.
            rows: rows.into_iter().take(if create { 2 } else { 3 }).filter(|_| composite).collect(),
            states: vec![
                state(
                    ItemState::Pending,
                    vec![condition(&flag, Holds::Values(vec![waits])), condition(&started, Holds::Null)],
                ),
                state(
                    ItemState::Processing,
                    vec![condition(&flag, Holds::Values(vec![taken.clone()])), condition(&error, Holds::Null)],
                ),
                state(
                    ItemState::Failed,
                    vec![condition(&flag, Holds::Values(vec![taken])), condition(&error, Holds::Something)],
                ),
                state(
                    ItemState::Completed,
                    vec![condition(&flag, Holds::Values(if seek { vec![done] } else { vec![done, more] }))],
                ),
            ],
            lifecycle: LifecycleSpec {
                kind: Some(name("Kind")),
                enqueued: Some(name("Created")),
                started: Some(started),
                error: Some(error),
                ..LifecycleSpec::default()
            },
            run_time,
            index: IndexSpec { name: Some(index), columns: vec![flag, id] },
            claimed_by: None,
            settings,
        }
    })
}

fn storage() -> impl Strategy<Value = Storage> {
    prop_oneof![Just(Storage::Own), table().prop_map(|table| Storage::Table(Box::new(table)))]
}

/// Rules for some of the final states, in the order in which they are written; for Completed only where it stays.
fn retention() -> impl Strategy<Value = Vec<RetentionSpec>> {
    use ItemState::{Cancelled, Completed, Failed, PartiallyCompleted, Terminated};
    let states = [Completed, PartiallyCompleted, Cancelled, Terminated, Failed];
    let age =
        prop_oneof![1..=20_000 * 86_400, (1..=20_000).prop_map(|days| days * 86_400), (1..90).prop_map(|h| h * 3600)];
    prop::collection::vec(option::of(age), states.len()).prop_map(move |ages| {
        let rules =
            states.into_iter().zip(ages).filter_map(|(state, age)| Some(RetentionSpec { state, seconds: age? }));
        rules.collect()
    })
}

fn options() -> impl Strategy<Value = (Option<BackoffSpec>, LeaseSpec, Completion, RolesSpec)> {
    let backoff = (1..=86_400_000, 100..=10_000, 0..=i32::MAX, 0..=100).prop_map(
        |(first_ms, factor_percent, more, jitter_percent)| BackoffSpec {
            first_ms,
            factor_percent,
            cap_ms: first_ms.saturating_add(more),
            jitter_percent,
        },
    );
    let lease = (10..=86_400_000, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(ms, sliding, resume_own, durable)| LeaseSpec { ms, sliding, resume_own, durable });
    let completion =
        prop_oneof![Just(Completion::Keep), Just(Completion::Delete), Just(Completion::History(name("Done_History")))];
    let role = |number| option::of(any_name(number));
    let roles = (role(7), role(8), role(6), role(9), any::<bool>()).prop_map(
        |(producer, worker, monitor, operator, own_types_only)| RolesSpec {
            producer,
            worker,
            monitor,
            operator,
            own_types_only,
        },
    );
    (option::of(backoff), lease, completion, roles)
}

fn spec() -> impl Strategy<Value = QueueSpec> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (storage(), columns("C"), columns("S"), options(), flags, 0..3_usize, 1..=i32::MAX, retention()).prop_map(
        |(storage, mut columns, of_subtype, options, flags, direction, max_attempts, mut retention)| {
            if matches!(&storage, Storage::Table(table) if !table.create) {
                for column in &mut columns {
                    (column.sql_type, column.check, column.references) = (None, None, None);
                }
            }
            // A table of others does not show when an item was completed, and an item that moves away does not stay.
            let stays = storage == Storage::Own && options.2 == Completion::Keep;
            retention.retain(|rule| rule.state != ItemState::Completed || stays);
            let (by_priority, by_group, dedup, with_subtype, flag) = flags;
            let (backoff, lease, completion, roles) = options;
            let own = storage == Storage::Own;
            let local = matches!(&storage, Storage::Table(table) if table.local_time);
            let moves = matches!(completion, Completion::History(_));
            let direction = [Direction::Fifo, Direction::Lifo, Direction::Unordered][direction];
            let by_group = by_group && direction == Direction::Fifo && lease.durable;
            let subtype = SubtypeSpec { name: name("Email"), exclusive: flag, columns: of_subtype };
            QueueSpec {
                queue: QueueName::new("Work").unwrap(),
                limits: Vec::new(),
                spread_by: if own && !flag && by_group && dedup { vec![name("CRank")] } else { Vec::new() },
                after: own && flag && !dedup,
                progress: !matches!(storage, Storage::Procedures(_)) && flag,
                claim_by: if own {
                    ClaimBySpec { kind: flag, step: by_group != by_priority }
                } else {
                    ClaimBySpec::default()
                },
                shards: (own && !flag && !by_group && !by_priority && !roles.own_types_only)
                    .then_some(2 + max_attempts.rem_euclid(63)),
                types: vec!["Email".to_owned(), "a \"b\"".to_owned()],
                steps: if flag { vec!["rendered".to_owned(), "a \"b\"".to_owned()] } else { Vec::new() },
                // The columns of a subtype would be lost on the way to a history.
                subtypes: if own && with_subtype && !moves { vec![subtype] } else { Vec::new() },
                order: OrderSpec {
                    direction,
                    by: if own || direction == Direction::Unordered { Vec::new() } else { vec![name("CRank")] },
                    priority: by_priority.then(|| PrioritySpec { column: name("CRank"), highest_first: flag }),
                    group: by_group.then(|| name("CRank")),
                },
                max_attempts,
                trace: flag.then(|| name("CTrace")),
                expires: (flag && !local).then(|| name("CUntil")),
                attempt_history: flag != by_group,
                backoff,
                lease,
                completion,
                retention,
                attempt_retention: (flag != by_group).then_some(max_attempts.min(20_000 * 86_400)),
                dedup: dedup.then(|| DedupSpec {
                    columns: vec![name("CRank")],
                    existing: flag,
                    unfinished_only: by_group,
                    on_duplicate: if own {
                        OnDuplicate::ALL[usize::from(flag) + usize::from(by_group)]
                    } else {
                        OnDuplicate::Keep
                    },
                }),
                schedules: flag.then(Vec::new),
                roles,
                settings: "work.queue".to_owned(),
                storage,
                columns,
            }
        },
    )
}

proptest! {
    #[test]
    fn descriptions_round_trip(spec in spec()) {
        let text = spec.to_json();
        prop_assert_eq!(QueueSpec::from_json(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?, spec);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = QueueSpec::from_toml(&text);
        let _ = QueueSpec::from_json(&text);
    }
}
