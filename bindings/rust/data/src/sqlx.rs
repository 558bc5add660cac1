//! Enqueues in a transaction of `sqlx` on PostgreSQL.

use crate::{Call, NewItem, Queue, Receipt};
use sqlx::{AssertSqlSafe, PgConnection, Row};
use std::error::Error;

/// Enqueues items on the connection of a transaction (`&mut *transaction`): they are there when it commits, and workers wake then.
/// [`Call::new`] describes `operation`.
///
/// # Errors
/// The driver's own, as for any statement: the transaction goes back to its last savepoint; or [`crate::Unfit`].
pub async fn enqueue(
    connection: &mut PgConnection,
    queue: &Queue,
    items: &[NewItem],
    operation: Option<&str>,
) -> Result<Vec<Receipt>, Box<dyn Error + Send + Sync>> {
    let call = Call::new(queue, items, operation)?;
    // Its names are quoted, and all else are parameters.
    let query = sqlx::query(AssertSqlSafe(call.text)).bind(call.items).bind(call.operation);
    let rows = query.fetch_all(connection).await?;
    let rows: Result<Vec<_>, _> =
        rows.iter().map(|row| Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).collect();
    Ok(Call::receipts(rows?))
}
