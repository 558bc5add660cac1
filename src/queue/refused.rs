//! Items that their table does not let a claim or a recovery change: the database leaves each aside, for longer each time, and
//! says so to whoever found it out.

use super::{Inner, answers};
use crate::item::{Rows, answer_column};

/// The answer for such an item.
const REFUSED: &str = "REFUSED";

/// Logs and counts the refused items in `rows` from row `first` on; the row after them.
pub(super) fn report(queue: &Inner, rows: &Rows, first: usize) -> usize {
    let mut row = first;
    while row < rows.len() && answers::word(rows, row) == REFUSED {
        queue.ledger.sets_aside();
        log::warn!("queue {}: {}", queue.spec.queue, line(rows, row));
        row += 1;
    }
    row
}

fn line(rows: &Rows, row: usize) -> String {
    let key = match answers::text(rows, row, answer_column::KEY) {
        "" => "of another type",
        key => key,
    };
    let times = match rows.value(row, answer_column::ATTEMPT) {
        crate::item::Value::Integer(times) if times > 1 => format!(" {times} times"),
        _ => String::new(),
    };
    let (doing, reason) = answers::text(rows, row, answer_column::STATUS).split_once(": ").unwrap_or_default();
    let what = if doing == "recover" { "to have it given back by a recovery" } else { "a claim of it" };
    format!("item {key} is left aside for a while: its table has refused{times} {what}: {reason}")
}
