/*
The queue Job, and what all queues of its schema share.
Rendered by readpast (version); the objects have version 1. Made anew whenever it is rendered: change the
description, not this text.

To run it, as a login that may create schemas, tables, sequences, views, functions and procedures:
    sqlcmd -b -I -x -f 65001 -S <server> -d <database> -i <file>
An error takes everything back; -b stops there, and where a tool goes on (SSMS), nothing more is done. -x leaves $(...) in
names alone, -f 65001 reads the file as the UTF-8 that it is. An object that is there as it should be is left alone, so it
may be run again.

CONTENTS                                     each rule stands once, in the object named here
  Schema   QueueStatus, QueueTransition      the states, and which may follow which
           QueueOperation                    calls that were made: a second one of the same identity changes nothing
           QueueRecovery     whose turn it is to look for dead workers
           QueueRefused                      items that their table does not let a queue change
           QueuePause, -Begin, -End; QueuePaused_V      what is not to be claimed for now; each is a row of QueueRefused too
           QueueAction, -Note, -Step         what operators did; actions on many items
           QueueLifeline, -Take, -Look               locks that live as long as a worker's process, and whose have gone free
           QueueWorker, -Seen; QueueMinute, -Keep      the workers that are there; the figures of each minute
           AppSettings, QueueSpec, QueueSchemaVersion, QueueTypeAccess
           QueueJudge_fn                     which answer an item gets, and what it becomes
           QueueBackoff_fn, QueueFits_fn     when a retry is due; whether an item fits a filter
           QueueTake, QueueFilterTake        how @Items and @Filter are looked at, and refused (50021)
           QueueOperationTake, -Keep         the identity of a call, and its clearing
           QueueRefuse, QueueNoteRefusal     an answer as an error (50023 to 50026); what a table has refused
           QueueCatalog, QueueIsDone         what is installed; whether a call has committed
           QueueDue                          in which of many queues something is due, as Due_<queue> finds
  Queue    Job, JobType, Job_Seq; Worker_Job_V; Job_Setting_V (the limits in force)
  Inner    Job_Add, Job_Claim, Job_Recover, Job_Settle, Job_Answered, Job_Has_fn; nobody is granted these
  Public   _utx works in the caller's transaction, _trx in one of its own; _Set_ takes many items

CALLS
  Add_Job_Set_utx, _Set_trx            > Job_Add
  Next_Job_utx, _trx, _Set_utx, _Set_trx   > Job_Claim > Job_Recover
  Modify_Job_utx, _trx, _Set_utx, _Set_trx > Job_Settle, which asks Job_Answered; then, to claim as well, Job_Claim
  Recover_Job_trx                      > Job_Recover
  Redrive_Job_Set_trx                  > Job_Answered
  Next_Job_Apart_trx                   > Next_Job_Set_trx
  QueueDue                               > Due_Job
  Find_Job, Purge_Job_trx            > Job_Has_fn
  Renew_, Stats_, Watch_Job and all others stand alone

LOCKS, IN THIS ORDER
  1. QueueOperation    the call's row; a second call of its identity waits for it
  2. Job: rows in the order of their keys (settle, redrive), waited for; else passing over those that others hold
  QueueTransition is only read. QueueRecovery and QueueLifeline are passed over where another holds them. QueuePause
  is read before items are locked. QueueRefused comes last.
  QueueAction, QueueWorker and QueueMinute: alone, in calls of their own.

SETTINGS THAT EACH PUBLIC PROCEDURE BEGINS WITH, and that are the caller's again at its end
  XACT_ABORT ON                an error ends the transaction, and no half of a change stays
  ROWCOUNT 0                   a session that limits its rows would have a call work on the first ones only
  IMPLICIT_TRANSACTIONS OFF    or the transaction of a _trx would stay open after its commit; some drivers turn it on. A _utx takes such
                               a session's word, since its first statement that touches a table begins the transaction
  READ COMMITTED               READPAST fails under other levels (650), and pooled connections carry them along; under SNAPSHOT items
                               would be judged as they were at the transaction's beginning
*/
SET NOEXEC OFF;
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
/* All that come later wait behind a change of a table that waits. */
SET LOCK_TIMEOUT 10000;
/* A call that meets this script gives way, and is tried again. */
SET DEADLOCK_PRIORITY HIGH;
BEGIN TRANSACTION;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DECLARE @Granted int = 0;
IF OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NULL
    EXECUTE @Granted = sp_getapplock
        @Resource = N'readpast/install/readpast', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 60000;
IF @Granted < 0 THROW 50013, N'Another install holds the lock of this schema; try again.', 1;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DECLARE @Names nvarchar(max) = N'["Add_Job_Set_trx", "Add_Job_Set_utx", "Add_Job_trx", "Add_Job_utx", "AppSettings",
"Claimed_Job", "Due_Job", "Find_Job", "Job", "JobType",
"Job_Add", "Job_Answered", "Job_Claim", "Job_Has_fn", "Job_Recover",
"Job_Seq", "Job_Setting_V", "Job_Settle", "Modify_Job_Set_trx", "Modify_Job_Set_utx",
"Modify_Job_trx", "Modify_Job_utx", "Next_Job_Apart_trx", "Next_Job_Set_trx", "Next_Job_Set_utx",
"Next_Job_trx", "Next_Job_utx", "Purge_Job_trx", "QueueAction", "QueueActionNote",
"QueueActionStep", "QueueBackoff_fn", "QueueCatalog", "QueueDue", "QueueFilterTake",
"QueueFits_fn", "QueueIsDone", "QueueIsEditable_fn", "QueueIsFinished_fn", "QueueIsProcessable_fn",
"QueueIsRefusal_fn", "QueueJudge_fn", "QueueLifeline", "QueueLifelineLook", "QueueLifelineTake",
"QueueMinute", "QueueMinuteKeep", "QueueNamed_fn", "QueueNoteRefusal", "QueueOperation",
"QueueOperationKeep", "QueueOperationTake", "QueueOwnType_V", "QueuePause", "QueuePauseBegin",
"QueuePauseEnd", "QueuePaused_V", "QueueRecovery", "QueueRecoveryGoesOn", "QueueRecoveryTurn",
"QueueRefuse", "QueueRefused", "QueueSchemaVersion", "QueueSpec", "QueueStatus",
"QueueTake", "QueueTransition", "QueueTypeAccess", "QueueUnfit_fn", "QueueWorker",
"QueueWorkersSeen", "Recover_Job_trx", "Redrive_Job_Set_trx", "Renew_Job_Set_trx", "Stats_Job",
"Watch_Job", "Worker_Job_V"]';
DECLARE @Kind nvarchar(60), @Name nvarchar(128), @Verb nvarchar(128), @Whom nvarchar(128);
DECLARE @Remedy nvarchar(400), @Message nvarchar(2048);
/*
Preparations of an owner who is not trusted: not the user that installs, nor a role or group that it is a member of, nor dbo,
nor a member of db_owner. They would run with the rights of the user that installs. An object belongs to its schema's owner, not to
its maker: so a user that may change the schema counts as an owner, and a trigger, or an object from before the first install, has none.
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
    INNER JOIN sys.database_role_members AS m ON m.[member_principal_id] = i.[Id]
),

[Named] ([Id], [Name], [Owner]) AS (
    SELECT o.[object_id], o.[name], COALESCE(o.[principal_id], s.[principal_id])
    FROM sys.schemas AS s
    INNER JOIN sys.objects AS o ON o.[schema_id] = s.[schema_id]
    WHERE s.[name] = N'readpast' AND o.[name] IN (SELECT n.[value] COLLATE CATALOG_DEFAULT FROM OPENJSON(@Names) AS n)
)

SELECT TOP (1)
    @Kind = f.[Kind], @Name = f.[Name], @Verb = f.[Verb],
    @Whom = COALESCE(f.[Whom], USER_NAME(f.[Holder]), N'somebody that this login cannot see'),
    @Remedy = COALESCE(
        f.[Remedy], N'Its owner''s triggers and functions would run with the rights of who installs. Drop it, change its owner, '
        + N'install as that user or as a member of that role, or choose another schema.'
    )
FROM (
    SELECT
        N'schema' AS [Kind], s.[name] AS [Name], N'belongs to' AS [Verb], s.[principal_id] AS [Holder],
        CAST(NULL AS nvarchar(128)) AS [Whom], CAST(NULL AS nvarchar(400)) AS [Remedy]
    FROM sys.schemas AS s
    WHERE s.[name] = N'readpast'
    UNION ALL
    SELECT N'object', n.[Name], N'belongs to', n.[Owner], NULL, NULL
    FROM [Named] AS n
    UNION ALL
    SELECT
        CASE WHEN d.[class] = 3 THEN N'schema' ELSE N'object' END,
        CASE WHEN d.[class] = 3 THEN SCHEMA_NAME(d.[major_id]) ELSE OBJECT_NAME(d.[major_id]) END,
        CONCAT(N'gives ', d.[permission_name], N' to'), d.[grantee_principal_id], NULL,
        N'Its holder''s triggers and changes would run with the rights of who installs. Revoke it, install as that user or '
        + N'as a member of that role, or choose another schema.'
    FROM sys.database_permissions AS d
    WHERE
        d.[permission_name] IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP') AND d.[state] IN ('G', 'W')
        AND (
            (d.[class] = 3 AND d.[major_id] = SCHEMA_ID(N'readpast'))
            OR (d.[class] = 1 AND d.[major_id] IN (SELECT n.[Id] FROM [Named] AS n))
        )
    UNION ALL
    SELECT
        N'trigger', g.[name], N'fires on', NULL, n.[Name],
        N'Its maker is not known, and it runs with the rights of who installs. Drop it, or disable it while you install.'
    FROM sys.triggers AS g
    INNER JOIN [Named] AS n ON n.[Id] = g.[parent_id]
    /* One of ours is made anew before a row changes; who may change it counts as an owner. */
    WHERE g.[is_disabled] = 0 AND g.[is_ms_shipped] = 0 AND g.[object_id] NOT IN (SELECT o.[Id] FROM [Named] AS o)
    UNION ALL
    SELECT
        N'object', n.[Name], N'is there without', NULL, N'QueueSchemaVersion',
        N'An install makes it, and its maker is not known. Drop it or rename it, or choose another schema.'
    FROM [Named] AS n
    WHERE OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NULL
) AS f
WHERE
    f.[Holder] IS NULL
    OR (
        f.[Holder] NOT IN (SELECT i.[Id] FROM [Mine] AS i) AND COALESCE(USER_NAME(f.[Holder]), N'') NOT IN (N'dbo', N'db_owner')
        AND COALESCE(IS_ROLEMEMBER(N'db_owner', USER_NAME(f.[Holder])), 0) = 0
    )
ORDER BY
    CASE WHEN f.[Kind] = N'schema' THEN 0 ELSE 1 END, f.[Kind], f.[Name], f.[Verb];

IF @Kind IS NOT NULL
BEGIN
    /* THROW reads a % as the start of something else; doubled, it stands for itself. */
    SET @Message = REPLACE(CONCAT(@Kind, N' ', @Name, N' ', @Verb, N' ', @Whom, N'. ', @Remedy), N'%', N'%%');
    THROW 50015, @Message, 1;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
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
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
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
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* One row per version that was applied here: an audit trail, never updated. */
IF OBJECT_ID(N'[readpast].[QueueSchemaVersion]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueSchemaVersion] (
        [Version] int NOT NULL, [AppliedAt] datetime2(7) NOT NULL, [Library] varchar(20) NOT NULL,
        CONSTRAINT [PK_QueueSchemaVersion] PRIMARY KEY CLUSTERED ([Version])
    );
/* The queues of this schema, each with the specification it was rendered from. */
IF OBJECT_ID(N'[readpast].[QueueSpec]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueSpec] (
        [Queue] varchar(40) NOT NULL, [Preset] varchar(20) NOT NULL, [Spec] nvarchar(max) NOT NULL,
        [RenderedBy] int NOT NULL, [InstalledAt] datetime2(7) NOT NULL, CONSTRAINT [PK_QueueSpec] PRIMARY KEY CLUSTERED ([Queue])
    );
/* Settings that procedures read, such as notification.maxAttempts. */
IF OBJECT_ID(N'[readpast].[AppSettings]', N'U') IS NULL
    CREATE TABLE [readpast].[AppSettings] (
        [Param] varchar(100) NOT NULL, [ValInt] int NULL, [ValText] nvarchar(400) NULL,
        CONSTRAINT [PK_AppSettings] PRIMARY KEY CLUSTERED ([Param])
    );
IF OBJECT_ID(N'[readpast].[QueueStatus]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueStatus] ([Status] varchar(20) NOT NULL, CONSTRAINT [PK_QueueStatus] PRIMARY KEY CLUSTERED ([Status]));
INSERT INTO [readpast].[QueueStatus] ([Status])
SELECT v.[Status]
FROM (VALUES
    ('Pending'), ('Processing'), ('Error'), ('Paused'), /* unfinished; Error is tried again */
    ('Completed'), ('PartiallyCompleted'), ('Failed'), ('Cancelled'), ('Terminated') /* finished; Failed: attempts spent, or given up */
) AS v ([Status])
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS s WHERE s.[Status] = v.[Status]);
/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
IF OBJECT_ID(N'[readpast].[QueueTransition]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueTransition] (
        [FromStatus] varchar(20) NOT NULL, [ToStatus] varchar(20) NOT NULL,
        CONSTRAINT [PK_QueueTransition] PRIMARY KEY CLUSTERED ([FromStatus], [ToStatus])
    );
INSERT INTO [readpast].[QueueTransition] ([FromStatus], [ToStatus])
SELECT f.[FromStatus], t.[value]
FROM (VALUES
    ('Pending', N'["Processing", "Failed", "Cancelled", "Paused", "Terminated"]'),
    (
        'Processing',
        N'["Processing", "Pending", "Error", "Failed", "Completed", "PartiallyCompleted", "Cancelled", "Paused", "Terminated"]'
    ),
    ('Error', N'["Processing", "Pending", "Failed", "Cancelled", "Paused", "Terminated"]'),
    ('Paused', N'["Processing", "Pending", "Failed", "Cancelled", "Terminated"]'), ('Failed', N'["Cancelled"]')
) AS f ([FromStatus], [To])
CROSS APPLY OPENJSON(f.[To]) AS t
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueTransition] AS q WHERE q.[FromStatus] = f.[FromStatus] AND q.[ToStatus] = t.[value]);
/*
One row per call that changed items, written in the same transaction: a caller that lost the answer asks again with the same
identity and gets the same answer instead of a second effect; in another queue, or for another kind of call, it is refused.
Result holds what cannot be read back from the items.
*/
IF OBJECT_ID(N'[readpast].[QueueOperation]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueOperation] (
        [OperationId] uniqueidentifier NOT NULL,
        [Call] varchar(60) NOT NULL, /* the procedure, by what its two forms have in common */
        [At] datetime2(7) NOT NULL, [Result] nvarchar(max) NULL, CONSTRAINT [PK_QueueOperation] PRIMARY KEY CLUSTERED ([OperationId])
    );
/*
Logins and the types that they see, of queues whose description says own_types_only. UserName is a user or a role of the
database; the type * is every type.
*/
IF OBJECT_ID(N'[readpast].[QueueTypeAccess]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueTypeAccess] (
        [Queue] varchar(40) NOT NULL, [Type] nvarchar(60) NOT NULL, [UserName] sysname NOT NULL,
        CONSTRAINT [PK_QueueTypeAccess] PRIMARY KEY CLUSTERED ([Queue], [UserName], [Type])
    );
/*
A row for each queue: when the items of its dead workers were last looked for, UTC. Of all who claim, one does it when
it is time; nobody waits for a row here. LookedAt is the last look at its workers' locks (QueueLifeline).
*/
IF OBJECT_ID(N'[readpast].[QueueRecovery]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueRecovery] (
        [Queue] varchar(40) NOT NULL, [RecoveredAt] datetime2(7) NOT NULL,
        [LookedAt] datetime2(7) NOT NULL CONSTRAINT [DF_QueueRecovery_LookedAt] DEFAULT '0001-01-01',
        CONSTRAINT [PK_QueueRecovery] PRIMARY KEY CLUSTERED ([Queue])
    );
