/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
/* Notification: the items. A row is both a domain record and a work item. */
IF OBJECT_ID(N'[readpast].[NotificationType]', N'U') IS NULL
    CREATE TABLE [readpast].[NotificationType] (
        [Type] [readpast].[_Type] NOT NULL,
        CONSTRAINT [PK_NotificationType] PRIMARY KEY CLUSTERED ([Type])
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
        [EnqueuedAt] [readpast].[_Timestamp] NOT NULL,
        [Type] [readpast].[_Type] NOT NULL,
        [Status] [readpast].[QueueState] NOT NULL,
        [Step] [readpast].[QueueStep] NULL,
        [AttemptNum] [readpast].[AttemptNum] NOT NULL,
        [Response] [readpast].[WebResponse] NULL DEFAULT (''),
        [Error] [readpast].[WebResponse] NULL DEFAULT (''),
        [StartedAt] [readpast].[_Timestamp] NULL,
        [Duration] [readpast].[Duration] NULL,
        [ScheduledFor] [readpast].[_Timestamp] NOT NULL,
        [UpdatedAt] [readpast].[_Timestamp] NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [LeaseUntil] datetime2(7) NULL,
        [Subject] nvarchar(200) NULL,
        CONSTRAINT [PK_Notification] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Notification_IsDiscriminatedBy_NotificationType]
            FOREIGN KEY ([Type]) REFERENCES [readpast].[NotificationType] ([Type]),
        CONSTRAINT [Notification_IsStatedBy_QueueStatus]
            FOREIGN KEY ([Status]) REFERENCES [readpast].[QueueStatus] ([Status])
    );
GO
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog. UpdatedAt is left out on purpose: the claim must visit the row itself, and so lock it, while READPAST still
lets it pass over rows that others hold; were the index to cover the claim, the row would be locked only by the update,
in the opposite order to a procedure that goes by the key.
*/
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    /* LIKE: there are servers that add to the name of an index what makes it unique in the database. */
    WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Notification]') AND i.[name] LIKE N'IX_Notification_Due%'
)
    CREATE NONCLUSTERED INDEX [IX_Notification_Due] ON [readpast].[Notification] ([ScheduledFor], [EnqueuedAt])
    WHERE [Status] IN ('Pending', 'Error');
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Notification]') AND i.[name] LIKE N'IX_Notification_InFlight%'
)
    CREATE NONCLUSTERED INDEX [IX_Notification_InFlight] ON [readpast].[Notification] ([StartedAt])
    WHERE [Status] = 'Processing';
GO