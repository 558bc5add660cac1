//! Made-up items.

use crate::description::{ColumnKind, KeySource, QueueSpec, Storage};
use crate::item::{NewItem, put_base64};
use serde_json::{Map, Value, json};

/// An item of this number that fits the queue: its columns hold values made of the number, distinct from those of other numbers
/// as far as the column's type has so many values. Where a queue finds duplicates by columns that have fewer (a boolean, a short
/// text), or by the group and such a column, some are the same work. The types take turns.
#[must_use]
pub fn item(spec: &QueueSpec, number: u32) -> NewItem {
    let mut columns = Map::new();
    for column in &spec.columns {
        columns.insert(column.name.as_str().to_owned(), value(column.kind, number));
    }
    if let Storage::Table(table) = &spec.storage {
        for key in table.key.iter().filter(|key| key.source == KeySource::Producer) {
            columns.insert(key.name.as_str().to_owned(), value(key.kind, number));
        }
    }
    // Some dozens to a group, as customers have; if the group is the work, there is one of each.
    if let Some(group) = &spec.order.group
        && spec.dedup.as_ref().is_none_or(|dedup| dedup.columns != [group.clone()])
        && let Some(column) = spec.columns.iter().find(|column| column.name == *group)
    {
        columns.insert(column.name.as_str().to_owned(), value(column.kind, number / 20));
    }
    let kind = spec.types.get(number as usize % spec.types.len().max(1)).cloned();
    for subtype in &spec.subtypes {
        if !subtype.exclusive || kind.as_deref() == Some(subtype.name.as_str()) {
            let values = subtype.columns.iter().map(|c| (c.name.as_str().to_owned(), value(c.kind, number)));
            columns.insert(subtype.name.as_str().to_owned(), Value::Object(values.collect()));
        }
    }
    NewItem { kind: kind.filter(|_| spec.types.len() > 1), columns: columns.into(), ..NewItem::default() }
}

fn value(kind: ColumnKind, number: u32) -> Value {
    match kind {
        ColumnKind::Text(length) => {
            let digits = base36(number);
            // The last digits distinguish numbers.
            let most = length.map_or(digits.len(), usize::from);
            json!(digits[digits.len().saturating_sub(most)..])
        }
        ColumnKind::Integer | ColumnKind::BigInteger => json!(number & 0x7fff_ffff),
        ColumnKind::Boolean => json!(number % 2 == 1),
        ColumnKind::Float => json!(f64::from(number)),
        ColumnKind::Decimal(precision, scale) => {
            // All digits that the type has: fewer would repeat sooner.
            let digits = 10_u64.checked_pow(u32::from(precision)).map_or(u64::from(number), |n| u64::from(number) % n);
            let after = 10_u64.checked_pow(u32::from(scale)).unwrap_or(u64::MAX);
            let text = format!("{}.{:0width$}", digits / after, digits % after, width = usize::from(scale));
            json!(if scale == 0 { digits.to_string() } else { text })
        }
        ColumnKind::Timestamp => {
            let (days, seconds) = (number / 86_400, number % 86_400);
            let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            let (month, day) = (1 + days / 28 % 12, 1 + days % 28);
            let year = 2001 + days / 336 % 90;
            json!(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
        }
        ColumnKind::Date => {
            json!(format!("{:04}-{:02}-{:02}", 2001 + number / 336 % 90, 1 + number / 28 % 12, 1 + number % 28))
        }
        ColumnKind::Guid => json!(format!("00000000-0000-4000-8000-{number:012x}")),
        ColumnKind::Binary(length) => {
            let mut text = String::new();
            let bytes = number.to_be_bytes();
            put_base64(&mut text, &bytes[bytes.len().saturating_sub(length.map_or(bytes.len(), usize::from))..]);
            json!(text)
        }
        ColumnKind::Json => json!({"number": number}),
    }
}

/// In as few letters as a text without case allows.
fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{EXAMPLES, check_items};

    #[test]
    fn they_fit_every_queue() {
        for (name, text) in EXAMPLES {
            let spec = QueueSpec::from_text(text).unwrap();
            let items: Vec<_> = [0, 1, 999, 100_000, u32::MAX].into_iter().map(|number| item(&spec, number)).collect();
            check_items(&spec, &items).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn no_two_are_equal_until_a_type_has_no_more() {
        for (kind, values) in [
            (ColumnKind::Text(None), 100_000),
            (ColumnKind::Text(Some(9)), 100_000),
            (ColumnKind::Text(Some(3)), 36 * 36 * 36 + 36 * 36),
            (ColumnKind::Integer, 100_000),
            (ColumnKind::BigInteger, 100_000),
            (ColumnKind::Float, 100_000),
            (ColumnKind::Guid, 100_000),
            (ColumnKind::Timestamp, 100_000),
            (ColumnKind::Date, 90 * 12 * 28),
            (ColumnKind::Decimal(3, 0), 1000),
            (ColumnKind::Decimal(4, 4), 10_000),
            (ColumnKind::Decimal(38, 10), 100_000),
            (ColumnKind::Binary(Some(1)), 256),
            (ColumnKind::Boolean, 2),
        ] {
            let mut seen: Vec<_> = (0..100_000).map(|number| value(kind, number).to_string()).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), values, "{kind}");
        }
    }

    #[test]
    fn a_group_that_is_the_work_has_one_item() {
        for (work, groups) in [("", 5), (r#", "dedup": {"columns": ["Customer"]}"#, 100)] {
            let text = format!(
                r#"{{"queue": "Order", "columns": [{{"name": "Customer", "type": "integer", "nullable": false}}],
                    "order": {{"group": "Customer"}}{work}}}"#
            );
            let spec = QueueSpec::from_json(&text).unwrap();
            let mut seen: Vec<_> = (0..100).map(|number| item(&spec, number).columns).collect();
            seen.dedup();
            assert_eq!(seen.len(), groups, "{work}");
        }
    }
}
