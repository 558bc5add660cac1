//! Descriptions that were put together in a program: they are held to the rules of those that are read.

use readpast::description::{Completion, DedupSpec, Direction, EXAMPLES, Literal, OnDuplicate, Storage};
use readpast::{ErrorKind, QueueSpec, ident::Identifier};

const SPEC: &str = r#"{"queue": "Job", "types": ["A"], "columns": [
    {"name": "Customer", "type": "text(40)"}, {"name": "Body", "type": "text"}],
    "subtypes": [{"name": "Mail", "columns": [{"name": "MailTo", "type": "text(9)"}]}]}"#;

const TABLE: &str = r#"{"queue": "Job", "columns": [],
    "table": {"name": "t", "key": ["Id"], "seek": {"State": [0, 1, 2]}, "lifecycle": {"started": "Began"},
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;

fn name(name: &str) -> Identifier {
    Identifier::new("a name", name).unwrap()
}

#[test]
fn a_description_that_was_read_has_been_checked() {
    for (example, text) in EXAMPLES {
        QueueSpec::from_toml(text).unwrap().check().unwrap_or_else(|error| panic!("{example}: {error}"));
    }
}

#[test]
fn each_mistake_has_its_key() {
    type Spoil = fn(&mut QueueSpec);
    let cases: [(&str, Spoil, &str); 22] = [
        (SPEC, |s| s.max_attempts = 0, "attempts.limit: must be a whole number from 1"),
        (SPEC, |s| s.lease.ms = 9, "lease.ms: must be a whole number from 10 to 86400000, not 9"),
        (SPEC, |s| s.backoff.as_mut().unwrap().cap_ms = 1, "backoff.cap_ms: is less than first_ms, which is 5000"),
        (SPEC, |s| s.backoff.as_mut().unwrap().jitter_percent = 101, "backoff.jitter: must be a number from 0 to 1"),
        (SPEC, |s| s.settings = "a'b".to_owned(), "settings: use letters"),
        (SPEC, |s| s.types.clear(), "types: must be a list of at least one value"),
        (SPEC, |s| s.types.push("A".to_owned()), "types[1]: the type \"A\" is there already"),
        (SPEC, |s| s.columns[1].name = name("CUSTOMER"), "columns[1]: there is another column \"CUSTOMER\""),
        (SPEC, |s| s.columns[1].name = name("it's"), "columns[1].name: the name \"it's\" is not allowed"),
        (SPEC, |s| s.columns[1].name = name("Lease_Until"), "columns[1]: \"Lease_Until\" is a column that every queue"),
        (
            SPEC,
            |s| s.order.group = Some(name("Nobody")),
            "order.group: there is no column \"Nobody\"; there are Customer",
        ),
        (SPEC, |s| s.order.group = Some(name("Body")), "order.group: a column of type text cannot be in an index"),
        (SPEC, |s| s.order.by = vec![name("Customer")], "order.by: is for described tables"),
        (SPEC, |s| s.completion = Completion::History(name("H")), "subtypes: would be lost"),
        (SPEC, |s| s.subtypes[0].columns.clear(), "subtypes[0].columns: must be a list of at least one value"),
        (SPEC, |s| s.subtypes[0].exclusive = true, "subtypes[0].name: an exclusive subtype"),
        (TABLE, without_start, "table.run_time: needs the column"),
        (TABLE, |s| table(s).key.clear(), "table.key: must be a list of at least one value"),
        (
            TABLE,
            |s| table(s).lifecycle.due = Some(name("began")),
            "table.lifecycle.started: the column \"Began\" is \"due\"",
        ),
        (TABLE, |s| table(s).states.truncate(2), "table.states: the state Completed is missing"),
        (TABLE, |s| table(s).seek[0].values = vec![Literal::Integer(0)], "table.seek.State: lacks a value"),
        (TABLE, |s| s.types.push("B".to_owned()), "types: the table has no column for the type"),
    ];
    for (text, spoil, wanted) in cases {
        let mut spec = QueueSpec::from_json(text).unwrap();
        spec.check().unwrap();
        spoil(&mut spec);
        let error = spec.check().expect_err(wanted);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with(wanted), "{wanted}: {error}");
    }
    let mut spec = QueueSpec::from_json(SPEC).unwrap();
    spec.order.group = Some(name("Customer"));
    spec.order.direction = Direction::Lifo;
    assert!(spec.check().unwrap_err().message().starts_with("order.group: asks for the oldest"));
    spec.order.group = None;
    let columns = vec![name("Customer"), name("Customer")];
    spec.dedup = Some(DedupSpec { columns, existing: false, unfinished_only: false, on_duplicate: OnDuplicate::Keep });
    assert!(spec.check().unwrap_err().message().starts_with("dedup.columns[1]: \"Customer\" stands in the list"));
}

fn without_start(spec: &mut QueueSpec) {
    let table = table(spec);
    table.run_time = true;
    table.lifecycle.started = None;
}

fn table(spec: &mut QueueSpec) -> &mut readpast::description::TableSpec {
    let Storage::Table(table) = &mut spec.storage else { panic!("a table") };
    table
}
