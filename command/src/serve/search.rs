//! Which items are meant: fields of an address, or one line that a person types.

use super::App;
use super::encoding::encode;
use super::request::Request;
use crate::duration;
use crate::filter::{ago, column};
use readpast::{Filter, ItemState, Queue, QueueSpec};

/// The fields of an address, each beside its word in a typed search.
const FIELDS: [(&str, &str); 7] = [
    ("status", "state"),
    ("type", "type"),
    ("key", "key"),
    ("error", "error"),
    ("older", "older"),
    ("longer", "longer"),
    (WHERE, WHERE),
];

/// Columns that a search completes.
const COLUMNS: usize = 20;

/// The field of a value in a column: `NAME=VALUE`, typed as `NAME:VALUE`.
const WHERE: &str = "where";

/// The fields that a request asks for.
pub type Fields = Vec<(String, String)>;

/// The fields of the request, those of a typed search among them.
pub fn fields(request: &Request) -> Result<Fields, String> {
    let is_field = |pair: &&(String, String)| FIELDS.iter().any(|(name, _)| *name == pair.0) && !pair.1.is_empty();
    let mut fields: Fields = request.given().iter().filter(is_field).cloned().collect();
    if let Some(typed) = request.one("q") {
        fields.extend(parse(typed)?);
    }
    Ok(fields)
}

/// The same with whole keys where short numbers were given, so that a form changes the items that were shown. Refuses columns that the
/// queue does not have, or that this server hides.
pub fn checked(app: &App, queue: &Queue, mut fields: Fields) -> Result<Fields, String> {
    for (_, value) in fields.iter().filter(|(name, _)| name == WHERE) {
        let name = value.split_once('=').map_or(value.as_str(), |(name, _)| name);
        if app.hides_payload {
            return Err(format!("{name} cannot be searched: this server hides payloads."));
        }
        let columns: Vec<_> = queue.spec().searchable().map(|column| column.name.as_str()).collect();
        let is_head = |head: &str| columns.iter().any(|column| column.to_lowercase() == head.to_lowercase());
        if !is_head(name) && !name.split_once('.').is_some_and(|(head, _)| is_head(head)) {
            let words = FIELDS.iter().map(|(_, word)| *word).filter(|word| *word != WHERE).chain(columns);
            let words = words.collect::<Vec<_>>().join(", ");
            return Err(format!(
                "Nothing can be searched by {name}. Search by {words}; put other text with a colon in quotes."
            ));
        }
    }
    for (_, value) in fields.iter_mut().filter(|(name, _)| name == "key") {
        *value = queue.whole_key(value).map_err(|error| super::items::error_text(&error))?;
    }
    Ok(fields)
}

/// The fields as an address has them.
pub fn query(fields: &Fields) -> String {
    fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect::<Vec<_>>().join("&")
}

/// The filter.
pub fn filter(fields: &Fields) -> Result<Filter, String> {
    let mut filter = Filter::default();
    for (name, value) in fields {
        match name.as_str() {
            "status" => filter.states.push(state(value)?),
            "type" => filter.types.push(value.clone()),
            "key" => filter.keys.get_or_insert_default().push(value.clone()),
            "error" => filter.error = Some(value.clone()),
            WHERE => filter.columns.push(column(value).map_err(|why| format!("where: {why}"))?),
            "older" => {
                let age = duration::parse(value.trim()).map_err(|why| format!("older: {why}"))?;
                filter.before = Some(ago(age).ok_or("older: that is too long ago")?);
            }
            "longer" => {
                let took = duration::parse(value.trim()).map_err(|why| format!("longer: {why}"))?;
                filter.longer_ms = Some(duration::ms(took));
            }
            _ => {}
        }
    }
    Ok(filter)
}

/// The states that were asked for, as far as they are states.
pub fn states(fields: &Fields) -> Vec<ItemState> {
    fields.iter().filter(|(name, _)| name == "status").filter_map(|(_, value)| state(value).ok()).collect()
}

/// A state, whatever its case.
fn state(value: &str) -> Result<ItemState, String> {
    let found = ItemState::ALL.into_iter().find(|state| state.as_str().eq_ignore_ascii_case(value));
    found.ok_or_else(|| {
        let known = ItemState::ALL.map(ItemState::as_str).join(", ");
        format!("{value} is not a state. The states are {known}.")
    })
}

/// Reads `state:Failed type:Email error:"no such" older:1h`. Words without a name are text of the error.
fn parse(typed: &str) -> Result<Fields, String> {
    let (mut fields, mut text) = (Fields::new(), Vec::new());
    let mut rest = typed.trim_start();
    while !rest.is_empty() {
        let (name, after) = match rest.split_once(':') {
            Some((name, after)) if !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '"') => {
                (Some(name), after)
            }
            _ => (None, rest),
        };
        let (value, after) = value(after)?;
        match name {
            None => text.push(value),
            Some(name) => {
                let field = FIELDS
                    .iter()
                    .find(|(field, word)| word.eq_ignore_ascii_case(name) || field.eq_ignore_ascii_case(name));
                if value.is_empty() {
                    return Err(format!("{name}: has no value"));
                }
                fields.push(match field {
                    Some((field, _)) => ((*field).to_owned(), value),
                    // A column: the queue knows.
                    None => (WHERE.to_owned(), format!("{name}={value}")),
                });
            }
        }
        rest = after.trim_start();
    }
    if !text.is_empty() {
        fields.push(("error".to_owned(), text.join(" ")));
    }
    Ok(fields)
}

