/*
The queue Notification, and what all queues of its schema share.
Rendered by readpast (version); the objects have version 1. Made anew whenever it is rendered: change the
description, not this text.

To run it, as a login that may create schemas, types, tables and procedures:
    sqlcmd -b -I -x -f 65001 -S <server> -d <database> -i <file>
An error takes everything back; -b stops there, and where a tool goes on (SSMS), nothing more is done. -x leaves $(...) in
names alone, -f 65001 reads the file as the UTF-8 that it is. What is there already as it should be is left alone, so it
may be run again.
*/
SET NOEXEC OFF;
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
/* All that come later wait behind a change of a table that waits. */
SET LOCK_TIMEOUT 10000;
BEGIN TRANSACTION;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DECLARE @Granted int = 0;
IF OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NULL
    EXECUTE @Granted = sp_getapplock
        @Resource = N'readpast/install/readpast', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 60000;
IF @Granted < 0
    THROW 50013, N'Another install holds the lock of this schema; try again.', 1;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DECLARE @Names nvarchar(max) = N'["AppSettings", "AttemptNum", "Duration",
"QueueCatalog", "QueueIsDone", "QueueIsEditable_fn",
"QueueIsFinished_fn", "QueueIsProcessable_fn", "QueueIsRefusal_fn",
"QueueNamed_fn", "QueueNoteRefusal", "QueueOperation",
"QueueOperationKeep", "QueueOperationTake", "QueueOwnType_V",
"QueueRecovery", "QueueRecoveryTurn", "QueueRefuse",
"QueueRefused", "QueueRetention", "QueueSchemaVersion",
"QueueSpec", "QueueState", "QueueStatus",
"QueueStep", "QueueTake", "QueueTransition",
"QueueTurn", "QueueTurnTake", "QueueTypeAccess",
"QueueUnfit_fn", "WebResponse", "_Int",
"_Timestamp", "_Type"]';
DECLARE @Kind nvarchar(60);
DECLARE @Name nvarchar(128);
DECLARE @Verb nvarchar(128);
DECLARE @Whom nvarchar(128);
DECLARE @Remedy nvarchar(400);
DECLARE @Message nvarchar(2048);
/*
Preparations of somebody who is not trusted: not the user that installs, nor a role or group that it is a member of, nor dbo,
nor a member of db_owner. They would run with the rights of who installs. An object is its schema's owner's, whoever made it:
so who may change the schema counts as an owner, and a trigger, or an object from before the first install, is nobody's.
*/
WITH [Mine] ([Id]) AS (
    SELECT p.[principal_id]
    FROM sys.database_principals AS p
    WHERE
        p.[name] = USER_NAME()
        OR (p.[type] IN ('G', 'X') AND IS_MEMBER(p.[name]) = 1)
    UNION ALL
    SELECT m.[role_principal_id]
    FROM [Mine] AS i
    INNER JOIN sys.database_role_members AS m
        ON m.[member_principal_id] = i.[Id]
),

[Named] ([Id], [Name], [Owner]) AS (
    SELECT
        o.[object_id],
        o.[name],
        COALESCE(o.[principal_id], s.[principal_id])
    FROM sys.schemas AS s
    INNER JOIN sys.objects AS o
        ON o.[schema_id] = s.[schema_id]
    WHERE s.[name] = N'readpast' AND o.[name] IN (SELECT n.[value] COLLATE CATALOG_DEFAULT FROM OPENJSON(@Names) AS n)
)

SELECT TOP (1)
    @Kind = f.[Kind],
    @Name = f.[Name],
    @Verb = f.[Verb],
    @Whom = COALESCE(f.[Whom], USER_NAME(f.[Holder]), N'somebody that this login cannot see'),
    @Remedy = COALESCE(
        f.[Remedy],
        N'Its owner''s triggers and functions would run with the rights of who installs. Drop it, change its owner, '
        + N'install as that user or as a member of that role, or choose another schema.'
    )
FROM (
    SELECT
        N'schema' AS [Kind],
        s.[name] AS [Name],
        N'belongs to' AS [Verb],
        s.[principal_id] AS [Holder],
        CAST(NULL AS nvarchar(128)) AS [Whom],
        CAST(NULL AS nvarchar(400)) AS [Remedy]
    FROM sys.schemas AS s
    WHERE s.[name] = N'readpast'
    UNION ALL
    SELECT N'object', n.[Name], N'belongs to', n.[Owner], NULL, NULL
    FROM [Named] AS n
    UNION ALL
    SELECT N'type', t.[name], N'belongs to', COALESCE(t.[principal_id], s.[principal_id]), NULL, NULL
    FROM sys.schemas AS s
    INNER JOIN sys.types AS t
        ON t.[schema_id] = s.[schema_id]
    WHERE s.[name] = N'readpast' AND t.[name] IN (SELECT n.[value] COLLATE CATALOG_DEFAULT FROM OPENJSON(@Names) AS n)
    UNION ALL
    SELECT
        CASE WHEN d.[class] = 3 THEN N'schema' ELSE N'object' END,
        CASE WHEN d.[class] = 3 THEN SCHEMA_NAME(d.[major_id]) ELSE OBJECT_NAME(d.[major_id]) END,
        CONCAT(N'gives ', d.[permission_name], N' to'),
        d.[grantee_principal_id],
        NULL,
        N'Its holder''s triggers and changes would run with the rights of who installs. Revoke it, install as that user or '
        + N'as a member of that role, or choose another schema.'
    FROM sys.database_permissions AS d
    WHERE
        d.[permission_name] IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP')
        AND d.[state] IN ('G', 'W')
        AND (
            (d.[class] = 3 AND d.[major_id] = SCHEMA_ID(N'readpast'))
            OR (d.[class] = 1 AND d.[major_id] IN (SELECT n.[Id] FROM [Named] AS n))
        )
    UNION ALL
    SELECT
        N'trigger',
        g.[name],
        N'fires on',
        NULL,
        n.[Name],
        N'Its maker is not known, and it runs with the rights of who installs. Drop it, or disable it while you install.'
    FROM sys.triggers AS g
    INNER JOIN [Named] AS n
        ON n.[Id] = g.[parent_id]
    WHERE g.[is_disabled] = 0 AND g.[is_ms_shipped] = 0
    UNION ALL
    SELECT
        N'object',
        n.[Name],
        N'is there without',
        NULL,
        N'QueueSchemaVersion',
        N'An install makes it, and its maker is not known. Drop it or rename it, or choose another schema.'
    FROM [Named] AS n
    WHERE OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NULL
) AS f
WHERE
    f.[Holder] IS NULL
    OR (
        f.[Holder] NOT IN (SELECT i.[Id] FROM [Mine] AS i)
        AND COALESCE(USER_NAME(f.[Holder]), N'') NOT IN (N'dbo', N'db_owner')
        AND COALESCE(IS_ROLEMEMBER(N'db_owner', USER_NAME(f.[Holder])), 0) = 0
    )
