/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
/* Notification: the items. A row is both a domain record and a work item. */
IF OBJECT_ID(N'[readpast].[NotificationType]', N'U') IS NULL
    CREATE TABLE [readpast].[NotificationType] (
        [Type] nvarchar(60) NOT NULL, CONSTRAINT [PK_NotificationType] PRIMARY KEY CLUSTERED ([Type])
    );
GO
INSERT INTO [readpast].[NotificationType] ([Type])
SELECT N'ResetPassword'
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[NotificationType] AS t WHERE t.[Type] = N'ResetPassword');
GO
INSERT INTO [readpast].[NotificationType] ([Type])
SELECT N'Email'
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[NotificationType] AS t WHERE t.[Type] = N'Email');
GO
INSERT INTO [readpast].[NotificationType] ([Type])
SELECT N'Sms'
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[NotificationType] AS t WHERE t.[Type] = N'Sms');
GO
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
IF OBJECT_ID(N'[readpast].[Notification_Seq]', N'SO') IS NULL
    CREATE SEQUENCE [readpast].[Notification_Seq] AS bigint START WITH 1 INCREMENT BY 1 CACHE 1000;
GO
IF OBJECT_ID(N'[readpast].[Notification]', N'U') IS NULL
    CREATE TABLE [readpast].[Notification] (
        [EnqueuedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NOT NULL, [Status] varchar(20) NOT NULL, [Step] nvarchar(60) NULL,
        [AttemptNum] int NOT NULL, [Response] nvarchar(max) NULL CONSTRAINT [DF_Notification_Response] DEFAULT (''),
        [Error] nvarchar(max) NULL CONSTRAINT [DF_Notification_Error] DEFAULT (''), [StartedAt] datetime2(7) NULL, [Duration] bigint NULL,
        [ScheduledFor] datetime2(7) NOT NULL, [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
        /* By which claim it was taken, for whoever lost the answer to that. Below zero: it goes alone. */
        [ClaimNum] bigint NULL, CONSTRAINT [PK_Notification] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Notification_IsDiscriminatedBy_NotificationType]
            FOREIGN KEY ([Type]) REFERENCES [readpast].[NotificationType] ([Type]),
        CONSTRAINT [CK_Notification_Status] CHECK ([Status] IN (
            'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'
        ))
    );
GO
/* A table of an earlier state has no place yet for the number of a claim. */
IF COL_LENGTH(N'[readpast].[Notification]', N'ClaimNum') IS NULL
    ALTER TABLE [readpast].[Notification] ADD [ClaimNum] bigint NULL;
GO
/* Many rows locked by one statement must never become the whole table, which nobody could read past. */
IF EXISTS (SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID(N'[readpast].[Notification]') AND t.[lock_escalation] <> 1)
    ALTER TABLE [readpast].[Notification] SET (LOCK_ESCALATION = DISABLE);
GO
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog. UpdatedAt is left out on purpose: the claim must visit the row itself, and so lock it, while READPAST still
lets it pass over rows that others hold; were the index to cover the claim, the row would be locked only by the update,
in the opposite order to a procedure that goes by the key. In each index the columns of its filter stand too: without
them a query may visit, and lock, the row only to look at them once more.
*/
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Notification]') AND i.[name] = N'IX_Notification_Due')
    CREATE NONCLUSTERED INDEX [IX_Notification_Due] ON [readpast].[Notification] ([ScheduledFor], [EnqueuedAt]) INCLUDE ([Status])
    WHERE [Status] IN ('Pending', 'Error');
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Notification]') AND i.[name] = N'IX_Notification_InFlight')
    CREATE NONCLUSTERED INDEX [IX_Notification_InFlight] ON [readpast].[Notification] ([StartedAt]) INCLUDE ([Status])
    WHERE [Status] = 'Processing';
