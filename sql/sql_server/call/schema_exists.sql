SELECT COUNT(*) AS [Found] FROM sys.tables AS t
WHERE t.[schema_id] = SCHEMA_ID(?) AND t.[name] = N'QueueSchemaVersion'
