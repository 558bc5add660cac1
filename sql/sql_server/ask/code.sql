/* A procedure: whether the login may execute it, the settings stored with it, and its text where the login may see it. */
SELECT
    COALESCE(
        HAS_PERMS_BY_NAME(QUOTENAME(SCHEMA_NAME(o.[schema_id])) + N'.' + QUOTENAME(o.[name]), N'OBJECT', N'EXECUTE'),
        0
    ) AS [MayUse],
    CAST(COALESCE(OBJECTPROPERTY(o.[object_id], 'ExecIsAnsiNullsOn'), 1) AS int) AS [AnsiNulls],
    CAST(COALESCE(OBJECTPROPERTY(o.[object_id], 'ExecIsQuotedIdentOn'), 1) AS int) AS [QuotedIdentifier],
    OBJECT_DEFINITION(o.[object_id]) AS [Text]
FROM sys.objects AS o
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND o.[type] IN ('P', 'PC')
