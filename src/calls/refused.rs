//! Items that their table refuses to have claimed or recovered: the database sets each aside, for longer each time, and reports
//! it to the call that met it.

use super::answers;
use crate::error::log_text;
use crate::item::{Rows, Value, answer_column};
use std::fmt;

/// The answer for such an item.
const REFUSED: &str = "REFUSED";

/// An item that is set aside for a while.
pub(crate) struct RefusedItem {
    /// `None` for an item of a type that this login may not see.
    pub(crate) key: Option<String>,
    pub(crate) times: i64,
    /// Whether the table refused a recovery, and not a claim.
    pub(crate) by_recovery: bool,
    /// The server's message, with the constraint's name.
    pub(crate) reason: String,
}

/// The refused items in `rows` from row `first` on, and the row after them.
pub(super) fn read(rows: &Rows, first: usize) -> (Vec<RefusedItem>, usize) {
    let is_one = |row: &usize| *row < rows.len() && answers::word(rows, *row) == REFUSED;
    let refused: Vec<_> = (first..).take_while(is_one).map(|row| one(rows, row)).collect();
    let after = first + refused.len();
    (refused, after)
}

fn one(rows: &Rows, row: usize) -> RefusedItem {
    let key = Some(answers::text(rows, row, answer_column::KEY)).filter(|key| !key.is_empty());
    let times = if let Value::Integer(times) = rows.value(row, answer_column::ATTEMPT) { times } else { 1 };
    let (doing, reason) = answers::text(rows, row, answer_column::STATUS).split_once(": ").unwrap_or_default();
    RefusedItem { key: key.map(str::to_owned), times, by_recovery: doing == "recover", reason: reason.to_owned() }
}

/// The text of a log line.
impl fmt::Display for RefusedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_deref().unwrap_or("of another type");
        write!(f, "item {key} is set aside for a while: its table has refused")?;
        if self.times > 1 {
            write!(f, " {} times", self.times)?;
        }
        let what = if self.by_recovery { "to have it given back by a recovery" } else { "a claim of it" };
        write!(f, " {what}: {}", log_text(&self.reason))
    }
}
