/*
Columns of tables that may be queues: by the name of the table or of one of its columns. Tables of readpast's own are left out. A place
in the primary key; a default.
*/
SELECT
    SCHEMA_NAME(o.[schema_id]) AS [Schema], o.[name] AS [Name], c.[name] AS [ColumnName],
    TYPE_NAME(c.[system_type_id]) AS [Type],
    CAST(
        CASE
            WHEN c.[max_length] > 0 AND TYPE_NAME(c.[system_type_id]) IN (N'nchar', N'nvarchar') THEN c.[max_length] / 2
            ELSE c.[max_length]
        END AS int
    ) AS [Length],
    CAST(c.[is_nullable] AS int) AS [Nullable], CAST(c.[is_identity] AS int) AS [Numbered],
    CAST(d.[definition] AS nvarchar(400)) AS [DefaultText], COALESCE(CAST(k.[key_ordinal] AS int), 0) AS [KeyPlace],
    CAST(NULL AS nvarchar(10)) AS [Labels], CAST(c.[is_computed] AS int) AS [Computed],
    COALESCE((SELECT SUM(p.[rows]) FROM sys.partitions AS p WHERE p.[object_id] = o.[object_id] AND p.[index_id] IN (0, 1)), 0) AS [Items],
    CASE
        WHEN EXISTS (SELECT 1 FROM sys.indexes AS h WHERE h.[object_id] = o.[object_id] AND h.[index_id] = 1) THEN 0
        ELSE 1
    END AS [IsHeap],
    CASE WHEN o.[lock_escalation] = 1 THEN 0 ELSE 1 END AS [Escalates]
FROM sys.tables AS o
INNER JOIN sys.columns AS c ON c.[object_id] = o.[object_id]
LEFT JOIN sys.default_constraints AS d ON d.[object_id] = c.[default_object_id]
LEFT JOIN sys.indexes AS i ON i.[object_id] = o.[object_id] AND i.[is_primary_key] = 1
LEFT JOIN sys.index_columns AS k
    ON k.[object_id] = o.[object_id] AND k.[index_id] = i.[index_id] AND k.[column_id] = c.[column_id] AND k.[key_ordinal] > 0
WHERE
    NOT EXISTS (SELECT 1 FROM sys.tables AS v WHERE v.[schema_id] = o.[schema_id] AND v.[name] = N'QueueSchemaVersion')
    AND (
        LOWER(o.[name]) LIKE N'%queue%' OR LOWER(o.[name]) LIKE N'%job%' OR LOWER(o.[name]) LIKE N'%outbox%'
        OR LOWER(o.[name]) LIKE N'%inbox%' OR LOWER(o.[name]) LIKE N'%task%' OR LOWER(o.[name]) LIKE N'%message%'
        OR LOWER(o.[name]) LIKE N'%envelope%' OR LOWER(o.[name]) LIKE N'%execution%' OR LOWER(o.[name]) LIKE N'%trigger%'
        OR LOWER(o.[name]) LIKE N'%delivery%'
        OR EXISTS (
            SELECT 1
            FROM sys.columns AS a
            WHERE
                a.[object_id] = o.[object_id]
                AND (
                    LOWER(a.[name]) LIKE N'%status%' OR LOWER(a.[name]) LIKE N'%state%' OR LOWER(a.[name]) LIKE N'%processed%'
                    OR LOWER(a.[name]) LIKE N'%process' OR LOWER(a.[name]) LIKE N'%lock%' OR LOWER(a.[name]) LIKE N'%lease%'
                    OR LOWER(a.[name]) LIKE N'%claim%' OR LOWER(a.[name]) LIKE N'%fetched%' OR LOWER(a.[name]) LIKE N'run%at'
                    OR LOWER(a.[name]) LIKE N'%attempt%' OR LOWER(a.[name]) LIKE N'%retr%' OR LOWER(a.[name]) LIKE N'%visible%'
                    OR LOWER(a.[name]) LIKE N'%reserved%' OR LOWER(a.[name]) LIKE N'%recoverable%'
                )
        )
    )
ORDER BY [Schema], o.[name], c.[column_id]
