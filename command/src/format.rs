//! Figures and values as a person reads them. JSON has them as they are.

use readpast::Value;
use readpast::item::span_text;

/// `12,345`, and `10,000+` where it was not counted to the end.
pub fn count(value: i64, capped: bool) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::from(if value < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if capped { out + "+" } else { out }
}

/// A span of time, or a dash where there is none.
pub fn span(ms: Option<i64>) -> String {
    ms.map_or_else(|| "–".to_owned(), span_text)
}

/// A value as text, and bytes as hexadecimal numbers, at most so many of them; `None` where there is none.
pub fn value(value: Option<Value<'_>>, most: usize) -> Option<String> {
    Some(match value? {
        Value::Null => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.to_owned(),
        Value::Binary(bytes) => bytes.iter().take(most).map(|byte| format!("{byte:02x}")).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000")] {
            assert_eq!(count(value, false), text);
        }
        assert_eq!(count(10_000, true), "10,000+");
    }
}
