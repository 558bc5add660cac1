/* How often the indexes of a table were sought in or scanned since the server started. Takes VIEW SERVER STATE. */
SELECT i.[name] AS [Name], COALESCE(SUM(u.[user_seeks] + u.[user_scans]), 0) AS [Uses]
FROM sys.indexes AS i
INNER JOIN sys.objects AS o ON o.[object_id] = i.[object_id]
LEFT JOIN sys.dm_db_index_usage_stats AS u
    ON u.[object_id] = i.[object_id] AND u.[index_id] = i.[index_id] AND u.[database_id] = DB_ID()
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND i.[name] IS NOT NULL
GROUP BY i.[name]
