/* The sequences in a schema, and whether the login sees all of them. */
SELECT v.[Sees], s.[name] AS [Name]
FROM (
    SELECT COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(c.[name]), N'SCHEMA', N'VIEW DEFINITION'), 0) AS [Sees], c.[schema_id]
    FROM sys.schemas AS c
    WHERE c.[name] = ?
) AS v
LEFT JOIN sys.sequences AS s ON s.[schema_id] = v.[schema_id]
ORDER BY s.[name]
