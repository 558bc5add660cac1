/* Facts about the server, the database and the session, each with a name. */
SELECT v.[Name], v.[Value]
FROM sys.databases AS d
CROSS JOIN sys.dm_exec_sessions AS s
CROSS APPLY (
    VALUES
    (N'version', CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(200))),
    (N'edition', CAST(SERVERPROPERTY('Edition') AS nvarchar(200))),
    (N'engine_edition', CAST(CAST(SERVERPROPERTY('EngineEdition') AS int) AS nvarchar(200))),
    (N'database', CAST(d.[name] AS nvarchar(200))),
    (N'compatibility_level', CAST(CAST(d.[compatibility_level] AS int) AS nvarchar(200))),
    (N'read_committed_snapshot', CAST(CAST(d.[is_read_committed_snapshot_on] AS int) AS nvarchar(200))),
    (N'read_only', CAST(CAST(d.[is_read_only] AS int) AS nvarchar(200))),
    (N'delayed_durability', CAST(CAST(d.[delayed_durability] AS int) AS nvarchar(200))),
    (N'optimized_locking', CAST(DATABASEPROPERTYEX(d.[name], 'IsOptimizedLockingOn') AS nvarchar(200))),
    (N'isolation_level', CAST(CAST(s.[transaction_isolation_level] AS int) AS nvarchar(200))),
    (N'quoted_identifier', CAST(CAST(s.[quoted_identifier] AS int) AS nvarchar(200))),
    (N'ansi_nulls', CAST(CAST(s.[ansi_nulls] AS int) AS nvarchar(200))),
    (N'arithabort', CAST(CAST(s.[arithabort] AS int) AS nvarchar(200))),
    (N'ansi_warnings', CAST(CAST(s.[ansi_warnings] AS int) AS nvarchar(200))),
    (N'ansi_padding', CAST(CAST(s.[ansi_padding] AS int) AS nvarchar(200))),
    (N'concat_null', CAST(CAST(s.[concat_null_yields_null] AS int) AS nvarchar(200))),
    (N'login', CAST(ORIGINAL_LOGIN() AS nvarchar(200)))
) AS v ([Name], [Value])
WHERE d.[name] = DB_NAME() AND s.[session_id] = @@SPID
