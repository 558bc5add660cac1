SELECT COUNT(*) AS [Found] FROM sys.tables AS t
WHERE SCHEMA_NAME(t.[schema_id]) = ? AND t.[name] = N'QueueSchemaVersion'
