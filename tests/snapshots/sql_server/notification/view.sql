/* All that a worker may see of Notification. */
CREATE OR ALTER VIEW [readpast].[Worker_Notification_V]
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
    q.[Subject]
FROM [readpast].[Notification] AS q;
GO