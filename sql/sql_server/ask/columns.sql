/* The columns of a table or view. The length of text is in characters, -1 where it has no end; a time and a number have decimals. */
SELECT
    c.[name] AS [Name], TYPE_NAME(c.[system_type_id]) AS [Type],
    CASE WHEN t.[is_user_defined] = 1 THEN t.[name] END AS [Alias],
    CAST(
        CASE
            WHEN c.[max_length] > 0 AND TYPE_NAME(c.[system_type_id]) IN (N'nchar', N'nvarchar') THEN c.[max_length] / 2
            ELSE c.[max_length]
        END AS int
    ) AS [Length],
    CAST(c.[is_nullable] AS int) AS [Nullable], CAST(c.[is_computed] AS int) AS [Computed],
    CAST(c.[is_identity] AS int) AS [Identity],
    CASE WHEN c.[default_object_id] <> 0 THEN 1 ELSE 0 END AS [HasDefault], CAST(c.[scale] AS int) AS [Scale],
    /* Where it is not the database's. */
    CASE
        WHEN c.[collation_name] <> CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS nvarchar(128))
            THEN c.[collation_name]
    END AS [Collation],
    /* Where text is kept in one that lacks most letters: what UTF-8 or two bytes a letter have is no loss. */
    CASE
        WHEN TYPE_NAME(c.[system_type_id]) IN (N'char', N'varchar', N'text')
            THEN NULLIF(CAST(COLLATIONPROPERTY(c.[collation_name], 'CodePage') AS int), 65001)
    END AS [CodePage],
    /* It has no enums. */
    CAST(NULL AS nvarchar(10)) AS [Labels], c.[collation_name] AS [Collated]
FROM sys.columns AS c
JOIN sys.objects AS o ON o.[object_id] = c.[object_id]
JOIN sys.types AS t ON t.[user_type_id] = c.[user_type_id]
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND o.[type] IN ('U', 'V')
ORDER BY c.[column_id]