ORDER BY
    CASE WHEN f.[Kind] = N'schema' THEN 0 ELSE 1 END,
    f.[Kind],
    f.[Name],
    f.[Verb];

IF @Kind IS NOT NULL
BEGIN
    /* THROW reads a % as the start of something else; doubled, it stands for itself. */
    SET @Message = REPLACE(CONCAT(@Kind, N' ', @Name, N' ', @Verb, N' ', @Whom, N'. ', @Remedy), N'%', N'%%');
    THROW 50015, @Message, 1;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Two installs at once take turns, at a row that nobody else can lock: for a minute. Where it is not there yet, they do at the
application lock before this, which any login could keep.
*/
IF OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NOT NULL
    EXECUTE (N'SET LOCK_TIMEOUT 60000;
DECLARE @Version int = (
    SELECT v.[Version] FROM [readpast].[QueueSchemaVersion] AS v WITH (UPDLOCK, ROWLOCK) WHERE v.[Version] = 1
);');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The vocabulary and the book-keeping that every queue of this schema shares.
Table access order in all procedures: QueueOperation, then the queue's table, then QueueTransition.
*/
IF SCHEMA_ID(N'readpast') IS NULL
BEGIN
    /*
    It belongs to dbo where the login may give it to dbo: what procedures here may do with tables of the schema dbo follows
    from both having one owner, else who only executes them is refused.
    */
    IF IS_ROLEMEMBER(N'db_owner') = 1
        EXECUTE (N'CREATE SCHEMA [readpast] AUTHORIZATION [dbo]');
    ELSE
        EXECUTE (N'CREATE SCHEMA [readpast]');
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Types of values. The place of use says whether one may be missing. */
IF TYPE_ID(N'[readpast].[_Timestamp]') IS NULL
    CREATE TYPE [readpast].[_Timestamp] FROM datetime2(7) NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[_Int]') IS NULL
    CREATE TYPE [readpast].[_Int] FROM int NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[_Type]') IS NULL
    CREATE TYPE [readpast].[_Type] FROM nvarchar(60) NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[QueueState]') IS NULL
    CREATE TYPE [readpast].[QueueState] FROM varchar(20) NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[QueueStep]') IS NULL
    CREATE TYPE [readpast].[QueueStep] FROM nvarchar(60) NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[AttemptNum]') IS NULL
    CREATE TYPE [readpast].[AttemptNum] FROM int NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[WebResponse]') IS NULL
    CREATE TYPE [readpast].[WebResponse] FROM nvarchar(max) NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF TYPE_ID(N'[readpast].[Duration]') IS NULL
    CREATE TYPE [readpast].[Duration] FROM bigint NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* One row per version that was applied here: an audit trail, never updated. */
IF OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueSchemaVersion] (
        [Version] int NOT NULL,
        [AppliedAt] datetime2(7) NOT NULL,
        [Library] varchar(20) NOT NULL,
        CONSTRAINT [PK_QueueSchemaVersion] PRIMARY KEY CLUSTERED ([Version])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The queues of this schema, each with the specification it was rendered from. */
IF OBJECT_ID(N'[readpast].[QueueSpec]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueSpec] (
        [Queue] varchar(40) NOT NULL,
        [Preset] varchar(20) NOT NULL,
        [Spec] nvarchar(max) NOT NULL,
        [RenderedBy] int NOT NULL,
        [InstalledAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueSpec] PRIMARY KEY CLUSTERED ([Queue])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Settings that procedures read, such as notification.maxAttempts. */
IF OBJECT_ID(N'[readpast].[AppSettings]', N'U') IS NULL
    CREATE TABLE [readpast].[AppSettings] (
        [Param] varchar(100) NOT NULL,
        [ValInt] [readpast].[_Int] NULL,
        [ValText] nvarchar(400) NULL,
        CONSTRAINT [PK_AppSettings] PRIMARY KEY CLUSTERED ([Param])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF OBJECT_ID(N'[readpast].[QueueStatus]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueStatus] (
        [Status] [readpast].[QueueState] NOT NULL,
        CONSTRAINT [PK_QueueStatus] PRIMARY KEY CLUSTERED ([Status])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
INSERT INTO [readpast].[QueueStatus] ([Status])
SELECT v.[Status]
FROM (VALUES
    ('Pending'),
    ('Processing'),
    ('Error'), /* retryable */
    ('Failed'), /* attempts spent, or the worker gave up */
    ('Completed'),
    ('Cancelled'),
    ('Paused'),
    ('Terminated'),
    ('PartiallyCompleted')
) AS v ([Status])
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS s WHERE s.[Status] = v.[Status]);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
IF OBJECT_ID(N'[readpast].[QueueTransition]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueTransition] (
        [FromStatus] [readpast].[QueueState] NOT NULL,
        [ToStatus] [readpast].[QueueState] NOT NULL,
        CONSTRAINT [PK_QueueTransition] PRIMARY KEY CLUSTERED ([FromStatus], [ToStatus])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
INSERT INTO [readpast].[QueueTransition] ([FromStatus], [ToStatus])
SELECT v.[FromStatus], v.[ToStatus]
FROM (VALUES
    ('Pending', 'Processing'),
    ('Pending', 'Failed'),
    ('Pending', 'Cancelled'),
    ('Pending', 'Paused'),
    ('Pending', 'Terminated'),
    ('Processing', 'Processing'),
    ('Processing', 'Pending'),
    ('Processing', 'Error'),
    ('Processing', 'Failed'),
    ('Processing', 'Completed'),
    ('Processing', 'PartiallyCompleted'),
    ('Processing', 'Cancelled'),
    ('Processing', 'Paused'),
    ('Processing', 'Terminated'),
    ('Error', 'Processing'),
    ('Error', 'Pending'),
    ('Error', 'Failed'),
    ('Error', 'Cancelled'),
    ('Error', 'Paused'),
    ('Error', 'Terminated'),
    ('Paused', 'Processing'),
    ('Paused', 'Pending'),
    ('Paused', 'Failed'),
    ('Paused', 'Cancelled'),
    ('Paused', 'Terminated')
) AS v ([FromStatus], [ToStatus])
WHERE NOT EXISTS (
    SELECT 1 FROM [readpast].[QueueTransition] AS t
    WHERE t.[FromStatus] = v.[FromStatus] AND t.[ToStatus] = v.[ToStatus]
);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
One row per call that changed items, written in the same transaction: whoever lost the answer asks again with the same
identity and gets the same answer instead of a second effect; in another queue, or for another kind of call, it is refused.
Result holds what cannot be read back from the items.
*/
IF OBJECT_ID(N'[readpast].[QueueOperation]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueOperation] (
        [OperationId] uniqueidentifier NOT NULL,
        [Call] varchar(60) NOT NULL, /* the procedure, by what its two forms have in common */
        [At] datetime2(7) NOT NULL,
        [Result] nvarchar(max) NULL,
        CONSTRAINT [PK_QueueOperation] PRIMARY KEY CLUSTERED ([OperationId])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Which logins see which types, of queues whose description says own_types_only. UserName is a user or a role of the
database; the type * is every type.
*/
IF OBJECT_ID(N'[readpast].[QueueTypeAccess]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueTypeAccess] (
        [Queue] varchar(40) NOT NULL,
        [Type] [readpast].[_Type] NOT NULL,
        [UserName] sysname NOT NULL,
        CONSTRAINT [PK_QueueTypeAccess] PRIMARY KEY CLUSTERED ([Queue], [UserName], [Type])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The types that the caller may see, by queue: the user it is in this database, and the roles that user is in. Procedures
and views read this with the rights of their owner, and USER_NAME() is the caller all the same.
*/
IF OBJECT_ID(N'[readpast].[QueueOwnType_V]', N'V') IS NULL
    EXECUTE (N'CREATE VIEW [readpast].[QueueOwnType_V]
AS
SELECT
    a.[Queue],
    a.[Type]
FROM [readpast].[QueueTypeAccess] AS a
WHERE
    a.[UserName] = USER_NAME()
    OR IS_ROLEMEMBER(a.[UserName]) = 1;');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
A row for each queue whose description says how long items stay that have ended, and when what was over was last deleted, to
the end. Who deletes locks the row meanwhile, and others pass over it: one at a time.
*/
IF OBJECT_ID(N'[readpast].[QueueRetention]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueRetention] (
        [Queue] varchar(40) NOT NULL,
        [DoneAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueRetention] PRIMARY KEY CLUSTERED ([Queue])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
A row for each queue with groups. Claims of such a queue take turns: each locks the row to the end of its transaction.
Nothing is ever written to it, and only the procedures can lock it, hence nobody who may not claim: an application lock
of the role public could be taken, and kept, by any login.
*/
IF OBJECT_ID(N'[readpast].[QueueTurn]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueTurn] (
        [Queue] varchar(40) NOT NULL,
        CONSTRAINT [PK_QueueTurn] PRIMARY KEY CLUSTERED ([Queue])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
A row for each queue: when the items of its dead workers were last looked for, UTC. Of all who claim, one does it when
it is time; nobody waits for a row here.
*/
IF OBJECT_ID(N'[readpast].[QueueRecovery]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueRecovery] (
        [Queue] varchar(40) NOT NULL,
        [RecoveredAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueRecovery] PRIMARY KEY CLUSTERED ([Queue])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Items that their table does not let a queue change: a claim or a recovery of one met a unique index, a CHECK, a trigger. Each
is left aside until a time (UTC) that goes farther at each refusal; all processes see it, so that none tries in vain. Key is the
item's as text. Attempts counts the refusals that spend an attempt: not those of a unique index, which pass when another row
does. The row goes when its item is let through.
*/
IF OBJECT_ID(N'[readpast].[QueueRefused]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueRefused] (
        [Queue] varchar(40) NOT NULL,
        [Key] nvarchar(400) COLLATE Latin1_General_BIN2 NOT NULL,
        [Doing] varchar(10) NOT NULL, /* claim or recover */
        [Reason] nvarchar(400) NOT NULL,
        [Times] int NOT NULL,
        [Attempts] int NOT NULL,
        [Since] datetime2(7) NOT NULL,
        [Until] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueRefused] PRIMARY KEY CLUSTERED ([Queue], [Key])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The meaning of each status, in one place. Re-created by every install. */
CREATE OR ALTER FUNCTION [readpast].[QueueIsProcessable_fn] (@Status [readpast].[QueueState])
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can this item be picked up for processing? */
    RETURN CASE WHEN @Status IN ('Pending', 'Paused', 'Error') THEN 1 ELSE 0 END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [readpast].[QueueIsFinished_fn] (@Status [readpast].[QueueState])
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Is this item in a terminal state? */
    RETURN CASE WHEN @Status IN ('Pending', 'Processing', 'Error', 'Paused') THEN 0 ELSE 1 END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [readpast].[QueueIsEditable_fn] (@Status [readpast].[QueueState])
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can a worker write response and error data to this item? */
    RETURN CASE
        WHEN @Status IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted') THEN 0
        ELSE 1
    END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Whether an error of this number and severity is a table's word about a row: a constraint, a value, a trigger. Not what passes,
what the server lacks, what is missing or forbidden to whoever asks, nor what is this library's own.
*/
CREATE OR ALTER FUNCTION [readpast].[QueueIsRefusal_fn] (@Number int, @Severity int)
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    RETURN CASE
        WHEN @Severity < 11 OR @Severity > 16 THEN 0
        WHEN @Number BETWEEN 50012 AND 50021 OR @Number = 50005 THEN 0
        WHEN @Number IN (
            201, 207, 208, 229, 230, 262, 297, 300, 596, 911, 916, 1205, 1222, 2760, 2812, 3906, 3960, 4060, 8144, 8145, 15247,
            41301, 41302, 41305, 41325, 41839
        ) THEN 0
        ELSE 1
    END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. What nobody has tried for long is forgotten: it is gone, or somebody has mended it.
Of so many at once it is no matter of one row: then the refusal is an error, and nothing is done.
Table access order: QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueNoteRefusal]
    @Queue varchar(40),
    @Key nvarchar(400),
    @Doing varchar(10),
    @Number int,
    @Reason nvarchar(4000),
    @Times int OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Counts int = CASE WHEN @Number IN (2601, 2627) THEN 0 ELSE 1 END;

    /* The values of a key are nobody's business who reads a log. */
    IF @_Counts = 0
        SET @Reason = LEFT(@Reason, CHARINDEX(N' The duplicate key value', @Reason + N' The duplicate key value'));
    SET @Reason = LEFT(@Reason, 400);

    BEGIN TRANSACTION;
    DELETE r
    FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK)
    WHERE r.[Queue] = @Queue AND r.[Until] < DATEADD(MINUTE, -10, @_Now);

    IF EXISTS (
        SELECT 1
        FROM [readpast].[QueueRefused] AS r
        WHERE r.[Queue] = @Queue AND r.[Until] > @_Now AND r.[Key] <> @Key
        HAVING COUNT(*) >= 1000 OR SUM(CASE WHEN r.[Attempts] > 0 THEN 1 ELSE 0 END) >= 100
    )
    BEGIN
        SET @Reason = CONCAT(REPLACE(@Reason, N'%', N'%%'), N', and so of many other items, which are left aside');
        THROW 50016, @Reason, 1;
    END;

    SET @Times = NULL;
    SELECT @Times = r.[Times] + 1
    FROM [readpast].[QueueRefused] AS r WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE r.[Queue] = @Queue AND r.[Key] = @Key;

    IF @Times IS NULL
    BEGIN
        SET @Times = 1;
        INSERT INTO [readpast].[QueueRefused] ([Queue], [Key], [Doing], [Reason], [Times], [Attempts], [Since], [Until])
        VALUES (@Queue, @Key, @Doing, @Reason, 1, @_Counts, @_Now, DATEADD(SECOND, 1, @_Now));
    END
    ELSE
        UPDATE r
        SET
            [Doing] = @Doing,
            [Reason] = @Reason,
            [Times] = @Times,
            [Attempts] = r.[Attempts] + @_Counts,
            [Until] = DATEADD(SECOND, CASE WHEN @Times > 6 THEN 60 ELSE POWER(2, @Times - 1) END, @_Now)
        FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK)
        WHERE r.[Queue] = @Queue AND r.[Key] = @Key;
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The first thing wrong with a JSON array of objects, by what their members take; NULL when nothing is. It names no values. OPENJSON
counts types so: 0 is null, 1 text, 2 a number, 3 true or false, 4 an array, 5 an object.
*/
CREATE OR ALTER FUNCTION [readpast].[QueueUnfit_fn] (@Items nvarchar(max), @Takes nvarchar(max))
RETURNS nvarchar(2000)
AS
BEGIN
    DECLARE @Why nvarchar(2000);
    DECLARE @Unknown nvarchar(150); /* where a name is not known */
    DECLARE @Name nvarchar(128) = N'';
    DECLARE @Shape TABLE (
        [Place] nvarchar(150) COLLATE Latin1_General_BIN2 NOT NULL,
        [Name] nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        [Is] int NOT NULL,
        [Takes] nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL,
        [Kind] nvarchar(20) COLLATE Latin1_General_BIN2 NULL,
        [Most] int NULL,
        [Scale] int NULL,
        PRIMARY KEY CLUSTERED ([Place], [Name])
    );
    DECLARE @Given TABLE (
        [Ordinal] int NOT NULL,
        [Place] nvarchar(150) COLLATE Latin1_General_BIN2 NOT NULL,
        [Name] nvarchar(4000) COLLATE Latin1_General_BIN2 NOT NULL,
        [Is] int NOT NULL,
        [Value] nvarchar(max) COLLATE Latin1_General_BIN2 NULL
    );

    INSERT INTO @Shape ([Place], [Name], [Is], [Takes], [Kind], [Most], [Scale])
    SELECT
        x.[Place],
        x.[Name],
        x.[Is],
        x.[Takes],
        LEFT(k.[Kind], CHARINDEX(N'(', CONCAT(k.[Kind], N'(')) - 1),
        TRY_CAST(LEFT(a.[Most], CHARINDEX(N',', CONCAT(a.[Most], N',')) - 1) AS int),
        TRY_CAST(SUBSTRING(a.[Most], CHARINDEX(N',', CONCAT(a.[Most], N',')) + 1, 10) AS int)
    FROM (
        SELECT N'' AS [Place], t.[key] AS [Name], t.[type] AS [Is], t.[value] AS [Takes]
        FROM OPENJSON(@Takes) AS t
        UNION ALL
        SELECT CONCAT(t.[key], N'.'), u.[key], u.[type], u.[value]
        FROM OPENJSON(@Takes) AS t
        CROSS APPLY OPENJSON(CASE WHEN t.[type] = 5 THEN t.[value] END) AS u
        UNION ALL
        SELECT CONCAT(t.[key], N'.', u.[key], N'.'), v.[key], v.[type], v.[value]
        FROM OPENJSON(@Takes) AS t
        CROSS APPLY OPENJSON(CASE WHEN t.[type] = 5 THEN t.[value] END) AS u
        CROSS APPLY OPENJSON(CASE WHEN u.[type] = 5 THEN u.[value] END) AS v
    ) AS x
    CROSS APPLY (
        SELECT CASE WHEN x.[Is] = 1 THEN REPLACE(x.[Takes], N' not null', N'') END AS [Kind]
    ) AS k
    CROSS APPLY (
        SELECT CASE
            WHEN CHARINDEX(N'(', k.[Kind]) > 0
                THEN REPLACE(SUBSTRING(k.[Kind], CHARINDEX(N'(', k.[Kind]) + 1, 20), N')', N'')
        END AS [Most]
    ) AS a;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT CAST(j.[key] AS int), N'', m.[key], m.[type], m.[value]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT g.[Ordinal], CONCAT(g.[Name], N'.'), m.[key], m.[type], m.[value]
    FROM @Given AS g
    INNER JOIN @Shape AS s
        ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND s.[Is] = 5
    /* A key of several columns is an array. */
    CROSS APPLY OPENJSON(CASE WHEN g.[Is] = CASE WHEN g.[Name] = N'key' THEN 4 ELSE 5 END THEN g.[Value] END) AS m;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT g.[Ordinal], CONCAT(g.[Place], g.[Name], N'.'), m.[key], m.[type], m.[value]
    FROM @Given AS g
    INNER JOIN @Shape AS s
        ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND s.[Is] = 5
    CROSS APPLY OPENJSON(CASE WHEN g.[Is] = 5 THEN g.[Value] END) AS m
    WHERE g.[Place] <> N'';

    SELECT TOP (1)
        @Why = CONCAT(N'item ', w.[Ordinal], N': ', w.[Why]),
        @Unknown = w.[Unknown]
    FROM (
        SELECT
            g.[Ordinal],
            CASE WHEN s.[Name] IS NULL AND CONCAT(g.[Place], g.[Name]) <> N'' THEN g.[Place] END AS [Unknown],
            CASE
                WHEN g.[Place] = N'' AND g.[Name] = N'' THEN N'it is no object'
                WHEN s.[Name] IS NULL
                    THEN CONCAT(N'there is no "', g.[Place], LEFT(g.[Name], 128), N'"; there are')
                ELSE CONCAT(
                    N'"', s.[Place], s.[Name], N'" takes ',
                    CASE WHEN s.[Is] <> 5 THEN s.[Takes] WHEN s.[Place] + s.[Name] = N'key' THEN N'an array' ELSE N'an object' END
                )
            END AS [Why]
        FROM @Given AS g
        LEFT JOIN @Shape AS s
            ON s.[Place] = g.[Place] AND s.[Name] = g.[Name]
        CROSS APPLY (
            SELECT
                LEFT(d.[Digits], CHARINDEX(N'.', CONCAT(d.[Digits], N'.')) - 1) AS [Whole],
                SUBSTRING(d.[Digits], CHARINDEX(N'.', CONCAT(d.[Digits], N'.')) + 1, 100) AS [Fraction]
            FROM (SELECT REPLACE(LEFT(g.[Value], 100), N'-', N'') AS [Digits]) AS d
        ) AS p
        WHERE
            s.[Name] IS NULL
            OR CASE
                WHEN g.[Is] = 0 THEN 1
                WHEN s.[Is] = 5 THEN CASE WHEN g.[Is] = CASE WHEN s.[Place] + s.[Name] = N'key' THEN 4 ELSE 5 END THEN 1 ELSE 0 END
                WHEN s.[Is] = 4
                    THEN CASE
                        WHEN EXISTS (
                            SELECT 1 FROM OPENJSON(CASE WHEN s.[Is] = 4 THEN s.[Takes] END) AS o
                            WHERE g.[Is] = 1 AND CONCAT(o.[value], N'.') COLLATE Latin1_General_BIN2 = CONCAT(g.[Value], N'.')
                        ) THEN 1
                        ELSE 0
                    END
                WHEN s.[Kind] = N'any' THEN 1
                WHEN s.[Kind] = N'json' THEN CASE WHEN g.[Is] IN (4, 5) THEN 1 ELSE 0 END
                WHEN g.[Is] IN (4, 5) THEN 0
                WHEN s.[Kind] = N'text'
                    THEN CASE WHEN g.[Is] = 1 AND DATALENGTH(g.[Value]) <= 2 * COALESCE(CAST(s.[Most] AS bigint), 2147483647) THEN 1 ELSE 0 END
                WHEN s.[Kind] = N'boolean' THEN CASE WHEN g.[Value] IN (N'true', N'false', N'0', N'1') THEN 1 ELSE 0 END
                WHEN s.[Kind] IN (N'integer', N'bigint')
                    THEN CASE
                        WHEN g.[Value] LIKE N'%[^-0-9]%' OR g.[Value] = N'' THEN 0
                        WHEN s.[Kind] = N'integer' AND TRY_CAST(g.[Value] AS int) IS NULL THEN 0
                        WHEN TRY_CAST(g.[Value] AS bigint) IS NULL THEN 0
                        ELSE 1
                    END
                WHEN s.[Kind] = N'milliseconds'
                    THEN CASE
                        WHEN g.[Value] LIKE N'%[^0-9]%' OR g.[Value] = N'' THEN 0
                        WHEN TRY_CAST(g.[Value] AS bigint) <= 2147483647000 THEN 1
                        ELSE 0
                    END
                WHEN s.[Kind] = N'decimal'
                    THEN CASE
                        WHEN g.[Value] LIKE N'%[^-.0-9]%' OR g.[Value] NOT LIKE N'%[0-9]%' OR g.[Value] LIKE N'%.%.%' OR g.[Value] LIKE N'_%-%' THEN 0
                        /* Zeros that lead do not count as digits before the point. */
                        WHEN LEN(STUFF(p.[Whole], 1, PATINDEX(N'%[^0]%', CONCAT(p.[Whole], N'.')) - 1, N'')) > s.[Most] - s.[Scale] THEN 0
                        WHEN LEN(p.[Fraction]) > s.[Scale] THEN 0
                        ELSE 1
                    END
                WHEN s.[Kind] = N'float' THEN CASE WHEN g.[Value] = N'' OR TRY_CAST(g.[Value] AS float) IS NULL THEN 0 ELSE 1 END
                WHEN s.[Kind] = N'timestamp'
                    THEN CASE WHEN g.[Value] LIKE N'[0-9][0-9][0-9][0-9]-%' AND TRY_CAST(g.[Value] AS datetime2(7)) IS NOT NULL THEN 1 ELSE 0 END
                WHEN s.[Kind] = N'date'
                    THEN CASE WHEN g.[Value] LIKE N'[0-9][0-9][0-9][0-9]-__-__' AND TRY_CAST(g.[Value] AS date) IS NOT NULL THEN 1 ELSE 0 END
                WHEN s.[Kind] = N'guid'
                    THEN CASE WHEN LEN(g.[Value]) = 36 AND TRY_CAST(g.[Value] AS uniqueidentifier) IS NOT NULL THEN 1 ELSE 0 END
                /* Bytes: whether it is base64 is looked at where it is read. */
                ELSE 1
            END = 0
        UNION ALL
        SELECT g.[Ordinal], NULL, CONCAT(N'"', g.[Place], LEFT(g.[Name], 128), N'" is given twice')
        FROM @Given AS g
        GROUP BY g.[Ordinal], g.[Place], g.[Name]
        HAVING COUNT(*) > 1
        UNION ALL
        /*
        Members that must have a value, in each object that is there; columns are even where they are left out, and what is
        left out of "set" stays.
        */
        SELECT e.[Ordinal], NULL, CONCAT(N'"', s.[Place], s.[Name], N'" must have a value')
        FROM @Shape AS s
        INNER JOIN (
            SELECT g.[Ordinal], CONCAT(g.[Place], g.[Name], N'.') AS [Place]
            FROM @Given AS g
            WHERE g.[Is] = 5
            UNION
            SELECT CAST(j.[key] AS int), N'columns.' FROM OPENJSON(@Items) AS j
        ) AS e
            ON e.[Place] = s.[Place]
        WHERE
            s.[Takes] LIKE N'% not null'
            AND NOT EXISTS (
                SELECT 1
                FROM @Given AS g
                WHERE
                    g.[Ordinal] = e.[Ordinal] AND g.[Place] = s.[Place] AND g.[Name] = s.[Name] AND g.[Is] <> 0
            )
            AND (
                s.[Place] NOT LIKE N'set.%'
                OR EXISTS (
                    SELECT 1 FROM @Given AS g
                    WHERE g.[Ordinal] = e.[Ordinal] AND g.[Place] = s.[Place] AND g.[Name] = s.[Name]
                )
            )
    ) AS w
    ORDER BY w.[Ordinal];

    /* Which there are: one after the other. */
    WHILE @Unknown IS NOT NULL AND @Name IS NOT NULL
    BEGIN
        SET @Name = (SELECT MIN(o.[Name]) FROM @Shape AS o WHERE o.[Place] = @Unknown AND o.[Name] > @Name);
        SET @Why = CONCAT(@Why, CASE WHEN @Why NOT LIKE N'% are' AND @Name IS NOT NULL THEN N',' END, N' ' + @Name);
    END;

    RETURN @Why;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
A JSON array of objects, or such an object, with its members under the names that are known of them, where but one differs in
case alone. One member after the other: there is no other way to put text together that all versions have.
*/
CREATE OR ALTER FUNCTION [readpast].[QueueNamed_fn] (@Given nvarchar(max), @Takes nvarchar(max), @IsArray bit)
RETURNS nvarchar(max)
AS
BEGIN
    DECLARE @At int = 1;
    DECLARE @Count int = (SELECT COUNT(*) FROM OPENJSON(@Given));
    DECLARE @Named nvarchar(max) = N'';

    WHILE @At <= @Count
    BEGIN
        SET @Named = (
            SELECT CONCAT(
                @Named,
                CASE WHEN @At > 1 THEN N',' END,
                CASE WHEN @IsArray = 0 THEN CONCAT(N'"', STRING_ESCAPE(COALESCE(t.[key], m.[key]), 'json'), N'":') END,
                CASE
                    WHEN m.[type] = 0 THEN N'null'
                    WHEN m.[type] = 1 THEN CONCAT(N'"', STRING_ESCAPE(m.[value], 'json'), N'"')
                    WHEN m.[type] = 5 AND @IsArray = 1 THEN [readpast].[QueueNamed_fn](m.[value], @Takes, 0)
                    WHEN m.[type] = 5 AND t.[type] = 5 THEN [readpast].[QueueNamed_fn](m.[value], t.[value], 0)
                    ELSE m.[value]
                END
            )
            FROM (
                SELECT
                    j.[key],
                    j.[type],
                    j.[value] COLLATE Latin1_General_BIN2 AS [value],
                    ROW_NUMBER() OVER (ORDER BY CASE WHEN @IsArray = 1 THEN CAST(j.[key] AS int) END, j.[key]) AS [Place]
                FROM OPENJSON(@Given) AS j
            ) AS m
            OUTER APPLY (
                SELECT s.[key], s.[type], s.[value]
                FROM OPENJSON(@Takes) AS s
                WHERE
                    @IsArray = 0
                    AND (
                        s.[key] = m.[key]
                        OR (
                            LOWER(s.[key]) = LOWER(m.[key])
                            AND (SELECT COUNT(*) FROM OPENJSON(@Takes) AS o WHERE LOWER(o.[key]) = LOWER(m.[key])) = 1
                        )
                    )
            ) AS t
            WHERE m.[Place] = @At
        );
        SET @At = @At + 1;
    END;

    RETURN CASE WHEN @IsArray = 1 THEN CONCAT(N'[', @Named, N']') ELSE CONCAT(N'{', @Named, N'}') END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Looks whether the items that a procedure is given are an array of objects with the members that it takes, each with a value that
fits, and throws what is wrong in the words of @Called. @Takes is an object as a description writes columns and their types.
The case of a name matters only where several differ in nothing else.
Table access order: none.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueTake]
    @Called nvarchar(200),
    @Items nvarchar(max) OUTPUT,
    @Takes nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Why nvarchar(2200);

    IF ISJSON(@Items) = 0 OR EXISTS (SELECT 1 FROM OPENJSON(@Items) AS j WHERE j.[key] LIKE N'%[^0-9]%')
        SET @_Why = N'the items are no JSON array';
    ELSE IF (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        SET @_Why = N'at most 1000 items a call';
    ELSE
        SET @_Why = [readpast].[QueueUnfit_fn](@Items, @Takes);

    IF @_Why LIKE N'item %'
    BEGIN
        SET @Items = [readpast].[QueueNamed_fn](@Items, @Takes, 1);
        SET @_Why = [readpast].[QueueUnfit_fn](@Items, @Takes);
    END;

    IF @_Why IS NOT NULL
    BEGIN
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        SET @_Why = REPLACE(CONCAT(@Called, N': ', @_Why, N'.'), N'%', N'%%');
        THROW 50021, @_Why, 1;
    END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The installation here: the version of the objects, and a row per queue, or one without a queue. A handle reads this
when it opens, so that a worker needs no right but to execute.
Table access order: QueueSchemaVersion, QueueSpec.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueCatalog]
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT
        v.[Version],
        q.[Queue],
        q.[Preset],
        q.[Spec],
        q.[RenderedBy]
    FROM (
        SELECT MAX(a.[Version]) AS [Version]
        FROM [readpast].[QueueSchemaVersion] AS a
    ) AS v
    LEFT JOIN [readpast].[QueueSpec] AS q
        ON 1 = 1
    ORDER BY q.[Queue];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, also
where readers see row versions. What is older than an hour may be forgotten.
Table access order: QueueOperation.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueIsDone]
    @Operation uniqueidentifier
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_At datetime2(7);

    SELECT @_At = p.[At]
    FROM [readpast].[QueueOperation] AS p WITH (READCOMMITTEDLOCK)
    WHERE p.[OperationId] = @Operation;

    SELECT
        CASE WHEN @_At IS NULL THEN 'NOT_FOUND' ELSE 'OK' END AS [Answer],
        @_At AS [At];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Makes a call repeatable: asked again with the same identity, the answers come again and nothing is changed. @IsNew is 0 where the
call was made before; with no @Operation nothing is kept. A call that was made is no error to end the caller's transaction with.
Called first of all in their transaction by the procedures that take an @Operation.
Locks: the call's row; another attempt of this very call that is under way is waited for.
Table access order: QueueOperation.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueOperationTake]
    @Operation uniqueidentifier,
    @Call varchar(100),
    @Now datetime2(7),
    @IsNew bit OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Made varchar(100);
    DECLARE @_Message nvarchar(2048);
    DECLARE @_Place uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @_Turn int = 0;

    SET @IsNew = 1;
    IF @Operation IS NULL
        RETURN 0;

    /* Waited for here: a client that gives up meanwhile leaves no transaction open. */
    SELECT @_Made = p.[Call]
    FROM [readpast].[QueueOperation] AS p WITH (READCOMMITTEDLOCK)
    WHERE p.[OperationId] = @Operation;
    IF @_Made IS NULL
    BEGIN
        /* Of two that come at once, the key that is taken undoes the INSERT alone. */
        SET XACT_ABORT OFF;
        BEGIN TRY
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [Call], [At])
            VALUES (@Operation, @Call, @Now);
        END TRY
        BEGIN CATCH
            SET XACT_ABORT ON;
            IF ERROR_NUMBER() <> 2627
                THROW;
            SET @_Made = (SELECT p.[Call] FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation);
        END CATCH;
        SET XACT_ABORT ON;
    END;
    IF @_Made IS NOT NULL
    BEGIN
        SET @IsNew = 0;
        IF @_Made <> @Call
        BEGIN
            SET @_Message = REPLACE(CONCAT(@Call, N': the operation was another call.'), N'%', N'%%');
            THROW 50021, @_Message, 1;
        END;
        RETURN 0;
    END;

    /*
    Answers are asked for again within minutes. One call in 64 clears what is older than an hour: where the library's own
    identities begin, which are in the order of time, and at some place among all others.
    */
    WHILE ABS(CHECKSUM(@Operation) % 64) = 0 AND @_Turn < 2
    BEGIN
        DELETE p
        FROM (
            SELECT TOP (512) o.[OperationId]
            FROM [readpast].[QueueOperation] AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE o.[OperationId] > @_Place
            ORDER BY o.[OperationId]
        ) AS f
        INNER JOIN [readpast].[QueueOperation] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON p.[OperationId] = f.[OperationId]
        WHERE p.[At] < DATEADD(HOUR, -1, @Now)
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Place = NEWID();
        SET @_Turn = @_Turn + 1;
    END;
    RETURN 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Keeps of a call what a repetition of it cannot read back from the items. Called last of all in their transaction by the
procedures that take an @Operation.
Table access order: QueueOperation.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueOperationKeep]
    @Operation uniqueidentifier,
    @Result nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    UPDATE [readpast].[QueueOperation] WITH (ROWLOCK)
    SET [Result] = @Result
    WHERE [OperationId] = @Operation;
    RETURN 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
One of all who claim looks for the items of dead workers, once in @Recover milliseconds; who comes meanwhile neither waits for it
nor looks: @Recover becomes 0. @MyTurn is 1 where the queue's row is the caller's now, to the end of its transaction.
Table access order: QueueRecovery.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueRecoveryTurn]
    @Queue varchar(40),
    @Now datetime2(7),
    @Recover int OUTPUT,
    @MyTurn int OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    UPDATE r
    SET [RecoveredAt] = @Now
    FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE
        r.[Queue] = @Queue
        AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now)) >= @Recover;
    SET @MyTurn = @@ROWCOUNT;

    /* Also as it is not committed yet. Whoever keeps its transaction open for longer holds nobody up. */
    IF @MyTurn = 0
        AND EXISTS (
            SELECT 1
            FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED)
            WHERE
                r.[Queue] = @Queue
                AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now)) < @Recover
        )
        SET @Recover = 0;
    RETURN 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The turn of a queue with groups: one claim at a time, to the end of its transaction, since which items are the first of their
