//! Properties of what is checked before anything is sent: names, settings, descriptions of queues, times.

use proptest::prelude::*;
use readpast::{
    Config, Dialect, ErrorKind, QueueSpec,
    config::{SETTINGS, SettingKind},
    ident::{Identifier, QueueName, QuoteStyle},
    item::normalize_utc,
    render,
};

/// The name that a server reads from quoted text, and the rest after it.
fn unquote(text: &str, style: QuoteStyle) -> Option<(String, &str)> {
    let (open, close) = match style {
        QuoteStyle::Brackets => ('[', ']'),
        QuoteStyle::DoubleQuotes => ('"', '"'),
    };
    let mut rest = text.strip_prefix(open)?;
    let mut name = String::new();
    loop {
        let end = rest.find(close)?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(close) {
            Some(more) => {
                name.push(close);
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

proptest! {
    #[test]
    fn a_quoted_name_is_one_name_whatever_is_in_it(name in "\\PC{1,128}") {
        // The one thing that quotes do not make harmless: it ends the body of a function.
        prop_assume!(!name.contains("$$"));
        let identifier = Identifier::new("the name", &name).unwrap();
        for style in [QuoteStyle::Brackets, QuoteStyle::DoubleQuotes] {
            let quoted = identifier.quoted(style);
            prop_assert_eq!(unquote(&quoted, style), Some((name.clone(), "")));
        }
    }

    #[test]
    fn a_queue_name_is_taken_only_if_it_needs_no_quotes(name in "\\PC{0,50}") {
        let plain = name.len() <= 40
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        prop_assert_eq!(QueueName::new(&name).is_ok(), plain);
    }

    #[test]
    fn snake_case_is_lower_case_and_keeps_the_letters(name in "[A-Za-z][A-Za-z0-9_]{0,39}") {
        let snake = QueueName::new(&name).unwrap().snake_case();
        prop_assert!(!snake.contains(|c: char| c.is_ascii_uppercase()));
        prop_assert_eq!(snake.replace('_', ""), name.replace('_', "").to_ascii_lowercase());
    }

    #[test]
    fn number_settings_take_exactly_their_range(index in 0..SETTINGS.len(), number in any::<i64>()) {
        let setting = &SETTINGS[index];
        if let SettingKind::Number(least, most) = setting.kind {
            for number in [number, i64::from(least), i64::from(most), i64::from(least) - 1, i64::from(most) + 1] {
                let fits = (i64::from(least)..=i64::from(most)).contains(&number);
                prop_assert_eq!(Config::new().set(setting.key, &number.to_string()).is_ok(), fits);
            }
        }
    }

    #[test]
    fn no_setting_panics_and_no_connection_string_is_shown(key in "\\PC{0,20}", value in "\\PC{8,60}") {
        let _ = Config::new().set(&key, &value);
        for setting in &SETTINGS {
            let mut config = Config::new();
            let result = config.set(setting.key, &value).map(|_| ());
            if setting.is_secret() {
                if let Err(error) = result {
                    prop_assert!(!error.to_string().contains(&value));
                }
                let shown = format!("{config:?}");
                prop_assert!(!shown.contains(&value));
            }
        }
    }

    #[test]
    fn a_description_survives_its_round_trip(
        queue in "[A-Z][a-z]{0,20}",
        // Any name but the one that stands for all of them.
        types in proptest::collection::btree_set("\\PC{1,20}".prop_filter("a type", |name| name != "*"), 1..4),
        columns in proptest::collection::vec(
            ("Col[A-Za-z]{1,10}", prop_oneof![
                Just("text".to_owned()), (1_u16..=4000).prop_map(|n| format!("text({n})")), Just("integer".to_owned()),
                (1_u8..=38).prop_map(|p| format!("decimal({p}, {})", p / 2)), Just("json".to_owned()),
            ], any::<bool>()),
            1..5,
        ),
    ) {
        let columns: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(i, (name, kind, nullable))| serde_json::json!({"name": format!("{name}{i}"), "type": kind, "nullable": nullable}))
            .collect();
        let text = serde_json::json!({"queue": queue, "types": types, "columns": columns}).to_string();
        let spec = QueueSpec::from_json(&text).unwrap();
        prop_assert_eq!(&QueueSpec::from_json(&spec.to_json()).unwrap(), &spec);

        // And it renders, for any schema, into statements that say GO nowhere.
        let schema = Identifier::new("the schema", "s]\"'").unwrap();
        for dialect in [Dialect::SqlServer, Dialect::Postgres] {
            for object in render::queue(dialect, &schema, &spec).unwrap() {
                prop_assert!(!object.definition.lines().any(|line| line.trim() == "GO"));
            }
        }
    }

    #[test]
    fn no_description_panics(text in "\\PC{0,200}") {
        if let Err(error) = QueueSpec::from_json(&text) {
            prop_assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
    }

    #[test]
    fn times_are_taken_whole_or_refused(
        year in 1_u32..=9999, month in 0_u32..=13, day in 0_u32..=32, hour in 0_u32..=25, second in 0_u32..=61,
    ) {
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:30:{second:02}Z");
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = [0, 31, 28 + u32::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0][month as usize];
        let real = (1..=days).contains(&day) && hour < 24 && second < 60;
        let expected = real.then(|| format!("{}.0000000", &text[..19]));
        prop_assert_eq!(normalize_utc(&text), expected);
    }
}
