/* The tables that the login sees. */
SELECT SCHEMA_NAME(o.[schema_id]) AS [Schema], o.[name] AS [Name]
FROM sys.objects AS o
WHERE o.[type] = 'U'
ORDER BY o.[name]
