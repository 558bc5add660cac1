/*
The triggers of a table that fire, and whether in place of the statement that fires them. Each belongs to the owner of the table;
the server knows no other maker.
*/
SELECT t.[name] AS [Name], CAST(t.[is_instead_of_trigger] AS int) AS [InsteadOf], N'' AS [Stranger]
FROM sys.triggers AS t
JOIN sys.objects AS o ON o.[object_id] = t.[parent_id]
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND t.[is_disabled] = 0
ORDER BY t.[name]
