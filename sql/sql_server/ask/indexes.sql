/* The indexes of a table, a row for each column of their keys. */
SELECT
    i.[name] AS [Name], CAST(i.[is_unique] AS int) AS [Unique], CAST(i.[is_disabled] AS int) AS [Disabled],
    i.[filter_definition] AS [Filter], CAST(i.[ignore_dup_key] AS int) AS [IgnoresDuplicates], c.[name] AS [Column],
    CAST(k.[is_descending_key] AS int) AS [Descends]
FROM sys.indexes AS i
JOIN sys.objects AS o ON o.[object_id] = i.[object_id]
JOIN sys.index_columns AS k ON k.[object_id] = i.[object_id] AND k.[index_id] = i.[index_id]
JOIN sys.columns AS c ON c.[object_id] = k.[object_id] AND c.[column_id] = k.[column_id]
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND k.[key_ordinal] > 0 AND i.[is_hypothetical] = 0
ORDER BY i.[index_id], k.[key_ordinal]
