/* The indexes of a table, the table itself among them, of which no single row can be locked. */
SELECT COALESCE(i.[name], N'the heap') AS [Name]
FROM sys.indexes AS i
INNER JOIN sys.objects AS o ON o.[object_id] = i.[object_id]
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND i.[allow_row_locks] = 0 AND i.[is_hypothetical] = 0
ORDER BY i.[index_id]