groups is not decided by two at once. It comes before the locks of items, so that nobody waits for it who holds one. It is a row,
since only who may claim can lock it through here.
Table access order: QueueTurn.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueTurnTake]
    @Queue varchar(40)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Locked int;
    DECLARE @_Message nvarchar(2048);

    SELECT @_Locked = COUNT(*)
    FROM [readpast].[QueueTurn] AS t WITH (UPDLOCK, ROWLOCK)
    WHERE t.[Queue] = @Queue;
    IF @_Locked = 0
    BEGIN
        SET @_Message = REPLACE(CONCAT(@Queue, N': its row in QueueTurn is gone; install the queue again.'), N'%', N'%%');
        THROW 50014, @_Message, 1;
    END;
    RETURN 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
An answer other than OK as an error: CONFLICT 50023, ILLEGAL_TRANSITION 50024, NOT_FOUND 50025, LEASE_LOST 50026.
Table access order: none.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueRefuse]
    @Called nvarchar(128),
    @Answer varchar(20),
    @Status varchar(20),
    @Asked nvarchar(100)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Message nvarchar(2048);
    /* THROW reads a % as the start of something else; doubled, it stands for itself. */
    SET @_Message = REPLACE(CONCAT(
        @Called, N': ', @Answer, N'; the item is ', COALESCE(@Status, N'not there'), N', asked for was ', @Asked, N'.'
    ), N'%', N'%%');

    IF @Answer = 'CONFLICT'
        THROW 50023, @_Message, 1;
    IF @Answer = 'ILLEGAL_TRANSITION'
        THROW 50024, @_Message, 1;
    IF @Answer = 'NOT_FOUND'
        THROW 50025, @_Message, 1;
    IF @Answer = 'LEASE_LOST'
        THROW 50026, @_Message, 1;
    RETURN 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The versions and the queue that are installed now. */
