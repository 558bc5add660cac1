//! Text is Unicode from end to end.

use readpast::item::{Action, Answer, NewItem, Settlement};
use support::api::{Layer, item};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("text::every_script_round_trips", every_script_round_trips),
    ("text::a_mebibyte_round_trips", a_mebibyte_round_trips),
    ("text::empty_is_not_null", empty_is_not_null),
    ("text::nul_is_refused", nul_is_refused),
    ("text::a_text_that_looks_like_sql_is_text", a_text_that_looks_like_sql_is_text),
];

fn every_script_round_trips(given: &Given) {
    let queue = given.queue(&[]);
    for text in [
        "emoji \u{1f600}\u{1f469}\u{200d}\u{1f4bb}",
        "\u{6f22}\u{5b57}\u{304b}\u{306a} \u{ac00} \u{20000}",
        "combining e\u{301} a\u{308}\u{304}",
        "\u{627}\u{644}\u{639}\u{631}\u{628}\u{64a}\u{629} \u{5e2}\u{5d1}\u{5e8}\u{5d9}\u{5ea} \u{202e}",
        "\u{e000}\u{fffd}\u{feff}\u{10ffff}",
        "\t\r\n\u{1}\u{1f}\u{7f}\u{85}",
        "\"quoted\" \\back\\ 'single' {brace} ?",
    ] {
        queue.put(text);
        let taken = queue.take();
        assert_eq!(taken.column("Payload"), text);
        let settlement = Settlement { response: Some(text), error: Some(text), ..taken.settle(Action::Retry) };
        assert_eq!(queue.end(settlement).answer, Answer::Ok);
        let again = queue.take();
        assert_eq!((again.column("Response"), again.column("Error")), (&text.into(), &text.into()));
        queue.end(again.settle(Action::Complete));
    }
}

fn a_mebibyte_round_trips(given: &Given) {
    let queue = given.queue(&[]);
    let text = "0123456789abc\u{1f600}".repeat(1024 * 1024 / 17 + 1);
    assert!(text.len() > 1024 * 1024);
    queue.enqueue(&[item(&text), item("short")], None).unwrap();
    let taken = queue.take();
    assert!(taken.column("Payload") == text.as_str(), "the long value should come back whole");
    let settlement = Settlement { response: Some(&text), ..taken.settle(Action::Complete) };
    assert_eq!(queue.end(settlement).answer, Answer::Ok);
    assert_eq!(queue.take().column("Payload"), "short");
}

fn empty_is_not_null(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item(""), NewItem::default()], None).unwrap();
    let (empty, null) = (queue.take(), queue.take());
    assert_eq!(empty.column("Payload"), "");
    assert!(null.column("Payload").is_null());
}

fn nul_is_refused(given: &Given) {
    let queue = given.queue(&[]);
    let problem = queue.enqueue(&[item("a\0b")], None).unwrap_err();
    assert_eq!(problem.kind, "InvalidItem");
    assert!(problem.message.contains("U+0000") && problem.message.contains("Payload"), "{}", problem.message);
    if given.layer == Layer::C {
        return; // Text that ends in NUL cannot hold one.
    }
    queue.put("x");
    let taken = queue.take();
    let settlement = Settlement { error: Some("a\0b"), ..taken.settle(Action::Fail) };
    let problem = queue.settle(&[settlement], None).unwrap_err();
    assert!(problem.kind == "InvalidArgument", "{problem:?}");
}

fn a_text_that_looks_like_sql_is_text(given: &Given) {
    let queue = given.queue(&[]);
    let hostile = "'); DROP TABLE x; --\"]}'); SELECT 1/0; $$ \\'";
    queue.put(hostile);
    let taken = queue.take();
    assert_eq!(taken.column("Payload"), hostile);
    let settlement = Settlement { step: Some(&hostile[..30]), error: Some(hostile), ..taken.settle(Action::Fail) };
    assert_eq!(queue.end(settlement).answer, Answer::Ok);
    for key in [hostile, "2026-11-21T00:00:00' OR '1'='1"] {
        let settlement = Settlement { key, ..taken.settle(Action::Complete) };
        assert!(queue.settle(&[settlement], None).is_err(), "a key that is no key is an error");
    }
}
