/* How many rows came, went and changed since the table's figures began, for a login that may see the server's state. */
SELECT
    SCHEMA_NAME(o.[schema_id]) AS [Schema], o.[name] AS [Name], SUM(s.[leaf_insert_count]) AS [Inserted],
    SUM(s.[leaf_delete_count] + s.[leaf_ghost_count]) AS [Deleted], SUM(s.[leaf_update_count]) AS [Updated],
    CAST(0 AS bigint) AS [Dead]
FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) AS s
INNER JOIN sys.tables AS o ON o.[object_id] = s.[object_id]
WHERE s.[index_id] IN (0, 1)
GROUP BY o.[schema_id], o.[name]