/// A word, or text in quotes with `\"` and `\\` in it; and what follows it.
fn value(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Ok((value, &quoted[at + 1..])),
            '\\' => value.extend(characters.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    Err("a quotation mark is not closed".to_owned())
}

/// The typed search that asks for the same.
pub fn typed(fields: &Fields) -> String {
    let word = |(name, value): &(String, String)| {
        // A column, where its name is a word that reads as nothing else.
        let is_word = |of: &str| {
            !of.is_empty()
                && !of.contains(|c: char| c.is_whitespace() || c == '"' || c == ':')
                && !FIELDS.iter().any(|(field, word)| word.eq_ignore_ascii_case(of) || field.eq_ignore_ascii_case(of))
        };
        let column = (name == WHERE).then(|| value.split_once('=')).flatten();
        let (name, value) = match column.filter(|(of, sought)| is_word(of) && !sought.is_empty()) {
            Some((of, sought)) => (of, sought),
            None => (name.as_str(), value.as_str()),
        };
        let word = FIELDS.iter().find(|(field, _)| *field == name).map_or(name, |(_, word)| word);
        let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '"' || c == '\\');
        let value =
            if plain { value.to_owned() } else { format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")) };
        format!("{word}:{value}")
    };
    fields.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Words to complete a search with.
pub fn words(app: &App, spec: &QueueSpec) -> Vec<String> {
    let field = |name: &str, value: &str| typed(&vec![(name.to_owned(), value.to_owned())]);
    let states = ItemState::ALL.iter().map(|state| field("status", state.as_str()));
    let types = spec.types.iter().map(|kind| field("type", kind));
    let columns = spec
        .searchable()
        .filter(|_| !app.hides_payload)
        .take(COLUMNS)
        .map(|column| format!("{}:", column.name.as_str()));
    let others = ["key:", "error:", "older:10m", "older:1h", "older:1d", "longer:1m", "longer:10m"].map(str::to_owned);
    states.chain(types).chain(others).chain(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn given(pairs: &[(&str, &str)]) -> Fields {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_filter_is_read_from_its_fields() {
        let fields = given(&[("status", "Failed"), ("status", "error"), ("error", "a&b"), ("type", "x")]);
        let found = filter(&fields).unwrap();
        assert_eq!(found.states, [ItemState::Failed, ItemState::Error]);
        assert_eq!(
            (found.error.as_deref(), found.types.as_slice(), found.keys.as_ref()),
            (Some("a&b"), &["x".to_owned()][..], None)
        );
        assert_eq!(query(&fields), "status=Failed&status=error&error=a%26b&type=x");
        assert_eq!(filter(&given(&[("longer", "2m")])).unwrap().longer_ms, Some(120_000));
        for wrong in [&[("status", "Nope")], &[("older", "soon")], &[("longer", "x")]] {
            assert!(filter(&given(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_typed_search_is_read() {
        for (typed, expected) in [
            ("", &[][..]),
            ("state:Failed type:Email", &[("status", "Failed"), ("type", "Email")]),
            ("STATUS:failed older:1h", &[("status", "failed"), ("older", "1h")]),
            ("error:\"no such \\\"box\\\"\" key:2722", &[("error", "no such \"box\""), ("key", "2722")]),
            ("no such mailbox", &[("error", "no such mailbox")]),
            ("\"Error: boom\" state:Failed", &[("status", "Failed"), ("error", "Error: boom")]),
            ("payload.customer:42 Note:\"a b\"", &[("where", "payload.customer=42"), ("where", "Note=a b")]),
            ("key:2026-11-21T08:30:00.1", &[("key", "2026-11-21T08:30:00.1")]),
        ] {
            assert_eq!(parse(typed), Ok(given(expected)), "{typed}");
        }
        for (wrong, says) in [
            ("payload.customer:", "payload.customer: has no value"),
            ("state:", "state: has no value"),
            ("error:\"open", "not closed"),
        ] {
            assert!(parse(wrong).unwrap_err().contains(says), "{wrong}: {:?}", parse(wrong));
        }
    }

    proptest! {
        #[test]
        fn fields_are_typed_and_read_again(values in proptest::collection::vec(any::<String>(), 0..4)) {
            let values = values.into_iter().filter(|value| !value.is_empty());
            let fields: Fields = values.map(|value| ("error".to_owned(), value)).collect();
            prop_assert_eq!(parse(&typed(&fields)), Ok(fields.clone()));
            let columns: Fields = fields.into_iter().map(|(_, value)| (WHERE.to_owned(), value)).collect();
            prop_assert_eq!(parse(&typed(&columns)), Ok(columns));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
