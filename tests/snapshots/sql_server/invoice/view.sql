/* All that a worker may see of Invoice: its columns, and where each item is. Times of the item are UTC. */
CREATE OR ALTER VIEW [readpast].[Worker_Invoice_V]
AS
SELECT
    q.[EnqueuedAt],
    q.[Type],
    q.[Status],
    q.[Step],
    q.[AttemptNum],
    q.[Response],
    q.[Error],
    q.[StartedAt],
    q.[Duration],
    q.[ScheduledFor],
    q.[UpdatedAt],
    q.[LeaseOwner],
    q.[LeaseUntil],
    q.[Number],
    q.[CustomerID],
    q.[Amount],
    q.[Code],
    q.[Lines]
FROM [readpast].[Invoice] AS q;
GO
