/*
Columns that may show a state, with the few values that the server's statistics know, the most frequent first, as far as the login may see
them.
*/
SELECT
    SCHEMA_NAME(o.[schema_id]) AS [Schema], o.[name] AS [Name], c.[name] AS [ColumnName],
    CAST(h.[range_high_key] AS nvarchar(100)) AS [Value]
FROM sys.tables AS o
INNER JOIN sys.columns AS c ON c.[object_id] = o.[object_id]
INNER JOIN sys.stats_columns AS x ON x.[object_id] = o.[object_id] AND x.[column_id] = c.[column_id] AND x.[stats_column_id] = 1
INNER JOIN sys.stats AS s ON s.[object_id] = x.[object_id] AND s.[stats_id] = x.[stats_id]
CROSS APPLY sys.dm_db_stats_histogram(s.[object_id], s.[stats_id]) AS h
WHERE
    (
        LOWER(c.[name]) LIKE N'%status%' OR LOWER(c.[name]) LIKE N'%state%' OR LOWER(c.[name]) LIKE N'%processed%'
        OR LOWER(c.[name]) LIKE N'%process' OR LOWER(c.[name]) LIKE N'%sent' OR LOWER(c.[name]) LIKE N'%done'
        OR LOWER(c.[name]) LIKE N'%handled' OR LOWER(c.[name]) LIKE N'%published'
    )
    AND h.[range_high_key] IS NOT NULL AND h.[step_number] <= 21
ORDER BY [Schema], o.[name], c.[name], h.[equal_rows] DESC
