//! JSON that stays as it is written: no number is parsed and rewritten, which would cost it digits.

use serde_json::value::RawValue;

/// The deepest nesting of a document from a column in an item. Readers of JSON have limits of their own, of 64 and more, and one
/// item must not keep a worker from reading.
const DEEPEST: usize = 60;

/// Appends `text` as a document, or in quotes when it is not one.
pub(super) fn put_document(out: &mut String, text: &str) {
    match serde_json::from_str::<&RawValue>(text).map(RawValue::get) {
        // A line break stands only between values, and an item is one line.
        Ok(document) if is_shallow(document) => {
            out.extend(document.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        }
        _ => put_text(out, text),
    }
}

/// `text` with U+FFFD for each `\ud800` to `\udfff` that is no half of a pair, which JavaScript writes for a text that was cut
/// within a character; `None` where there is none. No database and few programs read one.
#[must_use]
pub fn without_half_pairs(text: &str) -> Option<String> {
    const LENGTH: usize = "\\ud83d".len();
    let unit = |at: usize| {
        let digits = text.get(at..at + LENGTH)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let (mut mended, mut kept, mut at) = (None, 0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        match (unit(at), unit(at + LENGTH)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 2 * LENGTH,
            (Some(0xD800..=0xDFFF), _) => {
                let out: &mut String = mended.get_or_insert_with(String::new);
                out.push_str(&text[kept..at]);
                out.push_str("\\ufffd");
                at += LENGTH;
                kept = at;
            }
            // The next character may be another backslash.
            _ => at += 2,
        }
    }
    mended.map(|out| out + &text[kept..])
}

/// The value of a hexadecimal digit.
fn hexadecimal(digit: u8) -> char {
    char::from(b"0123456789abcdef"[usize::from(digit)])
}

/// Appends `text` as JSON, without a copy of it in between.
pub(super) fn put_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| escape_bytes(byte) > 1) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte => {
                out.push_str("\\u00");
                out.extend([byte >> 4, byte & 15].map(hexadecimal));
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// An upper bound of the bytes of `text` in JSON.
pub(super) fn text_bytes(text: &str) -> usize {
    text.bytes().map(escape_bytes).sum::<usize>() + 2
}

/// The most bytes that a byte takes in JSON.
fn escape_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 2,
        0..b' ' => 6,
        _ => 1,
    }
}

fn is_shallow(document: &str) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in document.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str) -> String {
        let mut out = String::new();
        put_document(&mut out, text);
        out
    }

    #[test]
    fn text_in_json_is_what_others_read() {
        let all: String = (0..0x80_u8).map(char::from).chain("\u{e9}\u{1f642}\u{2028}".chars()).collect();
        for text in ["", "plain", all.as_str()] {
            let mut json = String::new();
            put_text(&mut json, text);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert!(json.len() <= text_bytes(text), "{json}");
        }
    }

    #[test]
    fn half_of_a_pair_is_replaced_and_a_pair_is_not() {
        for (text, mended) in [
            (r#"{"a": "cut \ud83d"}"#, Some(r#"{"a": "cut \ufffd"}"#)),
            (r#""\uD83D\uDE00 \ude00\ud83d""#, Some(r#""\uD83D\uDE00 \ufffd\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83dx \\\ud800""#, Some(r#""\ufffdx \\\ufffd""#)),
            (r#""\\ud83d \n \u00e9 \u12""#, None),
            ("\\", None),
            ("\\\u{e9}\\u\u{e9}\u{e9}", None),
        ] {
            assert_eq!(without_half_pairs(text).as_deref(), mended, "{text}");
        }
    }

    #[test]
    fn documents_stay_as_they_are_written() {
        for text in [r#"{"b":1.10,"a":[123456789012345678901234567890,1e999,-0.0]}"#, "null", "5", r#""\ud800 \u0000""#]
        {
            assert_eq!(put(text), text);
        }
        assert_eq!(put(" {\n\"a\":\r\n 1} "), "{ \"a\":   1}", "one line");
    }

    #[test]
    fn invalid_documents_are_text() {
        for text in ["", "{", "NaN", "{'a': 1}", "[1,]", "{} {}", "\u{feff}{}", "[\"a\nb\"]"] {
            assert_eq!(serde_json::from_str::<String>(&put(text)).unwrap(), text);
        }
    }

    #[test]
    fn deeply_nested_documents_are_text() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(put(&nested(DEEPEST)), nested(DEEPEST));
        assert_eq!(put(&nested(DEEPEST + 1)), format!("{:?}", nested(DEEPEST + 1)));
        assert!(put(&nested(1_000_000)).starts_with('"'));
        let brackets_in_text = format!("[\"\\\"{}\"]", "[".repeat(1000));
        assert_eq!(put(&brackets_in_text), brackets_in_text);
    }
}
