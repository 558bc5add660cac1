/* Foreign keys that point at a table, and that no index of their own table begins with: a DELETE reads all of that table. */
SELECT f.[name] AS [Name], OBJECT_SCHEMA_NAME(f.[parent_object_id]) + N'.' + OBJECT_NAME(f.[parent_object_id]) AS [Of]
FROM sys.foreign_keys AS f
INNER JOIN sys.objects AS o ON o.[object_id] = f.[referenced_object_id]
INNER JOIN sys.foreign_key_columns AS c ON c.[constraint_object_id] = f.[object_id] AND c.[constraint_column_id] = 1
WHERE
    SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND f.[is_disabled] = 0
    AND NOT EXISTS (
        SELECT 1
        FROM sys.index_columns AS k
        WHERE k.[object_id] = c.[parent_object_id] AND k.[column_id] = c.[parent_column_id] AND k.[key_ordinal] = 1
    )
ORDER BY f.[name]