/*
Workers whose sessions hold a lock as long as their process lives: where it has been free for GraceMs, the worker is dead. A server
that began anew or took over has freed all locks: there a row says nothing until its worker reports again.
*/
IF OBJECT_ID(N'[readpast].[QueueLifeline]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueLifeline] (
        [Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL, [GraceMs] int NOT NULL,
        [ServerBegan] datetime2(7) NOT NULL, [FreeSince] datetime2(7) NULL, /* UTC */
        CONSTRAINT [PK_QueueLifeline] PRIMARY KEY CLUSTERED ([Queue], [Worker])
    );
/*
Items that their table does not let a queue change: a claim or a recovery of one met a unique index, a CHECK, a trigger. Each
is left aside until a time (UTC) that goes farther at each refusal; all processes see it, so that none tries in vain. Key is the
item's as text. Attempts counts the refusals that spend an attempt: not those of a unique index, which pass when another row
does. The row goes when its item is let through. A row with the word pause stands for one of QueuePause.
*/
IF OBJECT_ID(N'[readpast].[QueueRefused]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueRefused] (
        [Queue] varchar(40) NOT NULL, [Key] nvarchar(400) COLLATE Latin1_General_BIN2 NOT NULL,
        [Doing] varchar(10) NOT NULL, /* claim, recover or pause */
        [Reason] nvarchar(400) NOT NULL, [Times] int NOT NULL, [Attempts] int NOT NULL, [Since] datetime2(7) NOT NULL,
        [Until] datetime2(7) NOT NULL, CONSTRAINT [PK_QueueRefused] PRIMARY KEY CLUSTERED ([Queue], [Key])
    );
/* Queues of which nothing is claimed for now, or nothing of a type; the type N'' is all of the queue. Times are UTC. */
IF OBJECT_ID(N'[readpast].[QueuePause]', N'U') IS NULL
    CREATE TABLE [readpast].[QueuePause] (
        [Queue] varchar(40) NOT NULL, [Type] nvarchar(60) NOT NULL, [Since] datetime2(7) NOT NULL,
        [Until] datetime2(7) NULL, /* NULL: until it is resumed */
        [Who] nvarchar(200) NOT NULL, [Login] nvarchar(128) NOT NULL, [Reason] nvarchar(400) NULL,
        CONSTRAINT [PK_QueuePause] PRIMARY KEY CLUSTERED ([Queue], [Type])
    );
/*
The record of operators' actions: redrives, purges, cancels, pauses, settings. An action on many items goes on from its row: Place is
the last key that is done, and the holder of the row's lease runs it. A row goes 90 days after the action's end. Times are UTC.
*/
IF OBJECT_ID(N'[readpast].[QueueAction]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueAction] (
        [ActionId] bigint IDENTITY (1, 1) NOT NULL,
        [Queue] varchar(40) NOT NULL, [Verb] varchar(20) NOT NULL, [Who] nvarchar(200) NOT NULL, [Login] nvarchar(128) NOT NULL,
        [Filter] nvarchar(max) NULL, [State] varchar(20) NOT NULL, /* Running, Cancelling, Done, Cancelled or Failed */
        [BegunAt] datetime2(7) NOT NULL, [EndedAt] datetime2(7) NULL, [Expected] bigint NULL, [Done] bigint NOT NULL,
        [Refused] bigint NOT NULL, [Place] nvarchar(4000) NULL, [Result] nvarchar(4000) NULL, [Owner] nvarchar(128) NULL,
        [LeaseUntil] datetime2(7) NULL, CONSTRAINT [PK_QueueAction] PRIMARY KEY CLUSTERED ([ActionId])
    );
/* The workers of each queue, idle ones too: each reports every half minute. A row goes a week after the last report. */
IF OBJECT_ID(N'[readpast].[QueueWorker]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueWorker] (
        [Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) NOT NULL, [Host] nvarchar(128) NOT NULL, [Process] bigint NOT NULL,
        [Version] varchar(40) NOT NULL, [StartedAt] datetime2(7) NOT NULL, [SeenAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueWorker] PRIMARY KEY CLUSTERED ([Queue], [Worker])
    );
/* Figures of each queue, one row a minute, for a day: kept by one of all who could. */
IF OBJECT_ID(N'[readpast].[QueueMinute]', N'U') IS NULL
    CREATE TABLE [readpast].[QueueMinute] (
        [Queue] varchar(40) NOT NULL, [At] datetime2(0) NOT NULL, [Due] bigint NULL, [OldestMs] bigint NULL, [InFlight] bigint NULL,
        [Failed] bigint NULL, [Ended] bigint NULL, CONSTRAINT [PK_QueueMinute] PRIMARY KEY CLUSTERED ([Queue], [At])
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[QueueAction]') AND i.[name] = N'IX_QueueAction_EndedAt')
    CREATE NONCLUSTERED INDEX [IX_QueueAction_EndedAt] ON [readpast].[QueueAction] ([EndedAt]);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
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
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The pauses in force. The name of a type that the caller may not see stays hidden, and so does its pause. */
IF OBJECT_ID(N'[readpast].[QueuePaused_V]', N'V') IS NULL
    EXECUTE (N'CREATE VIEW [readpast].[QueuePaused_V]
AS
SELECT
    p.[Queue],
    p.[Type],
    p.[Since],
    p.[Until],
    p.[Who],
    p.[Login],
    p.[Reason]
FROM [readpast].[QueuePause] AS p
WHERE
    (p.[Until] IS NULL OR p.[Until] > SYSUTCDATETIME())
    AND (
        p.[Type] = N''''
        OR EXISTS (
            SELECT 1 FROM [readpast].[QueueOwnType_V] AS o
            WHERE o.[Queue] = p.[Queue] AND o.[Type] IN (p.[Type], N''*'')
        )
        OR NOT EXISTS (SELECT 1 FROM [readpast].[QueueTypeAccess] AS a WHERE a.[Queue] = p.[Queue])
    );');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The session takes the lock of its worker, beside the other sessions of that process. The server frees it with the last of them. A
recovery that has it just now takes the worker's items, and is waited for. The lock was free before: that counts no more. Any login could
take the lock: then the lease decides.
Table access order: QueueLifeline.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueLifelineTake]
    @Queue varchar(40), @Worker nvarchar(128)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Lock nvarchar(255) = CONCAT(N'readpast ', SCHEMA_ID(N'readpast'), N' ', @Worker), @_Code int;

    EXECUTE @_Code = sys.sp_getapplock
        @Resource = @_Lock, @LockMode = 'Shared', @LockOwner = 'Session', @LockTimeout = 10000, @DbPrincipal = 'public';
    IF @_Code < 0 THROW 50013, N'QueueLifelineTake: the lock of the worker is held by a recovery that does not end.', 1;

    UPDATE f
    SET [FreeSince] = NULL
    FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK)
    WHERE f.[Queue] = @Queue AND f.[Worker] = @Worker AND f.[FreeSince] IS NOT NULL;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
One of all who look or claim notes whose locks are free, twice a second at most, and has recovery come at once where one has been
free for the grace of its worker. Nobody waits here, and no lock of a worker is kept.
Table access order: QueueRecovery, then QueueLifeline, each passed over when somebody holds the row.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueLifelineLook]
    @Queue varchar(40), @Now datetime2(7)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Began datetime2(7) = (SELECT d.[create_date] FROM sys.databases AS d WHERE d.[database_id] = 2);

    UPDATE r
    SET [LookedAt] = @Now
    FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.[Queue] = @Queue AND ABS(DATEDIFF_BIG(MILLISECOND, r.[LookedAt], @Now)) >= 500;
    IF @@ROWCOUNT = 0 OR NOT EXISTS (SELECT 1 FROM [readpast].[QueueLifeline] AS f WITH (READUNCOMMITTED) WHERE f.[Queue] = @Queue) RETURN;

    UPDATE f
    SET [FreeSince] = CASE WHEN l.[Free] = 1 THEN @Now END
    FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    CROSS APPLY (
        SELECT
            CASE
                WHEN APPLOCK_MODE(N'public', CONCAT(N'readpast ', SCHEMA_ID(N'readpast'), N' ', f.[Worker]), N'Session') = N'NoLock'
                    THEN APPLOCK_TEST(N'public', CONCAT(N'readpast ', SCHEMA_ID(N'readpast'), N' ', f.[Worker]), N'Exclusive', N'Session')
                ELSE 0
            END AS [Free]
    ) AS l
    WHERE f.[Queue] = @Queue AND f.[ServerBegan] = @_Began AND CASE WHEN f.[FreeSince] IS NULL THEN 0 ELSE 1 END <> l.[Free];

    IF EXISTS (
        SELECT 1
        FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE f.[Queue] = @Queue AND f.[ServerBegan] = @_Began AND f.[FreeSince] <= DATEADD(MILLISECOND, -f.[GraceMs], @Now)
    )
        UPDATE r
        SET [RecoveredAt] = '0001-01-01'
        FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = @Queue AND r.[RecoveredAt] > '0001-01-01';
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
There may be more items of dead workers: the next who comes goes on at once. The caller has the turn. All of @Dead are given back, if it
is given.
Table access order: QueueRecovery, then QueueLifeline.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueRecoveryGoesOn]
    @Queue varchar(40), @Dead nvarchar(128)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    UPDATE r
    SET [RecoveredAt] = '0001-01-01'
    FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK)
    WHERE r.[Queue] = @Queue;

    DELETE f
    FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE f.[Queue] = @Queue AND f.[Worker] = @Dead;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The meaning of each status, in one place. Re-created by every install. */
CREATE OR ALTER FUNCTION [readpast].[QueueIsProcessable_fn] (@Status varchar(20))
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can this item be picked up for processing? */
    RETURN CASE WHEN @Status IN ('Pending', 'Paused', 'Error') THEN 1 ELSE 0 END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [readpast].[QueueIsFinished_fn] (@Status varchar(20))
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Is this item in a terminal state? */
    RETURN CASE WHEN @Status IN ('Pending', 'Processing', 'Error', 'Paused') THEN 0 ELSE 1 END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [readpast].[QueueIsEditable_fn] (@Status varchar(20))
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
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Whether an error of this number and severity is a table's word about a row: a constraint, a value, a trigger. Not an error that
passes, nor a lack of the server, nor a name that is missing or forbidden to the caller, nor an error of this library.
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
            201, 207, 208, 229, 230, 262, 297, 300, 596, 601, 911, 916, 1205, 1222, 2760, 2812, 3906, 3960, 4060, 8144, 8145, 15247,
            41301, 41302, 41305, 41325, 41839
        ) THEN 0
        ELSE 1
    END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. An item that no call has tried for long is forgotten: it is gone, or a person has mended it.
With so many at once it is no matter of one row: then the refusal is an error, and nothing is done.
Table access order: QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueNoteRefusal]
    @Queue varchar(40), @Key nvarchar(400), @Doing varchar(10), @Number int, @Reason nvarchar(4000), @Times int OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Counts int = CASE WHEN @Number IN (2601, 2627) THEN 0 ELSE 1 END;

    /* The values of a key are nobody's business who reads a log. */
    IF @_Counts = 0 SET @Reason = LEFT(@Reason, CHARINDEX(N' The duplicate key value', @Reason + N' The duplicate key value'));
    SET @Reason = LEFT(@Reason, 400);

    BEGIN TRANSACTION;
    DELETE r
    FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.[Queue] = @Queue AND r.[Until] < DATEADD(MINUTE, -10, @_Now);

    IF EXISTS (
        SELECT 1
        FROM [readpast].[QueueRefused] AS r
        WHERE r.[Queue] = @Queue AND r.[Until] > @_Now AND r.[Key] <> @Key
        HAVING COUNT(*) >= 1000 OR SUM(CASE WHEN r.[Attempts] > 0 THEN 1 ELSE 0 END) >= 100
    )
    BEGIN
        SET @Reason = CONCAT(REPLACE(@Reason, N'%', N'%%'), N', and so of many other items, which are left aside');
        ROLLBACK TRANSACTION;
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
            [Doing] = @Doing, [Reason] = @Reason, [Times] = @Times, [Attempts] = r.[Attempts] + @_Counts,
            [Until] = DATEADD(SECOND, CASE WHEN @Times > 6 THEN 60 ELSE POWER(2, @Times - 1) END, @_Now)
        FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK)
        WHERE r.[Queue] = @Queue AND r.[Key] = @Key;
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
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
        [Name] nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL, [Is] int NOT NULL,
        [Takes] nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL,
        [Kind] nvarchar(20) COLLATE Latin1_General_BIN2 NULL, [Most] int NULL, [Scale] int NULL, PRIMARY KEY CLUSTERED ([Place], [Name])
    );
    DECLARE @Given TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL, [Ordinal] int NOT NULL, [Place] nvarchar(150) COLLATE Latin1_General_BIN2 NOT NULL,
        [Name] nvarchar(4000) COLLATE Latin1_General_BIN2 NOT NULL, [Is] int NOT NULL,
        [Value] nvarchar(max) COLLATE Latin1_General_BIN2 NULL,
        UNIQUE CLUSTERED ([Ordinal], [Seq]) /* each item's members are looked up again below */
    );

    INSERT INTO @Shape ([Place], [Name], [Is], [Takes], [Kind], [Most], [Scale])
    SELECT
        x.[Place], x.[Name], x.[Is], x.[Takes], LEFT(k.[Kind], CHARINDEX(N'(', CONCAT(k.[Kind], N'(')) - 1),
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
    CROSS APPLY (SELECT CASE WHEN x.[Is] = 1 THEN REPLACE(x.[Takes], N' not null', N'') END AS [Kind]) AS k
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
    INNER JOIN @Shape AS s ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND DATALENGTH(s.[Name]) = DATALENGTH(g.[Name]) AND s.[Is] = 5
    /* A key of several columns is an array. */
    CROSS APPLY OPENJSON(CASE WHEN g.[Is] = CASE WHEN g.[Name] = N'key' THEN 4 ELSE 5 END THEN g.[Value] END) AS m;

    INSERT INTO @Given ([Ordinal], [Place], [Name], [Is], [Value])
    SELECT g.[Ordinal], CONCAT(g.[Place], g.[Name], N'.'), m.[key], m.[type], m.[value]
    FROM @Given AS g
    INNER JOIN @Shape AS s ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND DATALENGTH(s.[Name]) = DATALENGTH(g.[Name]) AND s.[Is] = 5
    CROSS APPLY OPENJSON(CASE WHEN g.[Is] = 5 THEN g.[Value] END) AS m
    WHERE g.[Place] <> N'';

    SELECT TOP (1) @Why = CONCAT(N'item ', w.[Ordinal], N': ', w.[Why]), @Unknown = w.[Unknown]
    FROM (
        SELECT
            g.[Ordinal], CASE WHEN s.[Name] IS NULL AND CONCAT(g.[Place], g.[Name]) <> N'' THEN g.[Place] END AS [Unknown],
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
        /* Blanks at the end make another name, of which a comparison takes no notice. */
        LEFT JOIN @Shape AS s ON s.[Place] = g.[Place] AND s.[Name] = g.[Name] AND DATALENGTH(s.[Name]) = DATALENGTH(g.[Name])
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
        ) AS e ON e.[Place] = s.[Place]
        WHERE
            s.[Takes] LIKE N'% not null'
            AND NOT EXISTS (
                SELECT 1
                FROM @Given AS g
                WHERE g.[Ordinal] = e.[Ordinal] AND g.[Place] = s.[Place] AND g.[Name] = s.[Name] AND g.[Is] <> 0
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

    /* The names that there are, one after the other. */
    WHILE @Unknown IS NOT NULL AND @Name IS NOT NULL
    BEGIN
        SET @Name = (SELECT MIN(o.[Name]) FROM @Shape AS o WHERE o.[Place] = @Unknown AND o.[Name] > @Name);
        SET @Why = CONCAT(@Why, CASE WHEN @Why NOT LIKE N'% are' AND @Name IS NOT NULL THEN N',' END, N' ' + @Name);
    END;

    RETURN @Why;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
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
                @Named, CASE WHEN @At > 1 THEN N',' END,
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
                    j.[key], j.[type], j.[value] COLLATE Latin1_General_BIN2 AS [value],
                    ROW_NUMBER() OVER (ORDER BY CASE WHEN @IsArray = 1 THEN CAST(j.[key] AS int) END, j.[key]) AS [Place]
                FROM OPENJSON(@Given) AS j
            ) AS m
            OUTER APPLY (
                SELECT s.[key], s.[type], s.[value]
                FROM OPENJSON(@Takes) AS s
                WHERE
                    @IsArray = 0
                    AND DATALENGTH(s.[key]) = DATALENGTH(m.[key]) /* blanks at the end are a part of the name */
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
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Looks whether the items that a procedure is given are an array of objects with the members that it takes, each with a value that
fits, and throws what is wrong in the words of @Called. @Takes is an object as a description writes columns and their types.
The case of a name matters only where several differ in nothing else.
Table access order: none.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueTake]
    @Called nvarchar(200), @Items nvarchar(max) OUTPUT, @Takes nvarchar(max)
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
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The time of the next attempt: @FirstMs after the first, @Factor times as long after each further one, at most @CapMs; less by up to
@Jitter of it. @Chance is from 0 to 1, for each item anew, since no function may call NEWID. Where the power would pass the cap, the
cap is taken before it is raised, so that it never overflows.
*/
CREATE OR ALTER FUNCTION [readpast].[QueueBackoff_fn] (
    @Now datetime2(7), @AttemptNum int, @FirstMs int, @Factor float, @CapMs int, @Jitter float, @Chance float
)
RETURNS TABLE
AS
RETURN
SELECT DATEADD(MILLISECOND, CAST(ROUND((1 - @Jitter * @Chance) * CASE
    WHEN (@AttemptNum - 1) * LOG(@Factor) >= LOG(CAST(@CapMs AS float) / @FirstMs) THEN @CapMs
    ELSE @FirstMs * POWER(@Factor, @AttemptNum - 1)
END, 0) AS int), @Now) AS [RetryAt];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Judges one item, for a caller that has locked it: which answer it gets, and what it becomes. The fence of a worker is its name and its
attempt (LEASE_LOST); the fence of all callers is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION). A
lease past its deadline still counts while no other worker has taken the item: finished work is not done twice.
@Is to @Owner are of the row, @Is NULL where there is none; @Now is the time on the clock of its token. @Given to @Release are of the
call; @Legal is the state that is asked for, in the words of readpast, or NULL where it may not follow; @Place is above 1 where the
item comes again in the call. A refused item is shown as it is.
*/
CREATE OR ALTER FUNCTION [readpast].[QueueJudge_fn] (
    @Now datetime2(7), @Worker nvarchar(128), @MaxAttempts int, @Is varchar(20), @AttemptNum int, @Token datetime2(7),
    @Owner nvarchar(128), @Given datetime2(7), @Attempt int, @Place bigint, @Legal varchar(20), @HasData bit, @Release bit, @IsDuplicate bit
)
RETURNS TABLE
AS
RETURN
SELECT
    a.[Answer],
    CASE
        WHEN a.[Answer] <> 'OK' THEN @Is
        /* A step keeps the claim, and the attempt is not over; an edit begins none. */
        WHEN @AttemptNum < @MaxAttempts OR @Legal = 'Completed' OR @Legal = @Is OR k.[IsRelease] = 1 THEN @Legal
        ELSE 'Failed' /* its attempts are spent */
    END AS [Status],
    CASE WHEN @Is IS NULL THEN NULL WHEN a.[Answer] = 'OK' THEN @AttemptNum + k.[IsClaim] - k.[IsRelease] ELSE @AttemptNum END AS [AttemptNum],
    CASE WHEN a.[Answer] <> 'OK' THEN @Token WHEN @Token >= @Now THEN DATEADD(MICROSECOND, 1, @Token) ELSE @Now END AS [Token]
FROM (
    SELECT CASE
        WHEN @Is IS NULL THEN 'NOT_FOUND'
        /* By code point: two workers whose names differ only in case are two workers. */
        WHEN
            @Attempt > 0
            AND (@Is <> 'Processing' OR COALESCE(@Owner, N'') <> @Worker COLLATE Latin1_General_BIN2 OR @AttemptNum <> @Attempt)
            THEN 'LEASE_LOST'
        WHEN @Attempt > 0 AND @Given IS NULL THEN 'CONFLICT'
        /* Where nothing of an item is kept yet, it is as it was put in: the answer of Add holds. */
        WHEN @Given <> @Token THEN 'CONFLICT'
        /* The same item twice in one call: the first of them counts. */
        WHEN @Place > 1 THEN 'CONFLICT'
        WHEN @Legal IS NULL THEN 'ILLEGAL_TRANSITION'
        /* Response, error and values do not go to an item that its status closes to workers, but for an edit and a cancel. */
        WHEN
            @HasData = 1 AND @Legal NOT IN (@Is, 'Cancelled')
            AND @Is IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
            THEN 'ILLEGAL_TRANSITION'
        WHEN @IsDuplicate = 1 THEN 'DUPLICATE'
        ELSE 'OK'
    END AS [Answer]
) AS a
CROSS APPLY (
    SELECT
        /* An item given back unworked gets its attempt back too, so none is spent. */
        CASE WHEN @Is = 'Processing' AND @Legal = 'Pending' AND @Release = 1 THEN 1 ELSE 0 END AS [IsRelease],
        /* Processing from another state is a claim of this one item. */
        CASE WHEN @Is <> 'Processing' AND @Legal = 'Processing' AND @AttemptNum < @MaxAttempts THEN 1 ELSE 0 END AS [IsClaim]
) AS k;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Reads the members of a filter, and throws what is wrong in the words of @Called. A condition with a slip in it must not be passed
over: what it was to keep out would be met too. OPENJSON counts types so: 0 is null, 1 text, 2 a number, 4 an array, 5 an object.
@Names has the columns that can be searched: 1 is a plain one, 2 text that may be JSON, 3 JSON, of which only members can be.
Called by Find_ and Purge_. Returns the members that are no list, NULL where one is left out, and the states under the names that there are.
Table access order: QueueStatus.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueFilterTake]
    @Called nvarchar(200), @Filter nvarchar(max), @Statuses nvarchar(4000) OUTPUT, @Before datetime2(7) OUTPUT,
    @Since datetime2(7) OUTPUT, @Longer bigint OUTPUT, @Error nvarchar(4000) OUTPUT, @Names nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Wrong nvarchar(2048);

    IF ISJSON(@Filter) = 0 OR CHARINDEX(N'{', @Filter) = 0
        SET @_Wrong = N'@Filter takes keys, status, types, members (arrays), before, after, error (text), longer_ms (a number), columns (an object), once';
    /* A step of its own, since the parts of one condition are evaluated in any order. */
    ELSE IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error', N'longer_ms', N'columns', N'members')
                /* A comparison takes no notice of blanks at the end, and JSON_VALUE does. */
                OR j.[key] LIKE N'% '
                OR j.[type] NOT IN (
                    0, CASE j.[key]
                        WHEN N'keys' THEN 4
                        WHEN N'status' THEN 4
                        WHEN N'types' THEN 4
                        WHEN N'members' THEN 4
                        WHEN N'columns' THEN 5
                        WHEN N'longer_ms' THEN 2
                        ELSE 1
                    END
                )
                /* A member that JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        SET @_Wrong = N'@Filter takes keys, status, types, members (arrays), before, after, error (text), longer_ms (a number), columns (an object), once';
    ELSE
    BEGIN
        SET @Error = JSON_VALUE(@Filter, '$.error');
        SET @Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
        SET @Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
        SET @Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));
        IF @Longer < 0 OR (@Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
            SET @_Wrong = N'longer_ms is a whole number of milliseconds';
        IF
            (@Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
            OR (@Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
            SET @_Wrong = N'before and after are UTC times like 2026-11-21T10:00:00';
        IF
            EXISTS (
                SELECT 1
                FROM OPENJSON(@Filter, '$.columns') AS j
                LEFT JOIN OPENJSON(@Names) AS n ON n.[key] = j.[key] COLLATE Latin1_General_BIN2
                WHERE j.[type] NOT IN (1, 2, 3) OR COALESCE(n.[value], N'3') = N'3'
            )
            OR EXISTS (SELECT 1 FROM OPENJSON(@Filter, '$.columns') AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
            OR EXISTS (
                SELECT 1
                FROM OPENJSON(@Filter, '$.members') WITH (
                    [Column] nvarchar(4000) '$.column', [Path] nvarchar(4000) '$.path[0]', [Deep] nvarchar(4000) '$.path[3]',
                    [Value] nvarchar(4000) '$.value'
                ) AS j
                LEFT JOIN OPENJSON(@Names) AS n ON n.[key] = j.[Column] COLLATE Latin1_General_BIN2
                WHERE j.[Path] IS NULL OR j.[Deep] IS NOT NULL OR j.[Value] IS NULL OR COALESCE(n.[value], N'1') = N'1'
            )
            SET @_Wrong = N'columns and members name columns that can be searched, each with a value, columns once';
        IF EXISTS (
            SELECT 1 FROM OPENJSON(@Filter, '$.status') AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
            SET @_Wrong = N'status names one that there is not';
    END;
    IF @_Wrong IS NOT NULL
    BEGIN
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        SET @_Wrong = REPLACE(CONCAT(@Called, N': ', @_Wrong, N'.'), N'%', N'%%');
        THROW 50021, @_Wrong, 1;
    END;
    IF JSON_QUERY(@Filter, '$.status') IS NOT NULL
        SET @Statuses = COALESCE((
            SELECT k.[Status] AS [s]
            FROM [readpast].[QueueStatus] AS k
            WHERE k.[Status] IN (SELECT s.[value] FROM OPENJSON(@Filter, '$.status') AS s)
            FOR JSON PATH
        ), N'[]');
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* A row where an item fits a filter: the members as QueueFilterTake returns them, and then the item's values. */
CREATE OR ALTER FUNCTION [readpast].[QueueFits_fn] (
    @Statuses nvarchar(max), @Types nvarchar(max), @Before datetime2(7), @Since datetime2(7), @Longer bigint,
    @Error nvarchar(4000), @Now datetime2(7), @Status varchar(20), @Type nvarchar(4000), @ChangedAt datetime2(7),
    @StartedAt datetime2(7), @RunMs bigint, @Text nvarchar(max)
)
RETURNS TABLE
AS
RETURN
SELECT 1 AS [Fits]
WHERE
    (@Statuses IS NULL OR CHARINDEX(CONCAT(N'"', @Status, N'"'), @Statuses) > 0)
    AND (@Types IS NULL OR EXISTS (SELECT 1 FROM OPENJSON(@Types) AS t WHERE t.[value] COLLATE DATABASE_DEFAULT = @Type))
    AND (@Before IS NULL OR @ChangedAt < @Before) AND (@Since IS NULL OR @ChangedAt >= @Since)
    AND (
        @Longer IS NULL
        OR CASE WHEN @Status = 'Processing' THEN DATEDIFF_BIG(MILLISECOND, @StartedAt, @Now) ELSE @RunMs END > @Longer
    )
    /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
    AND (@Error IS NULL OR CHARINDEX(@Error, @Text COLLATE Latin1_General_BIN2) > 0);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
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

    SELECT v.[Version], q.[Queue], q.[Preset], q.[Spec], q.[RenderedBy]
    FROM (
        SELECT MAX(a.[Version]) AS [Version]
        FROM [readpast].[QueueSchemaVersion] AS a
    ) AS v
    LEFT JOIN [readpast].[QueueSpec] AS q ON 1 = 1
    ORDER BY q.[Queue];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, also
where readers see row versions. A call may be forgotten after an hour.
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

    SELECT CASE WHEN @_At IS NULL THEN 'NOT_FOUND' ELSE 'OK' END AS [Answer], @_At AS [At];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Makes a call repeatable: asked again with the same identity, the answers come again and nothing is changed. @IsNew is 0 where the
call was made before; with no @Operation nothing is kept. A call that was made is no error to end the caller's transaction with.
Called first of all in their transaction by the procedures that take an @Operation.
Locks: the call's row; another attempt of this very call that is under way is waited for.
Table access order: QueueOperation.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueOperationTake]
    @Operation uniqueidentifier, @Call varchar(100), @Now datetime2(7), @IsNew bit OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Made varchar(100), @_Message nvarchar(2048);
    DECLARE @_Place uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @_Turn int = 0;

    SET @IsNew = 1;
    IF @Operation IS NULL RETURN 0;

    /* Waited for here: a client that gives up meanwhile leaves no transaction open. */
    SELECT @_Made = p.[Call]
    FROM [readpast].[QueueOperation] AS p WITH (READCOMMITTEDLOCK)
    WHERE p.[OperationId] = @Operation;
    IF @_Made IS NULL
    BEGIN
        /* Two may come at once: the key that is taken undoes the INSERT alone. */
        SET XACT_ABORT OFF;
        BEGIN TRY
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [Call], [At])
            VALUES (@Operation, @Call, @Now);
        END TRY
        BEGIN CATCH
            SET XACT_ABORT ON;
            IF ERROR_NUMBER() <> 2627 THROW;
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
        INNER JOIN [readpast].[QueueOperation] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON p.[OperationId] = f.[OperationId]
        WHERE p.[At] < DATEADD(HOUR, -1, @Now)
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Place = NEWID();
        SET @_Turn = @_Turn + 1;
    END;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Keeps of a call what a repetition of it cannot read back from the items. Called last of all in their transaction by the
procedures that take an @Operation.
Table access order: QueueOperation.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueOperationKeep]
    @Operation uniqueidentifier, @Result nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    UPDATE [readpast].[QueueOperation] WITH (ROWLOCK)
    SET [Result] = @Result
    WHERE [OperationId] = @Operation;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
One of all who claim looks for the items of dead workers, once in @Recover milliseconds; who comes meanwhile neither waits for it
nor looks: @Recover becomes 0. @MyTurn is 1 where the queue's row is the caller's now, to the end of its transaction. @Dead is a worker
that is dead whatever its leases say: its lock is the caller's to the end of its transaction, so that no session of that worker comes
back while its items are taken.
Table access order: QueueRecovery, QueueLifeline, QueueRefused, each passed over when somebody holds the row.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueRecoveryTurn]
    @Queue varchar(40), @Now datetime2(7), @Recover int OUTPUT, @MyTurn int OUTPUT, @Dead nvarchar(128) OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Lock nvarchar(255), @_Code int, @_LookedMs bigint, @_RecoveredMs bigint;

    SET @Dead = NULL;
    IF @Recover > 2 AND @MyTurn = 0
    BEGIN
        /* Also as it is not committed yet. Most calls end here. */
        SELECT
            @_LookedMs = ABS(DATEDIFF_BIG(MILLISECOND, r.[LookedAt], @Now)), @_RecoveredMs = ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now))
        FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED)
        WHERE r.[Queue] = @Queue;
        IF @_LookedMs < 500 AND @_RecoveredMs < @Recover
        BEGIN
            SET @Recover = 0;
            RETURN;
        END;
        IF @_LookedMs >= 500
            EXECUTE [readpast].[QueueLifelineLook] @Queue, @Now;

        UPDATE r
        SET [RecoveredAt] = @Now
        FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = @Queue AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now)) >= @Recover;
        SET @MyTurn = @@ROWCOUNT;

        /* Pauses that are over are gone around no longer. */
        IF @MyTurn = 1
            DELETE x
            FROM [readpast].[QueueRefused] AS x WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE x.[Queue] = @Queue AND x.[Doing] = 'pause' AND x.[Until] <= @Now;

        /* Also as it is not committed yet: a transaction that stays open for longer holds up no other. */
        IF @MyTurn = 0
            AND EXISTS (
                SELECT 1
                FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED)
                WHERE r.[Queue] = @Queue AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @Now)) < @Recover
            )
            SET @Recover = 0;
    END;

    IF @Recover = 0 OR NOT EXISTS (
        SELECT 1
        FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE f.[Queue] = @Queue AND f.[FreeSince] IS NOT NULL
    )
        RETURN;

    SELECT TOP (1) @Dead = f.[Worker]
    FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE
        f.[Queue] = @Queue AND f.[ServerBegan] = (SELECT d.[create_date] FROM sys.databases AS d WHERE d.[database_id] = 2)
        AND f.[FreeSince] <= DATEADD(MILLISECOND, -f.[GraceMs], @Now)
        AND APPLOCK_MODE(N'public', CONCAT(N'readpast ', SCHEMA_ID(N'readpast'), N' ', f.[Worker]), N'Session') = N'NoLock'
    ORDER BY f.[Worker];
    IF @Dead IS NULL RETURN;

    SET @_Lock = CONCAT(N'readpast ', SCHEMA_ID(N'readpast'), N' ', @Dead);
    EXECUTE @_Code = sys.sp_getapplock
        @Resource = @_Lock, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0, @DbPrincipal = 'public';
    /* It came back: the next look notes that. */
    IF @_Code < 0 SET @Dead = NULL;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
For many queues at once, in how many milliseconds a claim of each may find something, as Due_<queue> answers. A row for each queue
that the caller may claim from, by its place in @Queues: a JSON array of objects with the queue's name (queue) and the milliseconds
within which one recovery is enough (recover).
Table access order: as Due_<queue>, one queue after the other.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueDue]
    @Queues nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;
    DECLARE @_Place int = 0, @_Count int, @_Name nvarchar(400), @_Recover int, @_DueMs bigint;
    DECLARE @_Asked TABLE ([Place] int NOT NULL PRIMARY KEY, [Name] nvarchar(400) NOT NULL, [Recover] int NOT NULL);
    DECLARE @_Out TABLE ([Place] int NOT NULL PRIMARY KEY, [DueMs] bigint NULL);
    INSERT INTO @_Asked ([Place], [Name], [Recover])
    SELECT CAST(j.[key] AS int), N'[readpast].' + QUOTENAME(N'Due_' + JSON_VALUE(j.[value], '$.queue')),
        CAST(JSON_VALUE(j.[value], '$.recover') AS int)
    FROM OPENJSON(@Queues) AS j;
    SET @_Count = @@ROWCOUNT;

    WHILE @_Place < @_Count
    BEGIN
        SELECT @_Name = a.[Name], @_Recover = a.[Recover] FROM @_Asked AS a WHERE a.[Place] = @_Place;
        /* Asked here: the procedures of one owner call each other without a check. */
        IF HAS_PERMS_BY_NAME(@_Name, N'OBJECT', N'EXECUTE') = 1
        BEGIN
            /* One whose table is being changed, or no longer fits, holds up no other: its own claims report it. */
            BEGIN TRY
                EXECUTE @_Name @Recover = @_Recover, @DueMs = @_DueMs OUTPUT;
                INSERT INTO @_Out ([Place], [DueMs]) VALUES (@_Place, @_DueMs);
            END TRY
            BEGIN CATCH
                IF @@TRANCOUNT > 0 THROW;
            END CATCH;
        END;
        SET @_Place = @_Place + 1;
    END;

    SELECT o.[Place], o.[DueMs] FROM @_Out AS o ORDER BY o.[Place];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
An answer other than OK as an error: CONFLICT 50023, ILLEGAL_TRANSITION 50024, NOT_FOUND 50025, LEASE_LOST 50026.
Table access order: none.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueRefuse]
    @Called nvarchar(128), @Answer varchar(20), @Status varchar(20), @Asked nvarchar(100)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Message nvarchar(2048);
    /* THROW reads a % as the start of something else; doubled, it stands for itself. */
    SET @_Message = REPLACE(CONCAT(
        @Called, N': ', @Answer, N'; the item is ', COALESCE(@Status, N'not there'), N', asked for was ', @Asked, N'.'
    ), N'%', N'%%');

    IF @Answer = 'CONFLICT' THROW 50023, @_Message, 1;
    IF @Answer = 'ILLEGAL_TRANSITION' THROW 50024, @_Message, 1;
    IF @Answer = 'NOT_FOUND' THROW 50025, @_Message, 1;
    IF @Answer = 'LEASE_LOST' THROW 50026, @_Message, 1;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Records an action of an operator and returns its number: one that has ended or, with the state Running, one on many items, which
its caller or another process runs by QueueActionStep. Records of actions that ended 90 days ago go, a few with each call.
Table access order: QueueAction.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueActionNote]
    @Queue varchar(40), @Verb varchar(20), @Who nvarchar(200), @Filter nvarchar(max), @State varchar(20), @Expected bigint,
    @Done bigint, @Refused bigint, @Result nvarchar(4000)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Redrive nvarchar(520);

    IF @State NOT IN ('Running', 'Done', 'Failed') THROW 50021, N'QueueActionNote: @State must be Running, Done or Failed.', 1;
    IF @State = 'Running'
    BEGIN
        SET @_Redrive = CONCAT(N'[readpast].', QUOTENAME(CONCAT(N'Redrive_', @Queue, N'_Set_trx')));
        IF COALESCE(HAS_PERMS_BY_NAME(@_Redrive, N'OBJECT', N'EXECUTE'), 0) = 0
            THROW 50015, N'QueueActionNote: permission denied: this login may not redrive items of the queue.', 1;
    END;

    DELETE a
    FROM (
        SELECT TOP (100) o.[ActionId]
        FROM [readpast].[QueueAction] AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE o.[EndedAt] < DATEADD(DAY, -90, @_Now)
        ORDER BY o.[EndedAt]
    ) AS f
    INNER JOIN [readpast].[QueueAction] AS a WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON a.[ActionId] = f.[ActionId];

    INSERT INTO [readpast].[QueueAction] (
        [Queue], [Verb], [Who], [Login], [Filter], [State], [BegunAt], [EndedAt], [LeaseUntil], [Expected], [Done], [Refused], [Result]
    )
    VALUES (
        @Queue, @Verb, @Who, ORIGINAL_LOGIN(), @Filter, @State, @_Now, CASE WHEN @State <> 'Running' THEN @_Now END,
        /* Its caller comes first. */
        CASE WHEN @State = 'Running' THEN DATEADD(SECOND, 10, @_Now) END, @Expected, @Done, @Refused, @Result
    );
    SELECT CAST(SCOPE_IDENTITY() AS bigint) AS [ActionId];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Moves an action on many items on: adds what its holder has done since the last call, keeps the place, extends the lease, and ends the
action with @State Done, Cancelled or Failed. The first call takes an action that nobody holds. Without an @Owner it asks for a cancel,
which the holder learns by the answer; an action that nobody holds is Cancelled at once. Items on their way to another place are in the
filter of their record (rebalance), so it cannot be cancelled, and its end forgets them. Returns the state, or NULL where the action
has ended or another process holds it.
Table access order: QueueAction.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueActionStep]
    @ActionId bigint, @Owner nvarchar(128), @LeaseMs int, @Done bigint, @Refused bigint, @Place nvarchar(4000), @State varchar(20),
    @Result nvarchar(4000)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @Queue varchar(40), @_Redrive nvarchar(520), @_Found int;

    IF @State NOT IN ('Done', 'Cancelled', 'Failed') THROW 50021, N'QueueActionStep: @State must be Done, Cancelled or Failed.', 1;
    IF (@State IS NOT NULL AND @Owner IS NULL) OR (@Owner IS NOT NULL AND @LeaseMs IS NULL)
        THROW 50021, N'QueueActionStep: @State needs an @Owner, and that a @LeaseMs.', 1;
    SELECT @Queue = a.[Queue] FROM [readpast].[QueueAction] AS a WHERE a.[ActionId] = @ActionId;
    SET @_Redrive = CONCAT(N'[readpast].', QUOTENAME(CONCAT(N'Redrive_', @Queue, N'_Set_trx')));
    IF COALESCE(HAS_PERMS_BY_NAME(@_Redrive, N'OBJECT', N'EXECUTE'), 0) = 0
        THROW 50015, N'QueueActionStep: permission denied: this login may not redrive items of the queue.', 1;

    UPDATE a
    SET
        [State] = COALESCE(
            @State, CASE WHEN @Owner IS NOT NULL THEN a.[State] WHEN a.[Owner] IS NOT NULL AND a.[LeaseUntil] > @_Now THEN 'Cancelling' ELSE 'Cancelled' END
        ),
        [Done] = a.[Done] + COALESCE(@Done, 0), [Refused] = a.[Refused] + COALESCE(@Refused, 0),
        [Filter] = CASE WHEN a.[Verb] <> 'rebalance' OR COALESCE(@State, '') <> 'Done' THEN a.[Filter] END,
        [Place] = COALESCE(@Place, a.[Place]), [Result] = COALESCE(@Result, a.[Result]), [Owner] = COALESCE(@Owner, a.[Owner]),
        [LeaseUntil] = CASE WHEN @Owner IS NULL THEN a.[LeaseUntil] ELSE DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
        [EndedAt] = CASE
            WHEN @State IS NOT NULL OR (@Owner IS NULL AND (a.[Owner] IS NULL OR a.[LeaseUntil] <= @_Now)) THEN @_Now
        END
    FROM [readpast].[QueueAction] AS a WITH (ROWLOCK)
    WHERE
        a.[ActionId] = @ActionId AND a.[EndedAt] IS NULL
        AND (@Owner IS NULL OR a.[Owner] = @Owner OR a.[Owner] IS NULL OR a.[LeaseUntil] <= @_Now)
        AND (@Owner IS NOT NULL OR a.[Verb] <> 'rebalance');
    SET @_Found = @@ROWCOUNT;

    SELECT CASE WHEN @_Found = 1 THEN (SELECT a.[State] FROM [readpast].[QueueAction] AS a WHERE a.[ActionId] = @ActionId) END AS [State];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
A process reports its workers, {"queue", "worker", "grace"} in @Workers: when one begins and then every half minute, those of all its
queues at once. Another process of the same name begins anew. Rows of workers that have not reported for a week go when another begins.
With a grace in milliseconds, sessions of the worker hold its lock (QueueLifelineTake); with 0 they do not. It counts only for queues from which the
login may claim: it has the items of a worker taken whose lock is free.
Table access order: QueueLifeline, QueueWorker.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueWorkersSeen]
    @Workers nvarchar(max), @Host nvarchar(128), @Process bigint, @Version varchar(40)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Seen TABLE (
        [Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) NOT NULL, [GraceMs] int NULL, PRIMARY KEY ([Queue], [Worker])
    );
    DECLARE @_Count int, @_Began datetime2(7) = (SELECT d.[create_date] FROM sys.databases AS d WHERE d.[database_id] = 2);

    INSERT INTO @_Seen ([Queue], [Worker], [GraceMs])
    SELECT
        j.[Queue], j.[Worker],
        /* Asked here: the procedures of one owner call each other without a check. */
        CASE
            WHEN HAS_PERMS_BY_NAME(N'[readpast].' + QUOTENAME(N'Next_' + j.[Queue] + N'_Set_trx'), N'OBJECT', N'EXECUTE') = 1
                THEN MIN(j.[GraceMs])
        END
    FROM OPENJSON(@Workers) WITH ([Queue] varchar(40) '$.queue', [Worker] nvarchar(128) '$.worker', [GraceMs] int '$.grace') AS j
    GROUP BY j.[Queue], j.[Worker];
    SET @_Count = @@ROWCOUNT;

    DELETE f
    FROM @_Seen AS s
    INNER JOIN [readpast].[QueueLifeline] AS f WITH (ROWLOCK) ON f.[Queue] = s.[Queue] AND f.[Worker] = s.[Worker] COLLATE Latin1_General_BIN2
    WHERE s.[GraceMs] = 0;

    UPDATE f
    SET [GraceMs] = s.[GraceMs], [ServerBegan] = @_Began, [FreeSince] = NULL
    FROM @_Seen AS s
    INNER JOIN [readpast].[QueueLifeline] AS f WITH (ROWLOCK) ON f.[Queue] = s.[Queue] AND f.[Worker] = s.[Worker] COLLATE Latin1_General_BIN2
    WHERE s.[GraceMs] > 0 AND (f.[GraceMs] <> s.[GraceMs] OR f.[ServerBegan] <> @_Began);

    /* Not where the server does not let it be known when it began (Azure SQL Database). */
    INSERT INTO [readpast].[QueueLifeline] ([Queue], [Worker], [GraceMs], [ServerBegan])
    SELECT s.[Queue], s.[Worker], s.[GraceMs], @_Began
    FROM @_Seen AS s
    WHERE
        s.[GraceMs] > 0 AND @_Began IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM [readpast].[QueueLifeline] AS f WITH (UPDLOCK, SERIALIZABLE)
            WHERE f.[Queue] = s.[Queue] AND f.[Worker] = s.[Worker] COLLATE Latin1_General_BIN2
        )
    ORDER BY s.[Queue], s.[Worker];

    UPDATE w
    SET
        [SeenAt] = @_Now, [Host] = @Host, [Process] = @Process, [Version] = @Version,
        [StartedAt] = CASE
            WHEN w.[Host] = @Host AND w.[Process] = @Process AND w.[Version] = @Version THEN w.[StartedAt]
            ELSE @_Now
        END
    FROM @_Seen AS s
    INNER JOIN [readpast].[QueueWorker] AS w WITH (ROWLOCK) ON w.[Queue] = s.[Queue] AND w.[Worker] = s.[Worker];
    IF @@ROWCOUNT = @_Count RETURN 0;

    DELETE TOP (1000) w
    FROM [readpast].[QueueWorker] AS w WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE w.[Queue] IN (SELECT s.[Queue] FROM @_Seen AS s) AND w.[SeenAt] < DATEADD(DAY, -7, @_Now);

    DELETE f
    FROM [readpast].[QueueLifeline] AS f WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE
        f.[Queue] IN (SELECT s.[Queue] FROM @_Seen AS s) AND f.[ServerBegan] <> @_Began
        AND NOT EXISTS (
            SELECT 1 FROM [readpast].[QueueWorker] AS w WITH (ROWLOCK)
            WHERE w.[Queue] = f.[Queue] AND w.[Worker] COLLATE Latin1_General_BIN2 = f.[Worker]
        );

    INSERT INTO [readpast].[QueueWorker] ([Queue], [Worker], [Host], [Process], [Version], [StartedAt], [SeenAt])
    SELECT s.[Queue], s.[Worker], @Host, @Process, @Version, @_Now, @_Now
    FROM @_Seen AS s
    WHERE NOT EXISTS (
        SELECT 1 FROM [readpast].[QueueWorker] AS w WITH (UPDLOCK, SERIALIZABLE)
        WHERE w.[Queue] = s.[Queue] AND w.[Worker] = s.[Worker]
    )
    ORDER BY s.[Queue], s.[Worker];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Keeps figures as those of this minute, where no other process has: @Minutes is a JSON array of objects with a queue's name and its figures.
One without figures asks whether no process keeps them. A row for each that was kept, or is to be: its place in @Minutes. Minutes before
yesterday go.
Table access order: QueueMinute.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueueMinuteKeep]
    @Minutes nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_At datetime2(0) = DATEADD(MINUTE, DATEDIFF(MINUTE, '2020-01-01', @_Now), CAST('2020-01-01' AS datetime2(0)));
    DECLARE @_Given TABLE (
        [Place] int NOT NULL PRIMARY KEY, [Queue] varchar(40) NOT NULL, [Due] bigint NULL, [OldestMs] bigint NULL,
        [InFlight] bigint NULL, [Failed] bigint NULL, [Ended] bigint NULL
    );
    DECLARE @_Kept TABLE ([Queue] varchar(40) NOT NULL PRIMARY KEY);
    INSERT INTO @_Given ([Place], [Queue], [Due], [OldestMs], [InFlight], [Failed], [Ended])
    SELECT CAST(j.[key] AS int), m.[Queue], m.[Due], m.[OldestMs], m.[InFlight], m.[Failed], m.[Ended]
    FROM OPENJSON(@Minutes) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Queue] varchar(40) '$.queue', [Due] bigint '$.due', [OldestMs] bigint '$.oldest_ms', [InFlight] bigint '$.in_flight',
        [Failed] bigint '$.failed', [Ended] bigint '$.ended'
    ) AS m;

    INSERT INTO [readpast].[QueueMinute] ([Queue], [At], [Due], [OldestMs], [InFlight], [Failed], [Ended])
    OUTPUT inserted.[Queue] INTO @_Kept ([Queue])
    SELECT g.[Queue], @_At, g.[Due], g.[OldestMs], g.[InFlight], g.[Failed], g.[Ended]
    FROM @_Given AS g
    WHERE
        g.[Due] IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM [readpast].[QueueMinute] AS m WITH (UPDLOCK, SERIALIZABLE) WHERE m.[Queue] = g.[Queue] AND m.[At] = @_At
        )
    ORDER BY g.[Queue];

    DELETE m
    FROM @_Kept AS k
    INNER JOIN [readpast].[QueueMinute] AS m WITH (ROWLOCK) ON m.[Queue] = k.[Queue]
    WHERE m.[At] < DATEADD(HOUR, -25, @_At);

    SELECT g.[Place]
    FROM @_Given AS g
    WHERE
        EXISTS (SELECT 1 FROM @_Kept AS k WHERE k.[Queue] = g.[Queue])
        OR (
            g.[Due] IS NULL
            AND NOT EXISTS (
                SELECT 1
                FROM [readpast].[QueueMinute] AS m WITH (READCOMMITTEDLOCK)
                WHERE m.[Queue] = g.[Queue] AND m.[At] > DATEADD(SECOND, -150, @_At)
            )
        )
    ORDER BY g.[Place];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Pauses a queue, or with @Type one type of it: nothing of it is claimed until it is resumed, or @ForMs are over, or @Until (UTC) is; items
that are added meanwhile wait too, and what is in work goes on. A pause that is there gets the new end and reason, and keeps since when
it is. Returns the end; NULL: there is none. Claims that are under way may still take items.
Table access order: QueuePause, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueuePauseBegin]
    @Queue varchar(40), @Type nvarchar(400), @Until datetime2(7), @ForMs bigint, @Who nvarchar(200), @Reason nvarchar(400)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_End datetime2(7) = @Until;
    DECLARE @_Redrive nvarchar(520);
    SET @_Redrive = CONCAT(N'[readpast].', QUOTENAME(CONCAT(N'Redrive_', @Queue, N'_Set_trx')));
    IF COALESCE(HAS_PERMS_BY_NAME(@_Redrive, N'OBJECT', N'EXECUTE'), 0) = 0
        THROW 50015, N'QueuePauseBegin: permission denied: this login may not redrive items of the queue.', 1;
    IF COALESCE(@Who, N'') = N'' THROW 50021, N'QueuePauseBegin: @Who is empty.', 1;
    IF DATALENGTH(@Type) > 120 THROW 50021, N'QueuePauseBegin: @Type is longer than 60 characters.', 1;
    IF @ForMs > 3155760000000 THROW 50021, N'QueuePauseBegin: @ForMs is more than a hundred years.', 1;
    IF @_End IS NULL SET @_End = DATEADD(MILLISECOND, @ForMs % 60000, DATEADD(MINUTE, @ForMs / 60000, @_Now));
    IF @_End <= @_Now THROW 50021, N'QueuePauseBegin: the pause must end in the future.', 1;
    SET @Type = COALESCE(@Type, N'');

    BEGIN TRANSACTION;
    /* Those that are over; a pause of the same kind begins anew. */
    DELETE p
    FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
    WHERE p.[Queue] = @Queue AND p.[Type] = @Type AND p.[Until] <= @_Now;
    DELETE p
    FROM [readpast].[QueuePause] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE p.[Queue] = @Queue AND p.[Until] <= @_Now;
    UPDATE p
    SET [Until] = @_End, [Who] = @Who, [Login] = ORIGINAL_LOGIN(), [Reason] = NULLIF(@Reason, N'')
    FROM [readpast].[QueuePause] AS p WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE p.[Queue] = @Queue AND p.[Type] = @Type;
    IF @@ROWCOUNT = 0
        INSERT INTO [readpast].[QueuePause] ([Queue], [Type], [Since], [Until], [Who], [Login], [Reason])
        VALUES (@Queue, @Type, @_Now, @_End, @Who, ORIGINAL_LOGIN(), NULLIF(@Reason, N''));
    /* As it was written first: the mark below is compared by code point. */
    SELECT @Type = p.[Type]
    FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
    WHERE p.[Queue] = @Queue AND p.[Type] = @Type;
    /* Claims look here anyhow, so that a queue without pauses pays nothing for them. */
    DELETE r
    FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.[Queue] = @Queue AND r.[Doing] = 'pause' AND r.[Until] <= @_Now;
    UPDATE r
    SET [Until] = COALESCE(@_End, '9999-12-31')
    FROM [readpast].[QueueRefused] AS r WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE r.[Queue] = @Queue AND r.[Key] = CONCAT(NCHAR(1), @Type);
    IF @@ROWCOUNT = 0
        INSERT INTO [readpast].[QueueRefused] ([Queue], [Key], [Doing], [Reason], [Times], [Attempts], [Since], [Until])
        VALUES (@Queue, CONCAT(NCHAR(1), @Type), 'pause', N'', 0, 0, @_Now, COALESCE(@_End, '9999-12-31'));
    COMMIT TRANSACTION;

    SELECT @_End AS [Until];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Resumes a queue, or with @Type one type of it: the pauses of the queue and of each type are ended one by one. Returns 1 if there was such
a pause, or else 0.
Table access order: QueuePause, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[QueuePauseEnd]
    @Queue varchar(40), @Type nvarchar(400)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Redrive nvarchar(520);
    DECLARE @_Ended TABLE ([Type] nvarchar(60) NOT NULL, [Until] datetime2(7) NULL);
    SET @_Redrive = CONCAT(N'[readpast].', QUOTENAME(CONCAT(N'Redrive_', @Queue, N'_Set_trx')));
    IF COALESCE(HAS_PERMS_BY_NAME(@_Redrive, N'OBJECT', N'EXECUTE'), 0) = 0
        THROW 50015, N'QueuePauseEnd: permission denied: this login may not redrive items of the queue.', 1;

    BEGIN TRANSACTION;
    DELETE p
    OUTPUT deleted.[Type], deleted.[Until] INTO @_Ended ([Type], [Until])
    FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
    WHERE p.[Queue] = @Queue AND p.[Type] = COALESCE(@Type, N'');
    DELETE r
    FROM @_Ended AS e
    INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
        ON r.[Queue] = @Queue AND r.[Key] = CONCAT(NCHAR(1), e.[Type]) COLLATE Latin1_General_BIN2
    OPTION (LOOP JOIN, FORCE ORDER);
    COMMIT TRANSACTION;

    SELECT COUNT(*) AS [Resumed] FROM @_Ended AS e WHERE e.[Until] IS NULL OR e.[Until] > SYSUTCDATETIME();
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Job: the items. A row is both a domain record and a work item. */
IF OBJECT_ID(N'[readpast].[JobType]', N'U') IS NULL
    CREATE TABLE [readpast].[JobType] ([Type] nvarchar(60) NOT NULL, CONSTRAINT [PK_JobType] PRIMARY KEY CLUSTERED ([Type]));
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
INSERT INTO [readpast].[JobType] ([Type])
SELECT N'A'
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[JobType] AS t WHERE t.[Type] = N'A');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
INSERT INTO [readpast].[JobType] ([Type])
SELECT N'B'
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[JobType] AS t WHERE t.[Type] = N'B');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
IF OBJECT_ID(N'[readpast].[Job_Seq]', N'SO') IS NULL
    CREATE SEQUENCE [readpast].[Job_Seq] AS bigint START WITH 1 INCREMENT BY 1 CACHE 1000;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF OBJECT_ID(N'[readpast].[Job]', N'U') IS NULL
    CREATE TABLE [readpast].[Job] (
        [EnqueuedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NOT NULL, [Status] varchar(20) NOT NULL,
        [Step] nvarchar(60) NULL, [AttemptNum] int NOT NULL, [Response] nvarchar(max) NULL CONSTRAINT [DF_Job_Response] DEFAULT (''),
        [Error] nvarchar(max) NULL CONSTRAINT [DF_Job_Error] DEFAULT (''),
        [StartedAt] datetime2(7) NULL, [Duration] bigint NULL, [ScheduledFor] datetime2(7) NOT NULL, [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
        /* The claim that took it, for a caller that lost the answer. Below zero: it goes alone. */
        [ClaimNum] bigint NULL, [Customer] nvarchar(40) NULL, [Rank] int NOT NULL, [Reference] uniqueidentifier NULL,
        CONSTRAINT [PK_Job] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Job_IsDiscriminatedBy_JobType]
            FOREIGN KEY ([Type]) REFERENCES [readpast].[JobType] ([Type]),
        CONSTRAINT [CK_Job_Status] CHECK ([Status] IN (
            'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'
        ))
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* A table of an earlier state has no place yet for the number of a claim. */
IF COL_LENGTH(N'[readpast].[Job]', N'ClaimNum') IS NULL
    ALTER TABLE [readpast].[Job] ADD [ClaimNum] bigint NULL;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Many rows locked by one statement must never become the whole table, which nobody could read past. */
IF EXISTS (SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID(N'[readpast].[Job]') AND t.[lock_escalation] <> 1)
    ALTER TABLE [readpast].[Job] SET (LOCK_ESCALATION = DISABLE);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog. UpdatedAt is left out on purpose: the claim must visit the row itself, and so lock it, while READPAST still
lets it pass over rows that others hold; were the index to cover the claim, the row would be locked only by the update,
in the opposite order to a procedure that goes by the key. In each index the columns of its filter stand too: without
them a query may visit, and lock, the row only to look at them once more.
*/
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Job]') AND i.[name] = N'IX_Job_Due')
    CREATE NONCLUSTERED INDEX [IX_Job_Due] ON [readpast].[Job] ([ScheduledFor], [EnqueuedAt]) INCLUDE ([Status])
    WHERE [Status] IN ('Pending', 'Error');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Job]') AND i.[name] = N'IX_Job_InFlight')
    CREATE NONCLUSTERED INDEX [IX_Job_InFlight] ON [readpast].[Job] ([StartedAt]) INCLUDE ([Status])
    WHERE [Status] = 'Processing';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
IF NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[object_id] = OBJECT_ID(N'[readpast].[Job]') AND i.[name] = N'IX_Job_Ended')
    CREATE NONCLUSTERED INDEX [IX_Job_Ended] ON [readpast].[Job] ([EnqueuedAt]) INCLUDE ([Status])
    WHERE [Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* When the items of its dead workers were last looked for. */
IF NOT EXISTS (SELECT 1 FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED) WHERE r.[Queue] = 'Job')
    INSERT INTO [readpast].[QueueRecovery] ([Queue], [RecoveredAt]) VALUES ('Job', '0001-01-01');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* All that a worker may see of Job: its columns, and where each item is. Times of the item are UTC. */
CREATE OR ALTER VIEW [readpast].[Worker_Job_V]
AS
SELECT
    q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration], q.[ScheduledFor],
    q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], q.[Customer], q.[Rank], q.[Reference]
FROM [readpast].[Job] AS q;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The limits in force, in one row. With none or fewer, all that waits would be Failed at once: such a value does not count. */
CREATE OR ALTER VIEW [readpast].[Job_Setting_V]
AS
SELECT
    COALESCE(NULLIF(MAX(CASE WHEN a.[Param] = 'job.maxAttempts' THEN a.[ValInt] ELSE 0 END), 0), 3) AS [MaxAttempts],
    COALESCE(NULLIF(MAX(CASE WHEN a.[Param] = 'job.leaseMs' THEN a.[ValInt] ELSE 0 END), 0), 60000) AS [LeaseMs]
FROM [readpast].[AppSettings] AS a
WHERE a.[Param] IN ('job.maxAttempts', 'job.leaseMs') AND a.[ValInt] > 0;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Puts items into Job.
Called by the Add_Job_Set_ procedures: in the caller's transaction (@Within = 1), or in one of its own, and again when a key was taken.
Nobody is granted it.
Returns an answer per element, as they do.
Table access order: QueueOperation, Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Job_Add]
    @Operation uniqueidentifier, @Items nvarchar(max), @Within bit
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_IsNew bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Tries int = 0;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count int;
    /* Each element read once: what is put into the table, and by what it is recognized. */
    DECLARE @_New TABLE (
        [Column1] nvarchar(max) NULL, [Column2] int NULL, [Column3] uniqueidentifier NULL, [Key1] datetime2(7) NULL,
        [Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(60) NULL, [Step] nvarchar(60) NULL, [DueAt] datetime2(7) NULL
    );
    DECLARE @_Added TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Key] datetime2(7) NULL);
    DECLARE @_First bigint;
    DECLARE @_Number TABLE ([Number] bigint NOT NULL PRIMARY KEY);
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    IF
        SESSION_CONTEXT(N'readpast.checks_items') IS NULL
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'$.columns') AS m
            WHERE
                m.[key] NOT IN (N'Customer', N'Rank', N'Reference')
                OR m.[key] LIKE N'% '
        )
        EXECUTE [readpast].[QueueTake] N'Add_Job', @Items OUTPUT, N'{
            "type": ["A","B"], "step": "text(60)", "due": "timestamp",
            "delay_ms": "milliseconds (from 0 to 2147483647000)",
            "columns": {
                "Customer": "text(40)", "Rank": "integer not null", "Reference": "guid"
            }
        }';

    WHILE @_Tries < 5
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_New;
        DELETE FROM @_Added;
        DELETE FROM @_Number;
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            SET @_Now = SYSUTCDATETIME();

            EXECUTE [readpast].[QueueOperationTake] @Operation, 'Add_Job_Set', @_Now, @_IsNew OUTPUT;
            IF @_IsNew = 1
            BEGIN
                INSERT INTO @_New ([Ordinal], [Type], [Step], [DueAt], [Column1], [Column2], [Column3])
                SELECT
                    CAST(j.[key] AS int), r.[Type], r.[Step],
                    COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @_Now))), r.[Column1],
                    r.[Column2], r.[Column3]
                FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
                CROSS APPLY OPENJSON(j.[value]) WITH (
                    [Type] nvarchar(max) '$.type', [Step] nvarchar(max) '$.step', [DueAt] datetime2(7) '$.due',
                    [DelayMs] bigint '$.delay_ms', [Column1] nvarchar(max) '$.columns."Customer"', [Column2] int '$.columns."Rank"',
                    [Column3] uniqueidentifier '$.columns."Reference"'
                ) AS r
                OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
                SET @_Count = @@ROWCOUNT;

                /*
                The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
                a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
                items in succession have different keys. In which order numbers are drawn nobody promises: they are sorted.
                */
                INSERT INTO @_Number ([Number])
                SELECT NEXT VALUE FOR [readpast].[Job_Seq] FROM @_New;
                SET @_First = (SELECT MIN(d.[Number]) FROM @_Number AS d);
                UPDATE n
                SET [Key1] = DATEADD(MICROSECOND, d.[Number] - @_First + @_First % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)))
                FROM @_New AS n
                INNER JOIN (SELECT a.[Number], ROW_NUMBER() OVER (ORDER BY a.[Number]) AS [Place] FROM @_Number AS a) AS d
                    ON d.[Place] = n.[Ordinal] + 1;

                INSERT INTO [readpast].[Job] (
                    [EnqueuedAt], [Type], [ScheduledFor], [Status], [AttemptNum], [Step], [UpdatedAt], [Customer], [Rank], [Reference]
                )
                SELECT
                    n.[Key1], COALESCE(n.[Type], N'A'), COALESCE(n.[DueAt], @_Now), 'Pending', 0, n.[Step], @_Now, n.[Column1], n.[Column2],
                    n.[Column3]
                FROM @_New AS n
                ORDER BY n.[Ordinal];

                IF @@ROWCOUNT <> @_Count THROW 50021, N'Add_Job: an index of the table passed over items; they are duplicates to it.', 1;

                INSERT INTO @_Added ([Ordinal], [Answer], [Key])
                SELECT n.[Ordinal], 'OK', n.[Key1]
                FROM @_New AS n;

                IF @Operation IS NOT NULL
                BEGIN
                    SET @_Result = (
                        SELECT a.[Ordinal] AS [ordinal], a.[Answer] AS [answer], a.[Key] AS [key]
                        FROM @_Added AS a
                        FOR JSON PATH
                    );
                    EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
                END;
            END;

            IF @Within = 0
                COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @Within = 1 THROW;
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): another try sees it. */
            IF ERROR_NUMBER() <> 2627 OR @_Tries = 5 THROW;
        END CATCH;
    END;

    IF @_IsNew = 0
    BEGIN
        SELECT @_Result = p.[Result], @_Now = p.[At]
        FROM [readpast].[QueueOperation] AS p
        WHERE p.[OperationId] = @Operation;

        INSERT INTO @_Added ([Ordinal], [Answer], [Key])
        SELECT r.[ordinal], r.[answer], r.[key]
        FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] datetime2(7) '$.key') AS r;
    END;

    SELECT
        a.[Answer], a.[Ordinal], CAST(NULL AS bigint) AS [DueMs], a.[Key], CASE WHEN a.[Answer] = 'OK' THEN @_Now END AS [Token],
        CASE WHEN a.[Answer] = 'OK' THEN 0 END AS [AttemptNum], CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]
    FROM @_Added AS a
    ORDER BY a.[Ordinal];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
Any error ends that transaction (XACT_ABORT), a key that is taken too.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token.
Table access order: QueueOperation, Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Job_Set_utx]
    @Items nvarchar(max), @Operation uniqueidentifier = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_Job_Set_utx works inside the transaction of its caller; begin one first.', 1;

    EXECUTE [readpast].[Job_Add] @Operation = @Operation, @Items = @Items, @Within = 1;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Enqueue many items in one commit of their own.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token.
Table access order: QueueOperation, Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Job_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_Job_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Job_Add] @Operation = @Operation, @Items = @Items, @Within = 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Enqueue one item inside the caller's transaction.
Returns its key and its concurrency token.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Job_utx]
    @Type nvarchar(60) = N'A', @Customer nvarchar(40) = NULL, @Rank int, @Reference uniqueidentifier = NULL,
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Number bigint;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_EnqueuedAt datetime2(7);

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0 THROW 50012, N'Add_Job_utx works inside the transaction of its caller; begin one first.', 1;

    SET @_Number = NEXT VALUE FOR [readpast].[Job_Seq];
    SET @_EnqueuedAt = DATEADD(MICROSECOND, @_Number % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)));

    INSERT INTO [readpast].[Job] (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt], [Customer], [Rank], [Reference]
    )
    VALUES (@_EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @_Now), @_Now, @Customer, @Rank, @Reference);

    SELECT @_EnqueuedAt AS [EnqueuedAt], @_Now AS [UpdatedAt];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Enqueue one item in a commit of its own.
Returns its key and its concurrency token.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Job_trx]
    @Type nvarchar(60) = N'A', @Customer nvarchar(40) = NULL, @Rank int, @Reference uniqueidentifier = NULL,
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step nvarchar(60) = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Number bigint;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_EnqueuedAt datetime2(7);
    DECLARE @_Tries int = 0;

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_Job_trx commits its own work: not to be called in a transaction.', 1;

    WHILE @_EnqueuedAt IS NULL
    BEGIN
        BEGIN TRY
            SET @_Number = NEXT VALUE FOR [readpast].[Job_Seq];
            SET @_EnqueuedAt = DATEADD(MICROSECOND, @_Number % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)));

            INSERT INTO [readpast].[Job] (
                [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt], [Customer], [Rank], [Reference]
            )
            VALUES (@_EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @_Now), @_Now, @Customer, @Rank, @Reference);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): the sequence has moved on, so the next key differs. */
            SET @_EnqueuedAt = NULL;
            SET @_Tries = @_Tries + 1;
            IF ERROR_NUMBER() <> 2627 OR @_Tries = 5 THROW;
        END CATCH;
    END;

    SELECT @_EnqueuedAt AS [EnqueuedAt], @_Now AS [UpdatedAt];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Gives the items of dead workers back, or ends them as Failed when their attempts are spent.
Called by Recover_Job_trx, and by Job_Claim, first of all (@Within = 1). Nobody is granted it.
Locks: rows that others hold are passed over, so nobody is waited for.
Returns a row per item, as Recover_Job_trx does; within a claim nothing.
Table access order: QueueRecovery, QueueLifeline, Job, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[Job_Recover]
    @Max int, @Recover int,
    @Within bit /* 1: in the caller's transaction; 0: in transactions of its own, around what the table refuses */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_MaxAttempts int;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_MyTurn int = 0, @_Dead nvarchar(128), @_Over nvarchar(128); /* a worker whose lock is free; nothing of it is left */
    DECLARE @_Candidate TABLE (
        [Key1] datetime2(7) NOT NULL, [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    /* Items as they become. */
    DECLARE @_Change TABLE (
        [Key1] datetime2(7) NOT NULL, [Status] varchar(20) NOT NULL, [AttemptNum] int NOT NULL, [Token] datetime2(7) NOT NULL,
        [Error] nvarchar(max) NULL, [Duration] bigint NULL, [LeaseUntil] datetime2(7) NULL, PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Refusals TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL, [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Each int = 0; /* 1: one by one */
    DECLARE @_Left TABLE ([Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NOT NULL, [Together] int NOT NULL);
    DECLARE @_Back TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NOT NULL,
        [Token] datetime2(7) NOT NULL, [AttemptNum] int NOT NULL, [Status] varchar(20) NOT NULL
    );

    SELECT @_MaxAttempts = s.[MaxAttempts]
    FROM [readpast].[Job_Setting_V] AS s;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            SET @_Now = SYSUTCDATETIME();

            IF @Recover > 0
                EXECUTE [readpast].[QueueRecoveryTurn] 'Job', @_Now, @Recover OUTPUT, @_MyTurn OUTPUT, @_Dead OUTPUT;
            IF @_Each = 1
            BEGIN
                /* Those that the table refused together, one by one. */
                DELETE FROM @_Change;
                DELETE FROM @_Candidate;
                INSERT INTO @_Candidate ([Key1], [Together])
                SELECT TOP (1) l.[Key1], l.[Together]
                FROM @_Left AS l
                ORDER BY l.[Seq];
                SET @_Searched = @@ROWCOUNT;
            END
            ELSE
            BEGIN
                /*
                Items to be looked at. The searches take no update locks: they may pass many items in flight whose
                leases are good, and no worker shall wait for them.
                */
                DELETE FROM @_Change; DELETE FROM @_Candidate;
                /* Those that are left aside are no candidates, and take the place of none. */
                SET @_RecoverMax = @Max + (
                    SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Job' AND r.[Until] > @_Now
                );
                IF @Recover > 0
                BEGIN
                    INSERT INTO @_Candidate ([Key1], [StartedAt])
                    SELECT TOP (@_RecoverMax) q.[EnqueuedAt], q.[StartedAt]
                    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_InFlight]))
                    WHERE q.[Status] = 'Processing' AND (q.[LeaseUntil] <= @_Now OR q.[LeaseOwner] = @_Dead)
                    ORDER BY q.[StartedAt];

                    IF @@ROWCOUNT = @_RecoverMax
                        /* All that is left of the last claim: a chunk must not split one. */
                        INSERT INTO @_Candidate ([Key1], [StartedAt])
                        SELECT q.[EnqueuedAt], q.[StartedAt]
                        FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_InFlight]))
                        WHERE
                            q.[Status] = 'Processing' AND q.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c)
                            AND (q.[LeaseUntil] <= @_Now OR q.[LeaseOwner] = @_Dead)
                            AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE q.[EnqueuedAt] = c.[Key1])
                        OPTION (LOOP JOIN, FORCE ORDER);

                    /* There may be more of them: the next who comes goes on at once. */
                    SET @_Over = CASE WHEN (SELECT COUNT(*) FROM @_Candidate) < @_RecoverMax THEN @_Dead END;
                    IF @_MyTurn = 1 AND (@_Dead IS NOT NULL OR (SELECT COUNT(*) FROM @_Candidate) >= @_RecoverMax)
                        EXECUTE [readpast].[QueueRecoveryGoesOn] 'Job', @_Over;
                END;
                DELETE c
                FROM @_Candidate AS c
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'Job' AND r.[Key] = CONVERT(nvarchar(30), c.[Key1], 126) COLLATE Latin1_General_BIN2
                        AND r.[Until] > @_Now
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Searched = (SELECT COUNT(*) FROM @_Candidate);
                IF @_Searched > 0 AND @Recover > 0
                    /*
                    Items that were claimed together: nobody knows which was begun. Read without locks: another recovery may have
                    the rest of them in hands.
                    */
                    UPDATE c
                    SET [Together] = 1
                    FROM @_Candidate AS c
                    INNER JOIN [readpast].[Job] AS q WITH (READUNCOMMITTED) ON q.[EnqueuedAt] = c.[Key1]
                    WHERE
                        q.[Status] = 'Processing'
                        AND EXISTS (
                            SELECT 1
                            FROM [readpast].[Job] AS o WITH (READUNCOMMITTED, INDEX ([IX_Job_InFlight]))
                            WHERE
                                o.[Status] = 'Processing' AND o.[StartedAt] = q.[StartedAt] AND o.[LeaseOwner] = q.[LeaseOwner]
                                AND NOT (o.[EnqueuedAt] = q.[EnqueuedAt])
                        )
                    OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF @_Searched > 0
            BEGIN
                /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
                INSERT INTO @_Change ([Key1], [Status], [AttemptNum], [Token], [Error], [Duration], [LeaseUntil])
                SELECT
                    x.[Key1], CASE WHEN x.[Ends] = 1 THEN 'Failed' ELSE 'Error' END, x.[AttemptNum] - x.[Together],
                    CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END,
                    CASE
                        WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                            THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                        ELSE CONCAT(
                            CASE WHEN x.[LeaseUntil] > @_Now THEN N'Worker ' ELSE N'The lease of worker ' END, x.[LeaseOwner] COLLATE DATABASE_DEFAULT,
                            CASE WHEN x.[LeaseUntil] > @_Now THEN N' is gone from the server' ELSE N' ran out' END,
                            N' on attempt ', x.[AttemptNum], N' of ', @_MaxAttempts, N'; the worker is taken for dead.',
                            CASE
                                WHEN x.[Together] = 1
                                    THEN N' It was claimed together with others: this attempt does not count, '
                                        + N'and the next claim of it is of it alone.'
                            END
                        )
                    END,
                    CASE WHEN x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @_Now) END,
                    /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                    CASE
                        WHEN x.[Ends] = 1 THEN NULL
                        WHEN x.[LeaseUntil] < @_Now THEN x.[LeaseUntil]
                        ELSE @_Now
                    END
                FROM (
                    SELECT
                        q.[EnqueuedAt] AS [Key1], c.[Together],
                        CASE
                            WHEN c.[Together] = 0 AND q.[AttemptNum] + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                            ELSE 0
                        END AS [Ends],
                        r.[Attempts] AS [Refusals], r.[Reason] AS [Refused], q.[LeaseUntil] AS [LeaseUntil], q.[AttemptNum] AS [AttemptNum],
                        q.[UpdatedAt] AS [Token], q.[StartedAt] AS [StartedAt], q.[LeaseOwner] AS [LeaseOwner]
                    FROM @_Candidate AS c
                    INNER JOIN [readpast].[Job] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = c.[Key1]
                    LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON r.[Queue] = 'Job' AND r.[Key] = CONVERT(nvarchar(30), c.[Key1], 126) COLLATE Latin1_General_BIN2
                    WHERE
                        q.[Status] = 'Processing'
                        AND (q.[LeaseUntil] <= @_Now
                            OR (q.[LeaseOwner] = @_Dead))
                ) AS x
                OPTION (LOOP JOIN, FORCE ORDER);

                /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
                UPDATE q
                SET
                    [Duration] = COALESCE(w.[Duration], q.[Duration]), [AttemptNum] = w.[AttemptNum], [LeaseUntil] = w.[LeaseUntil],
                    [Error] = w.[Error], [UpdatedAt] = w.[Token], [Status] = w.[Status]
                FROM @_Change AS w
                INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = w.[Key1]
                WHERE q.[Status] = 'Processing'
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                    THROW 50005, N'Job: a row that was locked for the change changed all the same.', 1;

                /* The table has let them through. */
                DELETE r
                FROM @_Change AS w
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON r.[Queue] = 'Job' AND r.[Key] = CONVERT(nvarchar(30), w.[Key1], 126) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF @Within = 0
                COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @Within = 1 THROW;
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            IF [readpast].[QueueIsRefusal_fn](@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Candidate) THROW;

            DELETE FROM @_Change;
            IF @_Each = 0 AND (SELECT COUNT(*) FROM @_Candidate) > 1
            BEGIN
                SET @_Each = 1;
                INSERT INTO @_Left ([Key1], [Together])
                SELECT c.[Key1], c.[Together]
                FROM @_Candidate AS c
                ORDER BY c.[StartedAt];
                CONTINUE;
            END;

            SELECT @_RefusedKey = CONVERT(nvarchar(30), c.[Key1], 126) COLLATE Latin1_General_BIN2
            FROM @_Candidate AS c;
            EXECUTE [readpast].[QueueNoteRefusal]
                @Queue = 'Job', @Key = @_RefusedKey, @Doing = 'recover', @Number = @_Number, @Reason = @_Reason, @Times = @_Times OUTPUT;
            INSERT INTO @_Refusals ([Key1], [Times], [Reason])
            SELECT c.[Key1], @_Times, LEFT(CONCAT(N'recover: ', @_Reason), 500)
            FROM @_Candidate AS c;
        END CATCH;
        IF @Within = 1 RETURN 0;

        INSERT INTO @_Back ([Key1], [Token], [AttemptNum], [Status])
        SELECT w.[Key1], w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Change AS w
        ORDER BY w.[Key1];

        DELETE l
        FROM @_Left AS l
        WHERE l.[Seq] = (SELECT MIN(m.[Seq]) FROM @_Left AS m);
        IF NOT EXISTS (SELECT 1 FROM @_Left) BREAK;
    END;

    SELECT 'RECOVERED' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs],
        w.[Key1] AS [Key], w.[Token], w.[AttemptNum], CAST(w.[Status] AS nvarchar(500)) AS [Status]
    FROM @_Back AS w
    UNION ALL
    SELECT 'REFUSED', NULL, NULL, r.[Key1], NULL, r.[Times], r.[Reason]
    FROM @_Refusals AS r
    ORDER BY [Answer], [Key];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent: those whose leases ran out,
and those of a worker whose lock has been free for its grace (QueueLifeline). One row per item, with the answer RECOVERED and the
status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Where the table refuses, they come back one by one, and what it refuses is left aside: a row with the answer REFUSED, how often
it was refused, and why.
Table access order: as Job_Recover.
*/
CREATE OR ALTER PROCEDURE [readpast].[Recover_Job_trx]
    @Max int = 100,
    @Recover int = 1 /* 3 or more: unless somebody did within so many milliseconds */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;

    IF @@TRANCOUNT > 0 THROW 50012, N'Recover_Job_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Recover_Job_trx: @Max must be from 1 to 1000.', 1;

    EXECUTE [readpast].[Job_Recover] @Max = @Max, @Recover = @Recover, @Within = 0;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Claim up to @Max due items, as Next_Job_Set_trx does, and recover nothing: for a client that has met a refusal of the table.
Table access order: as Job_Recover, then as Job_Claim.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Job_Apart_trx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Job */,
    @Recover int = 0 /* as there */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_Job_Apart_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Next_Job_Set_trx]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Claim = @Claim;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Claims up to @Max due items: their Status becomes Processing, AttemptNum + 1, a lease of @Worker begins.
Called by all Next_Job_ procedures, and by Modify_Job_Set_ after a settlement (@Within = 2). Nobody is granted it.
In transactions of its own (@Within = 0) it goes around what the table refuses: again with half as many items, at last with one,
which is left aside for longer each time, and named in QueueRefused; one that is refused until its attempts are spent ends Failed,
where the table lets it. In the caller's transaction a refusal is an error, and after a settlement nothing is claimed while
there are such items.
Locks: of the items in their order, passing over those that others hold.
Returns the items as Next_Job_Set_trx does, after the commit where it is its own; or, to a caller that wants no rows, one
item's key and token in @Key and @Token, and 0 in @DueMs if it only ended items whose attempts are spent.
Table access order: QueuePause, Job, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[Job_Claim]
    @Worker nvarchar(128), @Max int, @LeaseMs int, @Recover int, @Within int, @Claim bigint = NULL, @Returns bit = 1,
    @Key datetime2(7) = NULL OUTPUT, @Token datetime2(7) = NULL OUTPUT, @DueMs bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
    DECLARE @_Take int, @_Alone int;
    DECLARE @_Paused int = 0; /* 1: some types are paused, 2: the queue is */
    DECLARE @_PausedType TABLE ([Type] nvarchar(60) NOT NULL PRIMARY KEY);
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL, [Key1] datetime2(7) NOT NULL, [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Refused] nvarchar(500) NULL, /* why the table refused it until its attempts were spent */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] nvarchar(500) NULL
    );
    DECLARE @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Refusals TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL, [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Most int = @Max;
    DECLARE @_Tries int = 0;
    DECLARE @_Refuses int; /* 1: the table refuses some, in this try */
    /* Items that are left aside now. */
    DECLARE @_Aside TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Job_Setting_V] AS s;
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N'' THROW 50021, N'Next_Job: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1 THROW 50021, N'Next_Job: @LeaseMs must be at least 1.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Next_Job: @Max must be from 1 to 1000.', 1;
    IF @Within = 2 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Job' AND r.[Doing] <> 'pause')
        SET @_Around = 1;

    WHILE @_Around = 0 AND @_Tries < 1000
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_Due;
        DELETE FROM @_Aside;
        SET @_Refuses = COALESCE((
            SELECT TOP (1) 1 FROM [readpast].[QueueRefused] AS r WITH (READUNCOMMITTED) WHERE r.[Queue] = 'Job'
        ), 0);
        SET @_Paused = 0;
        DELETE FROM @_PausedType;
        IF @_Refuses = 1
            SELECT @_Paused = COALESCE(MAX(CASE WHEN p.[Type] = N'' THEN 2 ELSE 1 END), 0)
            FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
            WHERE p.[Queue] = 'Job' AND (p.[Until] IS NULL OR p.[Until] > SYSUTCDATETIME());
        IF @_Paused = 1
            INSERT INTO @_PausedType ([Type])
            SELECT p.[Type]
            FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
            WHERE p.[Queue] = 'Job' AND (p.[Until] IS NULL OR p.[Until] > SYSUTCDATETIME());
        SET @_Locked = 0;
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            /* Recovery first: what it gives back is due at once. */
            IF @Recover > 0
                EXECUTE [readpast].[Job_Recover] @Max = 100, @Recover = @Recover, @Within = 1;
            SET @_Now = SYSUTCDATETIME();

            IF @_Refuses = 1
                INSERT INTO @_Aside ([Key1])
                SELECT k.[Key1]
                FROM [readpast].[QueueRefused] AS r WITH (READUNCOMMITTED) /* a row that is being deleted is of one that was let through */
                CROSS APPLY (SELECT TRY_CAST(NULLIF(r.[Key], N'') AS datetime2(7)) AS [Key1]) AS k
                WHERE r.[Queue] = 'Job' AND r.[Until] > @_Now AND r.[Doing] <> 'pause' AND NOT (k.[Key1] IS NULL)
                GROUP BY k.[Key1];

            /* Items that came back from the dead wait too. */
            IF @_Paused < 2
            BEGIN
                /*
                Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
                update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
                another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
                take.
                */
                SET @_Take = @Max;
                INSERT INTO @_Due ([Key1], [AttemptNum], [Alone], [Token])
                SELECT TOP (@_Take) q.[EnqueuedAt], q.[AttemptNum], CASE WHEN q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END, q.[UpdatedAt]
                FROM [readpast].[Job] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Due]))
                WHERE
                    q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @_Now
                    AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE q.[EnqueuedAt] = a.[Key1])
                    AND NOT EXISTS (SELECT 1 FROM @_PausedType AS z WHERE z.[Type] = q.[Type])
                ORDER BY q.[ScheduledFor], q.[EnqueuedAt]
                OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Take = 1));
                SET @_Locked = @@ROWCOUNT;

                IF @_Locked > 0
                BEGIN
                    /* Refusals have spent the attempts of these: they end, unless the table refuses that, too. */
                    IF @_Refuses = 1
                        UPDATE d
                        SET
                            [AttemptNum] = CASE WHEN d.[AttemptNum] < @_MaxAttempts THEN @_MaxAttempts ELSE d.[AttemptNum] END,
                            [Refused] = CONCAT(N'The table refused it ', r.[Attempts], N' times: ', r.[Reason])
                        FROM @_Due AS d
                        INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                            ON r.[Queue] = 'Job' AND r.[Key] = CONVERT(nvarchar(30), d.[Key1], 126) COLLATE Latin1_General_BIN2
                        WHERE r.[Attempts] > 0 AND d.[AttemptNum] + r.[Attempts] >= @_MaxAttempts
                        OPTION (LOOP JOIN, FORCE ORDER);

                    /*
                    An item that came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
                    such item, or with it where it is the first of all. The others are let go with the transaction.
                    */
                    SET @_Alone = (SELECT MIN(d.[Seq]) FROM @_Due AS d WHERE d.[Alone] = 1 AND d.[AttemptNum] < @_MaxAttempts);
                    IF @_Alone IS NOT NULL
                    BEGIN
                        IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[Seq] < @_Alone AND d.[AttemptNum] < @_MaxAttempts)
                            SET @_Alone = @_Alone - 1;

                        DELETE FROM @_Due WHERE [Seq] > @_Alone AND [AttemptNum] < @_MaxAttempts;
                    END;

                    UPDATE @_Due SET [Token] = CASE WHEN [Token] >= @_Now THEN DATEADD(MICROSECOND, 1, [Token]) ELSE @_Now END;

                    UPDATE q
                    SET
                        [StartedAt] = @_Now, [AttemptNum] = d.[AttemptNum] + 1, [LeaseOwner] = @Worker,
                        [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @_Now), [UpdatedAt] = d.[Token], [Status] = 'Processing',
                        [ClaimNum] = CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
                    FROM @_Due AS d
                    INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = d.[Key1]
                    WHERE d.[AttemptNum] < @_MaxAttempts AND q.[Status] IN ('Pending', 'Error')
                    OPTION (LOOP JOIN, FORCE ORDER);
                    SET @_Written = @@ROWCOUNT;

                    IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] >= @_MaxAttempts)
                    BEGIN
                        /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                        UPDATE q
                        SET
                            [LeaseUntil] = NULL,
                            [Error] = CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.', N' ' + d.[Refused]),
                            [UpdatedAt] = d.[Token], [Status] = 'Failed'
                        FROM @_Due AS d
                        INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = d.[Key1]
                        WHERE d.[AttemptNum] >= @_MaxAttempts AND q.[Status] IN ('Pending', 'Error')
                        OPTION (LOOP JOIN, FORCE ORDER);
                        SET @_Written = @_Written + @@ROWCOUNT;
                    END;

                    IF @_Written <> (SELECT COUNT(*) FROM @_Due)
                        THROW 50005, N'Job: a row that was locked for the claim changed all the same.', 1;
                END;
            END;

            /* The table has let them through. */
            IF @_Refuses = 1 AND @Within = 0
                DELETE r
                FROM @_Due AS d
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON r.[Queue] = 'Job' AND r.[Key] = CONVERT(nvarchar(30), d.[Key1], 126) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);

            IF @Within = 0
                COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @Within > 0 THROW;
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            IF [readpast].[QueueIsRefusal_fn](@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Due) THROW;

            SET @_Locked = (SELECT COUNT(*) FROM @_Due);
            IF @_Locked > 1
                SET @Max = @_Locked / 2;
            ELSE
            BEGIN
                SET @Max = @_Most;
                SELECT @_RefusedKey = CONVERT(nvarchar(30), d.[Key1], 126) COLLATE Latin1_General_BIN2
                FROM @_Due AS d;
                EXECUTE [readpast].[QueueNoteRefusal]
                    @Queue = 'Job', @Key = @_RefusedKey, @Doing = 'claim', @Number = @_Number, @Reason = @_Reason, @Times = @_Times OUTPUT;
                INSERT INTO @_Refusals ([Key1], [Times], [Reason])
                SELECT d.[Key1], @_Times, LEFT(CONCAT(N'claim: ', @_Reason), 500)
                FROM @_Due AS d;
            END;
            DELETE FROM @_Due;
        END CATCH;
    END;

    IF @Returns = 0
    BEGIN
        SELECT @Key = d.[Key1], @Token = d.[Token]
        FROM @_Due AS d
        WHERE d.[AttemptNum] < @_MaxAttempts;
        SET @DueMs = (SELECT MIN(0) FROM @_Due WHERE @Key IS NULL);
        RETURN 0;
    END;

    INSERT INTO @_Out ([Seq], [Answer], [Key], [AttemptNum], [Status])
    SELECT r.[Seq], 'REFUSED', r.[Key1], r.[Times], r.[Reason]
    FROM @_Refusals AS r;

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        1000000 + d.[Seq], CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, @LeaseMs, d.[Key1], d.[Key1],
        d.[Token], d.[AttemptNum] + 1, 'Processing'
    FROM @_Due AS d
    WHERE d.[AttemptNum] < @_MaxAttempts;

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. Items that
    were due already are in the hands of others.
    */
    IF @@ROWCOUNT = 0
        INSERT INTO @_Out ([Seq], [Answer], [DueMs])
        SELECT
            1000000, 'EMPTY',
            CASE
                WHEN @_Paused = 2
                    THEN (
                        SELECT MAX(DATEDIFF_BIG(MILLISECOND, @_Now, p.[Until]) + 1)
                        FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
                        WHERE p.[Queue] = 'Job' AND p.[Type] = N'' AND p.[Until] IS NOT NULL
                    )
                ELSE MIN(x.[DueMs])
            END
        FROM (
            /* The items here had spent their attempts, and ended: those behind them are due now. */
            SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(r.[Until])) + 1
            FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK)
            WHERE r.[Queue] = 'Job' AND r.[Until] > @_Now AND r.[Until] < '9999-01-01'
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(u.[DueAt])) + 1
            FROM (
                /* The first of them. */
                SELECT TOP (1) q.[ScheduledFor] AS [DueAt]
                FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Due]))
                WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] > @_Now
                ORDER BY q.[ScheduledFor]
            ) AS u
        ) AS x
        WHERE x.[DueMs] IS NOT NULL;

    /* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
        o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum] AS [AnswerAttemptNum], o.[Status] AS [AnswerStatus],
        q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration],
        q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], q.[Customer], q.[Rank], q.[Reference]
    FROM @_Out AS o
    LEFT JOIN [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON q.[EnqueuedAt] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Claim up to @Max due items inside the caller's transaction, to be worked on and settled there by Modify_Job_Set_utx. Others
pass over them until he commits. Rolled back, they are as they were, and no attempt is spent.
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: as Job_Recover, then as Job_Claim.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Job_Set_utx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Job */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Next_Job_Set_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;

    EXECUTE [readpast].[Job_Claim]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 1, @Claim = @Claim;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Claim up to @Max due items in one commit. An item that the table refuses is left aside: a row REFUSED, how often, and why.
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: as Job_Recover, then as Job_Claim.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Job_Set_trx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    /*
    1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. More:
    as 1, unless somebody did within so many milliseconds.
    */
    @Recover int = 1,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Job */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_Job_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Job_Claim]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 0, @Claim = @Claim;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Claim one item inside the caller's transaction, to be worked on and settled there by Modify_Job_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due.
Table access order: as Job_Recover, then as Job_Claim.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Job_utx]
    @Worker nvarchar(128) = NULL, /* the holder of the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting job.leaseMs, or else 60000 */
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Key datetime2(7), @_Token datetime2(7);
    DECLARE @_DueMs bigint = 0;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0 THROW 50012, N'Next_Job_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;

    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    /* Again where it only ended items whose attempts are spent: what comes behind them is due now. */
    WHILE @_DueMs = 0
    BEGIN
        EXECUTE [readpast].[Job_Claim]
            @Worker = @Worker, @Max = 1, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 1,
            @Returns = 0, @Key = @_Key OUTPUT, @Token = @_Token OUTPUT, @DueMs = @_DueMs OUTPUT;
        SET @Recover = 0;
    END;

    SELECT @_Key AS [EnqueuedAt], @_Token AS [UpdatedAt]
    WHERE @_Key IS NOT NULL;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_Job_trx. An item that the table refuses is left aside.
Table access order: as Job_Recover, then as Job_Claim.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Job_trx]
    @Worker nvarchar(128) = NULL, /* the holder of the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting job.leaseMs, or else 60000 */
    /* 1: first give back the items of dead workers. 3 or more: unless somebody did within so many milliseconds. */
    @Recover int = 1
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Key datetime2(7), @_Token datetime2(7);
    DECLARE @_DueMs bigint = 0;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_Job_trx commits its own work: not to be called in a transaction.', 1;

    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    /* Again where it only ended items whose attempts are spent: what comes behind them is due now. */
    WHILE @_DueMs = 0
    BEGIN
        EXECUTE [readpast].[Job_Claim]
            @Worker = @Worker, @Max = 1, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 0,
            @Returns = 0, @Key = @_Key OUTPUT, @Token = @_Token OUTPUT, @DueMs = @_DueMs OUTPUT
        WITH RESULT SETS NONE;
        SET @Recover = 0;
    END;

    SELECT @_Key AS [EnqueuedAt], @_Token AS [UpdatedAt]
    WHERE @_Key IS NOT NULL;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
In how many milliseconds a claim may find something: 0 is now, NULL is not as things stand, and -1 that somebody is to look for
the items of dead workers, as nobody has within @Recover milliseconds. It keeps no lock, passes over what others hold, and
notes free locks of workers. More may look due than a claim gets: what waits behind its group, what is of a kind that the caller does not claim.
Called by QueueDue.
Table access order: QueueRecovery, QueueLifeline, Job, QueuePause, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[Due_Job]
    @Recover int, @DueMs bigint OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7); /* UTC */

    SET @_Now = SYSUTCDATETIME();

    IF EXISTS (
        SELECT 1
        FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = 'Job' AND ABS(DATEDIFF_BIG(MILLISECOND, r.[LookedAt], @_Now)) >= 500
    )
        AND EXISTS (
            SELECT 1 FROM [readpast].[Job] AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_InFlight]))
            WHERE q.[Status] = 'Processing'
        )
        EXECUTE [readpast].[QueueLifelineLook] 'Job', @_Now;

    SET @DueMs = -1;
    IF EXISTS (
        SELECT 1
        FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = 'Job' AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) >= @Recover
    )
        AND EXISTS (
            SELECT 1 FROM [readpast].[Job] AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_InFlight]))
            WHERE q.[Status] = 'Processing'
        )
        RETURN;

    SET @DueMs = 0;
    IF EXISTS (
        SELECT 1
        FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Due]))
        WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @_Now
    )
    BEGIN
        SELECT @DueMs = CASE WHEN p.[Until] IS NOT NULL THEN DATEDIFF_BIG(MILLISECOND, @_Now, p.[Until]) + 1 END
        FROM [readpast].[QueuePause] AS p WITH (ROWLOCK)
        WHERE p.[Queue] = 'Job' AND p.[Type] = N'' AND (p.[Until] IS NULL OR p.[Until] > @_Now);
        RETURN;
    END;

    SET @DueMs = (
        SELECT MIN(x.[DueMs])
        FROM (
            SELECT CAST(NULL AS bigint) AS [DueMs]
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(r.[Until])) + 1
            FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK)
            WHERE r.[Queue] = 'Job' AND r.[Until] > @_Now AND r.[Until] < '9999-01-01'
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(u.[DueAt])) + 1
            FROM (
                /* The first of them. */
                SELECT TOP (1) q.[ScheduledFor] AS [DueAt]
                FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Due]))
                WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] > @_Now
                ORDER BY q.[ScheduledFor]
            ) AS u
        ) AS x
        WHERE x.[DueMs] IS NOT NULL
    );
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and waits for no lock.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Claimed_Job]
    @Worker nvarchar(128), @Claim bigint
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] varchar(20) NULL
    );
    SET @_Now = SYSUTCDATETIME();

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        ROW_NUMBER() OVER (ORDER BY q.[ScheduledFor], q.[EnqueuedAt]), CASE WHEN q.[ClaimNum] < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        DATEDIFF_BIG(MILLISECOND, @_Now, q.[LeaseUntil]) + 1, q.[EnqueuedAt], q.[EnqueuedAt], q.[UpdatedAt], q.[AttemptNum], 'Processing'
    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_InFlight]))
    WHERE q.[Status] = 'Processing' AND q.[ClaimNum] IN (@Claim, -@Claim) AND q.[LeaseOwner] = @Worker AND q.[LeaseUntil] > @_Now
    OPTION (LOOP JOIN, FORCE ORDER);

    /* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
        o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum] AS [AnswerAttemptNum], o.[Status] AS [AnswerStatus],
        q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration],
        q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], q.[Customer], q.[Rank], q.[Reference]
    FROM @_Out AS o
    LEFT JOIN [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON q.[EnqueuedAt] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The answers of a settlement or a redrive that was made before. Nothing is changed.
Called by Job_Settle and Redrive_Job_Set_trx, where QueueOperationTake says so. Nobody is granted it.
Table access order: QueueOperation, Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Job_Answered]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    DECLARE @_Now datetime2(7); /* UTC: when the call was made */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL,
        [Token] datetime2(7) NULL, [Attempt] int NULL, [Status] varchar(20) NULL
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL,
        [Status] varchar(20) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token], [Attempt], [Status])
    SELECT CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Token], r.[Attempt], r.[Status]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key1] datetime2(7) '$.key', [Token] datetime2(7) '$.token', [Attempt] int '$.attempt', [Status] varchar(20) '$.status'
    ) AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));

    /* Items that were not OK get the answer that was kept, the others are read back. */
    SELECT @_Result = p.[Result], @_Now = p.[At]
    FROM [readpast].[QueueOperation] AS p
    WHERE p.[OperationId] = @Operation;

    INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
    SELECT
        i.[Ordinal], 'OK', CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN 'Pending' END,
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[Status] END, q.[UpdatedAt],
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[AttemptNum] END
    FROM @_Item AS i
    LEFT JOIN [readpast].[Job] AS q ON q.[EnqueuedAt] = i.[Key1]
    OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE k
    SET [Answer] = r.[answer]
    FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
    INNER JOIN @_Work AS k ON k.[Ordinal] = r.[ordinal]
    OPTION (LOOP JOIN, FORCE ORDER);

    /* A completed item may have left the table: it was answered for like this. */
    UPDATE k
    SET
        [Token] = CASE WHEN i.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, i.[Token]) ELSE @_Now END,
        [AttemptNum] = i.[Attempt], [Status] = 'Completed'
    FROM @_Item AS i
    INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
    WHERE k.[Answer] = 'OK' AND k.[Was] IS NULL AND i.[Status] = 'Completed'
    OPTION (LOOP JOIN, FORCE ORDER);

    SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
    ORDER BY w.[Ordinal];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Judges settlements of all callers (a worker, an operator, a program), and writes those that are OK.
Called by all Modify_Job_ procedures, in a transaction. Nobody is granted it.
Items come as a JSON array, or one of them (@IsOne = 1) in the parameters behind.
Locks: the call's row in QueueOperation; then the items, in the order of their keys, each waited for.
Returns a row per item with its answer, or, to a caller that wants no rows, the answer of one in @Answer, and in @Is its state now.
An item whose answer is not OK is untouched.
Table access order: QueueOperation, Job, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Job_Settle]
    @Operation uniqueidentifier, @Worker nvarchar(128), @LeaseMs int, @Items nvarchar(max) = NULL,
    @IsNew bit = NULL OUTPUT, /* 0: the call was made before, and nothing is changed */
    @IsOne bit = 0, @Key datetime2(7) = NULL,
    @Token datetime2(7) = NULL, @Attempt int = NULL, @Status varchar(20) = NULL, @Step nvarchar(60) = NULL,
    @Response nvarchar(max) = NULL, @Error nvarchar(max) = NULL, @DueAt datetime2(7) = NULL,
    @Set nvarchar(max) = NULL, @Returns bit = 1, @Answer varchar(20) = NULL OUTPUT, @Is varchar(20) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max), @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL,
        [Attempt] int NULL, [Status] varchar(20) NULL, [Step] nvarchar(60) NULL, [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL, [DueAt] datetime2(7) NULL, [Release] bit NULL,
        [Set] nvarchar(max) NULL, /* a JSON object of columns */
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL,
        [Status] varchar(20) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    DECLARE @_Sets bit = 0;
    DECLARE @_Written int = 0;

    /* As of many. */
    IF @Set IS NOT NULL SET @Items = CONCAT(N'[{"set": ', @Set, N'}]');
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'token', N'attempt', N'status', N'step', N'response', N'error', N'release', N'set', N'due', N'delay_ms')
                OR m.[key] LIKE N'% '
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'$.set') AS m
            WHERE
                m.[key] NOT IN (N'Customer', N'Rank', N'Reference')
                OR m.[key] LIKE N'% '
        )
        EXECUTE [readpast].[QueueTake] N'Modify_Job', @Items OUTPUT, N'{
            "key": "timestamp", "token": "timestamp", "attempt": "integer", "status": "text(20)",
            "step": "text(60)", "response": "text", "error": "text", "release": "boolean",
            "set": {
                "Customer": "text(40)", "Rank": "integer not null", "Reference": "guid"
            },
            "due": "timestamp", "delay_ms": "milliseconds (from 0 to 2147483647000)"
        }';

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Job_Setting_V] AS s;
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N'' THROW 50021, N'Modify_Job: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1 THROW 50021, N'Modify_Job: @LeaseMs must be at least 1.', 1;

    IF @IsOne = 1
        INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set])
        SELECT 0, @Key,
            @Key, @Token, @Attempt, @Status, @Step, @Response, @Error, @DueAt, JSON_QUERY(@Items, '$[0].set');
    ELSE
        INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set], [Token])
        SELECT
            CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Attempt], r.[Status], r.[Step], r.[Response], r.[Error],
            COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, SYSUTCDATETIME()))),
            r.[Release], r.[Set], r.[Token]
        FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
            [Key1] datetime2(7) '$.key', [Attempt] int '$.attempt', [Status] varchar(20) '$.status', [Step] nvarchar(max) '$.step',
            [Response] nvarchar(max) '$.response', [Error] nvarchar(max) '$.error', [DueAt] datetime2(7) '$.due',
            [DelayMs] bigint '$.delay_ms', [Release] bit '$.release', [Set] nvarchar(max) '$.set' AS JSON, [Token] datetime2(7) '$.token'
        ) AS r
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = (SELECT COUNT(*) FROM @_Item);

    SET @_Sets = CASE WHEN EXISTS (SELECT 1 FROM @_Item AS i WHERE i.[Set] IS NOT NULL) THEN 1 ELSE 0 END;
    SET @_Now = SYSUTCDATETIME();

    EXECUTE [readpast].[QueueOperationTake] @Operation, 'Modify_Job_Set', @_Now, @IsNew OUTPUT;
    IF @IsNew = 0
    BEGIN
        EXECUTE [readpast].[Job_Answered] @Operation = @Operation, @Items = @Items;
        RETURN 0;
    END;

    /* Lock the items, in the order of their keys, and judge each as it is now. */
    INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
    SELECT i.[Ordinal], j.[Answer], q.[Status], j.[Status], j.[Token], j.[AttemptNum]
    FROM (
        SELECT TOP (@_Count) o.*, ROW_NUMBER() OVER (PARTITION BY o.[Key1] ORDER BY o.[Ordinal]) AS [Place]
        FROM @_Item AS o
        ORDER BY o.[Key1], o.[Ordinal]
    ) AS i
    LEFT JOIN [readpast].[Job] AS q WITH (UPDLOCK, ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
    LEFT JOIN [readpast].[QueueTransition] AS t ON t.[FromStatus] = q.[Status] AND t.[ToStatus] = i.[Status]
    CROSS APPLY [readpast].[QueueJudge_fn](
        @_Now, @Worker, @_MaxAttempts, q.[Status], q.[AttemptNum], q.[UpdatedAt], q.[LeaseOwner], i.[Token], i.[Attempt], i.[Place],
        CASE WHEN i.[Status] IS NULL AND q.[Status] IN ('Pending', 'Error', 'Paused') THEN q.[Status] ELSE t.[ToStatus] END,
        CASE WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL OR i.[Set] IS NOT NULL THEN 1 ELSE 0 END, i.[Release], 0
    ) AS j
    /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

    /* Values to set in the items whose settlement counts: their rows are locked, and written to below as well. */
    IF @_Sets = 1
        UPDATE q
        SET
            [Customer] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE q.[Customer] END,
            [Rank] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE q.[Rank] END,
            [Reference] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE q.[Reference] END
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
        CROSS APPLY OPENJSON(i.[Set]) WITH (
            [Value1] nvarchar(max) '$."Customer"', [Value2] int '$."Rank"', [Value3] uniqueidentifier '$."Reference"'
        ) AS v
        CROSS APPLY (
            SELECT
                MAX(CASE WHEN n.[key] = N'Customer' THEN 1 ELSE 0 END) AS [Value1],
                MAX(CASE WHEN n.[key] = N'Rank' THEN 1 ELSE 0 END) AS [Value2],
                MAX(CASE WHEN n.[key] = N'Reference' THEN 1 ELSE 0 END) AS [Value3]
            FROM OPENJSON(i.[Set]) AS n
        ) AS h
        WHERE k.[Answer] = 'OK' AND i.[Set] IS NOT NULL
        OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE q
    SET
        [ScheduledFor] = COALESCE(COALESCE(
            i.[DueAt],
            CASE
                WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
                    THEN (
                        SELECT b.[RetryAt]
                        FROM [readpast].[QueueBackoff_fn](
                            @_Now, k.[AttemptNum], 5000, 2.0, 3600000, 0.5, ABS(CHECKSUM(NEWID()) % 10001) / 10000.0
                        ) AS b
                    )
            END
        ), q.[ScheduledFor]),
        [StartedAt] = CASE WHEN k.[Was] <> 'Processing' AND k.[Status] = 'Processing' THEN @_Now ELSE q.[StartedAt] END,
        [Duration] = COALESCE(CASE
            WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @_Now)
        END, q.[Duration]),
        [AttemptNum] = k.[AttemptNum],
        [LeaseOwner] = CASE WHEN k.[Was] <> 'Processing' AND k.[Status] = 'Processing' THEN @Worker ELSE q.[LeaseOwner] END,
        [LeaseUntil] = CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
        [Step] = COALESCE(i.[Step], q.[Step]), [Response] = COALESCE(i.[Response], q.[Response]),
        [Error] = COALESCE(i.[Error], CASE
            WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                THEN CONCAT(N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.')
            WHEN k.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
            ELSE q.[Error]
        END),
        [UpdatedAt] = k.[Token], [Status] = k.[Status]
    FROM @_Item AS i
    INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
    INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
    WHERE k.[Answer] = 'OK'
    OPTION (LOOP JOIN, FORCE ORDER);
    SET @_Written = @@ROWCOUNT;

    IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
        THROW 50005, N'Job: a row that was locked for the change changed all the same.', 1;

    /* An item that was OK is read back from the items. */
    IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
    BEGIN
        SET @_Result = (
            SELECT w.[Ordinal] AS [ordinal], w.[Answer] AS [answer]
            FROM @_Work AS w
            WHERE w.[Answer] <> 'OK'
            FOR JSON PATH
        );
        EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
    END;

    IF @Returns = 0
        SELECT @Answer = w.[Answer], @Is = w.[Status]
        FROM @_Work AS w;
    ELSE
        SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Work AS w
        INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
        ORDER BY w.[Ordinal];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Settle many items inside the caller's transaction and, with @Max above 0, claim the next ones there: done when it
commits, undone with its other work when it does not. A refusal is an answer, and leaves the transaction as it is;
an error ends it (XACT_ABORT).
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status
(left out for an edit: an item that waits stays as it is, but for its values and its due time), and where wanted step, response,
error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_Job_Set_trx returns them. An error may follow the rows: read to the end.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Job returns by its @Claim.
Table access order: QueueOperation, Job, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Job_Set_utx]
    @Operation uniqueidentifier, @Worker nvarchar(128), @Items nvarchar(max), @Max int = 0, @LeaseMs int = NULL, @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Job */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_Job_Set_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000 THROW 50021, N'Modify_Job_Set_utx: @Max must be from 0 to 1000.', 1;

    EXECUTE [readpast].[Job_Settle]
        @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items, @IsNew = @_IsNew OUTPUT;
    IF @Max > 0 AND @_IsNew = 1
        EXECUTE [readpast].[Job_Claim]
            @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2, @Claim = @Claim;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status
(left out for an edit: an item that waits stays as it is, but for its values and its due time), and where wanted step, response,
error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_Job_Set_trx returns them. An error may follow the rows: read to the end.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Job returns by its @Claim.
Table access order: QueueOperation, Job, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Job_Set_trx]
    @Operation uniqueidentifier, @Worker nvarchar(128), @Items nvarchar(max), @Max int = 0, @LeaseMs int = NULL, @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Job */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit;

    IF @@TRANCOUNT > 0 THROW 50012, N'Modify_Job_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000 THROW 50021, N'Modify_Job_Set_trx: @Max must be from 0 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        EXECUTE [readpast].[Job_Settle]
            @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items, @IsNew = @_IsNew OUTPUT;
        IF @Max > 0 AND @_IsNew = 1
            EXECUTE [readpast].[Job_Claim]
                @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2, @Claim = @Claim;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as Modify_Job_Set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. A refusal leaves the transaction as it is; an error ends it (XACT_ABORT).
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: Job, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Job_utx]
    @EnqueuedAt datetime2(7),
    @UpdatedAt datetime2(7), /* the concurrency token */
    @Status varchar(20),
    @Step nvarchar(60) = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response nvarchar(max) = NULL, /* NULL keeps it */
    @Error nvarchar(max) = NULL, /* NULL keeps it */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0 THROW 50012, N'Modify_Job_utx works inside the transaction of its caller; begin one first.', 1;

    SET @Worker = COALESCE(NULLIF(@Worker, N''), CONCAT(SUSER_SNAME(), N'/', @@SPID));
    EXECUTE [readpast].[Job_Settle]
        @Operation = NULL, @Worker = @Worker, @LeaseMs = NULL, @IsOne = 1, @Key = @EnqueuedAt, @Token = @UpdatedAt,
        @Attempt = @AttemptNum, @Status = @Status, @Step = @Step, @Response = @Response, @Error = @Error,
        @DueAt = @ScheduledFor, @Set = @Set;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: Job, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Job_trx]
    @EnqueuedAt datetime2(7),
    @UpdatedAt datetime2(7), /* the concurrency token */
    @Status varchar(20),
    @Step nvarchar(60) = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response nvarchar(max) = NULL, /* NULL keeps it */
    @Error nvarchar(max) = NULL, /* NULL keeps it */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Answer varchar(20), @_Is varchar(20);
    DECLARE @_Asked nvarchar(100) = @Status;

    IF @@TRANCOUNT > 0 THROW 50012, N'Modify_Job_trx commits its own work: not to be called in a transaction.', 1;

    SET @Worker = COALESCE(NULLIF(@Worker, N''), CONCAT(SUSER_SNAME(), N'/', @@SPID));
    BEGIN TRY
        BEGIN TRANSACTION;
        EXECUTE [readpast].[Job_Settle]
            @Operation = NULL, @Worker = @Worker, @LeaseMs = NULL, @IsOne = 1, @Key = @EnqueuedAt, @Token = @UpdatedAt,
            @Attempt = @AttemptNum, @Status = @Status, @Step = @Step, @Response = @Response, @Error = @Error,
            @DueAt = @ScheduledFor, @Set = @Set, @Returns = 0, @Answer = @_Answer OUTPUT, @Is = @_Is OUTPUT
        WITH RESULT SETS NONE;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    EXECUTE [readpast].[QueueRefuse] N'Modify_Job_trx', @_Answer, @_Is, @_Asked;
    SELECT v.*
    FROM [readpast].[Worker_Job_V] AS v
    WHERE v.[EnqueuedAt] = @EnqueuedAt;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Extend the leases of a worker's items, counted from now on the server's clock.
@Items is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. OK without a status is
an item whose row somebody holds: its lease is as it was.
Neither the token nor an indexed column changes, so a renewal never makes the worker's own settle fail.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Renew_Job_Set_trx]
    @Worker nvarchar(128), @Items nvarchar(max), @LeaseMs int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Attempt] int NULL, UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0 THROW 50012, N'Renew_Job_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'attempt')
                OR m.[key] LIKE N'% '
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        EXECUTE [readpast].[QueueTake] N'Renew_Job_Set_trx', @Items OUTPUT, N'{
            "key": "timestamp", "attempt": "integer"
        }';

    SET @LeaseMs = COALESCE(@LeaseMs, (SELECT s.[LeaseMs] FROM [readpast].[Job_Setting_V] AS s));
    IF @LeaseMs < 1 THROW 50021, N'Renew_Job_Set_trx: @LeaseMs must be at least 1.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Attempt])
    SELECT CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Attempt]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] datetime2(7) '$.key', [Attempt] int '$.attempt') AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], [Key1], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN
                    q.[Status] = 'Processing' AND q.[LeaseOwner] = @Worker AND q.[AttemptNum] = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal], i.[Key], i.[Key1], q.[UpdatedAt], q.[AttemptNum], q.[Status]
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
        LEFT JOIN [readpast].[Job] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = i.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        SET @_Now = SYSUTCDATETIME();

        UPDATE q
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @_Now)
        FROM @_Out AS o
        INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = o.[Key1]
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION;

        /*
        A row that somebody holds was passed over, or one long transaction would have the leases of all others run out. A look
        without locks finds it: its holder settles it or takes it away, and its lease stays as it is. One that it does not find is
        deleted; until that is committed, the last look waits (it sees the version before where readers do not wait for writers), with
        all that could be renewed behind it.
        */
        UPDATE o
        SET [Answer] = 'OK'
        FROM @_Out AS o
        INNER JOIN [readpast].[Job] AS q WITH (READUNCOMMITTED) ON q.[EnqueuedAt] = o.[Key1]
        WHERE o.[Status] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        IF EXISTS (SELECT 1 FROM @_Out AS o WHERE o.[Answer] <> 'OK' AND o.[Status] IS NULL)
            UPDATE o
            SET [Answer] = 'OK'
            FROM @_Out AS o
            INNER JOIN [readpast].[Job] AS q ON q.[EnqueuedAt] = o.[Key1]
            WHERE o.[Status] IS NULL
            OPTION (LOOP JOIN, FORCE ORDER);
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum], o.[Status]
    FROM @_Out AS o
    ORDER BY o.[Seq];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Figures about the queue, one row each: its name and its value. One pass over the table gives the counts; rows that
somebody holds at that moment are not in them, so that nobody is waited for. Means and percentiles are of the 10,000
newest items that a worker has started and finished. Times in milliseconds: wait is from when an item was due, or
enqueued, to the start of its last attempt, claimed from there to its end, with the wait in the worker's hand.
workers.needed is Little's law: the arrivals of the last hour per millisecond, times the mean time claimed, divided by 0.8 so that
workers are idle for a fifth of their time and waits stay short; at least one while items are due or in flight.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Stats_Job]
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count bigint, @_Arrivals bigint, @_ClaimedMean float, @_WaitMean float;
    DECLARE @_State TABLE (
        [Status] varchar(20) NOT NULL PRIMARY KEY, [Items] bigint NOT NULL,
        [Late] bigint NULL, /* in work, the lease over */
        [Due] bigint NULL,
        [Oldest] datetime2(7) NULL, /* the earliest due time, by the table's clock */
        [Arrived] bigint NULL /* within the last hour */
    );
    DECLARE @_Recent TABLE ([WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL);

    SET @_Now = SYSUTCDATETIME();

    INSERT INTO @_State ([Status], [Items], [Late], [Due], [Oldest], [Arrived])
    SELECT x.[Status],
        COUNT_BIG(*), SUM(CASE WHEN x.[Status] = 'Processing' AND x.[Until] <= @_Now THEN 1 ELSE 0 END),
        SUM(x.[IsDue]), NULLIF(MIN(CASE WHEN x.[IsDue] = 1 THEN x.[Began] ELSE '9999-12-31' END), '9999-12-31'), SUM(x.[IsNew])
    FROM (
        SELECT
            q.[Status] AS [Status], q.[LeaseUntil] AS [Until],
            CASE WHEN q.[Status] IN ('Pending', 'Error') AND (q.[ScheduledFor] IS NULL OR q.[ScheduledFor] <= @_Now) THEN 1 ELSE 0 END AS [IsDue],
            CAST(q.[ScheduledFor] AS datetime2(7)) AS [Began],
            CASE WHEN q.[EnqueuedAt] > DATEADD(HOUR, -1, @_Now) AND q.[EnqueuedAt] <= DATEADD(MINUTE, 1, @_Now) THEN 1 ELSE 0 END AS [IsNew]
        FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    ) AS x
    GROUP BY x.[Status];
    SET @_Arrivals = COALESCE((SELECT SUM(s.[Arrived]) FROM @_State AS s), 0);

    INSERT INTO @_Recent ([WaitMs], [ClaimedMs])
    SELECT TOP (10000)
        CASE
            WHEN x.[StartedAt] > x.[Began] THEN DATEDIFF_BIG(MILLISECOND, x.[Began], x.[StartedAt])
            WHEN x.[Began] IS NOT NULL THEN 0
        END,
        x.[Duration]
    FROM (
        SELECT
            q.[Status] AS [Status], q.[EnqueuedAt], q.[StartedAt] AS [StartedAt], CAST(q.[Duration] AS bigint) AS [Duration],
            q.[ScheduledFor] AS [Began]
        FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    ) AS x
    WHERE x.[Duration] IS NOT NULL AND x.[StartedAt] IS NOT NULL AND x.[Duration] >= 0
    ORDER BY x.[EnqueuedAt] DESC;

    SELECT
        @_Count = COUNT_BIG(*), @_ClaimedMean = AVG(CAST(r.[ClaimedMs] AS float)),
        @_WaitMean = (SELECT AVG(CAST(w.[WaitMs] AS float)) FROM @_Recent AS w WHERE w.[WaitMs] IS NOT NULL)
    FROM @_Recent AS r;

    SELECT CONCAT('count.', s.[Status]) AS [Name], CAST(COALESCE(i.[Items], 0) AS bigint) AS [Value]
    FROM [readpast].[QueueStatus] AS s
    LEFT JOIN @_State AS i ON i.[Status] = s.[Status]
    UNION ALL
    SELECT v.[Name], v.[Value]
    FROM (
        SELECT
            COALESCE(SUM(i.[Due]), 0) AS [Due], MIN(i.[Oldest]) AS [Oldest], COALESCE(SUM(i.[Late]), 0) AS [Late],
            COALESCE(SUM(CASE WHEN i.[Status] = 'Processing' THEN i.[Items] - i.[Late] END), 0) AS [Held],
            MAX(CASE WHEN i.[Status] = 'Processing' OR i.[Due] > 0 THEN 1 ELSE 0 END) AS [IsWork]
        FROM @_State AS i
    ) AS a
    CROSS APPLY (VALUES
        ('due.count', a.[Due]), ('due.oldest_ms', DATEDIFF_BIG(MILLISECOND, a.[Oldest], @_Now)),
        ('lease.expired', a.[Late]), ('sample.items', @_Count), ('claimed.mean_ms', CAST(@_ClaimedMean AS bigint)),
        ('wait.mean_ms', CAST(@_WaitMean AS bigint)), ('arrivals.last_hour', @_Arrivals), ('claimed.count', a.[Held]),
        (
            'workers.needed',
            CASE
                WHEN @_Arrivals IS NULL THEN NULL
                WHEN CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) >= 1
                    THEN CAST(CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) AS bigint)
                ELSE COALESCE(a.[IsWork], 0)
            END
        )
    ) AS v ([Name], [Value])
    UNION ALL
    SELECT CONCAT(r.[Metric], '.', p.[Name], '_ms'), r.[Ms]
    FROM (
        SELECT
            x.[Metric], x.[Ms], ROW_NUMBER() OVER (PARTITION BY x.[Metric] ORDER BY x.[Ms]) AS [Rank],
            COUNT_BIG(*) OVER (PARTITION BY x.[Metric]) AS [Of]
        FROM @_Recent AS m
        CROSS APPLY (VALUES ('wait', m.[WaitMs]), ('claimed', m.[ClaimedMs])) AS x ([Metric], [Ms])
        WHERE x.[Ms] IS NOT NULL
    ) AS r
    INNER JOIN (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent]) ON r.[Rank] = (r.[Of] * p.[Percent] + 99) / 100;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
@Most rows and one by an index, and passes over rows that somebody holds at that moment. Looks: what waits, in the order
of the claim; what is in flight; what has ended other than Completed, the newest first; and the newest items of all.
A row is a figure, with its value and, if that is so, Capped: there are as many or more.
worker: how many items it holds (Value), and for how long the oldest of them (Ms); its name is Detail.
error.<state>: how many of the items looked at say Detail as the first line of their error, and the key of one of them.
window.items: how many of the newest items the figures count and arrivals are of; Capped says that there are more. wait,
claimed: of those of them, and of those before what was taken last, that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (Ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (Ms). due.within_hour: how many are due later, within an hour. came.last_hour:
the arrivals that are no longer scheduled for later, and how long ago the first of them came (Ms).
type.<figure>: the same of one type, which is Detail: waiting, due (Ms: for how long the oldest), flying, ended, arrivals (both of the last
hour), claimed_mean_ms.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Watch_Job]
    @Most int = 10000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Edge datetime2(7), @_Newest datetime2(7);
    DECLARE @_Seen TABLE (
        [Look] char(1) NOT NULL, /* Waiting, Flying, Stopped, Newest of all, Before what was taken, of the History */
        [Key] nvarchar(4000) NULL, [Status] varchar(20) NOT NULL, [Detail] nvarchar(200) NULL,
        [EnqueuedAt] datetime2(7) NULL, [StartedAt] datetime2(7) NULL, [ClaimedMs] bigint NULL,
        [DueAt] datetime2(7) NULL, [Owner] nvarchar(128) NULL, [Until] datetime2(7) NULL, [Type] nvarchar(60) NULL
    );
    DECLARE @_Measured TABLE ([WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL, [EndedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NULL);
    DECLARE @_Look TABLE ([Look] char(1) NOT NULL PRIMARY KEY, [Capped] bit NOT NULL);

    IF @Most IS NULL OR @Most < 1 OR @Most > 1000000 THROW 50021, N'Watch_Job: @Most must be from 1 to 1000000.', 1;

    SET @_Now = SYSUTCDATETIME();

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until], [Type])
    SELECT TOP (@Most + 1)
        'W', CONVERT(nvarchar(30), CAST(q.[EnqueuedAt] AS datetime2(7)), 126), q.[Status], LEFT(q.[Error], 200), q.[EnqueuedAt],
        q.[StartedAt], CAST(q.[Duration] AS bigint), q.[ScheduledFor], q.[LeaseOwner], q.[LeaseUntil], CAST(q.[Type] AS nvarchar(60))
    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Due]))
    WHERE q.[Status] IN ('Pending', 'Error')
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until], [Type])
    SELECT TOP (@Most + 1)
        'F', CONVERT(nvarchar(30), CAST(q.[EnqueuedAt] AS datetime2(7)), 126), q.[Status], LEFT(q.[Error], 200), q.[EnqueuedAt],
        q.[StartedAt], CAST(q.[Duration] AS bigint), q.[ScheduledFor], q.[LeaseOwner], q.[LeaseUntil], CAST(q.[Type] AS nvarchar(60))
    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_InFlight]))
    WHERE q.[Status] = 'Processing';

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until], [Type])
    SELECT TOP (@Most + 1)
        'S', CONVERT(nvarchar(30), CAST(q.[EnqueuedAt] AS datetime2(7)), 126), q.[Status], LEFT(q.[Error], 200), q.[EnqueuedAt],
        q.[StartedAt], CAST(q.[Duration] AS bigint), q.[ScheduledFor], q.[LeaseOwner], q.[LeaseUntil], CAST(q.[Type] AS nvarchar(60))
    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Ended]))
    WHERE q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
    ORDER BY q.[EnqueuedAt] DESC;

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until], [Type])
    SELECT TOP (@Most + 1)
        'N', CONVERT(nvarchar(30), CAST(q.[EnqueuedAt] AS datetime2(7)), 126), q.[Status], LEFT(q.[Error], 200), q.[EnqueuedAt],
        q.[StartedAt], CAST(q.[Duration] AS bigint), q.[ScheduledFor], q.[LeaseOwner], q.[LeaseUntil], CAST(q.[Type] AS nvarchar(60))
    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    ORDER BY q.[EnqueuedAt] DESC;

    /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
    SET @_Edge = (SELECT MAX(s.[EnqueuedAt]) FROM @_Seen AS s WHERE s.[Look] = 'F');
    IF @_Edge IS NULL SET @_Edge = (SELECT MIN(s.[EnqueuedAt]) FROM @_Seen AS s WHERE s.[Look] = 'W');
    SET @_Newest = (SELECT MIN(s.[EnqueuedAt]) FROM @_Seen AS s WHERE s.[Look] = 'N');
    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until], [Type])
    SELECT TOP (@Most + 1)
        'B', CONVERT(nvarchar(30), CAST(q.[EnqueuedAt] AS datetime2(7)), 126), q.[Status], LEFT(q.[Error], 200), q.[EnqueuedAt],
        q.[StartedAt], CAST(q.[Duration] AS bigint), q.[ScheduledFor], q.[LeaseOwner], q.[LeaseUntil], CAST(q.[Type] AS nvarchar(60))
    FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE q.[EnqueuedAt] <= @_Edge AND q.[EnqueuedAt] < @_Newest
    ORDER BY q.[EnqueuedAt] DESC;

    INSERT INTO @_Look ([Look], [Capped])
    SELECT s.[Look], CASE WHEN COUNT(*) > @Most THEN 1 ELSE 0 END
    FROM @_Seen AS s
    GROUP BY s.[Look];

    INSERT INTO @_Measured ([WaitMs], [ClaimedMs], [EndedAt], [Type])
    SELECT
        CASE
            WHEN s.[StartedAt] > COALESCE(s.[DueAt], s.[EnqueuedAt])
                THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[DueAt], s.[EnqueuedAt]), s.[StartedAt])
            WHEN COALESCE(s.[DueAt], s.[EnqueuedAt]) IS NOT NULL THEN 0
        END,
        s.[ClaimedMs], DATEADD(MILLISECOND, s.[ClaimedMs] % 1000, DATEADD(SECOND, s.[ClaimedMs] / 1000, s.[StartedAt])), s.[Type]
    FROM @_Seen AS s
    WHERE
        s.[Look] IN ('N', 'B', 'H') AND s.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
        AND s.[StartedAt] IS NOT NULL AND s.[ClaimedMs] BETWEEN 0 AND 1000000000000;

    SELECT
        f.[Name], CASE WHEN l.[Capped] = 1 AND f.[Name] <> 'due.oldest_ms' AND f.[Value] > @Most THEN @Most ELSE f.[Value] END AS [Value],
        CASE WHEN l.[Capped] = 1 OR f.[Look] = '+' THEN CAST(1 AS bit) ELSE CAST(0 AS bit) END AS [Capped], f.[Ms], f.[Detail], f.[Key]
    FROM (
        SELECT
            CAST(CONCAT('count.', q.[Status]) AS varchar(40)) AS [Name],
            CAST(COALESCE(c.[Items], 0) AS bigint) AS [Value], g.[Look], CAST(NULL AS bigint) AS [Ms],
            CAST(NULL AS nvarchar(200)) AS [Detail], CAST(NULL AS nvarchar(4000)) AS [Key]
        FROM [readpast].[QueueStatus] AS q
        CROSS APPLY (
            SELECT CASE
                WHEN q.[Status] IN ('Pending', 'Error') THEN 'W'
                WHEN q.[Status] = 'Processing' THEN 'F'
                WHEN q.[Status] <> 'Completed' THEN 'S' ELSE 'N'
            END AS [Look]
        ) AS g
        LEFT JOIN (
            SELECT s.[Look], s.[Status], COUNT_BIG(*) AS [Items]
            FROM @_Seen AS s
            GROUP BY s.[Look], s.[Status]
        ) AS c ON c.[Status] = q.[Status] AND c.[Look] = g.[Look]
        UNION ALL
        SELECT v.[Name], v.[Value], v.[Look], v.[Ms], NULL, NULL
        FROM (
            SELECT
                COUNT_BIG(CASE WHEN w.[Waits] = 1 AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now) THEN 1 END) AS [Due],
                COUNT_BIG(CASE WHEN w.[Waits] = 1 AND s.[DueAt] > @_Now AND s.[DueAt] <= DATEADD(HOUR, 1, @_Now) THEN 1 END) AS [Soon],
                MIN(CASE WHEN w.[Waits] = 1 AND w.[Began] <= @_Now THEN w.[Began] END) AS [Oldest],
                COUNT_BIG(CASE WHEN w.[Flies] = 1 AND s.[Until] <= @_Now THEN 1 END) AS [Late],
                COUNT_BIG(CASE WHEN w.[Flies] = 1 AND (s.[Until] IS NULL OR s.[Until] > @_Now) THEN 1 END) AS [Held],
                COUNT_BIG(CASE WHEN s.[Look] = 'N' THEN 1 END) AS [Newest],
                COUNT_BIG(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN 1 END) AS [Came],
                MIN(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN s.[EnqueuedAt] END) AS [CameFirst],
                MAX(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN s.[EnqueuedAt] END) AS [CameLast],
                COUNT_BIG(w.[Arrived]) AS [Arrived], COUNT_BIG(CASE WHEN w.[IsReady] = 1 THEN w.[Arrived] END) AS [Ready],
                MIN(CASE WHEN w.[IsReady] = 1 THEN w.[Arrived] END) AS [ReadyFirst]
            FROM @_Seen AS s
            CROSS APPLY (
                SELECT
                    CASE WHEN s.[Look] = 'W' AND s.[Status] IN ('Pending', 'Error') THEN 1 ELSE 0 END AS [Waits],
                    CASE WHEN s.[Look] = 'F' AND s.[Status] = 'Processing' THEN 1 ELSE 0 END AS [Flies],
                    CASE
                        WHEN s.[Look] IN ('N', 'H') AND s.[EnqueuedAt] > DATEADD(HOUR, -1, @_Now) AND s.[EnqueuedAt] <= DATEADD(MINUTE, 1, @_Now)
                            THEN s.[EnqueuedAt]
                    END AS [Arrived],
                    CASE WHEN s.[Status] <> 'Pending' OR s.[DueAt] IS NULL OR s.[DueAt] <= @_Now THEN 1 ELSE 0 END AS [IsReady],
                    COALESCE(s.[DueAt], s.[EnqueuedAt]) AS [Began]
            ) AS w
        ) AS a
        CROSS JOIN (
            SELECT
                COUNT_BIG(*) AS [Items], CAST(AVG(CAST(m.[WaitMs] AS float)) AS bigint) AS [WaitMs],
                CAST(AVG(CAST(m.[ClaimedMs] AS float)) AS bigint) AS [ClaimedMs],
                COUNT_BIG(CASE WHEN m.[EndedAt] > DATEADD(MINUTE, -1, @_Now) THEN 1 END) AS [Minute],
                MIN(CASE WHEN m.[EndedAt] > DATEADD(MINUTE, -1, @_Now) THEN m.[EndedAt] END) AS [MinuteFirst],
                COUNT_BIG(CASE WHEN m.[EndedAt] > DATEADD(HOUR, -1, @_Now) THEN 1 END) AS [Hour],
                MIN(CASE WHEN m.[EndedAt] > DATEADD(HOUR, -1, @_Now) THEN m.[EndedAt] END) AS [HourFirst]
            FROM @_Measured AS m
        ) AS m
        CROSS APPLY (VALUES
            ('due.count', a.[Due], 'W', CAST(NULL AS bigint)), ('due.within_hour', a.[Soon], 'W', NULL),
            ('due.oldest_ms', DATEDIFF_BIG(MILLISECOND, a.[Oldest], @_Now), 'W', NULL),
            ('lease.expired', a.[Late], 'F', NULL), ('claimed.count', a.[Held], 'F', NULL), ('window.items', a.[Newest], 'N', NULL),
            (
                'came.waiting', a.[Came], 'W',
                DATEDIFF_BIG(MILLISECOND, a.[CameFirst], CASE WHEN a.[Came] > @Most THEN a.[CameLast] ELSE @_Now END)
            ),
            ('arrivals.last_hour', a.[Arrived], 'N', NULL),
            ('came.last_hour', a.[Ready], 'N', DATEDIFF_BIG(MILLISECOND, a.[ReadyFirst], @_Now)),
            ('sample.items', m.[Items], '', NULL), ('wait.mean_ms', m.[WaitMs], '', NULL), ('claimed.mean_ms', m.[ClaimedMs], '', NULL),
            (
                'ended.last_hour', m.[Hour], CASE WHEN m.[Hour] >= @Most THEN '+' ELSE '' END,
                DATEDIFF_BIG(MILLISECOND, m.[HourFirst], @_Now)
            ),
            (
                'ended.last_minute', m.[Minute], CASE WHEN m.[Minute] >= @Most THEN '+' ELSE '' END,
                DATEDIFF_BIG(MILLISECOND, m.[MinuteFirst], @_Now)
            )
        ) AS v ([Name], [Value], [Look], [Ms])
        UNION ALL
        SELECT
            y.[Name], COUNT_BIG(*), y.[Look],
            CASE
                WHEN y.[Name] = 'type.due' THEN DATEDIFF_BIG(MILLISECOND, MIN(COALESCE(s.[DueAt], s.[EnqueuedAt])), @_Now)
            END,
            s.[Type], NULL
        FROM @_Seen AS s
        INNER JOIN (
            VALUES ('type.waiting', 'W'), ('type.due', 'W'), ('type.flying', 'F'), ('type.arrivals', 'N'), ('type.arrivals', 'H')
        ) AS y ([Name], [Look]) ON y.[Look] = s.[Look]
        WHERE
            (y.[Name] = 'type.waiting' AND s.[Status] IN ('Pending', 'Error'))
            OR (y.[Name] = 'type.due' AND s.[Status] IN ('Pending', 'Error') AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now))
            OR (y.[Name] = 'type.flying' AND s.[Status] = 'Processing')
            OR (y.[Name] = 'type.arrivals' AND s.[EnqueuedAt] > DATEADD(HOUR, -1, @_Now) AND s.[EnqueuedAt] <= DATEADD(MINUTE, 1, @_Now))
        GROUP BY y.[Name], y.[Look], s.[Type]
        UNION ALL
        SELECT
            'type.ended', COUNT_BIG(*), CASE WHEN (SELECT COUNT(*) FROM @_Measured) >= @Most THEN '+' ELSE '' END,
            DATEDIFF_BIG(MILLISECOND, MIN(m.[EndedAt]), @_Now), m.[Type], NULL
        FROM @_Measured AS m
        WHERE m.[EndedAt] > DATEADD(HOUR, -1, @_Now)
        GROUP BY m.[Type]
        UNION ALL
        SELECT 'type.claimed_mean_ms', CAST(AVG(CAST(m.[ClaimedMs] AS float)) AS bigint), '', NULL, m.[Type], NULL
        FROM @_Measured AS m
        GROUP BY m.[Type]
        UNION ALL
        SELECT CONCAT(r.[Metric], '.', p.[Name], '_ms'), r.[Ms], '', NULL, NULL, NULL
        FROM (
            SELECT
                x.[Metric], x.[Ms], ROW_NUMBER() OVER (PARTITION BY x.[Metric] ORDER BY x.[Ms]) AS [Rank],
                COUNT_BIG(*) OVER (PARTITION BY x.[Metric]) AS [Of]
            FROM @_Measured AS m
            CROSS APPLY (VALUES ('wait', m.[WaitMs]), ('claimed', m.[ClaimedMs])) AS x ([Metric], [Ms])
            WHERE x.[Ms] IS NOT NULL
        ) AS r
        INNER JOIN (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent]) ON r.[Rank] = (r.[Of] * p.[Percent] + 99) / 100
        UNION ALL
        SELECT 'worker', w.[Items], '', DATEDIFF_BIG(MILLISECOND, w.[Began], @_Now), w.[Owner], NULL
        FROM (
            SELECT TOP (100) s.[Owner], COUNT_BIG(*) AS [Items], MIN(s.[StartedAt]) AS [Began]
            FROM @_Seen AS s
            WHERE s.[Look] = 'F' AND s.[Status] = 'Processing'
            GROUP BY s.[Owner]
            ORDER BY COUNT_BIG(*) DESC, s.[Owner]
        ) AS w
        UNION ALL
        SELECT 'refused', x.[Times], '', DATEDIFF_BIG(MILLISECOND, @_Now, x.[Until]), CONCAT(x.[Doing], N': ', x.[Reason]),
            x.[Key] COLLATE DATABASE_DEFAULT
        FROM (
            SELECT TOP (50) r.[Key], r.[Doing], r.[Reason], r.[Times], r.[Until]
            FROM [readpast].[QueueRefused] AS r
            WHERE r.[Queue] = 'Job' AND r.[Doing] <> 'pause'
            ORDER BY r.[Since]
        ) AS x
        UNION ALL
        SELECT
            'pause', DATEDIFF_BIG(MICROSECOND, '1970-01-01', z.[Since]), '', DATEDIFF_BIG(MICROSECOND, '1970-01-01', z.[Until]),
            CAST(
                (SELECT z.[Who] AS [who], z.[Login] AS [login], z.[Reason] AS [reason] FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) AS nvarchar(4000)
            ),
            z.[Type]
        FROM [readpast].[QueuePaused_V] AS z
        WHERE z.[Queue] = 'Job'
        UNION ALL
        SELECT CONCAT('error.', e.[Status]), e.[Items], '', NULL, e.[Detail], e.[Key]
        FROM (
            SELECT TOP (50) p.[Status], p.[Detail], COUNT_BIG(*) AS [Items], MAX(p.[Key]) AS [Key]
            FROM (
                SELECT s.[Status], s.[Key], LEFT(s.[Detail], CHARINDEX(NCHAR(10), CONCAT(s.[Detail], NCHAR(10))) - 1) AS [Detail]
                FROM @_Seen AS s
                WHERE s.[Detail] <> N''
                    AND ((s.[Look] = 'W' AND s.[Status] = 'Error') OR (s.[Look] = 'S' AND s.[Status] = 'Failed'))
            ) AS p
            GROUP BY p.[Status], p.[Detail]
            ORDER BY COUNT_BIG(*) DESC, p.[Detail]
        ) AS e
    ) AS f
    LEFT JOIN @_Look AS l ON l.[Look] = f.[Look];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
A row where an item has the values that a filter looks for. @Columns is an object of columns, each compared in its type; @Members an array
of members of the JSON that a column holds (column, path: one to three names; value), compared as they are written: other text does not fit.
NULL looks for nothing. The values behind are the item's. Called by Find_Job and Purge_Job_trx. Nobody is granted it.
*/
CREATE OR ALTER FUNCTION [readpast].[Job_Has_fn] (
    @Columns nvarchar(max), @Members nvarchar(max), @Value1 nvarchar(max), @Value2 int, @Value3 uniqueidentifier
)
RETURNS TABLE
AS
RETURN
SELECT 1 AS [Has]
WHERE
    (
        @Columns IS NULL
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Columns) WITH (
                [Value1] nvarchar(max) '$."Customer"', [Value2] int '$."Rank"', [Value3] uniqueidentifier '$."Reference"'
            ) AS w
            WHERE
                /* As many fit as are given: one that is not read under its name must not count as none. */
                (SELECT COUNT(*) FROM OPENJSON(@Columns)) = 0
                    + IIF(@Value1 + N'.' = w.[Value1] + N'.' COLLATE Latin1_General_BIN2, 1, 0)
                    + IIF(@Value2 = w.[Value2], 1, 0)
                    + IIF(@Value3 = w.[Value3], 1, 0)
        )
    )
    AND NOT EXISTS (
        SELECT 1
        FROM OPENJSON(@Members) WITH (
            [Column] nvarchar(4000) '$.column', [First] nvarchar(4000) '$.path[0]', [Second] nvarchar(4000) '$.path[1]',
            [Third] nvarchar(4000) '$.path[2]', [Value] nvarchar(4000) '$.value'
        ) AS m
        CROSS APPLY (
            SELECT
                CASE m.[Column] COLLATE Latin1_General_BIN2
                    WHEN N'Customer' THEN @Value1
                END AS [Text]
        ) AS d
        WHERE NOT EXISTS (
            /* A path that is not a literal takes SQL Server 2017; and what is no JSON must not be opened. */
            SELECT 1
            FROM OPENJSON(CASE WHEN ISJSON(d.[Text]) = 1 THEN d.[Text] END) AS a
            OUTER APPLY OPENJSON(CASE WHEN m.[Second] IS NOT NULL AND a.[type] IN (4, 5) THEN a.[value] END) AS b
            OUTER APPLY OPENJSON(CASE WHEN m.[Third] IS NOT NULL AND b.[type] IN (4, 5) THEN b.[value] END) AS c
            CROSS APPLY (
                SELECT
                    CASE WHEN m.[Third] IS NOT NULL THEN c.[type] WHEN m.[Second] IS NOT NULL THEN b.[type] ELSE a.[type] END AS [Type],
                    CASE WHEN m.[Third] IS NOT NULL THEN c.[value] WHEN m.[Second] IS NOT NULL THEN b.[value] ELSE a.[value] END AS [Is]
            ) AS x
            WHERE
                a.[key] = m.[First] COLLATE Latin1_General_BIN2 AND (m.[Second] IS NULL OR b.[key] = m.[Second] COLLATE Latin1_General_BIN2)
                AND (m.[Third] IS NULL OR c.[key] = m.[Third] COLLATE Latin1_General_BIN2)
                AND x.[Type] IN (1, 2, 3) AND x.[Is] + N'.' = m.[Value] + N'.' COLLATE Latin1_General_BIN2
        )
    );
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and its last key begins the next.
@Filter is a JSON object, of which every member narrows the choice: keys, status and types (arrays), before and after (UTC, of the last
change), error (a part of its text), longer_ms (its last attempt took more milliseconds, or has taken them by now), columns and
members (values that it has: Job_Has_fn). NULL is all items.
One row per item, with the answer FOUND; secret columns are NULL. It changes nothing, and lets its locks on rows go one by one. Without keys
it reads the table until the page is full; with @Most, no more than that many items. A second result, MORE, has the key to go on after, if any.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_Job]
    @Filter nvarchar(max) = NULL, @After nvarchar(4000) = NULL, @Max int = 100, @Most int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Look varchar(10), @_Begin1 datetime2(7), @_End1 datetime2(7);
    DECLARE @_Page TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Statuses nvarchar(4000), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint, @_Error nvarchar(4000);
    DECLARE @_Columns nvarchar(max), @_Members nvarchar(max);
    DECLARE @_Given TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL);

    EXECUTE [readpast].[QueueFilterTake]
        N'Find_Job', @Filter, @_Statuses OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT,
        N'{"Customer": 2, "Rank": 1, "Reference": 1}';
    SELECT @_Types = JSON_QUERY(@Filter, '$.types'), @_Columns = JSON_QUERY(@Filter, '$.columns'), @_Members = JSON_QUERY(@Filter, '$.members');
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS datetime2(7))
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000 THROW 50021, N'Find_Job: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL) THROW 50021, N'Find_Job: one of the keys is not a key of Job.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Find_Job: @Max must be from 1 to 1000.', 1;
    IF @Most < 1 THROW 50021, N'Find_Job: @Most must be 1 or more, or NULL.', 1;
    SET @After = NULLIF(@After, N'');
    SET @_Begin1 = TRY_CAST(NULLIF(@After, N'') AS datetime2(7));
    IF @After IS NOT NULL AND @_Begin1 IS NULL THROW 50021, N'Find_Job: @After is not a key of Job.', 1;

    SET @_Now = SYSUTCDATETIME();
    /* Those that wait or are in flight have an index in another order: good for as many as may be read. */
    SET @_Look = CASE
        WHEN JSON_QUERY(@Filter, '$.keys') IS NOT NULL THEN 'keys'
        WHEN @_Statuses IS NULL THEN 'all'
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            )
            THEN 'ended'
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ('Processing')
            )
            AND COALESCE(@Most, 2147483647) > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM [readpast].[Job] AS q WITH (INDEX ([IX_Job_InFlight]))
                    WHERE q.[Status] IN ('Processing')
                ) AS n
            )
            THEN 'flying'
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ('Pending', 'Error')
            )
            AND COALESCE(@Most, 2147483647) > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM [readpast].[Job] AS q WITH (INDEX ([IX_Job_Due]))
                    WHERE q.[Status] IN ('Pending', 'Error')
                ) AS n
            )
            THEN 'waiting'
        ELSE 'all'
    END;

    /* How far: as many items on as are to be read, else to the end. */
    IF @_Look = 'ended' AND @Most IS NOT NULL
        SELECT @_End1 = q.[EnqueuedAt]
        FROM [readpast].[Job] AS q WITH (INDEX ([IX_Job_Ended]))
        WHERE
            (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
            AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
        ORDER BY q.[EnqueuedAt]
        OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        OPTION (RECOMPILE);
    IF @_Look = 'all' AND @Most IS NOT NULL
        SELECT @_End1 = q.[EnqueuedAt]
        FROM [readpast].[Job] AS q
        WHERE (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        OPTION (RECOMPILE);
    /* Planned for this filter: which of its members are there decides how the items are reached. */
    IF @_Look = 'keys'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM (SELECT DISTINCT g.[Key1] FROM @_Given AS g) AS k
        INNER JOIN [readpast].[Job] AS q ON q.[EnqueuedAt] = k.[Key1]
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
        WHERE fit.[Fits] = 1
            AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);
    ELSE IF @_Look = 'ended'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Job] AS q WITH (INDEX ([IX_Job_Ended]))
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
        WHERE fit.[Fits] = 1
            AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1) AND (@_End1 IS NULL OR q.[EnqueuedAt] <= @_End1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);
    ELSE IF @_Look = 'flying'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Job] AS q WITH (INDEX ([IX_Job_InFlight]))
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
        WHERE fit.[Fits] = 1
            AND q.[Status] IN ('Processing') AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);
    ELSE IF @_Look = 'waiting'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Job] AS q WITH (INDEX ([IX_Job_Due]))
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
        WHERE fit.[Fits] = 1
            AND q.[Status] IN ('Pending', 'Error') AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);
    ELSE
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Job] AS q
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
        WHERE fit.[Fits] = 1
            AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1) AND (@_End1 IS NULL OR q.[EnqueuedAt] <= @_End1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);

    /* A full page, but an item of it may be another by now. */
    IF (SELECT COUNT(*) FROM @_Page) = @Max
        SELECT TOP (1) @_End1 = p.[Key1]
        FROM @_Page AS p
        ORDER BY p.[Key1] DESC;
    SELECT
        'FOUND' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], q.[EnqueuedAt] AS [Key],
        q.[UpdatedAt] AS [Token], q.[AttemptNum] AS [AttemptNum], q.[Status] AS [Status], q.[EnqueuedAt], q.[Type], q.[Status], q.[Step],
        q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration], q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner],
        q.[LeaseUntil], q.[Customer], q.[Rank], q.[Reference]
    FROM @_Page AS p
    INNER JOIN [readpast].[Job] AS q ON q.[EnqueuedAt] = p.[Key1]
    CROSS APPLY [readpast].[QueueFits_fn](
        @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt], q.[Duration],
        q.[Error]
    ) AS fit
    CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
    WHERE fit.[Fits] = 1
    ORDER BY q.[EnqueuedAt]
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @@ROWCOUNT < @Max AND @_End1 IS NOT NULL
        SELECT 'MORE' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], g.[Key1] AS [Key]
        FROM (SELECT @_End1 AS [Key1]) AS g;
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Redrive_Job_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit, @_Result nvarchar(max);
    DECLARE @_Now datetime2(7); /* UTC */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL,
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL,
        [Status] varchar(20) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */

    IF @@TRANCOUNT > 0 THROW 50012, N'Redrive_Job_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'token')
                OR m.[key] LIKE N'% '
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        EXECUTE [readpast].[QueueTake] N'Redrive_Job_Set_trx', @Items OUTPUT, N'{
            "key": "timestamp", "token": "timestamp"
        }';
    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] nvarchar(max) '$.key') AS r
        WHERE (r.[Key1] IS NOT NULL AND TRY_CAST(NULLIF(r.[Key1], N'') AS datetime2(7)) IS NULL)
    )
        THROW 50021, N'Redrive_Job_Set_trx: one of the keys is not a key of Job.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token])
    SELECT CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Token]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] datetime2(7) '$.key', [Token] datetime2(7) '$.token') AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();

        EXECUTE [readpast].[QueueOperationTake] @Operation, 'Redrive_Job_Set', @_Now, @_IsNew OUTPUT;
        IF @_IsNew = 0
        BEGIN
            COMMIT TRANSACTION;
            EXECUTE [readpast].[Job_Answered] @Operation = @Operation, @Items = @Items;
            RETURN 0;
        END;

        /* Lock the items, in the order of their keys, and judge each as it is now. */
        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
        SELECT i.[Ordinal], j.[Answer], q.[Status], j.[Status], j.[Token], CASE WHEN j.[Answer] = 'OK' THEN 0 ELSE j.[AttemptNum] END
        FROM (
            SELECT TOP (@_Count) o.*, ROW_NUMBER() OVER (PARTITION BY o.[Key1] ORDER BY o.[Ordinal]) AS [Place]
            FROM @_Item AS o
            ORDER BY o.[Key1], o.[Ordinal]
        ) AS i
        LEFT JOIN [readpast].[Job] AS q WITH (UPDLOCK, ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
        CROSS APPLY [readpast].[QueueJudge_fn](
            @_Now, NULL, 2147483647, q.[Status], q.[AttemptNum], q.[UpdatedAt], NULL, i.[Token], 0, i.[Place],
            CASE WHEN q.[Status] NOT IN ('Pending', 'Processing', 'Completed') THEN 'Pending' END, 0, 0, 0
        ) AS j
        /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        /* As if it were new. */
        UPDATE q
        SET
            [ScheduledFor] = @_Now, [StartedAt] = NULL, [Duration] = NULL, [AttemptNum] = 0, [LeaseOwner] = NULL, [LeaseUntil] = NULL,
            [UpdatedAt] = k.[Token], [Status] = 'Pending'
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'Job: a row that was locked for the change changed all the same.', 1;

        /* An item that was OK is read back from the items. */
        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @_Result = (
                SELECT w.[Ordinal] AS [ordinal], w.[Answer] AS [answer]
                FROM @_Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
    ORDER BY w.[Ordinal];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/*
Delete up to @Max finished items that fit @Filter, in the order of their keys. @Filter is that of Find_Job; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: Job.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_Job_trx]
    @Filter nvarchar(max) = NULL, @Max int = 1000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that tidies up gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Purged int = 0;
    DECLARE @_Found TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Locked TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Statuses nvarchar(4000), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint, @_Error nvarchar(4000);
    DECLARE @_Columns nvarchar(max), @_Members nvarchar(max);
    DECLARE @_Given TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL);

    EXECUTE [readpast].[QueueFilterTake]
        N'Purge_Job_trx', @Filter, @_Statuses OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT,
        N'{"Customer": 2, "Rank": 1, "Reference": 1}';
    SELECT @_Types = JSON_QUERY(@Filter, '$.types'), @_Columns = JSON_QUERY(@Filter, '$.columns'), @_Members = JSON_QUERY(@Filter, '$.members');
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS datetime2(7))
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000 THROW 50021, N'Purge_Job_trx: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL) THROW 50021, N'Purge_Job_trx: one of the keys is not a key of Job.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Purge_Job_trx: @Max must be from 1 to 1000.', 1;

    IF @@TRANCOUNT > 0 THROW 50012, N'Purge_Job_trx commits its own work: not to be called in a transaction.', 1;

    SET @_Statuses = COALESCE(@_Statuses, N'[{"s":"Completed"}, {"s":"PartiallyCompleted"}, {"s":"Cancelled"}, {"s":"Terminated"}]');
    IF EXISTS (
        SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
        WHERE w.[s] IN ('Pending', 'Processing', 'Error', 'Paused')
    )
        THROW 50021, N'Purge_Job_trx: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        IF JSON_QUERY(@Filter, '$.keys') IS NOT NULL
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM (SELECT DISTINCT g.[Key1] FROM @_Given AS g) AS k
            INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = k.[Key1]
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
                q.[Duration], q.[Error]
            ) AS fit
            CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
            WHERE fit.[Fits] = 1
            ORDER BY q.[EnqueuedAt]
            OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);
        ELSE IF CHARINDEX(N'"Completed"', @_Statuses) = 0
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Job_Ended]))
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
                q.[Duration], q.[Error]
            ) AS fit
            CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
            WHERE fit.[Fits] = 1
                AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            ORDER BY q.[EnqueuedAt]
            OPTION (RECOMPILE);
        ELSE
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM [readpast].[Job] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
                q.[Duration], q.[Error]
            ) AS fit
            CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
            WHERE fit.[Fits] = 1
                /* An item that was enqueued later cannot have changed before. */
                AND (@_Before IS NULL OR q.[EnqueuedAt] < @_Before)
            ORDER BY q.[EnqueuedAt]
            OPTION (RECOMPILE);

        INSERT INTO @_Locked ([Key1])
        SELECT q.[EnqueuedAt]
        FROM @_Found AS f
        INNER JOIN [readpast].[Job] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = f.[Key1]
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        CROSS APPLY [readpast].[Job_Has_fn](@_Columns, @_Members, q.[Customer], q.[Rank], q.[Reference])
        WHERE fit.[Fits] = 1
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @_Locked AS l
        INNER JOIN [readpast].[Job] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Purged = @@ROWCOUNT;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT 'purged' AS [Name], CAST(@_Purged AS bigint) AS [Value];
END;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The versions and the queue that are installed now. */
INSERT INTO [readpast].[QueueSchemaVersion] ([Version], [AppliedAt], [Library])
SELECT v.[Version], SYSUTCDATETIME(), N'(version)'
FROM (VALUES
    (1)
) AS v ([Version])
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueSchemaVersion] AS s WHERE s.[Version] = v.[Version]);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DECLARE @Spec nvarchar(max) = N'{
  "queue": "Job",
  "types": ["A","B"],
  "columns": [{"name":"Customer","type":"text(40)","nullable":true},{"name":"Rank","type":"integer","nullable":false},{"name":"Reference","type":"guid","nullable":true}],
  "order": {"direction":"fifo"},
  "attempts": {"limit":3},
  "backoff": {"first_ms":5000,"factor":2.0,"cap_ms":3600000,"jitter":0.5},
  "lease": {"ms":60000,"kind":"sliding","resume_own":false,"durable":true},
  "completion": "keep",
  "roles": {"own_types_only":false},
  "settings": "job"
}';
UPDATE [readpast].[QueueSpec]
SET [Preset] = N'own', [Spec] = @Spec, [RenderedBy] = 1
WHERE [Queue] = N'Job';
IF @@ROWCOUNT = 0
    INSERT INTO [readpast].[QueueSpec] ([Queue], [Preset], [Spec], [RenderedBy], [InstalledAt])
    VALUES (N'Job', N'own', @Spec, 1, SYSUTCDATETIME());
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
COMMIT TRANSACTION;
GO
SET NOEXEC OFF;
SET DEADLOCK_PRIORITY NORMAL;
SET LOCK_TIMEOUT -1;
GO
