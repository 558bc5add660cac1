/* All that a worker may see of Notification: its columns, and where each item is. Times of the item are UTC. */
CREATE OR ALTER VIEW [readpast].[Worker_Notification_V]
AS
SELECT
    q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration], q.[ScheduledFor],
    q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], s1.[OTP] AS [ResetPassword_OTP], s1.[UserID] AS [ResetPassword_UserID],
    s1.[Username] AS [ResetPassword_Username], s2.[EmailTo] AS [Email_EmailTo], s2.[PreferredLanguage] AS [Email_PreferredLanguage],
    s2.[Response] AS [Email_Response], s2.[Error] AS [Email_Error], s3.[PhoneNumber] AS [Sms_PhoneNumber], s3.[Response] AS [Sms_Response],
    s3.[Error] AS [Sms_Error]
FROM [readpast].[Notification] AS q
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1 ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2 ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3 ON s3.[EnqueuedAt] = q.[EnqueuedAt];
GO
/* What became of what was put into Notification: as the worker view, with NULL for columns that are secret. */
CREATE OR ALTER VIEW [readpast].[Producer_Notification_V]
AS
SELECT
    q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration], q.[ScheduledFor],
    q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], s1.[OTP] AS [ResetPassword_OTP], s1.[UserID] AS [ResetPassword_UserID],
    s1.[Username] AS [ResetPassword_Username], s2.[EmailTo] AS [Email_EmailTo], s2.[PreferredLanguage] AS [Email_PreferredLanguage],
    s2.[Response] AS [Email_Response], s2.[Error] AS [Email_Error], s3.[PhoneNumber] AS [Sms_PhoneNumber], s3.[Response] AS [Sms_Response],
    s3.[Error] AS [Sms_Error]
FROM [readpast].[Notification] AS q
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1 ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2 ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3 ON s3.[EnqueuedAt] = q.[EnqueuedAt];
GO
/* The limits in force, in one row. With none or fewer, all that waits would be Failed at once: such a value does not count. */
CREATE OR ALTER VIEW [readpast].[Notification_Setting_V]
AS
SELECT
    COALESCE(MAX(CASE WHEN a.[Param] = 'notification.maxAttempts' THEN a.[ValInt] END), 3) AS [MaxAttempts],
    COALESCE(MAX(CASE WHEN a.[Param] = 'notification.leaseMs' THEN a.[ValInt] END), 60000) AS [LeaseMs]
FROM [readpast].[AppSettings] AS a
WHERE a.[Param] IN ('notification.maxAttempts', 'notification.leaseMs') AND a.[ValInt] > 0;
GO