INSERT INTO [readpast].[QueueSchemaVersion] ([Version], [AppliedAt], [Library])
SELECT v.[Version], SYSUTCDATETIME(), N'(version)'
FROM (VALUES
    (1)
) AS v ([Version])
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueSchemaVersion] AS s WHERE s.[Version] = v.[Version]);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DECLARE @Spec nvarchar(max) = N'{
  "queue": "Notification",
  "types": [
    "ResetPassword",
    "Email"
  ],
  "procedures": {
    "next": "Next_Notification_trx",
    "modify": "Modify_Notification_trx",
    "view": "Worker_Notification_V",
    "key": "EnqueuedAt",
    "token": "UpdatedAt",
    "time": "local"
  },
  "columns": []
}';
UPDATE [readpast].[QueueSpec]
SET [Preset] = N'procedures', [Spec] = @Spec, [RenderedBy] = 1
WHERE [Queue] = N'Notification';
IF @@ROWCOUNT = 0
    INSERT INTO [readpast].[QueueSpec] ([Queue], [Preset], [Spec], [RenderedBy], [InstalledAt])
    VALUES (N'Notification', N'procedures', @Spec, 1, SYSUTCDATETIME());
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
COMMIT TRANSACTION;
GO
SET NOEXEC OFF;
GO
