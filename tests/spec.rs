//! Descriptions of queues: each mistake is named with its line and key; what is read is written back as it was.

#[path = "spec/mistakes.rs"]
mod mistakes;
#[path = "spec/round_trip.rs"]
mod round_trip;

use readpast::QueueSpec;

/// `{"queue": "Notification"}` is all that readpast's own queue needs, and what the first release stored still reads.
#[test]
fn defaults_are_filled_in() {
    let short = QueueSpec::from_json(r#"{"queue":"Notification"}"#).unwrap();
    let stored =
        r#"{"queue":"Notification","types":["Default"],"columns":[{"name":"Payload","type":"text","nullable":true}]}"#;
    assert_eq!(short, QueueSpec::from_json(stored).unwrap());
    assert_eq!(short, QueueSpec::from_toml("queue = 'Notification'").unwrap());
    assert_eq!(short.settings, "notification");
    assert_eq!(short.max_attempts, 3);
}

#[test]
fn a_format_is_told_by_the_file_or_by_the_text() {
    use readpast::spec::Format;
    assert_eq!(Format::of_file("a/b.v2.TOML"), Some(Format::Toml));
    assert_eq!(Format::of_file("q.json"), Some(Format::Json));
    assert_eq!(Format::of_file("json"), None);
    for text in ["\u{feff}\n {\"queue\": \"Q\"}", "\u{feff}queue = 'Q'\r\n", "# {\nqueue = 'Q'"] {
        assert_eq!(QueueSpec::from_text(text).unwrap().queue.as_str(), "Q", "{text:?}");
    }
}
