/*
The code in a schema that the login sees: whether it may use it, and the settings that were stored with it. Text that
the login may not see counts as created with both settings on.
*/
SELECT
    o.[name] AS [Name],
    /* A trigger runs by itself. */
    CASE
        WHEN o.[type] = 'TR' THEN 1
        ELSE COALESCE(
            HAS_PERMS_BY_NAME(
                QUOTENAME(SCHEMA_NAME(o.[schema_id])) + N'.' + QUOTENAME(o.[name]), N'OBJECT',
                CASE WHEN o.[type] = 'V' THEN N'SELECT' ELSE N'EXECUTE' END
            ),
            0
        )
    END AS [MayUse],
    CAST(COALESCE(OBJECTPROPERTY(o.[object_id], 'ExecIsAnsiNullsOn'), 1) AS int) AS [AnsiNulls],
    CAST(COALESCE(OBJECTPROPERTY(o.[object_id], 'ExecIsQuotedIdentOn'), 1) AS int) AS [QuotedIdentifier],
    1 AS [Pinned]
FROM sys.objects AS o
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[type] IN ('P', 'V', 'FN', 'IF', 'TF', 'TR')
ORDER BY o.[name]
