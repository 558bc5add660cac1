/* The triggers of a table that fire. */
SELECT t.[name] AS [Name]
FROM sys.triggers AS t
JOIN sys.objects AS o ON o.[object_id] = t.[parent_id]
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND t.[is_disabled] = 0
ORDER BY t.[name]