GO
/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Notification]') AND i.[name] = N'IX_Notification_Ended')
    CREATE NONCLUSTERED INDEX [IX_Notification_Ended] ON [readpast].[Notification] ([EnqueuedAt]) INCLUDE ([Status])
    WHERE [Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted');
GO
/*
Whether this item is of this type: what the tables of the exclusive subtypes check. Made once, since what a constraint
refers to cannot be altered.
*/
IF OBJECT_ID(N'[readpast].[Notification_IsType_fn]', N'FN') IS NULL
    EXECUTE (N'CREATE FUNCTION [readpast].[Notification_IsType_fn] (@EnqueuedAt datetime2(7), @Type nvarchar(60))
RETURNS bit
AS
BEGIN
    RETURN CASE
        WHEN EXISTS (
            SELECT 1 FROM [readpast].[Notification] AS q
            WHERE q.[EnqueuedAt] = @EnqueuedAt AND q.[Type] = @Type
        ) THEN 1
        ELSE 0
    END;
END;');
GO
/* What items of the type ResetPassword have besides, and no others. A row is a part of its item, and goes with it. */
IF OBJECT_ID(N'[readpast].[Notification_ResetPassword]', N'U') IS NULL
    CREATE TABLE [readpast].[Notification_ResetPassword] (
        [EnqueuedAt] datetime2(7) NOT NULL, [OTP] nvarchar(16) NOT NULL, [UserID] int NOT NULL, [Username] nvarchar(128) NOT NULL,
        CONSTRAINT [PK_Notification_ResetPassword] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [ResetPassword_Is_Notification]
            FOREIGN KEY ([EnqueuedAt]) REFERENCES [readpast].[Notification] ([EnqueuedAt]) ON DELETE CASCADE
    );
GO
IF NOT EXISTS (
    SELECT 1 FROM sys.check_constraints AS k
    WHERE k.[parent_object_id] = OBJECT_ID(N'[readpast].[Notification_ResetPassword]') AND k.[name] = N'ResetPassword_IsType_Notification'
)
    ALTER TABLE [readpast].[Notification_ResetPassword]
    ADD CONSTRAINT [ResetPassword_IsType_Notification]
        CHECK ([readpast].[Notification_IsType_fn]([EnqueuedAt], N'ResetPassword') = 1);
GO
/* What some items have besides: any may. A row is a part of its item, and goes with it. */
IF OBJECT_ID(N'[readpast].[Notification_Email]', N'U') IS NULL
    CREATE TABLE [readpast].[Notification_Email] (
        [EnqueuedAt] datetime2(7) NOT NULL, [EmailTo] nvarchar(254) NOT NULL,
        [PreferredLanguage] nvarchar(60) NULL CONSTRAINT [DF_Notification_Email.PreferredLanguage] DEFAULT (N'en'),
        [Response] nvarchar(max) NULL CONSTRAINT [DF_Notification_Email.Response] DEFAULT (N''),
        [Error] nvarchar(max) NULL CONSTRAINT [DF_Notification_Email.Error] DEFAULT (N''),
        CONSTRAINT [PK_Notification_Email] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Email_Is_Notification]
            FOREIGN KEY ([EnqueuedAt]) REFERENCES [readpast].[Notification] ([EnqueuedAt]) ON DELETE CASCADE
    );
GO
/* What some items have besides: any may. A row is a part of its item, and goes with it. */
IF OBJECT_ID(N'[readpast].[Notification_Sms]', N'U') IS NULL
    CREATE TABLE [readpast].[Notification_Sms] (
        [EnqueuedAt] datetime2(7) NOT NULL, [PhoneNumber] nvarchar(20) NOT NULL,
        [Response] nvarchar(max) NULL CONSTRAINT [DF_Notification_Sms.Response] DEFAULT (N''),
        [Error] nvarchar(max) NULL CONSTRAINT [DF_Notification_Sms.Error] DEFAULT (N''),
        CONSTRAINT [PK_Notification_Sms] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Sms_Is_Notification]
            FOREIGN KEY ([EnqueuedAt]) REFERENCES [readpast].[Notification] ([EnqueuedAt]) ON DELETE CASCADE
    );
GO
/* When the items of its dead workers were last looked for. */
IF NOT EXISTS (SELECT 1 FROM [readpast].[QueueRecovery] AS r WHERE r.[Queue] = 'Notification')
    INSERT INTO [readpast].[QueueRecovery] ([Queue], [RecoveredAt]) VALUES ('Notification', '0001-01-01');
GO
