//! Names of queues and schemas.

use crate::fixture::{Body, Given};
use readpast::{install::install, spec::QueueSpec};

pub const BODIES: &[(&str, Body)] = &[
    ("names::hostile_queue_names_are_refused", hostile_queue_names_are_refused),
    ("names::a_schema_may_be_called_anything", a_schema_may_be_called_anything),
    ("names::the_longest_queue_name_works", the_longest_queue_name_works),
];

fn hostile_queue_names_are_refused(given: &Given) {
    for name in ["a'b", "a]b", "a\"b", "a;DROP TABLE x", "", "a b", &"x".repeat(129)] {
        let problem = given.layer.open(&given.settings(&[]), name).err().unwrap();
        assert_eq!(problem.kind, "InvalidArgument", "{name}");
        assert!(problem.message.contains("name"), "{}", problem.message);
    }
    given.queue(&[]);
    let problem = given.layer.open(&given.settings(&[]), "NoSuchQueue").err().unwrap();
    assert_eq!(problem.kind, "UnknownQueue");
    assert!(problem.message.contains("NoSuchQueue") && problem.message.contains(&given.queue), "{}", problem.message);
}

fn a_schema_may_be_called_anything(given: &Given) {
    let schema = format!("odd {}'s ]schema\"; --", given.layer);
    let settings = given.settings(&[("schema", &schema)]);
    let spec = QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap();
    install(&settings.config(), Some(&spec)).unwrap();
    let queue = given.layer.open(&settings, "Q").unwrap();
    queue.put("x");
    let taken = queue.take();
    assert_eq!(taken.column("Payload"), "x");
}

fn the_longest_queue_name_works(given: &Given) {
    let name = format!("{}{}", given.layer, "LongName".repeat(5))[..40].to_owned();
    given.install(&format!(r#"{{"queue": "{name}"}}"#));
    let queue = given.layer.open(&given.settings(&[]), &name).unwrap();
    queue.put("x");
    queue.take();
}
