//! Names of queues and schemas.

use readpast::item::{Action, NewItem};
use readpast::{description::QueueSpec, install::install};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("names::hostile_queue_names_are_refused", hostile_queue_names_are_refused),
    ("names::a_schema_may_be_called_anything", a_schema_may_be_called_anything),
    ("names::the_longest_queue_name_works", the_longest_queue_name_works),
    ("names::types_are_text_and_nothing_else", types_are_text_and_nothing_else),
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

/// Texts that would end a literal, a comment, the body of a function, a statement of a script, or fill in a template.
fn types_are_text_and_nothing_else(given: &Given) {
    let types = ["it's", "x]; DROP TABLE Job; --", "$$; $$", "*/ GO /*", "{{ queue }}", "100%_[a]", "N'"];
    let spec = serde_json::json!({"queue": given.queue, "types": types});
    let queue = given.queue_with(&spec.to_string(), &[]);
    // The first one is the default; written into the procedures it is text there too.
    queue.put("it's");
    for kind in &types[1..] {
        queue.put_item(NewItem { kind: Some((*kind).to_owned()), ..support::api::item(kind) });
    }
    for kind in types {
        let found = queue.find(&serde_json::json!({"types": [kind]}).to_string(), None, 10).unwrap();
        let payloads: Vec<_> = found.iter().map(|item| item.column("Payload").as_str().unwrap()).collect();
        assert_eq!(payloads, [kind]);
        let taken = queue.take();
        assert_eq!(taken.column("Type"), kind);
        queue.end(taken.settle(Action::Complete));
        assert_eq!(queue.purge(&serde_json::json!({"types": [kind]}).to_string(), 10).unwrap(), 1);
    }
    // Made anew, it finds its types as they are.
    given.install(&spec.to_string());
}
