/*
The owners of a schema, and of a table, where they are two: procedures in the one then need rights of their callers on the
other.
*/
SELECT
    COALESCE(USER_NAME(r.[principal_id]), N'?') AS [Schema],
    COALESCE(USER_NAME(COALESCE(o.[principal_id], s.[principal_id])), N'?') AS [Table]
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
CROSS JOIN sys.schemas AS r
WHERE
    r.[name] = ? AND s.[name] = ? AND o.[name] = ?
    AND COALESCE(o.[principal_id], s.[principal_id]) <> r.[principal_id]
