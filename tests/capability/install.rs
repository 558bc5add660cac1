//! Installing, again and again, and what is not installed.

use readpast::{description::QueueSpec, error::ErrorKind, install::install, render::SCHEMA_VERSION};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("install::again_changes_nothing", again_changes_nothing),
    ("install::at_once_takes_turns", at_once_takes_turns),
    ("install::refuses_a_downgrade", refuses_a_downgrade),
    ("install::an_older_schema_is_upgraded_in_place", an_older_schema_is_upgraded_in_place),
    ("install::an_earlier_table_gets_a_place_for_claims", an_earlier_table_gets_a_place_for_claims),
    ("install::without_it_opening_says_so", without_it_opening_says_so),
    ("install::other_columns_are_refused", other_columns_are_refused),
    ("install::new_types_are_taken_in", new_types_are_taken_in),
];

fn again_changes_nothing(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let _held = queue.take();
    queue.put("y");
    given.queue(&[]);
    assert_eq!(given.look("COUNT(*)", "1 = 1"), "2");
    assert_eq!(queue.take().column("Payload"), "y");
}

fn at_once_takes_turns(given: &Given) {
    let settings = given.settings(&[("schema", &format!("turns_{}", given.layer))]);
    let spec = QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap();
    std::thread::scope(|scope| {
        let installs: Vec<_> = (0..3).map(|_| scope.spawn(|| install(&settings.config(), Some(&spec)))).collect();
        for done in installs {
            done.join().unwrap().unwrap();
        }
    });
    given.layer.open(&settings, "Q").unwrap().put("x");
}

/// Its items stay, in work or not.
fn an_earlier_table_gets_a_place_for_claims(given: &Given) {
    let queue = given.queue(&[("lease.ms", "3600000")]);
    queue.put("x");
    let _held = queue.take();
    queue.put("y");
    let drop = given.spell(&format!("ALTER TABLE {} DROP COLUMN ClaimNum", given.table()));
    given.session().execute(&drop, &[]).unwrap();
    let queue = given.queue(&[("lease.ms", "3600000")]);
    assert_eq!(queue.take().column("Payload"), "y");
    assert_eq!(given.look("Status", "Payload = 'x'"), "Processing");
    assert_eq!(given.look("COUNT(*)", "ClaimNum > 0"), "1");
}

fn versions_table(given: &Given, schema: &str) -> String {
    let table = if given.server.is_sql_server() { "QueueSchemaVersion" } else { "queue_schema_version" };
    format!("{schema}.{table}")
}

fn refuses_a_downgrade(given: &Given) {
    let schema = format!("newer_{}", given.layer);
    let settings = given.settings(&[("schema", &schema)]);
    if given.server.is_citus() {
        // The database stays, and with it what an earlier run has left.
        given.session().execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE"), &[]).unwrap();
    }
    let spec = QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap();
    install(&settings.config(), Some(&spec)).unwrap();
    let table = versions_table(given, &schema);
    let newer = SCHEMA_VERSION + 1;
    let statement = format!("UPDATE {table} SET version = {newer} WHERE version = {SCHEMA_VERSION}");
    given.session().execute(&statement, &[]).unwrap();

    let error = install(&settings.config(), Some(&spec)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaNewer);
    assert!(error.message().contains(&newer.to_string()) && error.message().contains("newer library"), "{error}");
    let problem = given.layer.open(&settings, "Q").err().unwrap();
    assert_eq!(problem.kind, "SchemaNewer");
}

fn an_older_schema_is_upgraded_in_place(given: &Given) {
    let schema = format!("older_{}", given.layer);
    let settings = given.settings(&[("schema", &schema)]);
    let spec = QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap();
    install(&settings.config(), Some(&spec)).unwrap();
    given.layer.open(&settings, "Q").unwrap().put("kept");
    // The state that an earlier release would have left.
    let statement = format!("UPDATE {} SET version = version - 1", versions_table(given, &schema));
    given.session().execute(&statement, &[]).unwrap();

    let problem = given.layer.open(&settings, "Q").err().unwrap();
    assert_eq!(problem.kind, "SchemaOlder");
    assert!(problem.message.contains("install again"), "{}", problem.message);
    install(&settings.config(), None).unwrap();
    assert_eq!(given.layer.open(&settings, "Q").unwrap().take().column("Payload"), "kept");
}

fn without_it_opening_says_so(given: &Given) {
    let settings = given.settings(&[("schema", "nothing_here")]);
    let problem = given.layer.open(&settings, "Q").err().unwrap();
    assert_eq!(problem.kind, "SchemaMissing");
    assert!(problem.message.contains("nothing_here") && problem.message.contains("install"), "{}", problem.message);
}

fn other_columns_are_refused(given: &Given) {
    given.queue(&[]);
    let other = format!(r#"{{"queue": "{}", "columns": [{{"name": "Other", "type": "text"}}]}}"#, given.queue);
    let _turn = given.server.alone();
    let error = install(&given.settings(&[]).config(), Some(&QueueSpec::from_json(&other).unwrap())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    assert!(error.message().contains("columns: \"Payload\" is not there any more"), "{error}");
}

fn new_types_are_taken_in(given: &Given) {
    given.queue(&[]);
    let spec = format!(r#"{{"queue": "{}", "types": ["Default", "Urgent"]}}"#, given.queue);
    let queue = given.queue_with(&spec, &[]);
    queue.put_item(readpast::item::NewItem { kind: Some("Urgent".to_owned()), ..support::api::item("x") });
    assert_eq!(queue.take().column("Type"), "Urgent");
}
