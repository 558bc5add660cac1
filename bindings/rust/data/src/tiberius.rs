//! Enqueues in a transaction of `tiberius` on SQL Server.

use crate::{Call, NewItem, Queue, Receipt, Unfit};
use futures_util::io::{AsyncRead, AsyncWrite};
use jiff::{Span, civil};
use std::error::Error;
use tiberius::{Client, ColumnData};

/// Enqueues items in the transaction that the client has begun (`BEGIN TRANSACTION`): they are there when it commits. Without a
/// transaction the procedure refuses. [`Call::new`] describes `operation`.
///
/// # Errors
/// The driver's own, as for any statement: it ends the transaction; or [`Unfit`].
pub async fn enqueue<S: AsyncRead + AsyncWrite + Unpin + Send>(
    client: &mut Client<S>,
    queue: &Queue,
    items: &[NewItem],
    operation: Option<&str>,
) -> Result<Vec<Receipt>, Box<dyn Error + Send + Sync>> {
    let call = Call::new(queue, items, operation)?;
    let rows = client.query(call.text, &[&call.items, &call.operation]).await?.into_first_result().await?;
    let mut receipts = Vec::with_capacity(rows.len());
    for row in rows {
        let answer: &str = row.try_get(0)?.unwrap_or_default();
        let ordinal: i32 = row.try_get(1)?.unwrap_or_default();
        let key = key(row.cells().nth(3).map(|(_, value)| value))?;
        receipts.push((answer.to_owned(), ordinal, key));
    }
    Ok(Call::receipts(receipts))
}

/// A key as the library has it: a time with seven digits of a second.
fn key(value: Option<&ColumnData<'_>>) -> Result<Option<String>, Unfit> {
    match value {
        None | Some(ColumnData::String(None) | ColumnData::DateTime2(None)) => Ok(None),
        Some(ColumnData::String(Some(text))) => Ok(Some(text.to_string())),
        Some(ColumnData::DateTime2(Some(time))) => {
            let unread = |error: jiff::Error| Unfit::new(format!("the key of an answer: {error}"));
            let nanos =
                10_i64.pow(9 - u32::from(time.time().scale())) * i64::try_from(time.time().increments()).unwrap_or(0);
            let of_day = Span::new().days(i64::from(time.date().days())).nanoseconds(nanos);
            let time = civil::date(1, 1, 1).at(0, 0, 0, 0).checked_add(of_day).map_err(unread)?;
            Ok(Some(time.strftime("%Y-%m-%dT%H:%M:%S%.7f").to_string()))
        }
        Some(other) => Err(Unfit::new(format!("the key of an answer is {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiberius::time::{Date, DateTime2, Time};

    #[test]
    fn a_key_that_is_a_time_has_seven_digits() {
        let time = DateTime2::new(Date::new(739_584), Time::new(301_234_567, 7));
        let text = key(Some(&ColumnData::DateTime2(Some(time)))).unwrap();
        assert_eq!(text.as_deref(), Some("2025-11-30T00:00:30.1234567"));
    }
}
