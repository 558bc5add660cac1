/*
Drops the queue FourQueueScheduler. Untouched with their rows: dbo.four_queue.
Rendered by readpast (version) for objects of version 1.

To run it, as the login that installed the queue, or an owner of the database:
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
DECLARE @Names nvarchar(max) = N'["Add_FourQueueScheduler_Set_trx", "Add_FourQueueScheduler_Set_utx", "Add_FourQueueScheduler_trx", "Add_FourQueueScheduler_utx", "AppSettings", "Claimed_FourQueueScheduler",
"Find_FourQueueScheduler", "FourQueueScheduler_Add", "FourQueueScheduler_Answered", "FourQueueScheduler_Claim", "FourQueueScheduler_Lease", "FourQueueScheduler_Recover",
"FourQueueScheduler_Setting_V", "FourQueueScheduler_Settle", "Modify_FourQueueScheduler_Set_trx", "Modify_FourQueueScheduler_Set_utx", "Modify_FourQueueScheduler_trx", "Modify_FourQueueScheduler_utx",
"Next_FourQueueScheduler_Apart_trx", "Next_FourQueueScheduler_Set_trx", "Next_FourQueueScheduler_Set_utx", "Next_FourQueueScheduler_trx", "Next_FourQueueScheduler_utx", "Purge_FourQueueScheduler_trx",
"QueueBackoff_fn", "QueueCatalog", "QueueFilterTake", "QueueFits_fn", "QueueIsDone", "QueueIsEditable_fn",
"QueueIsFinished_fn", "QueueIsProcessable_fn", "QueueIsRefusal_fn", "QueueJudge_fn", "QueueNamed_fn", "QueueNoteRefusal",
"QueueOperation", "QueueOperationKeep", "QueueOperationTake", "QueueOwnType_V", "QueueRecovery", "QueueRecoveryTurn",
"QueueRefuse", "QueueRefused", "QueueRetention", "QueueSchemaVersion", "QueueSpec", "QueueStatus",
"QueueTake", "QueueTransition", "QueueTurn", "QueueTurnTake", "QueueTypeAccess", "QueueUnfit_fn",
"Recover_FourQueueScheduler_trx", "Redrive_FourQueueScheduler_Set_trx", "Renew_FourQueueScheduler_Set_trx", "Stats_FourQueueScheduler", "Watch_FourQueueScheduler", "Worker_FourQueueScheduler_V"]';
DECLARE @Kind nvarchar(60), @Name nvarchar(128), @Verb nvarchar(128), @Whom nvarchar(128), @Remedy nvarchar(400);
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
    SELECT N'type', t.[name], N'belongs to', COALESCE(t.[principal_id], s.[principal_id]), NULL, NULL
    FROM sys.schemas AS s
    INNER JOIN sys.types AS t ON t.[schema_id] = s.[schema_id]
    WHERE s.[name] = N'readpast' AND t.[name] IN (SELECT n.[value] COLLATE CATALOG_DEFAULT FROM OPENJSON(@Names) AS n)
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
    WHERE g.[is_disabled] = 0 AND g.[is_ms_shipped] = 0
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
DROP TABLE IF EXISTS [readpast].[FourQueueScheduler_Attempt];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Purge_FourQueueScheduler_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Redrive_FourQueueScheduler_Set_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Find_FourQueueScheduler];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Watch_FourQueueScheduler];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Stats_FourQueueScheduler];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Renew_FourQueueScheduler_Set_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Modify_FourQueueScheduler_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Modify_FourQueueScheduler_utx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Modify_FourQueueScheduler_Set_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Modify_FourQueueScheduler_Set_utx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[FourQueueScheduler_Settle];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[FourQueueScheduler_Answered];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Claimed_FourQueueScheduler];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Next_FourQueueScheduler_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Next_FourQueueScheduler_utx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Next_FourQueueScheduler_Set_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Next_FourQueueScheduler_Set_utx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[FourQueueScheduler_Claim];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Next_FourQueueScheduler_Apart_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Recover_FourQueueScheduler_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[FourQueueScheduler_Recover];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Add_FourQueueScheduler_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Add_FourQueueScheduler_utx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Add_FourQueueScheduler_Set_trx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[Add_FourQueueScheduler_Set_utx];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP PROCEDURE IF EXISTS [readpast].[FourQueueScheduler_Add];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP VIEW IF EXISTS [readpast].[FourQueueScheduler_Setting_V];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP VIEW IF EXISTS [readpast].[Worker_FourQueueScheduler_V];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DROP TABLE IF EXISTS [readpast].[FourQueueScheduler_Lease];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF OBJECT_ID(N'[dbo].[four_queue]') IS NOT NULL
    DROP INDEX IF EXISTS [IX_FourQueueScheduler_Work] ON [dbo].[four_queue];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF OBJECT_ID(N'[dbo].[four_queue]') IS NOT NULL
    DROP INDEX IF EXISTS [IX_FourQueueScheduler_InFlight] ON [dbo].[four_queue];
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[QueueTurn] WHERE [Queue] = N'FourQueueScheduler';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[QueueRecovery] WHERE [Queue] = N'FourQueueScheduler';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[QueueRetention] WHERE [Queue] = N'FourQueueScheduler';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[QueueTypeAccess] WHERE [Queue] = N'FourQueueScheduler';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[QueueRefused] WHERE [Queue] = N'FourQueueScheduler';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[AppSettings]
WHERE LEFT([Param], 19) = N'fourqueuescheduler.' AND CHARINDEX('.', [Param], 20) = 0;
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
DELETE FROM [readpast].[QueueSpec] WHERE [Queue] = N'FourQueueScheduler';
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* A queue of this name that is made anew has done none of these calls. */
DELETE FROM [readpast].[QueueOperation]
WHERE [Call] IN ('Add_FourQueueScheduler_Set', 'Modify_FourQueueScheduler_Set', 'Redrive_FourQueueScheduler_Set');
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION; IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
COMMIT TRANSACTION;
GO
SET NOEXEC OFF;
GO
