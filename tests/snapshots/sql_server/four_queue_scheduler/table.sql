/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
/* Items that were taken and left are found here, oldest first. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[dbo].[four_queue]') AND i.[name] = N'IX_FourQueueScheduler_InFlight')
BEGIN
    IF CAST(SERVERPROPERTY('EngineEdition') AS int) IN (3, 5, 8)
        CREATE NONCLUSTERED INDEX [IX_FourQueueScheduler_InFlight] ON [dbo].[four_queue] ([in_process], [end_date], [start_date]) WITH (ONLINE = ON);
    ELSE
        CREATE NONCLUSTERED INDEX [IX_FourQueueScheduler_InFlight] ON [dbo].[four_queue] ([in_process], [end_date], [start_date]);
END;
GO
/* The same work is found by an index: one of the table's own that begins with its columns, or else this one. */
IF NOT EXISTS (
    SELECT i.[index_id]
    FROM sys.indexes AS i
    INNER JOIN sys.index_columns AS x ON x.[object_id] = i.[object_id] AND x.[index_id] = i.[index_id]
    INNER JOIN sys.columns AS c ON c.[object_id] = x.[object_id] AND c.[column_id] = x.[column_id]
    WHERE
        i.[object_id] = OBJECT_ID(N'[dbo].[four_queue]') AND i.[has_filter] = 0 AND x.[key_ordinal] BETWEEN 1 AND 1
        AND QUOTENAME(c.[name]) IN (N'[reputation]')
    GROUP BY i.[index_id]
    HAVING COUNT(*) = 1
)
BEGIN
    IF CAST(SERVERPROPERTY('EngineEdition') AS int) IN (3, 5, 8)
        CREATE NONCLUSTERED INDEX [IX_FourQueueScheduler_Work] ON [dbo].[four_queue] ([reputation]) WITH (ONLINE = ON);
    ELSE
        CREATE NONCLUSTERED INDEX [IX_FourQueueScheduler_Work] ON [dbo].[four_queue] ([reputation]);
END;
GO
/*
Values that the table has no column for, in a row per item that a worker has had in hands: four_queue itself keeps its shape.
Times are UTC. Where the table has a column, that column counts, and this is a copy.
*/
IF OBJECT_ID(N'[readpast].[FourQueueScheduler_Lease]', N'U') IS NULL
    CREATE TABLE [readpast].[FourQueueScheduler_Lease] (
        [id] bigint NOT NULL, [Status] varchar(20) NOT NULL, [Step] nvarchar(60) NULL, [AttemptNum] int NOT NULL,
        [Response] nvarchar(max) NULL, [Error] nvarchar(max) NULL, [StartedAt] datetime2(7) NULL, [FinishedAt] datetime2(7) NULL,
        [Duration] bigint NULL, [DueAt] datetime2(7) NULL, [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
        /* By which claim it was taken, for whoever lost the answer to that. Below zero: it goes alone. */
        [ClaimNum] bigint NULL, CONSTRAINT [PK_FourQueueScheduler_Lease] PRIMARY KEY CLUSTERED ([id])
    );
GO
/* A table of an earlier state has no place yet for the number of a claim. */
IF COL_LENGTH(N'[readpast].[FourQueueScheduler_Lease]', N'ClaimNum') IS NULL
    ALTER TABLE [readpast].[FourQueueScheduler_Lease] ADD [ClaimNum] bigint NULL;
GO
/* Many rows locked by one statement must never become the whole table, which nobody could read past. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID(N'[readpast].[FourQueueScheduler_Lease]') AND t.[lock_escalation] <> 1
)
    ALTER TABLE [readpast].[FourQueueScheduler_Lease] SET (LOCK_ESCALATION = DISABLE);
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[FourQueueScheduler_Lease]') AND i.[name] = N'IX_FourQueueScheduler_Lease_InFlight')
    CREATE NONCLUSTERED INDEX [IX_FourQueueScheduler_Lease_InFlight] ON [readpast].[FourQueueScheduler_Lease] ([StartedAt]) INCLUDE ([Status])
    WHERE [Status] = 'Processing';
GO
/* When the items of its dead workers were last looked for. */
IF NOT EXISTS (SELECT 1 FROM [readpast].[QueueRecovery] AS r WHERE r.[Queue] = 'FourQueueScheduler')
    INSERT INTO [readpast].[QueueRecovery] ([Queue], [RecoveredAt]) VALUES ('FourQueueScheduler', '0001-01-01');
GO
