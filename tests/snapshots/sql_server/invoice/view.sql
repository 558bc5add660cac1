/* All that a worker may see of Invoice: its columns, and where each item is. Times of the item are UTC. */
CREATE OR ALTER VIEW [readpast].[Worker_Invoice_V]
AS
SELECT
    q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration], q.[ScheduledFor],
    q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], q.[Number], q.[CustomerID], q.[Amount], q.[Code], q.[Lines]
FROM [readpast].[Invoice] AS q;
GO
/* The limits in force, in one row. With none or fewer, all that waits would be Failed at once: such a value does not count. */
CREATE OR ALTER VIEW [readpast].[Invoice_Setting_V]
AS
SELECT
    COALESCE(MAX(CASE WHEN a.[Param] = 'invoice.maxAttempts' THEN a.[ValInt] END), 3) AS [MaxAttempts],
    COALESCE(MAX(CASE WHEN a.[Param] = 'invoice.leaseMs' THEN a.[ValInt] END), 60000) AS [LeaseMs]
FROM [readpast].[AppSettings] AS a
WHERE a.[Param] IN ('invoice.maxAttempts', 'invoice.leaseMs') AND a.[ValInt] > 0;
GO
