use super::super::capture::Limits;
use super::*;
use proptest::prelude::*;
use readpast::Action;

const DIRECTIVE: &str = r#"{"readpast": {"action": "fail", "error": "no"}}"#;

fn directive_of(output: &[u8]) -> Result<Option<Directive>, String> {
    let mut written = Written::new(Limits { head: 0, tail: 1000, follows: true });
    // In pieces, as a pipe delivers them.
    output.chunks(7).for_each(|piece| written.keep(piece));
    at_end(&written).map(|found| found.map(|(_, directive)| directive))
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn directives_are_read_or_refused_but_never_guessed() {
    let line = r#"{"readpast": {"action": "retry", "delay_ms": 5, "step": "sent", "response": {"id": 1}}}"#;
    let read = directive_of(line.as_bytes()).unwrap().unwrap();
    assert_eq!((read.action, read.delay_ms), (Some(Action::Retry), Some(5)));
    assert_eq!((read.step.as_deref(), read.response.as_deref()), (Some("sent"), Some(r#"{"id":1}"#)));
    for line in
        ["", "\n", "done", r#"{"id": 1}"#, r#"{"readpast_id": 1}"#, r#"{"readpast.x": 1}"#, "readpast", "{", "{}"]
            .into_iter()
            .chain([r#"{"tools": {"readpast": {"action": "fail"}}}"#, r#"[{"readpast": {}}]"#, r#"{"a": "readpast"}"#])
    {
        assert_eq!(directive_of(line.as_bytes()), Ok(None), "{line}");
    }
    for line in [
        r#"{"readpast": "#,
        r#"{"readpast""#,
        r#"{"readpast": 1}"#,
        r#"{"readpast": {"action": "explode"}}"#,
        r#"{"readpast": {"acton": "fail"}}"#,
        r#"{"readpast": {"delay_ms": "5"}}"#,
        r#"{"readpast": {"set": "5"}}"#,
        r#"{"readpast": {"set": [5]}}"#,
        r#"{"readpast": {"then": {}}}"#,
        r#"{"readpast": {"then": "5"}}"#,
        r#"{"readpast": {}, "more": 1}"#,
        r#"{"more": {"a": 1}, "readpast": {"action": "fail"}}"#,
        r#"{"more": {"a": 1}, "readpast": {"action": "fail"}"#,
        r#"{"more": [1, {"b": "}"}], "readpast" : {"action": "fail"}} done"#,
        "log\n{\n  \"more\": 1,\n  \"readpast\": {\"action\": \"fail\"}\n}\n",
        r#"{"Readpast": {"action": "fail"}}"#,
        r#"{"readpast": {"action": "fail"}} done"#,
        r#""{\"readpast\": {\"action\": \"fail\"}}""#,
        // As Python, JavaScript and Ruby print their objects.
        "{'readpast': {'action': 'fail'}}",
        "{ readpast: { action: 'fail' } }",
        r#"{"readpast"=>{"action"=>"fail"}}"#,
    ] {
        assert!(directive_of(line.as_bytes()).is_err(), "{line}");
    }
}

#[test]
fn values_stay_as_they_are_written() {
    let line = r#"{"readpast": {"set": {"Amount": 12345678901234567890.10, "Email": {"Response": "250 OK"}}}}"#;
    let read = directive_of(line.as_bytes()).unwrap().unwrap();
    let set: BTreeMap<String, Box<RawValue>> = serde_json::from_str(read.set.as_deref().unwrap()).unwrap();
    assert_eq!(set["Amount"].get(), "12345678901234567890.10");
    assert_eq!(set["Email"].get(), r#"{"Response": "250 OK"}"#);
    assert_eq!(directive_of(br#"{"readpast": {"set": null, "then": null}}"#).unwrap().unwrap(), Directive::default());
    let line = br#"{"readpast": {"then": [{"columns": {"N": 12345678901234567890.10}}]}}"#;
    let read = directive_of(line).unwrap().unwrap();
    assert_eq!(read.then.as_deref(), Some(r#"[{"columns": {"N": 12345678901234567890.10}}]"#));
}

#[test]
fn an_unreadable_directive_has_its_reason() {
    for (output, why) in [
        (
            b"{\"readpast\": {\"action\":\"fail\",\"error\":\"caf\xe9\"}}".to_vec(),
            "not UTF-8 (byte 0xe9 after 42 others)",
        ),
        (utf16(DIRECTIVE), "not JSON"),
        ([b"\xff\xfe".to_vec(), utf16(DIRECTIVE)].concat(), "not UTF-8"),
        (DIRECTIVE.replace("no", &"x".repeat(1000)).into_bytes(), "longer than 1000 bytes"),
        (format!("a\n{}\n\n", DIRECTIVE.replace("no", &"x".repeat(1000))).into_bytes(), "longer than 1000 bytes"),
        (format!("a\n\x1b[31m{}", DIRECTIVE.replace("no", &"x".repeat(1000))).into_bytes(), "longer than 1000 bytes"),
    ] {
        let error = directive_of(&output).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert!(directive_of(b"{\"more\": 1, \"readpast\": {\"error\":\"caf\xe9\"}}").unwrap_err().contains("not UTF-8"));
    let indented = format!("a\n{}{}", " ".repeat(600), DIRECTIVE.replace("no", &"x".repeat(1000)));
    assert!(directive_of(indented.as_bytes()).is_err());
    // Long lines that are not directives are ordinary output.
    assert_eq!(directive_of("x".repeat(5000).as_bytes()), Ok(None));
    assert_eq!(directive_of(format!("{DIRECTIVE}\n{}", "x".repeat(5000)).as_bytes()), Ok(None));
}

/// Only the end of these is kept, and it does not show the directive.
#[test]
fn a_directive_too_long_to_keep_is_no_success() {
    let long = "x".repeat(3000);
    let pretty = format!("{{\n  \"readpast\": {{\n    \"action\": \"fail\",\n    \"error\": \"{long}\"\n  }}\n}}\n");
    let lines = "    \"x\",\n".repeat(300);
    let members = "  \"x\": 1,\n".repeat(300);
    for output in [
        pretty.clone(),
        pretty.replace('"', "'"),
        format!("{{\"id\": 1}}\nlog\n{pretty}\n\n"),
        format!("{{\n  \"more\": [\n{lines}    {{\"readpast\": 1}}\n  ],\n  \"readpast\": {{}}\n}}"),
        format!("{{\"more\": \"{long}\", \"readpast\": {{\"action\": \"fail\"}}}}"),
        format!("{{\"more\": \"a\\\"{{\", \"readpast\": {{\"action\": \"fail\"}}, \"z\": \"{long}\"}}\n"),
        format!("{{ is not closed\n{{\n{members}  \"readpast\": {{}}\n}}"),
        format!("{{\n  \"more\": \"torn,\n{members}  \"readpast\": {{}}\n}}"),
        format!("  {{\"more\": 1, \"readpast\": {{\"error\": \"{long}\"}}"),
    ] {
        let error = directive_of(output.as_bytes()).unwrap_err();
        assert!(error.contains("longer than 1000 bytes"), "{error}");
    }
    for output in [
        format!("{pretty}done\n"),
        format!("{pretty}{{\"id\": 1}}"),
        format!("{pretty}  {{\"id\": \"{long}\"}}"),
        format!("{{\"a\": \"readpast\", \"b\": \"{long}\"}}"),
        format!("{{\"tools\": {{\"readpast\": {{\"x\": \"{long}\"}}}}}}"),
        format!("{{\"readpast_ids\": \"{long}\"}}"),
        format!("[\n{{\"readpast\": {{}}}},\n{lines}]"),
    ] {
        assert_eq!(directive_of(output.as_bytes()), Ok(None), "{output}");
    }
}

#[test]
fn invisible_bytes_around_a_directive_do_no_harm() {
    let fail = directive_of(DIRECTIVE.as_bytes());
    assert_eq!(fail.as_ref().unwrap().as_ref().unwrap().action, Some(Action::Fail));
    for (before, after) in [
        ("\u{feff}", ""),
        ("", "\0"),
        ("", "\r\n"),
        (" 50 %\r100 %\r", "\r"),
        ("a\n", "\n\n \n"),
        ("", "\n\0\n"),
        ("\x1b[32m", "\x1b[0m\n"),
        (" \t", "\x1a"),
    ] {
        assert_eq!(directive_of(format!("{before}{DIRECTIVE}{after}").as_bytes()), fail, "{before:?} {after:?}");
    }
}

#[test]
fn an_object_over_several_lines_counts_when_it_is_the_last() {
    let pretty = "{\n  \"readpast\": {\n    \"action\": \"fail\",\n    \"error\": \"no\"\n  }\n}\n";
    assert_eq!(directive_of(pretty.as_bytes()), directive_of(DIRECTIVE.as_bytes()));
    assert_eq!(directive_of(format!("log\n{pretty}").as_bytes()), directive_of(DIRECTIVE.as_bytes()));
    assert!(directive_of(b"{\"readpast\":\n  {\"action\": \"explode\"}}").is_err());
    assert!(directive_of(b"{\n\"readpast\":\n  {\"action\": \"fail\"\n}").is_err());
    // A directive that other output follows is output.
    for output in [format!("{pretty}done"), format!("{DIRECTIVE}\ndone"), format!("{DIRECTIVE}\n{{\"id\": 1}}")] {
        assert_eq!(directive_of(output.as_bytes()), Ok(None), "{output}");
    }
    let (start, _) = {
        let mut written = Written::new(Limits { head: 0, tail: 60, follows: true });
        written.keep(format!("{}\n{DIRECTIVE}\n", "x".repeat(100)).as_bytes());
        at_end(&written).unwrap().unwrap()
    };
    assert_eq!(start, 101);
}

proptest! {
    /// However the last line is damaged (bytes lost, changed, added), as long as it begins like a directive it is either the
    /// right one, or refused.
    #[test]
    fn a_damaged_directive_is_never_success(
        before in "(log line\n|\\{\"id\": 1\\}\n|\u{feff}|\0|\x1b\\[1m| |\n){0,4}",
        damage in prop::collection::vec((11_usize..47, any::<u8>(), 0..3_u8), 0..6),
        cut in 11_usize..60,
        after in "(\0|\n|\r| |\x1b\\[0m|\u{feff}){0,4}",
        padding in 0..1500_usize,
    ) {
        let mut line = DIRECTIVE.replace("no", &"n".repeat(padding)).into_bytes();
        for (at, byte, how) in damage {
            // A line break would make two lines of it.
            let byte = if ends_line(&byte) { b'x' } else { byte };
            let at = at.min(line.len() - 1);
            match how {
                0 => line[at] = byte,
                1 => line.insert(at, byte),
                _ => drop(line.remove(at)),
            }
        }
        if cut < 40 {
            line.truncate(cut.max(11));
        }
        let looks = looks_like_one(&line);
        let output = [before.as_bytes(), &line, after.as_bytes()].concat();
        match directive_of(&output) {
            Ok(None) => prop_assert!(!looks, "{}", String::from_utf8_lossy(&output)),
            Ok(Some(directive)) => prop_assert!(looks && (directive.action == Some(Action::Fail) || directive.action.is_none()
                || !String::from_utf8_lossy(&line).contains("\"fail\""))),
            Err(_) => prop_assert!(looks),
        }
    }

    /// No output makes it panic, or passes for a directive without its mark.
    #[test]
    fn other_output_is_output(output in prop::collection::vec(any::<u8>(), 0..3000)) {
        let mark = String::from_utf8_lossy(&output).to_lowercase().contains("readpast");
        prop_assert!(mark || directive_of(&output) == Ok(None));
    }
}

/// A text that was cut within a character, as JavaScript prints it.
#[test]
fn half_of_a_surrogate_pair_is_replaced() {
    let directive =
        directive_of(br#"{"readpast": {"response": "a\ud83d", "set": {"Body": "\ude00b"}}}"#).unwrap().unwrap();
    assert_eq!(directive.response.as_deref(), Some("a\u{fffd}"));
    assert_eq!(directive.set.as_deref(), Some(r#"{"Body": "\ufffdb"}"#));
    assert!(directive.is_mended);
    assert!(!directive_of(br#"{"readpast": {"response": "\ud83d\ude00"}}"#).unwrap().unwrap().is_mended);
}
