//! Enqueues in a transaction of `tokio_postgres`.

use crate::{Call, NewItem, Queue, Receipt};
use std::error::Error;
use tokio_postgres::GenericClient;

/// Enqueues items in the transaction: they are there when it commits, and workers wake then. [`Call::new`] describes `operation`.
///
/// # Errors
/// The driver's own, as for any statement: the transaction goes back to its last savepoint; or [`crate::Unfit`].
pub async fn enqueue(
    transaction: &impl GenericClient,
    queue: &Queue,
    items: &[NewItem],
    operation: Option<&str>,
) -> Result<Vec<Receipt>, Box<dyn Error + Send + Sync>> {
    let call = Call::new(queue, items, operation)?;
    let rows = transaction.query(&call.text, &[&call.items, &call.operation]).await?;
    let rows: Result<Vec<_>, _> = rows
        .iter()
        .map(|row| Ok::<_, tokio_postgres::Error>((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
        .collect();
    Ok(Call::receipts(rows?))
}
