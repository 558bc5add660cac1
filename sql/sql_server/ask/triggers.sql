/*
The triggers of a table that fire, and whether in place of what fires them. Each is the table's owner's, whoever made it: no other
is known.
*/
SELECT t.[name] AS [Name], CAST(t.[is_instead_of_trigger] AS int) AS [InsteadOf], N'' AS [Stranger]
FROM sys.triggers AS t
JOIN sys.objects AS o ON o.[object_id] = t.[parent_id]
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND t.[is_disabled] = 0
ORDER BY t.[name]
