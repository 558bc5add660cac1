/* Procedures whose text claims rows, or takes locks of its own. */
SELECT TOP (200) OBJECT_SCHEMA_NAME(m.[object_id]) AS [Schema], OBJECT_NAME(m.[object_id]) AS [Name], LEFT(m.[definition], 20000) AS [Source]
FROM sys.sql_modules AS m
INNER JOIN sys.objects AS o ON o.[object_id] = m.[object_id]
WHERE
    (
        UPPER(m.[definition]) LIKE N'%READPAST%' OR UPPER(m.[definition]) LIKE N'%UPDLOCK%' OR UPPER(m.[definition]) LIKE N'%APPLOCK%'
        OR UPPER(m.[definition]) LIKE N'%TOP (1)%ORDER BY%' OR UPPER(m.[definition]) LIKE N'%TOP 1 %ORDER BY%'
    )
    AND NOT EXISTS (SELECT 1 FROM sys.tables AS v WHERE v.[schema_id] = o.[schema_id] AND v.[name] = N'QueueSchemaVersion')
ORDER BY [Schema], [Name]
