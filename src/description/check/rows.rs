//! Checks the conditions on the rows that are a queue's.

use super::table::literal;
use super::{Checked, DescriptionPath, same_name};
use crate::description::{Literal, RowTest, TableSpec};

pub(super) fn check(place: &DescriptionPath, table: &TableSpec) -> Checked {
    for (i, row) in table.rows.iter().enumerate() {
        let name = row.column.as_str();
        let here = place.key(name);
        let again = table.rows[..i].iter().any(|other| same_name(&other.column, &row.column));
        here.need(!again, || "the column stands here already, in other letters".to_owned())?;
        let mut in_states = table.states.iter().flat_map(|state| &state.conditions);
        let is_state = in_states.any(|condition| same_name(&condition.column, &row.column));
        here.need(!is_state, || {
            "shows the state of an item, in table.states; tell the queue's rows by another column".to_owned()
        })?;
        let roles = table.lifecycle.columns();
        let role = roles.into_iter().find(|(_, other)| same_name(other, &row.column)).map(|(role, _)| role);
        if let Some(role) = role.filter(|role| !["type", "enqueued"].contains(role)) {
            return here.refuse(format!(
                "is table.lifecycle.{role}, which readpast writes: an item would leave the queue by its own claim"
            ));
        }
        let literals = row.literals();
        let tests = matches!(row.test, RowTest::Null | RowTest::Something) || !literals.is_empty();
        here.need(tests, || "is empty; give a value, or a comparison like { \">=\" = 3 }".to_owned())?;
        for (i, value) in literals.iter().enumerate() {
            literal(&here, value)?;
            let kinds = |one: &Literal, other: &Literal| std::mem::discriminant(one) == std::mem::discriminant(other);
            here.need(kinds(value, literals[0]), || "has values of different types".to_owned())?;
            let repeated = matches!(row.test, RowTest::Values(_)) && literals[..i].contains(value);
            here.need(!repeated, || format!("has the value number {} twice", i + 1))?;
        }
        let ordered = !matches!((&row.test, literals.first()), (RowTest::Compared(_), Some(Literal::Boolean(_))));
        here.need(ordered, || "is true or false, which needs no comparison: write the value".to_owned())?;
    }
    Ok(())
}
