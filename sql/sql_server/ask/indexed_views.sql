/* The indexed views over a table: a change of one of its rows locks and changes rows of these too. */
SELECT DISTINCT SCHEMA_NAME(v.[schema_id]) + N'.' + v.[name] AS [Name]
FROM sys.objects AS o
INNER JOIN sys.sql_expression_dependencies AS d ON d.[referenced_id] = o.[object_id]
INNER JOIN sys.views AS v ON v.[object_id] = d.[referencing_id]
INNER JOIN sys.indexes AS i ON i.[object_id] = v.[object_id] AND i.[index_id] = 1
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ?
ORDER BY [Name]
