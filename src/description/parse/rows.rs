//! `table.where`: the rows that are the queue's.

use super::at::At;
use super::states::{literal, values, written_holds};
use crate::description::{Comparison, Holds, RowCondition, RowTest};
use crate::error::Result;
use serde_json::Value;

/// Reads `where`: each column with its values.
pub(super) fn rows(at: &At<'_>) -> Result<Vec<RowCondition>> {
    let members = at.members()?;
    members.iter().map(|(name, at)| Ok(RowCondition { column: at.name(name)?, test: test(at)? })).collect()
}

fn test(at: &At<'_>) -> Result<RowTest> {
    if !at.is_table() {
        let wanted = "a whole number, true, false, text, a list of them, { is = \"null\" }, { is = \"set\" } or \
                      comparisons like { \">=\" = 3 }";
        return values(at, wanted).map(RowTest::Values);
    }
    if at.members()?.iter().any(|(word, _)| *word == "is") {
        let null = at.table(&["is"])?.need("is")?.choice(&["null", "set"])? == 0;
        return Ok(if null { RowTest::Null } else { RowTest::Something });
    }
    let compared = at.table(&Comparison::ALL.map(Comparison::as_str))?;
    let mut found = Vec::new();
    for comparison in Comparison::ALL {
        if let Some(value) = compared.get(comparison.as_str()) {
            found.push((comparison, value.literal()?));
        }
    }
    Ok(RowTest::Compared(found))
}

/// Writes it.
pub(super) fn written(rows: &[RowCondition]) -> Value {
    Value::Object(rows.iter().map(|row| (row.column.as_written(), written_test(&row.test))).collect())
}

fn written_test(test: &RowTest) -> Value {
    match test {
        RowTest::Values(values) => written_holds(&Holds::Values(values.clone())),
        RowTest::Null => written_holds(&Holds::Null),
        RowTest::Something => written_holds(&Holds::Something),
        RowTest::Compared(compared) => {
            let compared = compared.iter().map(|(how, value)| (how.as_str().to_owned(), literal(value)));
            Value::Object(compared.collect())
        }
    }
}
