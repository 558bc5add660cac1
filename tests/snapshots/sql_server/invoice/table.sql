/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
/* Invoice: the items. A row is both a domain record and a work item. */
IF OBJECT_ID(N'[readpast].[InvoiceType]', N'U') IS NULL
    CREATE TABLE [readpast].[InvoiceType] ([Type] nvarchar(60) NOT NULL, CONSTRAINT [PK_InvoiceType] PRIMARY KEY CLUSTERED ([Type]));
GO
INSERT INTO [readpast].[InvoiceType] ([Type])
SELECT N'Default'
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[InvoiceType] AS t WHERE t.[Type] = N'Default');
GO
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
IF OBJECT_ID(N'[readpast].[Invoice_Seq]', N'SO') IS NULL
    CREATE SEQUENCE [readpast].[Invoice_Seq] AS bigint START WITH 1 INCREMENT BY 1 CACHE 1000;
GO
IF OBJECT_ID(N'[readpast].[Invoice]', N'U') IS NULL
    CREATE TABLE [readpast].[Invoice] (
        [EnqueuedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NOT NULL, [Status] varchar(20) NOT NULL, [Step] nvarchar(60) NULL,
        [AttemptNum] int NOT NULL, [Response] nvarchar(max) NULL CONSTRAINT [DF_Invoice_Response] DEFAULT (''),
        [Error] nvarchar(max) NULL CONSTRAINT [DF_Invoice_Error] DEFAULT (''), [StartedAt] datetime2(7) NULL, [Duration] bigint NULL,
        [ScheduledFor] datetime2(7) NOT NULL, [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
        /* By which claim it was taken, for whoever lost the answer to that. Below zero: it goes alone. */
        [ClaimNum] bigint NULL, [Number] nvarchar(20) NOT NULL, [CustomerID] bigint NULL,
        [Amount] decimal(12, 2) NULL CONSTRAINT [DF_Invoice.Amount] DEFAULT (0),
        [Code] [dbo].[OtpCode] NULL CONSTRAINT [DF_Invoice.Code] DEFAULT (N'none'),
        [Lines] nvarchar(max) NULL CONSTRAINT [DF_Invoice.Lines] DEFAULT (N'[]'),
        CONSTRAINT [FK_Invoice.CustomerID]
            FOREIGN KEY ([CustomerID]) REFERENCES [dbo].[Customers] ([ID]),
        CONSTRAINT [CK_Invoice.Amount]
            CHECK ("Amount" >= 0),
        CONSTRAINT [PK_Invoice] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Invoice_IsDiscriminatedBy_InvoiceType]
            FOREIGN KEY ([Type]) REFERENCES [readpast].[InvoiceType] ([Type]),
        CONSTRAINT [CK_Invoice_Status] CHECK ([Status] IN (
            'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'
        ))
    );
GO
/* A table of an earlier state has no place yet for the number of a claim. */
IF COL_LENGTH(N'[readpast].[Invoice]', N'ClaimNum') IS NULL
    ALTER TABLE [readpast].[Invoice] ADD [ClaimNum] bigint NULL;
GO
/* Many rows locked by one statement must never become the whole table, which nobody could read past. */
IF EXISTS (SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID(N'[readpast].[Invoice]') AND t.[lock_escalation] <> 1)
    ALTER TABLE [readpast].[Invoice] SET (LOCK_ESCALATION = DISABLE);
GO
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog. UpdatedAt is left out on purpose: the claim must visit the row itself, and so lock it, while READPAST still
lets it pass over rows that others hold; were the index to cover the claim, the row would be locked only by the update,
in the opposite order to a procedure that goes by the key. In each index the columns of its filter stand too: without
them a query may visit, and lock, the row only to look at them once more.
*/
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Invoice]') AND i.[name] = N'IX_Invoice_Due')
    CREATE NONCLUSTERED INDEX [IX_Invoice_Due] ON [readpast].[Invoice] ([ScheduledFor], [EnqueuedAt]) INCLUDE ([Status])
    WHERE [Status] IN ('Pending', 'Error');
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Invoice]') AND i.[name] = N'IX_Invoice_InFlight')
    CREATE NONCLUSTERED INDEX [IX_Invoice_InFlight] ON [readpast].[Invoice] ([StartedAt]) INCLUDE ([Status])
    WHERE [Status] = 'Processing';
GO
/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Invoice]') AND i.[name] = N'IX_Invoice_Ended')
    CREATE NONCLUSTERED INDEX [IX_Invoice_Ended] ON [readpast].[Invoice] ([EnqueuedAt]) INCLUDE ([Status])
    WHERE [Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted');
GO
/* Completed items are moved here. */
IF OBJECT_ID(N'[readpast].[Invoice_History]', N'U') IS NULL
    CREATE TABLE [readpast].[Invoice_History] (
        [EnqueuedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NOT NULL, [Status] varchar(20) NOT NULL, [Step] nvarchar(60) NULL,
        [AttemptNum] int NOT NULL, [Response] nvarchar(max) NULL, [Error] nvarchar(max) NULL, [StartedAt] datetime2(7) NULL,
        [Duration] bigint NULL, [ScheduledFor] datetime2(7) NOT NULL, [UpdatedAt] datetime2(7) NOT NULL,
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL, [Number] nvarchar(20) NOT NULL,
        [CustomerID] bigint NULL, [Amount] decimal(12, 2) NULL, [Code] [dbo].[OtpCode] NULL, [Lines] nvarchar(max) NULL,
        CONSTRAINT [PK_Invoice_History] PRIMARY KEY CLUSTERED ([EnqueuedAt])
    );
GO
/* When the items of its dead workers were last looked for. */
IF NOT EXISTS (SELECT 1 FROM [readpast].[QueueRecovery] AS r WHERE r.[Queue] = 'Invoice')
    INSERT INTO [readpast].[QueueRecovery] ([Queue], [RecoveredAt]) VALUES ('Invoice', '0001-01-01');
GO
