/* The deadlock graphs of system_health in which a name occurs: the five newest. */
SELECT TOP (5) g.[Graph]
FROM (SELECT CAST(? AS nvarchar(128)) AS [Name]) AS n
CROSS JOIN (
    SELECT CAST(t.[target_data] AS xml) AS [Data]
    FROM sys.dm_xe_sessions AS s
    INNER JOIN sys.dm_xe_session_targets AS t
        ON t.[event_session_address] = s.[address]
    WHERE s.[name] = N'system_health' AND t.[target_name] = N'ring_buffer'
) AS d
CROSS APPLY d.[Data].nodes('RingBufferTarget/event[@name="xml_deadlock_report"]') AS e ([Event])
CROSS APPLY (
    SELECT
        CAST(e.[Event].query('data/value/deadlock') AS nvarchar(max)) AS [Graph],
        e.[Event].value('@timestamp', 'datetime2(3)') AS [At]
) AS g
WHERE CHARINDEX(n.[Name], g.[Graph]) > 0
ORDER BY g.[At] DESC
